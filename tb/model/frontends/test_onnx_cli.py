# SPDX-License-Identifier: Apache-2.0
"""The example of doc/onnx.md runs as it stands there; the commands import and export."""

import re
import shlex

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from gradcore.network import load
from gradcore.ops.kinds import KINDS
from tb.doc.documents import FENCE, rows
from tb.model.cli.test_cli import dataset
from tb.model.cli.test_weights import SMALL

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: the extra [onnx]")

from gradcore import from_onnx  # noqa: E402
from tb.model.frontends.onnx_models import Graph  # noqa: E402
from tb.model.frontends.onnx_models import small as other  # noqa: E402

TEXT = (ROOT / "doc/onnx.md").read_text()
FAST = ["--backend", "reference", "--no-float32", "--epochs", "2"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with model.onnx, of ten classes of 8x8 pixels."""
    monkeypatch.chdir(tmp_path)
    ir.save(model(10), "model.onnx")
    return tmp_path


def model(classes, odd=""):
    graph = Graph((1, 8, 8), rng=np.random.default_rng(2))
    x = graph.op("Conv", graph.x, graph.weights(4, 1, 3, 3), graph.weights(4), pads=[1] * 4, name="/first/Conv")
    x = graph.op(odd, x, *(graph.const(np.ones(4)) for _ in range(4)), name="norm") if odd else x
    x = graph.op("MaxPool", graph.op("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    return graph.model(graph.op("Gemm", graph.op("Flatten", x), graph.weights(classes, 64), transB=1))


def words(path):
    """All weights of a model in a file."""
    return [value.const_value.numpy() for value in ir.load(path).graph.initializers.values()]


def test_the_commands_train(place):
    block = next(text for _, text in FENCE.findall(TEXT) if text.startswith("gradcore import"))
    lines = [shlex.split(line)[1:] for line in block.splitlines()]
    assert [cli.run([*line, *(FAST if line[0] == "train" else [])]) for line in lines] == [0, 0, 0]
    network = load("mine/net.toml")
    assert (network.name, network.loss, network.minibatch) == ("model", "softmax_cross_entropy", 32)
    assert [p.name for p in network.parameters][0] == "first_Conv" and network.learning_rate == 0.05
    assert all((a != b).any() for a, b in zip(words("model.onnx"), words("trained.onnx")))
    first, last = [text for kind, text in FENCE.findall(TEXT) if kind == "python"]
    exec(first + last, {})
    assert load("mine/net.toml").minibatch == 32


def test_an_import_trains_on_the_engine(place, capsys):
    """On the machine model, every word of every step as in the reference trainer."""
    dataset(place)
    ir.save(model(3), "three.onnx")
    given = ["--optimiser", "pytorch_momentum", "--weight-decay", "0.001", "--minibatch", "16", "--data-width", "12"]
    assert cli.run(["import", "three.onnx", "--out", "a b", "--rounding", "half_even", "--name", "x", *given]) == 0
    network = load("a b/net.toml")
    assert (network.name, network.optimiser, network.data_width) == ("x", "pytorch_momentum", 12)
    assert (network.weight_decay, network.minibatch, network.rounding) == (0.001, 16, "half_even")
    train = ["train", "a b/net.toml", "--weights", "a b/weights.npz", "--data", "data.npz", "--epochs", "1"]
    assert cli.run([*train, "--backend", "machine", "--engine", SMALL, "--check", "step", "--out", "run"]) == 0
    assert "weights equal: yes" in capsys.readouterr().out


def test_points_from_images(place, capsys):
    """import --data chooses them, and says which images do not fit."""
    dataset(place)
    ir.save(model(3), "three.onnx")
    assert cli.run(["import", "three.onnx", "--out", "mine", "--data", "data.npz"]) == 0
    assert cli.run(["import", "three.onnx", "--out", "guessed"]) == 0
    chosen, guessed = load("mine/net.toml"), load("guessed/net.toml")
    assert chosen.input_frac == 15 > guessed.input_frac and "momentum" in chosen.layers[0].formats
    again = from_onnx(
        "three.onnx", calibration=(np.load("data.npz")["x_train"][:, None], np.load("data.npz")["y_train"])
    )
    assert [layer.formats for layer in again.network.layers] == [layer.formats for layer in chosen.layers]
    train = ["train", "mine/net.toml", "--weights", "mine/weights.npz", "--data", "data.npz", "--out", "run"]
    assert cli.run([*train, *FAST]) == 0
    assert cli.run(["import", "model.onnx", "--out", "other", "--data", "digits"]) == 0
    capsys.readouterr()
    dataset(place, x_train=np.zeros((40, 9, 9)), x_test=np.zeros((10, 9, 9)))
    assert cli.run(["import", "three.onnx", "--out", "none", "--data", "data.npz"]) == cli.USER
    assert "error: --data data.npz: images of shape (40, 1, 9, 9)" in capsys.readouterr().err
    assert not (place / "none").exists()


def test_what_is_wrong(place, capsys):
    assert cli.run(["import", "nothing.onnx", "--out", "mine"]) == cli.USER
    assert capsys.readouterr().err == "error: nothing.onnx: cannot be read: No such file or directory\n"
    assert cli.run(["import", "model.onnx", "--out", "mine", "--loss", "hinge"]) == cli.USER
    assert "error: model.onnx: loss: 'hinge' is not supported" in capsys.readouterr().err
    assert not (place / "mine").exists()
    assert cli.run(["import", "model.onnx", "--out", "mine"]) == 0
    ir.save(other(), "other.onnx")
    assert cli.run(["export", "mine/weights.npz", "other.onnx", "--out", "out.onnx"]) == cli.USER
    assert "error: other.onnx: module 'first_Conv': " in capsys.readouterr().err
    assert not (place / "out.onnx").exists()


def test_the_refusal_is_the_one_shown():
    with pytest.raises(ValueError) as caught:
        from_onnx(model(3, "BatchNormalization"))
    assert f"```\n{caught.value}\n```" in TEXT


def test_every_layer_is_in_the_table():
    assert set(KINDS) <= {name for row in rows(TEXT) for name in re.findall(r"`(\w+)`", row[-1])}
