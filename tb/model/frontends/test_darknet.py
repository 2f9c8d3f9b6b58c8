# SPDX-License-Identifier: Apache-2.0
"""Darknet's .cfg and .weights: outputs and updates against plain loops written after Darknet's own, what is refused."""

import json
import struct

import numpy as np
import pytest

from gradcore import from_darknet
from gradcore.cli import main as cli
from gradcore.files.atomic import FileError
from gradcore.files.places import ROOT
from gradcore.frontends.errors import ModelError
from gradcore.network import load
from gradcore.reference.calibration import ImagesError
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.cli.test_cli import dataset
from tb.model.cli.test_weights import SMALL

NET = """[net]
batch=4
subdivisions=2
channels=2
height=7
width=6
learning_rate=0.05
momentum=0.8
decay=0.001
max_batches=100
"""
PLAIN = """
[convolutional]          # of a kind that Darknet's examples have
filters=4
size=3
pad=1
activation=leaky

[maxpool]
size=2
stride=2

[connected]
output=5
activation=tanh

[connected]
output=3
activation=linear

[softmax]
groups=1

[cost]
type=sse
"""
BRANCHED = """
[conv]
filters=4
size=3
stride=2
padding=1
groups=2
activation=logistic
[conv]
filters=4
size=1
activation=relu
[shortcut]
from=-2
activation=linear
[max]
size=3
stride=2
[avg]
[conn]
output=3
activation=linear
[cost]
"""
# Sections as (kind, layer with weights or None, parameter of what is done).
SHAPES = {"plain": [(4, 2, 3, 3), (5, 48), (3, 5)], "branched": [(4, 1, 3, 3), (4, 4, 1, 1), (3, 4)]}


def write(folder, name, rng, version=(0, 2, 0), more=0):
    """A .cfg and its .weights, whose tensors are returned as (bias, weight)."""
    tensors = [(rng.standard_normal(shape[0]), rng.standard_normal(shape) / 3) for shape in SHAPES[name]]
    tensors = [tuple(x.astype("<f4").astype(float) for x in pair) for pair in tensors]
    (folder / f"{name}.cfg").write_text(NET + {"plain": PLAIN, "branched": BRANCHED}[name])
    seen = struct.pack("<q" if version[0] * 10 + version[1] >= 2 else "<i", 1000)
    words = np.concatenate([x.ravel() for pair in tensors for x in pair]).astype("<f4").tobytes()
    (folder / f"{name}.weights").write_bytes(struct.pack("<3i", *version) + seen + words + b"\0" * more)
    return tensors


def conv(x, bias, weight, pad, stride=1, groups=1):
    """Darknet's convolution: sums over the rows of im2col, group by group, then the bias."""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    maps, c, k, _ = weight.shape
    rows, columns = ((n - k) // stride + 1 for n in x.shape[1:])
    out = np.empty((maps, rows, columns))
    for o in range(maps):
        first = o // (maps // groups) * c
        for i in range(rows):
            for j in range(columns):
                part = x[first : first + c, i * stride : i * stride + k, j * stride : j * stride + k]
                out[o, i, j] = (part * weight[o]).sum() + bias[o]
    return out


def maxpool(x, size, stride):
    """Darknet's: padding = size - 1, half of it, rounded down, before the map."""
    sizes = [(n + size - 1 - size) // stride + 1 for n in x.shape[1:]]
    out = np.full((len(x), *sizes), -np.inf)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            for di in range(size):
                for dj in range(size):
                    y, z = i * stride + di - (size - 1) // 2, j * stride + dj - (size - 1) // 2
                    if 0 <= y < x.shape[1] and 0 <= z < x.shape[2]:
                        out[:, i, j] = np.maximum(out[:, i, j], x[:, y, z])
    return out


def outputs(name, x, tensors):
    """(what the last layer reads, its sums) for one image."""
    (b0, w0), (b1, w1), (b2, w2) = tensors
    if name == "plain":
        z = conv(x, b0, w0, 1)
        a = np.tanh(w1 @ maxpool(np.where(z > 0, z, 0.1 * z), 2, 2).ravel() + b1)
    else:
        first = 1 / (1 + np.exp(-conv(x, b0, w0, 1, 2, 2)))
        second = np.maximum(conv(first, b1, w1, 0), 0)
        a = maxpool(first + second, 3, 2).mean(axis=(1, 2))
    return a, w2 @ a + b2


@pytest.mark.parametrize("name", ["plain", "branched"])
@pytest.mark.parametrize("version", [(0, 1, 0), (0, 2, 0), (0, 2, 5)])
def test_outputs_and_updates(tmp_path, name, version, rng):
    """Outputs, and two updates of the last layer as Darknet makes them: the decay of the weights alone differs."""
    tensors = write(tmp_path, name, rng, version)
    found = from_darknet(tmp_path / f"{name}.cfg", tmp_path / f"{name}.weights")
    assert found.network.minibatch == 4 and found.network.loss == (
        "euclidean" if name == "branched" else "softmax_cross_entropy"
    )
    trainer = FloatTrainer(found.network, 1, np.float64)
    trainer.state = [{key: values.copy() for key, values in layer.items()} for layer in found.real]
    x, labels = rng.uniform(-1, 1, (4, 2, 7, 6)), rng.integers(0, 3, 4)
    np.testing.assert_allclose(trainer.forward(x), [outputs(name, image, tensors)[1] for image in x], atol=1e-12)

    bias, weight = (values.copy() for values in tensors[-1])
    updates, bias_updates = np.zeros_like(weight), np.zeros_like(bias)
    for step in range(2):
        for image, label in zip(x, labels):
            read, sums = outputs(name, image, [*[as_pair(trainer, n, tensors) for n in range(2)], (bias, weight)])
            if name == "plain":
                sums = np.exp(sums) / np.exp(sums).sum()
            delta = np.eye(3)[label] - sums
            updates += np.outer(delta, read)
            bias_updates += delta
        # axpy(-decay * batch), axpy(learning_rate / batch), scal(momentum); biases too, which gradcore lets decay
        updates -= 0.001 * 4 * weight
        bias_updates -= 0.001 * 4 * bias
        trainer.step(x, labels, step)
        weight, bias = weight + 0.05 / 4 * updates, bias + 0.05 / 4 * bias_updates
        updates, bias_updates = 0.8 * updates, 0.8 * bias_updates
        np.testing.assert_allclose(trainer.state[-1]["weight"].reshape(weight.shape), weight, atol=1e-10)
        np.testing.assert_allclose(trainer.state[-1]["bias"], bias, atol=1e-10)
    assert any("decay" in note for note in found.notes)
    integers = ReferenceTrainer(found.network, 1, found.state)
    words = np.rint(x * 2.0**found.network.input_frac).astype(np.int64)
    real = integers.forward(words) * 2.0**-found.network.graph.output.frac
    np.testing.assert_allclose(real, [outputs(name, image, tensors)[1] for image in x], atol=0.05)


def as_pair(trainer, index, tensors):
    """Bias and weight of a layer as the trainer has them now."""
    state = trainer.state[index]
    return state["bias"], state["weight"].reshape(tensors[index][1].shape)


def test_schedules(tmp_path):
    def schedule(lines, images=None):
        (tmp_path / "a.cfg").write_text(NET + lines + PLAIN)
        return from_darknet(tmp_path / "a.cfg", images=images).network.schedule

    found = schedule("policy=steps\nsteps=20,50\nscales=.1,.5\n", images=40)
    assert found.epochs == (2, 5) and found.factors == pytest.approx((0.1, 0.05))
    found = schedule("policy=step\nstep=30\nscale=.5\n", images=40)
    assert (found.every, found.factor) == (3, 0.5)
    with pytest.raises(ModelError, match="25 batches is no whole epoch of 10; nearest supported: 20"):
        schedule("policy=steps\nsteps=25\nscales=.1\n", images=40)
    with pytest.raises(ModelError, match="counts batches; nearest supported: images=N"):
        schedule("policy=steps\nsteps=20\nscales=.1\n")


@pytest.mark.parametrize(
    "change, said",
    [
        (("activation=leaky", "activation=mish"), r"line 12.*\[convolutional\]: activation=mish.*leaky"),
        (
            ("filters=4", "filters=4\nbatch_normalize=1"),
            "batch_normalize=1 is not supported; nearest supported: batch_norm",
        ),
        (("filters=4", "filters=4\nfilters=5"), "filters stands twice, the second time in line"),
        (("filters=4", "filters=4.5"), "filters=4.5 is no integer"),
        (("filters=4", "filters=x"), "filters=x is no number"),
        (("filters=4", "filters=nan"), "filters=nan is no number"),
        (("filters=4", "filters=4\nwhatever=1"), "whatever: is not supported"),
        (("filters=4", "filters 4"), "'filters 4' is neither"),
        (("size=3", "size=13"), r"\[convolutional\]: kernel"),
        (("[maxpool]", "[route]"), r"line 18.*\[route\]: is not supported; nearest supported: one of \[conv"),
        (("stride=2", "stride=2\npadding=5"), r"\[maxpool\]: "),
        (("groups=1", "groups=2"), "groups=2 is not supported"),
        (("type=sse", "type=L1"), "type=L1"),
        (("[cost]\ntype=sse", "[dropout]"), "stands behind the softmax"),
        (("[softmax]\ngroups=1\n\n[cost]\ntype=sse", ""), "ends without a loss"),
        (("height=7", "height=0"), "channels, height and width"),
        (("momentum=0.8", "momentum=0.8\npolicy=poly"), "policy=poly"),
        (("momentum=0.8", "momentum=0.8\nburn_in=10"), "burn_in=10"),
        (("momentum=0.8", "momentum=1.8"), "momentum"),
        (("[softmax]", "[shortcut]\nfrom=-3\n[softmax]"), "adds maps of 4x4x3 and 3x1x1"),
        (("[softmax]", "[shortcut]\nfrom=9\n[softmax]"), "from=9 is no section before it"),
    ],
)
def test_refuses(tmp_path, change, said):
    assert change[0] in NET + PLAIN
    (tmp_path / "a.cfg").write_text((NET + PLAIN).replace(*change, 1))
    with pytest.raises(ModelError, match=said):
        from_darknet(tmp_path / "a.cfg")


def test_the_refusal_is_the_one_shown(tmp_path):
    (tmp_path / "a.cfg").write_text((NET + PLAIN).replace("filters=4", "filters=4\nbatch_normalize=1"))
    with pytest.raises(ModelError) as caught:
        from_darknet(tmp_path / "a.cfg")
    assert f"```\n{caught.value}\n```" in (ROOT / "doc/darknet.md").read_text()


def test_files_that_do_not_fit(tmp_path, rng):
    tensors = write(tmp_path, "plain", rng)
    cfg, file = tmp_path / "plain.cfg", tmp_path / "plain.weights"
    words = sum(x.size for pair in tensors for x in pair)
    good = file.read_bytes()
    for data, said in (
        (good[:-4], f"has {words - 1} words where the .cfg has {words}"),
        (good + b"1234", f"has more words where the .cfg has {words}"),
        (good[:8], "has no header"),
        (struct.pack("<3i", 1001, 0, 0) + good[12:], "version 1001.0"),
        (good[:-4] + struct.pack("<f", np.nan), f"1 of {words} words are infinite or NaN"),
    ):
        file.write_bytes(data)
        with pytest.raises(FileError, match=said):
            from_darknet(cfg, file)
    with pytest.raises(FileError, match="cannot be read"):
        from_darknet(cfg, tmp_path / "none.weights")
    for text in ("", "[connected]\noutput=3\n", "\xff"):
        (tmp_path / "b.cfg").write_bytes(text.encode("latin-1"))
        with pytest.raises(FileError, match="is no .cfg of Darknet"):
            from_darknet(tmp_path / "b.cfg")
    with pytest.raises(ImagesError):
        from_darknet(cfg, calibration=(np.zeros((3, 1, 7, 6)), np.zeros(3, int)))
    (tmp_path / "c.cfg").write_text(NET + "hue=.1\nangle=0\n" + PLAIN)
    assert from_darknet(tmp_path / "c.cfg").notes[0] == "[net]: hue: the data are taken as they are"


def test_the_command(tmp_path, monkeypatch, capsys):
    """Imported, calibrated and trained on the machine model, every word as in the reference."""
    monkeypatch.chdir(tmp_path)
    dataset(tmp_path)
    (tmp_path / "a.cfg").write_text(
        (NET + PLAIN).replace("channels=2\nheight=7\nwidth=6", "channels=1\nheight=8\nwidth=8")
    )
    assert cli.run(["import", "a.cfg", "--out", "mine", "--data", "data.npz", "--minibatch", "8"]) == 0
    network = load("mine/net.toml")
    assert network.minibatch == 8 and network.name == "a" and "momentum" in network.layers[0].formats
    train = ["train", "mine/net.toml", "--weights", "mine/weights.npz", "--data", "data.npz", "--epochs", "1"]
    assert cli.run([*train, "--backend", "machine", "--engine", SMALL, "--check", "step", "--out", "run"]) == 0
    assert json.loads((tmp_path / "run/report.json").read_text())["differing_words"] == 0
    capsys.readouterr()
    for words, said in (
        (["a.cfg", "--loss", "euclidean"], "--loss: a.cfg says it"),
        (["a.cfg", "--weights", "none.weights"], "none.weights: cannot be read"),
        (["a.onnx", "--images", "3"], "--images: goes with a .cfg"),
        (["none.cfg"], "none.cfg: cannot be read"),
    ):
        assert cli.run(["import", *words, "--out", "other"]) == cli.USER
        assert said in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
