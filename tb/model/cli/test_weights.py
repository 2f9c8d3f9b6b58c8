# SPDX-License-Identifier: Apache-2.0
"""train --weights: a run begins with the weights of a file."""

import json

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.host import model_file
from tb.model.cli.test_cli import NET, dataset

SMALL = "grid=4,cols=4,mem_bytes=16,act_depth=256,wgt_depth=256,grad_depth=256,gate_depth=512"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with net.toml, data and `first`, the folder of a run of one epoch."""
    (tmp_path / "net.toml").write_text(NET)
    dataset(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert train("first") == 0
    return tmp_path


def train(out, *options, backend="reference", epochs=1, net="net.toml"):
    """Exit code of a training, with the default formats unless the options say otherwise."""
    if not any("calibrate" in option for option in options):
        options = ("--no-calibrate", *options)
    given = [net, "--data", "data.npz", "--backend", backend, "--epochs", str(epochs), "--out", out, *options]
    return cli.run(["train", *given])


def sha256(out):
    return json.loads((out / "report.json").read_text())["weights_sha256"]


def from_first(place):
    return ("--weights", str(place / "first" / "weights.npz"))


def test_a_run_begins_with_them(place):
    """On both back ends, every word compared, the float trainer beside it; the other seed's weights have no part."""
    assert train("a", *from_first(place)) == 0
    assert train("b", *from_first(place), "--engine", SMALL, "--check", "step", backend="machine") == 0
    assert sha256(place / "a") == sha256(place / "b") != sha256(place / "first")
    described = json.loads((place / "a" / "run.json").read_text())
    assert described["weights"] == str(place / "first" / "weights.npz")
    assert described["initial_sha256"] == sha256(place / "first")
    losses = [json.loads((place / name / "report.json").read_text())["history"][0] for name in ("first", "a")]
    assert losses[1]["float32_loss"] == pytest.approx(losses[1]["loss"], rel=0.05)
    assert losses[1]["loss"] < losses[0]["loss"]


def test_a_resumed_run_keeps_them(place, capsys):
    assert train("whole", *from_first(place), epochs=3) == 0
    assert train("parts", *from_first(place)) == 0
    assert train("parts", "--resume", epochs=3) == 0
    assert sha256(place / "parts") == sha256(place / "whole")
    assert train("parts", "--resume", *from_first(place), epochs=3) == 0
    assert train("parts", "--resume", "--weights", "others.npz", epochs=3) == cli.USER
    assert "--weights: the run in parts has" in capsys.readouterr().err
    assert train("first", "--resume", *from_first(place), epochs=2) == cli.USER


def test_a_checkpoint_will_do(place):
    assert train("a", *from_first(place)) == 0
    assert train("b", "--weights", "first/checkpoint.npz") == 0
    assert sha256(place / "a") == sha256(place / "b")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("maps = 4", "maps = 8", "layer first: has (4, 1, 3, 3) weights"),
        ('name = "first"', 'name = "other"', "layer other: has no such thing"),
        ('name = "first"', 'name = "first"\nformat = { weight = 12 }', "the network (4, 1, 3, 3) weights of 12, 13"),
        ("[[layer]]", "[format]\ndata_width = 15\n[[layer]]", "data_width: has 16 bits, the network 15 bits"),
    ],
)
def test_others_are_refused(place, capsys, old, new, message):
    (place / "net2.toml").write_text(NET.replace(old, new, 1))
    assert train("a", *from_first(place), net="net2.toml") == cli.USER
    assert message in capsys.readouterr().err and not (place / "a").exists()


def test_a_missing_file_is_refused(place, capsys):
    assert train("a", "--weights", "nowhere.npz") == cli.USER
    assert capsys.readouterr().err.startswith("error: nowhere.npz: ")


def test_they_are_all_taken(place):
    model = model_file.read(place / "first" / "weights.npz")
    found = model_file.initial_state(place / "first" / "weights.npz", model.network)
    assert all(np.array_equal(a[key], b[key]) for a, b in zip(found, model.state) for key in a)
    assert any(layer["momentum"].any() for layer in found)
