# SPDX-License-Identifier: Apache-2.0
"""Readers of published image files: the binary version of CIFAR-10 and the idx files of MNIST, from the user's own
copy."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from gradcore.files.atomic import FileError, StrPath
from gradcore.files.npz import NpzError, Reader, check_size, fill

CIFAR_TRAIN, CIFAR_TEST = tuple(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"
CIFAR_RECORD = 1 + 3 * 32 * 32  # a label, then red, green and blue, row by row
IDX_IMAGES, IDX_LABELS = 0x803, 0x801  # unsigned bytes, three dimensions; one
PACKED_MAX = 1032  # the most that deflate can pack


def load_folder(folder: StrPath) -> dict[str, np.ndarray]:
    """x_train, y_train, x_test, y_test of the CIFAR-10 or MNIST files in a folder: bytes (N, C, H, W), labels (N,).
    Raises FileError."""
    folder = Path(folder)
    if _has_cifar(folder):
        x_train, y_train = _cifar([folder / name for name in CIFAR_TRAIN])
        x_test, y_test = _cifar([folder / CIFAR_TEST])
        return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}
    x_train, y_train = _mnist(folder, "train")
    x_test, y_test = _mnist(folder, "t10k")
    return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}


def has_published_files(folder: Path) -> bool:
    """Does it hold CIFAR-10 or MNIST files? A folder without sub-folders must: else raises FileError."""
    if _has_cifar(folder) or any(folder.glob("*-ubyte*")):
        return True
    if any(entry.is_dir() and not entry.name.startswith(".") for entry in folder.iterdir()):
        return False
    cifar, mnist = CIFAR_TRAIN[0], "train-images-idx3-ubyte"
    problem = (
        f"holds neither CIFAR-10 ({cifar}, ..) nor MNIST files ({mnist}, ..) nor a folder of images for each class"
    )
    raise FileError(folder, problem)


def _has_cifar(folder: Path) -> bool:
    return any((folder / name).exists() for name in (*CIFAR_TRAIN, CIFAR_TEST))


def _size(file: Path) -> int:
    """Bytes of a file, within the limit. Raises FileError."""
    try:
        size = file.stat().st_size
        check_size("", size, size)
    except FileNotFoundError as error:
        raise FileError(file, "is missing") from error
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror}") from error
    except NpzError as error:
        raise FileError(file, error.problem) from error
    return size


def _read(file: StrPath, data: np.ndarray, opened: Reader) -> None:
    """Fill the bytes `data` from the opened file, which must end with them. Raises FileError."""
    try:
        fill(data, opened, "")
    except NpzError as error:
        raise FileError(file, error.problem) from error


def _empty(file: StrPath, size: int) -> np.ndarray:
    try:
        return np.empty(size, np.uint8)
    except MemoryError as error:
        raise FileError(file, f"needs {size} bytes of memory, which are not there") from error


def _cifar(files: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    sizes = [_size(file) for file in files]
    for file, size in zip(files, sizes):
        if not size or size % CIFAR_RECORD:
            raise FileError(file, f"{size} bytes are not records of {CIFAR_RECORD} bytes")
    count = sum(sizes) // CIFAR_RECORD
    images, labels, at = _empty(files[0], count * (CIFAR_RECORD - 1)).reshape(count, -1), np.empty(count, np.uint8), 0
    for file, size in zip(files, sizes):
        data = _empty(file, size)
        try:
            with file.open("rb") as opened:
                _read(file, data, opened)
        except OSError as error:
            raise FileError(file, f"cannot be read: {error.strerror}") from error
        records = data.reshape(-1, CIFAR_RECORD)
        if records[:, 0].max() > 9:
            raise FileError(file, f"label {records[:, 0].max()} in record {records[:, 0].argmax()}, not 0..9")
        labels[at : at + len(records)], images[at : at + len(records)] = records[:, 0], records[:, 1:]
        at += len(records)
    return images.reshape(-1, 3, 32, 32), labels


def _mnist(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = (
        _idx(folder, f"{part}-{what}", magic)
        for what, magic in (("images-idx3-ubyte", IDX_IMAGES), ("labels-idx1-ubyte", IDX_LABELS))
    )
    if len(images) != len(labels):
        raise FileError(folder / f"{part}-labels-idx1-ubyte", f"{len(labels)} labels for {len(images)} images")
    return images[:, None], labels


def _idx(folder: Path, name: str, magic: int) -> np.ndarray:
    file = folder / name if (folder / name).exists() else folder / f"{name}.gz"
    packed, size = file.suffix == ".gz", _size(file)
    try:
        with gzip.open(file) if packed else file.open("rb") as opened:
            return _idx_array(file, opened, magic, size, packed)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(file, f"cannot be read: {error}") from error


def _idx_array(file: StrPath, opened: Reader, magic: int, size: int, packed: bool) -> np.ndarray:
    count = magic & 0xFF
    head = opened.read(4 + 4 * count)
    found = int.from_bytes(head[:4], "big")
    if found != magic:
        raise FileError(file, f"begins with {found:#x}, not {magic:#x}")
    shape = tuple(int.from_bytes(head[4 + 4 * k : 8 + 4 * k], "big") for k in range(count))
    body, says = math.prod(shape), f"its header says {' x '.join(map(str, shape))}"
    if len(head) < 4 + 4 * count or not body or (not packed and size - len(head) != body) or body > PACKED_MAX * size:
        raise FileError(file, f"has {size - len(head)} bytes of {'packed ' * packed}data, {says}")
    try:
        check_size("", body, size)
    except NpzError as error:
        raise FileError(file, f"{error.problem}: {says}") from error
    data = _empty(file, body)
    _read(file, data, opened)
    return data.reshape(shape)
