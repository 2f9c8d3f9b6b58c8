# SPDX-License-Identifier: Apache-2.0
"""Pictures are drawn, in every format, and say what they should."""

import re
import signal

import numpy as np
import pytest
from matplotlib.figure import Figure

from gradcore.files.places import ROOT
from gradcore.host import interrupt
from gradcore.network import load
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.report.classes import MANY, SHOWN, confusion, confusion_picture, weights_picture, wrong_picture
from gradcore.report.pictures import loss_picture, saturation_picture, timeline_picture
from gradcore.sim.backend import EVENT


@pytest.mark.parametrize("count", [0, 1, 300])
def test_pictures_are_drawn(tmp_path, count):
    rows = [(10 * i, 10 * i + 7, i % 5, i) for i in range(count)]
    timeline_picture(tmp_path / "t.png", np.array(rows, dtype=EVENT))
    history = [
        {"epoch": i + 1, "loss": 1 / (i + 1), "test_accuracy": 0.5, "float32_loss": 1, "float32_test_accuracy": 0.4}
        for i in range(3)
    ]
    loss_picture(tmp_path / "l.png", history)
    for name in ("t.png", "l.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
HISTORY = [{"epoch": i + 1, "loss": 1 / (i + 1), "test_accuracy": 0.5} for i in range(3)]


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_the_suffix_says_the_format(tmp_path, kind):
    loss_picture(tmp_path / f"l.{kind}", HISTORY)
    assert (tmp_path / f"l.{kind}").read_bytes().startswith(BEGINNINGS[kind])


def test_a_signal_while_a_picture_is_drawn_is_a_signal(tmp_path, monkeypatch):
    """Also where matplotlib's C++ was asking Python for something, and says that its answer is wrong."""

    def interrupted(*_, **__):
        monkeypatch.setattr(interrupt, "_received", signal.SIGINT)
        raise ValueError("Invalid bounding box")

    monkeypatch.setattr(Figure, "savefig", interrupted)
    with pytest.raises(interrupt.Interrupted):
        loss_picture(tmp_path / "l.png", HISTORY)
    assert not list(tmp_path.iterdir())


def test_the_same_figure_makes_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        loss_picture(tmp_path / name, HISTORY)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def words(file) -> str:
    """The text of an SVG, as matplotlib leaves it in comments beside the letters' outlines."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", file.read_text()))


def test_saturations(tmp_path):
    rows = [
        {"layer": layer, "kind": kind, "last_clipped": clipped, "last_words": 8}
        for layer, kind, clipped in (("conv0", "act", 2), ("conv0", "weight", 0), ("fc1", "act", 8))
    ]
    saturation_picture(tmp_path / "s.svg", rows)
    assert [text for text in words(tmp_path / "s.svg").splitlines() if text.endswith("%")] == ["25 %", "0 %", "1e+02 %"]


@pytest.mark.parametrize("count", [1, 2, 10, MANY, MANY + 1])
def test_confusion(tmp_path, count):
    rng = np.random.default_rng(count)
    labels, classes = rng.integers(0, count, (2, 200))
    table = confusion(labels, classes, count)
    assert all(
        table[y, x] == sum(a == y and b == x for a, b in zip(labels, classes))
        for y in range(count)
        for x in range(count)
    )
    confusion_picture(tmp_path / "c.svg", table)
    assert f"{int((labels == classes).sum())} of 200 images right" in words(tmp_path / "c.svg")
    written = {text for text in words(tmp_path / "c.svg").splitlines() if text.isdecimal()}
    assert ({str(n) for n in table.ravel() if n} <= written) is (count <= MANY)


@pytest.mark.parametrize("maps", [1, 2, 3])
@pytest.mark.parametrize("wrong", [0, 1, SHOWN, SHOWN + 1])
def test_wrong_images(tmp_path, maps, wrong):
    rng = np.random.default_rng(wrong)
    images, labels = rng.random((60, maps, 4, 5)), np.zeros(60, np.int64)
    classes = labels + (rng.permutation(60) < wrong)
    wrong_picture(tmp_path / "w.svg", images, labels, classes)
    said = words(tmp_path / "w.svg")
    assert f"{wrong} of 60 images are wrong" in said and (f"the first {SHOWN}" in said) is (wrong > SHOWN)
    assert said.count("0, not 1") == min(wrong, SHOWN)


def test_weights(tmp_path):
    network = load(ROOT / "examples" / "digits" / "net.toml")
    weights_picture(tmp_path / "w.svg", network, ReferenceTrainer(network, 1).weights())
    said = words(tmp_path / "w.svg")
    assert all(f"{p.name}: {p.fw} fraction bits, within {2.0 ** (15 - p.fw):g}" in said for p in network.parameters)
