# SPDX-License-Identifier: Apache-2.0
"""Readers of published image files: the binary version of CIFAR-10 and the idx files of MNIST, from the user's own copy."""

import gzip
from pathlib import Path

import numpy as np

from gradcore.files import FileError

CIFAR_TRAIN, CIFAR_TEST = tuple(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"
CIFAR_RECORD = 1 + 3 * 32 * 32      # a label, then red, green and blue, row by row
IDX_IMAGES, IDX_LABELS = 0x803, 0x801   # unsigned bytes, three dimensions; one


def load_folder(folder) -> dict:
    """x_train, y_train, x_test, y_test of the CIFAR-10 or MNIST files in a folder: bytes (N, C, H, W), labels (N,). Raises FileError."""
    folder = Path(folder)
    if (folder / CIFAR_TEST).exists() or any((folder / name).exists() for name in CIFAR_TRAIN):
        train = [_cifar(folder / name) for name in CIFAR_TRAIN]
        x_test, y_test = _cifar(folder / CIFAR_TEST)
        return {"x_train": np.concatenate([x for x, _ in train]), "y_train": np.concatenate([y for _, y in train]), "x_test": x_test, "y_test": y_test}
    if any(folder.glob("*-ubyte*")):
        x_train, y_train = _mnist(folder, "train")
        x_test, y_test = _mnist(folder, "t10k")
        return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}
    raise FileError(folder, f"holds neither CIFAR-10 ({CIFAR_TRAIN[0]}, ..) nor MNIST files (train-images-idx3-ubyte, ..)")


def _read(file) -> bytes:
    try:
        return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except FileNotFoundError as error:
        raise FileError(file, "is missing") from error
    except (OSError, EOFError) as error:
        raise FileError(file, f"cannot be read: {error}") from error


def _cifar(file) -> tuple:
    data = np.frombuffer(_read(file), np.uint8)
    if not data.size or data.size % CIFAR_RECORD:
        raise FileError(file, f"{data.size} bytes are not records of {CIFAR_RECORD} bytes")
    records = data.reshape(-1, CIFAR_RECORD)
    if records[:, 0].max() > 9:
        raise FileError(file, f"label {records[:, 0].max()} in record {records[:, 0].argmax()}, not 0..9")
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _mnist(folder, part: str) -> tuple:
    images, labels = (_idx(folder, f"{part}-{what}", magic) for what, magic in (("images-idx3-ubyte", IDX_IMAGES), ("labels-idx1-ubyte", IDX_LABELS)))
    if len(images) != len(labels):
        raise FileError(folder / f"{part}-labels-idx1-ubyte", f"{len(labels)} labels for {len(images)} images")
    return images[:, None], labels


def _idx(folder, name: str, magic: int) -> np.ndarray:
    file = folder / name if (folder / name).exists() else folder / f"{name}.gz"
    data = _read(file)
    found, count = int.from_bytes(data[:4], "big"), magic & 0xFF
    if found != magic:
        raise FileError(file, f"begins with {found:#x}, not {magic:#x}")
    shape = tuple(int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(count))
    body = np.frombuffer(data, np.uint8, offset=4 + 4 * count) if len(data) >= 4 + 4 * count else np.zeros(0, np.uint8)
    if body.size != np.prod(shape, dtype=np.int64) or not body.size:
        raise FileError(file, f"has {body.size} bytes of data, its header says {' x '.join(map(str, shape))}")
    return body.reshape(shape)
