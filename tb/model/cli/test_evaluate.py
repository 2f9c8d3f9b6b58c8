# SPDX-License-Identifier: Apache-2.0
"""`gradcore evaluate` and `report` on a small run: the confusion matrix, the pictures, what is refused."""

import json

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from tb.model.report.test_pictures import BEGINNINGS

NET = str(ROOT / "examples" / "digits" / "net.toml")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("run"), np.random.default_rng(1)
    arrays = {f"x_{part}": rng.random((count, 8, 8)) for part, count in (("train", 40), ("test", 30))}
    arrays |= {f"y_{part}": rng.integers(0, 10, count) for part, count in (("train", 40), ("test", 30))}
    np.savez(folder / "images.npz", **arrays)
    words = ["train", NET, "--data", str(folder / "images.npz"), "--out", str(folder / "run")]
    assert cli.run([*words, "--backend", "reference", "--no-float32", "--epochs", "1"]) == 0
    return folder / "run"


def test_confusion_and_pictures(run, tmp_path, capsys):
    found = tmp_path / "found.json"
    assert cli.run(["evaluate", str(run), "--pictures", str(tmp_path / "a" / "b"), "--json", str(found)]) == 0
    assert sorted(file.name for file in (tmp_path / "a" / "b").iterdir()) == [
        "confusion.png",
        "weights.png",
        "wrong.png",
    ]
    out = tmp_path / "classes.npz"
    data = run.parent / "images.npz"
    assert cli.run(["predict", str(run), "--data", str(data), "--out", str(out)]) == 0
    classes, labels = np.load(out)["classes"], np.load(data)["y_test"]
    report = json.loads(found.read_text())
    table = np.array(report["confusion"])
    assert table.shape == (10, 10) and np.trace(table) == report["correct"] == (classes == labels).sum()
    assert [*table.sum(axis=1)] == [*np.bincount(labels, minlength=10)]
    assert [*table.sum(axis=0)] == [*np.bincount(classes, minlength=10)]


def test_labels_that_the_network_has_no_output_for(run, tmp_path, capsys):
    arrays = dict(np.load(run.parent / "images.npz"))
    arrays["y_test"][3] = 10
    np.savez(tmp_path / "more.npz", **arrays)
    assert cli.run(["evaluate", str(run), "--data", str(tmp_path / "more.npz")]) == cli.USER
    assert "y_test: class 10 where the network has 10 outputs" in capsys.readouterr().err


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_the_picture_of_a_run(run, tmp_path, kind):
    assert cli.run(["report", str(run), "--picture", str(tmp_path / f"loss.{kind}")]) == 0
    assert (tmp_path / f"loss.{kind}").read_bytes().startswith(BEGINNINGS[kind])


def test_another_kind_of_picture_is_refused(run, tmp_path, capsys):
    assert cli.run(["report", str(run), "--picture", str(tmp_path / "loss.gif")]) == cli.USER
    assert "loss.gif: is none of .png, .svg, .pdf" in capsys.readouterr().err and not list(tmp_path.iterdir())
