# SPDX-License-Identifier: Apache-2.0
"""The example of doc/pytorch.md runs as it stands there."""

import re
import shlex

import pytest

from gradcore import from_torch
from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from gradcore.ops.kinds import KINDS
from tb.doc.documents import FENCE, rows
from tb.model.cli.test_cli import dataset
from tb.model.cli.test_weights import SMALL

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")

TEXT = (ROOT / "doc/pytorch.md").read_text()


def test_the_example_trains(tmp_path, monkeypatch):
    """On the reference trainer, with its default number of epochs."""
    monkeypatch.chdir(tmp_path)
    blocks = FENCE.findall(TEXT)
    (first, last), shown = [text for kind, text in blocks if kind == "python"], {}
    command = next(text for kind, text in blocks if text.startswith("gradcore train"))
    torch.manual_seed(1)
    exec(first, shown)
    before = [p.clone() for p in shown["model"].parameters()]
    assert cli.run([*shlex.split(command)[1:], "--backend", "reference", "--no-float32", "--epochs", "2"]) == 0
    exec(last, shown)
    assert all((a != b).any() for a, b in zip(before, shown["model"].parameters()))


def test_an_import_trains_on_the_engine(tmp_path, monkeypatch, capsys):
    """On the machine model, every word of every step as in the reference trainer; evaluated before and after."""
    from torch import nn

    monkeypatch.chdir(tmp_path)
    dataset(tmp_path)
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3))
    sgd = torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=0.001)
    from_torch(model, (1, 8, 8), nn.CrossEntropyLoss(), sgd, minibatch=16).save("a b")
    train = ["train", "a b/net.toml", "--weights", "a b/weights.npz", "--data", "data.npz", "--epochs", "1"]
    assert cli.run([*train, "--backend", "machine", "--engine", SMALL, "--check", "step", "--out", "run"]) == 0
    assert "weights equal: yes" in capsys.readouterr().out
    for file in ("a b/weights.npz", "run/weights.npz"):
        assert cli.run(["evaluate", file, "--data", "data.npz", "--backend", "reference"]) == 0
    assert cli.run(["evaluate", "a b/weights.npz", "--backend", "reference"]) == cli.USER
    assert "--data is missing: a b/weights.npz was imported" in capsys.readouterr().err


def test_the_refusal_is_the_one_shown():
    from torch import nn

    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3), nn.Softmax(1))
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.raises(ValueError) as caught:
        from_torch(model, (1, 4, 4), nn.CrossEntropyLoss(), sgd)
    assert f"```\n{caught.value}\n```" in TEXT


def test_every_layer_is_in_the_table():
    layers = {name for row in rows(TEXT) for name in re.findall(r"`(\w+)`", row[-1])}
    assert set(KINDS) <= layers
