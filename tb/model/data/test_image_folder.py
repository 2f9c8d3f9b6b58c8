# SPDX-License-Identifier: Apache-2.0
"""Folders of images, made here: what becomes of the pixels, and what is refused by name."""

import sys

import numpy as np
import pytest
from PIL import Image

from gradcore.cli import main as cli
from gradcore.data import datasets as data
from gradcore.data import image_folder
from gradcore.data.datasets import DataError

CLASSES = ("ape", "bee", "cat")


def draw(file, pixels):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(file)


def make(folder, rng, parts=("train", "test"), count=5, size=(6, 9), channels=3):
    """Images by part and class, in the order of their names."""
    found = {}
    for part in parts:
        for name in CLASSES:
            shape = (count, *size, channels) if channels == 3 else (count, *size)
            found[part, name] = rng.integers(0, 256, shape, dtype=np.uint8)
            for number, pixels in enumerate(found[part, name]):
                draw(folder / part / name / f"{number}.png", pixels)
    return found


@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_and_labels(channels, tmp_path, rng):
    drawn = make(tmp_path, rng, channels=channels)
    found = data.load(f"{tmp_path},channels={channels}")
    for part, x, y in (("train", found.x_train, found.y_train), ("test", found.x_test, found.y_test)):
        want = np.concatenate([drawn[part, name] for name in CLASSES]).reshape(15, 6, 9, channels)
        assert x.dtype == np.uint8 and (x == want.transpose(0, 3, 1, 2)).all()
        assert y.dtype == np.int64 and y.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert found.name == tmp_path.name


def test_grey_images_become_rgb_and_colours_grey(tmp_path):
    for part in ("train", "test"):
        draw(tmp_path / part / "a" / "1.png", np.full((4, 4), 7, np.uint8))
        draw(tmp_path / part / "b" / "1.png", np.full((4, 4, 3), (255, 0, 0), np.uint8))
    assert (data.load(tmp_path).x_train[0] == 7).all()
    assert (data.load(f"{tmp_path},channels=1").x_train[1] == 76).all()  # 0.299 * 255, as in ITU-R 601-2


def test_the_last_of_each_class_are_for_test(tmp_path, rng):
    drawn = make(tmp_path, rng, parts=("",))
    found = data.load(f"{tmp_path},test=0.4")
    assert (found.x_test == np.concatenate([drawn["", n][3:] for n in CLASSES]).transpose(0, 3, 1, 2)).all()
    assert found.y_train.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_resizing_keeps_proportions_and_the_centre(tmp_path, rng):
    """A wide image with margins of another colour: they are cut away (but for what the filter mixes in at the edge), a
    constant stays one."""
    wide = np.full((8, 24, 3), 255, np.uint8)
    wide[:, 8:16] = 50
    for part in ("train", "test"):
        draw(tmp_path / part / "a" / "1.png", wide)
        draw(tmp_path / part / "b" / "1.png", np.full((30, 10, 3), 9, np.uint8))
    found = data.load(f"{tmp_path},size=4x4").x_train
    assert found.shape == (2, 3, 4, 4) and (found[0, :, :, 1:3] == 50).all() and (found[1] == 9).all()


def test_normalisation(tmp_path, rng):
    make(tmp_path, rng)
    plain, found = data.load(tmp_path), data.load(f"{tmp_path},mean=0.5/0.25/0.1,std=0.5/2/1")
    mean, std = (np.array(values)[:, None, None] for values in ((0.5, 0.25, 0.1), (0.5, 2, 1)))
    assert found.x_train.dtype == np.float32
    np.testing.assert_allclose(found.x_train, (plain.x_train / 255 - mean) / std, atol=1e-6)
    one = data.load(f"{tmp_path},std=0.5").x_test
    np.testing.assert_allclose(one, plain.x_test / 127.5, atol=1e-6)


def broken(folder):
    (folder / "train/bee/3.png").write_bytes((folder / "train/bee/3.png").read_bytes()[:60])


def deep(folder):
    Image.fromarray(np.zeros((6, 9), np.uint16)).save(folder / "train/bee/3.png")


@pytest.mark.parametrize(
    "spoil, where, words",
    [
        (broken, "train/bee/3.png", "is not an image that Pillow can read"),
        (deep, "train/bee/3.png", "samples of the kind I;16, not bytes"),
        (lambda d: (d / "train/bee/notes.txt").write_text("hello"), "train/bee/notes.txt", "is not an image"),
        (lambda d: (d / "train/bee/more").mkdir(), "train/bee/more", "a folder in the class 'bee'"),
        (lambda d: (d / "train/dog").mkdir(), "train/dog", "is an empty class"),
        (lambda d: draw(d / "test/dog/1.png", np.zeros((6, 9, 3), np.uint8)), "test/dog", "train does not have"),
        (lambda d: draw(d / "train/1.png", np.zeros((6, 9, 3), np.uint8)), "train/1.png", "of which class is it"),
        (lambda d: draw(d / "dog/1.png", np.zeros((6, 9, 3), np.uint8)), "dog", "a class or a part"),
        (lambda d: (d / "test").rename(d.with_name("away")), "test", "is missing"),
        (lambda d: draw(d / "test/bee/2.png", np.zeros((6, 8, 3), np.uint8)), "test/bee/2.png", "has 6x8 pixels"),
    ],
)
def test_refusals_name_the_file(spoil, where, words, tmp_path, rng):
    folder = tmp_path / "images"
    make(folder, rng)
    data.load(folder)
    spoil(folder)
    with pytest.raises(DataError, match=words) as caught:
        data.load(folder)
    assert caught.value.file == str(folder / where)


def test_empty_folders(tmp_path, rng):
    with pytest.raises(DataError, match="nor a folder of images for each class"):
        data.load(tmp_path)
    (tmp_path / "train").mkdir()
    (tmp_path / "test").mkdir()
    with pytest.raises(DataError, match="train: is empty: it needs a folder for each class"):
        data.load(tmp_path)
    make(tmp_path / "few", rng, parts=("",), count=2)
    with pytest.raises(DataError, match="ape: 2 images cannot be split, 0.2 of them for test"):
        data.load(tmp_path / "few")


@pytest.mark.parametrize(
    "options, words",
    [
        ("size=32", "size: '32' is not ROWSxCOLUMNS"),
        ("size=0x4", "is not ROWSxCOLUMNS"),
        ("channels=2", "channels: '2' is not 1 for grey, or 3 for RGB"),
        ("mean=0.5/0.5", "mean: 2 numbers for 3 channels"),
        ("mean=a", "mean: 'a' is not numbers with / between them"),
        ("std=0", "std: '0' is not numbers above 0"),
        ("test=1.5", "test: '1.5' is not a share"),
        ("sizes=4x4", "'sizes' is not one of size, channels, mean, std, test"),
        ("grey", "'grey' is not KEY=VALUE"),
    ],
)
def test_options(options, words, tmp_path, rng, capsys):
    make(tmp_path, rng)
    with pytest.raises(DataError, match=words):
        data.load(f"{tmp_path},{options}")
    assert cli.run(["train", "digits", "--data", f"{tmp_path},{options}", "--out", str(tmp_path / "run")]) == 2
    assert words in capsys.readouterr().err


def test_memory_is_bounded(tmp_path, rng, monkeypatch):
    make(tmp_path, rng)
    with monkeypatch.context() as patch:
        patch.setattr(image_folder, "BYTES_MAX", 30 * 3 * 54 - 1)
        with pytest.raises(DataError, match="its images take 4860 bytes, more than 4859: choose a smaller size"):
            data.load(tmp_path)
    monkeypatch.setattr(image_folder, "PIXELS_MAX", 53)
    with pytest.raises(DataError, match="0.png: has 6x9 pixels, more than 53"):
        data.load(tmp_path)


def test_without_pillow(tmp_path, rng, monkeypatch):
    make(tmp_path, rng)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match="needs Pillow: pip install pillow"):
        data.load(tmp_path)
