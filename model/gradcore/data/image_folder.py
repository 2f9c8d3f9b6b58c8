# SPDX-License-Identifier: Apache-2.0
"""Folders of images, a sub-folder for each class, read with Pillow: resized, in grey or RGB, bytes or normalised."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import FileError, StrPath
from gradcore.files.npz import BYTES_MAX

CHANNELS = {1: "L", 3: "RGB"}
EIGHT_BITS = {"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"}
PIXELS_MAX = 1 << 26  # of one image, as it is in its file
SIDE_MAX = 4096
TEST_SHARE = 0.2
Files = list[tuple[Path, int]]  # with their labels


@dataclass(frozen=True)
class Form:
    """What becomes of the images.

    size: (rows, columns), None for that of the files, which is then the same in all; channels: 1 for grey, 3 for RGB;
    mean, std: per channel, of images of 0..1, empty for bytes; test: share of each class for test where the folder
    is not split.
    """

    size: tuple[int, int] | None = None
    channels: int = 3
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    test: float = TEST_SHARE

    @property
    def normalised(self) -> bool:
        """Are the images floats?"""
        return bool(self.mean or self.std)


def form_of(options: Mapping[str, str], where: StrPath) -> Form:
    """The form of options like size=32x32, channels=1, mean=0.5/0.4/0.3, std=.., test=0.2. Raises FileError."""
    form = Form()
    for key, text in options.items():
        read = _OPTIONS.get(key)
        if read is None:
            raise FileError(where, f"{key!r} is not one of {', '.join(_OPTIONS)}")
        try:
            form = replace(form, **{key: read(text)})
        except ValueError as error:
            raise FileError(where, f"{key}: {text!r} is not {error}") from error
    for key in ("mean", "std"):
        values = getattr(form, key)
        if len(values) not in (0, 1, form.channels):
            raise FileError(where, f"{key}: {len(values)} numbers for {form.channels} channels")
    return form


def load_images(folder: StrPath, form: Form = Form()) -> dict[str, np.ndarray]:
    """x_train, y_train, x_test, y_test of a folder with `train` and `test`, each with a sub-folder per class, or with
    the classes themselves, of which the last ones by name are for test.

    Images are bytes (N, C, H, W), or float32 where `form` has a mean or a deviation. Classes are numbered in the
    alphabetical order of their names. One image at a time is decoded. Raises FileError.
    """
    folder = Path(folder)
    parts = {part: folder / part for part in ("train", "test")}
    if any(path.is_dir() for path in parts.values()):
        train, test = _two_parts(parts, folder)
    else:
        train, test = _split(_classes(folder), folder, form.test)
    size = form.size or _size(train[0][0])
    bytes_ = (len(train) + len(test)) * form.channels * math.prod(size) * (4 if form.normalised else 1)
    if bytes_ > BYTES_MAX:
        raise FileError(folder, f"its images take {bytes_} bytes, more than {BYTES_MAX}: choose a smaller size")
    found = {}
    for part, files in (("train", train), ("test", test)):
        found[f"x_{part}"] = _arrays(files, replace(form, size=size), given=form.size is not None)
        found[f"y_{part}"] = np.array([label for _, label in files], np.int64)
    return found


def _two_parts(parts: dict[str, Path], folder: Path) -> tuple[Files, Files]:
    for path in parts.values():
        if not path.is_dir():
            raise FileError(path, f"is missing: {folder} is split into train and test")
    for entry in _visible(folder):
        if entry not in parts.values():
            raise FileError(entry, "stands beside train and test: is it a class or a part?")
    train, test = (_classes(path) for path in parts.values())
    for name in sorted(train.keys() ^ test.keys()):
        have, lack = ("train", "test") if name in train else ("test", "train")
        raise FileError(parts[have] / name, f"is a class that {lack} does not have")
    first, second = (_labelled(classes) for classes in (train, test))
    return first, second


def _split(classes: dict[str, list[Path]], folder: Path, share: float) -> tuple[Files, Files]:
    train, test = {}, {}
    for name, files in classes.items():
        count = round(len(files) * share)
        if not 0 < count < len(files):
            raise FileError(folder / name, f"{len(files)} images cannot be split, {share:g} of them for test")
        train[name], test[name] = files[:-count], files[-count:]
    return _labelled(train), _labelled(test)


def _labelled(classes: dict[str, list[Path]]) -> Files:
    return [(file, label) for label, name in enumerate(sorted(classes)) for file in classes[name]]


def _classes(folder: Path) -> dict[str, list[Path]]:
    """Files by the name of their class. Raises FileError."""
    found = {}
    for entry in _visible(folder):
        if not entry.is_dir():
            raise FileError(entry, "stands beside the folders of the classes: of which class is it?")
        files = list(_visible(entry))
        if not files:
            raise FileError(entry, "is an empty class")
        for file in files:
            if file.is_dir():
                raise FileError(file, f"is a folder in the class {entry.name!r}, not an image")
        found[entry.name] = files
    if not found:
        raise FileError(folder, "is empty: it needs a folder for each class")
    return found


def _visible(folder: Path) -> Iterator[Path]:
    """Entries of a folder by name, without those that begin with a point. Raises FileError."""
    try:
        return (entry for entry in sorted(folder.iterdir()) if not entry.name.startswith("."))
    except OSError as error:
        raise FileError(folder, f"cannot be read: {error.strerror}") from error


def _arrays(files: Files, form: Form, given: bool) -> np.ndarray:
    assert form.size is not None
    shape = (len(files), form.channels, *form.size)
    try:
        images = np.empty(shape, np.float32 if form.normalised else np.uint8)
    except MemoryError as error:
        raise FileError(files[0][0].parent, f"{shape} images need more memory than is there") from error
    mean, std = (np.array(n, np.float32).reshape(-1, 1, 1) for n in (form.mean or (0,), form.std or (1,)))
    for image, (file, _) in zip(images, files):
        pixels = _decoded(file, lambda opened: _pixels(opened, form, given))
        image[:] = (pixels / np.float32(255) - mean) / std if form.normalised else pixels
    return images


def _pixels(opened: Any, form: Form, given: bool) -> np.ndarray:
    """Bytes (C, H, W) of an opened image."""
    from PIL import Image, ImageOps

    assert form.size is not None
    rows, columns = form.size
    if opened.mode not in EIGHT_BITS:
        raise ValueError(f"has samples of the kind {opened.mode}, not bytes")
    if not given and opened.size != (columns, rows):
        raise ValueError(f"has {opened.height}x{opened.width} pixels, the first one {rows}x{columns}: give a size")
    image = opened.convert(CHANNELS[form.channels])
    if image.size != (columns, rows):
        image = ImageOps.fit(image, (columns, rows), Image.Resampling.BILINEAR)
    return np.asarray(image).reshape(rows, columns, form.channels).transpose(2, 0, 1)


def _size(file: Path) -> tuple[int, int]:
    height, width = _decoded(file, lambda opened: (opened.height, opened.width))
    if max(height, width) > SIDE_MAX:
        raise FileError(file, f"has {height}x{width} pixels: give a size up to {SIDE_MAX}x{SIDE_MAX}")
    return height, width


def _decoded(file: Path, use: Callable[[Any], Any]) -> Any:
    """`use` of an image, opened and not yet decoded. Raises FileError with the file's name."""
    try:
        from PIL import Image
    except ImportError as error:
        raise FileError(file.parent, "needs Pillow: pip install pillow, or gradcore with the extra [images]") from error
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(file) as opened:
            if opened.width * opened.height > PIXELS_MAX:
                raise ValueError(f"has {opened.height}x{opened.width} pixels, more than {PIXELS_MAX}")
            return use(opened)
    except MemoryError as error:
        raise FileError(file, "needs more memory than is there") from error
    except ValueError as error:
        raise FileError(file, str(error)) from error
    except Exception as error:  # what Pillow makes of broken bytes
        raise FileError(file, f"is not an image that Pillow can read: {error!s:.100}") from error


def _size_of(text: str) -> tuple[int, int]:
    try:
        rows, columns = map(int, text.split("x"))
    except ValueError:
        rows = columns = 0
    if not (0 < rows <= SIDE_MAX and 0 < columns <= SIDE_MAX):
        raise ValueError(f"ROWSxCOLUMNS up to {SIDE_MAX}x{SIDE_MAX}")
    return rows, columns


def _channels_of(text: str) -> int:
    if text not in map(str, CHANNELS):
        raise ValueError("1 for grey, or 3 for RGB")
    return int(text)


def _numbers_of(positive: bool) -> Callable[[str], tuple[float, ...]]:
    def read(text: str) -> tuple[float, ...]:
        kind = f"numbers{' above 0' * positive} with / between them"
        try:
            values = tuple(map(float, text.split("/")))
        except ValueError as error:
            raise ValueError(kind) from error
        if not all(math.isfinite(value) and (value > 0 or not positive) for value in values):
            raise ValueError(kind)
        return values

    return read


def _share_of(text: str) -> float:
    (value,) = _numbers_of(True)(text) if "/" not in text else (1.0,)
    if value >= 1:
        raise ValueError("a share between 0 and 1")
    return value


_OPTIONS: dict[str, Callable[[str], Any]] = {
    "size": _size_of,
    "channels": _channels_of,
    "mean": _numbers_of(False),
    "std": _numbers_of(True),
    "test": _share_of,
}
