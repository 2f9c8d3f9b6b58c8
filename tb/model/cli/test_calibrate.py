# SPDX-License-Identifier: Apache-2.0
"""The command calibrate, and train --calibrate: runs that begin, go on and are asked for again."""

import json

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.network import load
from tb.model.cli.test_cli import NET, dataset
from tb.model.cli.test_weights import place, sha256, train  # noqa: F401 (a fixture)


def test_a_run_is_calibrated_and_goes_on(place):  # noqa: F811
    """The folder has the network with its points; the same command line, or none, continues it."""
    assert train("whole", "--calibrate", epochs=3) == 0
    for options in (("--calibrate",), ("--calibrate", "--resume")):
        assert train("parts", *options) == 0
    assert train("parts", "--calibrate", "--resume", epochs=2) == 0
    assert cli.run(["train", "--resume", "--out", "parts", "--epochs", "3"]) == 0
    assert sha256(place / "parts") == sha256(place / "whole") != sha256(place / "first")
    network = load(place / "parts" / "net.toml")
    assert set(network.layers[0].formats) == {"act", "weight", "bias", "delta", "momentum", "bias_momentum"}
    assert cli.run(["evaluate", "parts"]) == 0


def test_a_run_that_is_not_calibrated_does_not_become_so(place, capsys):  # noqa: F811
    assert train("first", "--calibrate", "--resume", epochs=2) == cli.USER
    assert "--calibrate: the run in first has False" in capsys.readouterr().err
    (place / "net.toml").write_text(NET.replace("maps = 4", "maps = 5"))
    assert train("first", "--resume", epochs=2) == cli.USER


def test_the_command_and_the_option_agree(place, capsys):  # noqa: F811
    """calibrate, then train; and both with weights of other formats."""
    assert cli.run(["calibrate", "net.toml", "--data", "data.npz", "--out", "chosen", "--json", "points.json"]) == 0
    shown, points = capsys.readouterr().out, json.loads((place / "points.json").read_text())
    assert [row["layer"] for row in points["layers"]] == ["first", "last"] and "bias_momentum" in shown
    assert points["layers"][0]["act"] == load(place / "chosen" / "net.toml").parameters[0].fo
    assert not (place / "chosen" / "weights.npz").exists()
    assert train("a", net="chosen/net.toml") == 0
    assert train("b", "--calibrate") == 0
    assert sha256(place / "a") == sha256(place / "b")
    weights = ["--weights", "first/weights.npz"]
    assert cli.run(["calibrate", "net.toml", "--data", "data.npz", "--out", "tuned", *weights]) == 0
    assert train("c", "--weights", "tuned/weights.npz", net="tuned/net.toml") == 0
    assert train("d", "--calibrate", *weights) == 0
    assert sha256(place / "c") == sha256(place / "d") != sha256(place / "a")


def test_it_is_what_happens_when_no_formats_are_given(place, capsys):  # noqa: F811
    """Formats of the whole network say that somebody has chosen; those of single layers stay, and the others come."""
    train("asked", "--calibrate", "--ahead", "9")
    short = ["--data", "data.npz", "--backend", "reference", "--epochs", "1", "--ahead", "9"]
    assert cli.run(["train", "net.toml", *short, "--out", "a"]) == 0
    assert "binary points chosen" in capsys.readouterr().out and sha256(place / "a") == sha256(place / "asked")
    assert train("more", "--calibrate", "--ahead", "30") == 0
    assert load(place / "more" / "net.toml") != load(place / "a" / "net.toml")
    capsys.readouterr()
    assert cli.run(["train", "net.toml", *short, "--out", "b", "--set", "format.act=9"]) == 0
    assert load(place / "b" / "net.toml").formats == {"act": 9} and "binary points" not in capsys.readouterr().out
    assert cli.run(["train", "net.toml", *short, "--out", "c", "--set", "layer.0.format.act=9"]) == 0
    network = load(place / "c" / "net.toml")
    assert network.layers[0].formats["act"] == 9 and {"weight", "delta"} < {*network.layers[0].formats}
    assert cli.run(["train", "net.toml", *short, "--out", "d", "--no-calibrate"]) == 0
    assert sha256(place / "d") == sha256(place / "first")


@pytest.mark.parametrize(
    "options, said",
    [
        (("--data", "large.npz"), "--data large.npz: images of shape (40, 1, 9, 9)"),
        (("--data", "none.npz"), "none.npz"),
        (("--data", "data.npz", "--weights", "none.npz"), "none.npz"),
        (("--data", "data.npz", "--weights", "other/weights.npz"), "layer first: has weights of (5, 1, 3, 3)"),
    ],
)
def test_refuses(place, capsys, options, said):  # noqa: F811
    (place / "other.toml").write_text(NET.replace("maps = 4", "maps = 5"))
    assert train("other", net="other.toml") == 0
    (place / "sub").mkdir()
    dataset(place / "sub", x_train=np.zeros((40, 9, 9)), x_test=np.zeros((10, 9, 9))).rename(place / "large.npz")
    assert cli.run(["calibrate", "net.toml", *options, "--out", "chosen"]) == cli.USER
    assert said in capsys.readouterr().err
    assert not (place / "chosen").exists()
