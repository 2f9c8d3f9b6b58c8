# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 and MNIST files, made here byte by byte, and broken ones."""

import gzip

import numpy as np
import pytest

from gradcore.data import datasets as data
from gradcore.data.datasets import DataError

RNG = np.random.default_rng(1)


def cifar(folder, count=3):
    """Files of `count` records each; what a reader must give, in the order of the files."""
    expected = []
    for name in [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]:
        labels, pixels = RNG.integers(0, 10, count), RNG.integers(0, 256, (count, 3, 32, 32))
        (folder / name).write_bytes(b"".join(bytes([label, *image.ravel()]) for label, image in zip(labels, pixels)))
        expected.append((pixels, labels))
    return expected


def mnist(folder, packed, count=4):
    expected = {}
    for part in ("train", "t10k"):
        labels, pixels = RNG.integers(0, 10, count), RNG.integers(0, 256, (count, 28, 28))
        files = {f"{part}-images-idx3-ubyte": [0x803, count, 28, 28], f"{part}-labels-idx1-ubyte": [0x801, count]}
        for (name, header), body in zip(files.items(), (pixels, labels)):
            content = b"".join(n.to_bytes(4, "big") for n in header) + bytes(body.ravel().tolist())
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
        expected[part] = pixels, labels
    return expected


def test_cifar(tmp_path):
    expected, found = cifar(tmp_path), data.load(tmp_path)
    assert (found.x_train == np.concatenate([x for x, _ in expected[:5]])).all() and found.x_train.shape == (
        15,
        3,
        32,
        32,
    )
    assert found.y_train.tolist() == np.concatenate([y for _, y in expected[:5]]).tolist()
    assert (found.x_test == expected[5][0]).all() and found.y_test.tolist() == expected[5][1].tolist()


@pytest.mark.parametrize("packed", [False, True])
def test_mnist(tmp_path, packed):
    expected, found = mnist(tmp_path, packed), data.load(tmp_path)
    for x, y, part in ((found.x_train, found.y_train, "train"), (found.x_test, found.y_test, "t10k")):
        assert (x[:, 0] == expected[part][0]).all() and y.tolist() == expected[part][1].tolist()


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    "make, name, spoil, words",
    [
        (cifar, "data_batch_3.bin", cut, "9218 bytes are not records of 3073 bytes"),
        (cifar, "test_batch.bin", lambda path: path.unlink(), "is missing"),
        (cifar, "data_batch_1.bin", lambda path: path.write_bytes(bytes([11] * 3073)), "label 11 in record 0"),
        (mnist, "train-images-idx3-ubyte", cut, "3135 bytes of data, its header says 4 x 28 x 28"),
        (mnist, "t10k-labels-idx1-ubyte", lambda path: path.write_bytes(b"nothing"), "not 0x801"),
        (
            mnist,
            "t10k-labels-idx1-ubyte",
            lambda path: path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 5])),
            "1 labels for 4 images",
        ),
        (mnist, "train-labels-idx1-ubyte", lambda path: path.rename(path.with_name("other-ubyte")), "is missing"),
    ],
)
def test_refuses_broken_files(tmp_path, make, name, spoil, words):
    make(tmp_path, *([False] if make is mnist else []))
    spoil(tmp_path / name)
    with pytest.raises(DataError, match=words) as caught:
        data.load(tmp_path)
    assert str(tmp_path) in caught.value.file


def test_refuses_a_folder_of_something_else(tmp_path):
    (tmp_path / "readme.txt").touch()
    with pytest.raises(DataError, match="neither CIFAR-10"):
        data.load(tmp_path)
