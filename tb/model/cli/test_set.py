# SPDX-License-Identifier: Apache-2.0
"""train --set: fields of the description from the command line."""

import pytest

from gradcore.cli import main as cli
from gradcore.network import load
from tb.model.cli.test_weights import place, sha256, train  # noqa: F401 (place is a fixture)


def test_each_field_can_be_set(place):  # noqa: F811
    changes = ["train.minibatch=8", "train.optimiser=sgd", "layer.0.maps = 6", 'name="mine"', "format.act=9"]
    changes += ["input=[1,8,8]", "layer.1.format.weight=11", "layer.0.trainable=false", 'train.schedule.type="step"']
    words = [word for change in changes for word in ("--set", change)]
    assert train("a", *words) == 0
    network = load("a/net.toml")
    assert (network.minibatch, network.optimiser, network.name, network.formats) == (8, "sgd", "mine", {"act": 9})
    first, last = network.layers
    assert (first.maps, first.trainable, last.formats) == (6, False, {"weight": 11}) and network.schedule.every == 1
    assert load("net.toml").minibatch == 16


def test_it_is_as_if_the_file_had_it(place):  # noqa: F811
    assert train("a", "--set", "train.learning_rate=0.01") == 0
    text = (place / "net.toml").read_text()
    (place / "other.toml").write_text(text.replace("learning_rate = 0.05", "learning_rate = 0.01"))
    assert train("b", net="other.toml") == 0
    assert sha256(place / "a") == sha256(place / "b") != sha256(place / "first")


def test_a_resumed_run_keeps_them(place, capsys):  # noqa: F811
    words = ("--set", "train.minibatch=8")
    assert train("whole", *words, epochs=2) == 0
    assert train("parts", *words) == 0
    assert cli.run(["train", "--resume", "--out", "parts", "--epochs", "2"]) == 0
    assert sha256(place / "parts") == sha256(place / "whole")
    assert train("parts", *words, "--resume", epochs=2) == 0
    assert train("parts", "--resume", epochs=2) == cli.USER
    capsys.readouterr()
    assert cli.run(["train", "--resume", "--out", "parts", *words]) == cli.USER
    assert "--set: changes a NET, and none is given" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change, said",
    [
        ("train.minibatch", "train.minibatch: is not FIELD=VALUE"),
        ("=3", "=3: is not FIELD=VALUE"),
        ("train..minibatch=3", "is not FIELD=VALUE"),
        ("train.batch=3", "train.batch"),
        ("train.minibatch=0", "minibatch"),
        ("train.minibatch=many", "minibatch"),
        ("layer.2.maps=3", "layer.2.maps: there is no layer 2; nearest supported: layer.0 to layer.1"),
        ("layer.conv.maps=3", "there is no layer conv"),
        ("layer.0=3", "layer.0: is a layer, not a field of one"),
        ("layer.0.kernels=3", "first"),
        ("name.first=3", "name.first: 'name' is no table"),
        ("optimiser=sgd", "optimiser"),
    ],
)
def test_wrong_fields_are_named(place, capsys, change, said):  # noqa: F811
    assert train("a", "--set", change) == cli.USER
    error = capsys.readouterr().err
    assert "net.toml" in error and said in error
    assert not (place / "a").exists()
