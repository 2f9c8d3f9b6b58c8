# SPDX-License-Identifier: Apache-2.0
"""Caffe's .prototxt, solver and .caffemodel: outputs and updates against plain loops written after Caffe's own."""

import json

import numpy as np
import pytest

from gradcore import from_caffe
from gradcore.cli import main as cli
from gradcore.frontends.caffe_proto import MESSAGES, _message
from gradcore.frontends.errors import ModelError
from gradcore.network import load
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.cli.test_cli import dataset
from tb.model.cli.test_weights import SMALL
from tb.model.frontends.test_darknet import conv

DATA = """name: "chain"
layer {
  name: "images" type: "Data" top: "data" top: "label"
  include { phase: TRAIN }
  data_param { source: "train" batch_size: 4 backend: LMDB }
}
layer { name: "images" type: "Data" top: "data" top: "label" include { phase: TEST } }
"""
CHAIN = (
    DATA
    + """
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 1 decay_mult: 1 }
  convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } }
}
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" relu_param { negative_slope: 0.125 } }
layer {
  name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 2 }
}
layer {
  name: "ip1" type: "InnerProduct" bottom: "pool1" top: "ip1"
  inner_product_param { num_output: 5 }
}
layer { name: "tanh1" type: "TanH" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 3 bias_term: false } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""
)
BRANCHED = """name: "branched"
input: "data"
input_dim: 4 input_dim: 2 input_dim: 7 input_dim: 6
layer { name: "a" type: "Convolution" bottom: "data" top: "a"
  convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad: 1 group: 2 } }
layer { name: "a/s" type: "Sigmoid" bottom: "a" top: "s" }
layer { name: "b" type: "Convolution" bottom: "s" top: "b" convolution_param { num_output: 4 kernel_h: 1 kernel_w: 1 } }
layer { name: "sum" type: "Eltwise" bottom: "s" bottom: "b" top: "sum" eltwise_param { operation: SUM } }
layer { name: "mean" type: "Pooling" bottom: "sum" top: "mean" pooling_param { pool: AVE global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "mean" top: "ip" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "HingeLoss" bottom: "ip" bottom: "label" top: "loss" hinge_loss_param { norm: L2 } }
"""
SOLVER = """net: "train.prototxt"
base_lr: 0.05 momentum: 0.8 weight_decay: 0.001 lr_policy: "fixed"
max_iter: 100 snapshot: 50 snapshot_prefix: "x" solver_mode: CPU type: "SGD"
"""
NETS = {"chain": CHAIN, "branched": BRANCHED.replace('bottom: "label"', "")}
SHAPES = {
    "chain": {"conv1": (4, 2, 3, 3), "ip1": (5, 36), "ip2": (3, 5)},
    "branched": {"a": (4, 1, 3, 3), "b": (4, 4, 1, 1), "ip": (3, 4)},
}
SIZE = (2, 7, 6)


def write(folder, name, rng):
    """Network, solver and .caffemodel; the tensors by layer as (weight, bias or None)."""
    net = _message("NetParameter")()
    tensors = {}
    for layer, shape in SHAPES[name].items():
        weight = (rng.standard_normal(shape) / 3).astype("<f4").astype(float)
        bias = rng.standard_normal(shape[0]).astype("<f4").astype(float) if layer != "ip2" else None
        tensors[layer], entry = (weight, bias), net.layer.add(name=layer)
        for values in (weight, bias):
            if values is not None:
                blob = entry.blobs.add(data=values.ravel())
                blob.shape.dim.extend(values.shape)
    net.layer.add(name="elsewhere").blobs.add(data=[1.0])  # another layer's words are nobody's business
    (folder / "net.caffemodel").write_bytes(net.SerializeToString())
    (folder / "net.prototxt").write_text(NETS[name])
    (folder / "solver.prototxt").write_text(SOLVER)
    return tensors


def maxpool(x, size, stride):
    """Caffe's, without padding: as many windows as begin in the map when the size is rounded up, cut at its edge."""
    sizes = [-(-(n - size) // stride) + 1 for n in x.shape[1:]]
    out = np.empty((len(x), *sizes))
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            out[:, i, j] = x[:, i * stride : i * stride + size, j * stride : j * stride + size].max(axis=(1, 2))
    return out


def outputs(name, x, tensors):
    """(what the last layer reads, its sums) for one image."""
    if name == "chain":
        weight, bias = tensors["conv1"]
        z = conv(x, bias, weight, 1)
        weight, bias = tensors["ip1"]
        a = np.tanh(weight @ maxpool(np.where(z > 0, z, 0.125 * z), 3, 2).ravel() + bias)
        return a, tensors["ip2"][0] @ a
    weight, bias = tensors["a"]
    first = 1 / (1 + np.exp(-conv(x, bias, weight, 1, 2, 2)))
    weight, bias = tensors["b"]
    a = (first + conv(first, bias, weight, 0)).mean(axis=(1, 2))
    return a, tensors["ip"][0] @ a + tensors["ip"][1]


@pytest.mark.parametrize("name", NETS)
def test_outputs_and_updates(tmp_path, name, rng):
    """Outputs, and two updates of the last layer as Caffe makes them."""
    tensors = write(tmp_path, name, rng)
    files = [tmp_path / file for file in ("net.prototxt", "solver.prototxt", "net.caffemodel")]
    found = from_caffe(*files, input_shape=SIZE if name == "chain" else None)
    network = found.network
    assert (network.minibatch, network.name, network.shape) == (4, "net", SIZE)
    trainer = FloatTrainer(network, 1, np.float64)
    trainer.state = [{key: values.copy() for key, values in layer.items()} for layer in found.real]
    x, labels = rng.uniform(-1, 1, (4, *SIZE)), rng.integers(0, 3, 4)
    np.testing.assert_allclose(trainer.forward(x), [outputs(name, image, tensors)[1] for image in x], atol=1e-12)

    last = [*tensors][-1]
    weight, bias = (np.zeros(3) if values is None else values.copy() for values in tensors[last])
    history, bias_history = np.zeros_like(weight), np.zeros_like(bias)
    for step in range(2):
        gradient, bias_gradient = np.zeros_like(weight), np.zeros_like(bias)
        now = {layer: as_pair(trainer, n, pair) for n, (layer, pair) in enumerate(tensors.items())}
        now[last] = weight, bias
        for image, label in zip(x, labels):
            read, sums = outputs(name, image, now)
            if name == "chain":  # softmax_loss_layer: probabilities, less one for the label
                diff = np.exp(sums) / np.exp(sums).sum() - np.eye(3)[label]
            else:  # hinge_loss_layer, L2: max(0, 1 - sign * score), times sign, twice
                sign = np.where(np.arange(3) == label, -1, 1)
                diff = 2 * sign * np.maximum(0, 1 + sign * sums)
            gradient += np.outer(diff, read) / 4
            bias_gradient += diff / 4
        # sgd_solver: regularise, then history = momentum * history + rate * diff, data -= history
        history = 0.8 * history + 0.05 * (gradient + 0.001 * weight)
        bias_history = 0.8 * bias_history + 0.05 * (bias_gradient + 0.001 * bias)
        trainer.step(x, labels, step)
        weight, bias = weight - history, bias - bias_history
        np.testing.assert_allclose(trainer.state[-1]["weight"].reshape(weight.shape), weight, atol=1e-10)
        if tensors[last][1] is not None:
            np.testing.assert_allclose(trainer.state[-1]["bias"], bias, atol=1e-10)
    integers = ReferenceTrainer(network, 1, found.state)
    words = np.rint(x * 2.0**network.input_frac).astype(np.int64)
    real = integers.forward(words) * 2.0**-network.graph.output.frac
    np.testing.assert_allclose(real, [outputs(name, image, tensors)[1] for image in x], atol=0.05)


def as_pair(trainer, index, pair):
    """Weight and bias of a layer as the trainer has them now."""
    state = trainer.state[index]
    return state["weight"].reshape(pair[0].shape), state["bias"]


def read(folder, net=CHAIN, solver=None, **more):
    (folder / "net.prototxt").write_text(net)
    if solver is not None:
        (folder / "solver.prototxt").write_text(solver)
        more["solver"] = folder / "solver.prototxt"
    return from_caffe(folder / "net.prototxt", **{"input_shape": SIZE} | more)


def test_schedules(tmp_path):
    def schedule(policy, images=40):
        return read(tmp_path, solver=SOLVER.replace('lr_policy: "fixed"', policy), images=images).network.schedule

    found = schedule('lr_policy: "multistep" gamma: 0.1 stepvalue: 20 stepvalue: 50')
    assert found.epochs == (2, 5) and found.factors == pytest.approx((0.1, 0.01))
    found = schedule('lr_policy: "step" gamma: 0.5 stepsize: 30')
    assert (found.every, found.factor) == (3, 0.5)
    found = schedule('lr_policy: "step" gamma: 0.5 stepsize: 10 iter_size: 2')
    assert found.every == 2
    with pytest.raises(ModelError, match="solver: a step after 25 .* no whole epoch of 10; nearest supported: 20"):
        schedule('lr_policy: "step" gamma: 0.5 stepsize: 25')
    with pytest.raises(ModelError, match="'step' counts iterations; nearest supported: images=N"):
        schedule('lr_policy: "step" gamma: 0.5 stepsize: 25', None)


def test_rates_of_layers(tmp_path):
    text = CHAIN.replace("param { lr_mult: 1 decay_mult: 1 } param", "param { lr_mult: 0.5 } param")
    found = read(tmp_path, text, SOLVER)
    assert found.network.layers[0].learning_rate == pytest.approx(0.025) and found.network.layers[0].trainable
    assert "layer 'conv1': lr_mult of the bias is that of the weights, 0.5, not 1" in found.notes
    text = CHAIN.replace("param { lr_mult: 1 decay_mult: 1 }", "param { lr_mult: 0 }")
    assert not read(tmp_path, text).network.layers[0].trainable
    text = CHAIN.replace("param { lr_mult: 1 decay_mult: 1 }\n", "param { decay_mult: 0 }\n")
    assert "layer 'conv1': the bias decays as the weights do" in read(tmp_path, text, SOLVER).notes
    assert not any("decays" in note for note in read(tmp_path, text).notes)
    with pytest.raises(ModelError, match="layer 'conv1': decay_mult: 0 of weights"):
        read(tmp_path, CHAIN.replace("lr_mult: 1 decay_mult: 1 } param", "decay_mult: 0 } param"), SOLVER)


def test_what_the_training_is_without_a_solver(tmp_path):
    network = read(tmp_path, learning_rate=0.25, momentum=0.5, minibatch=7, weight_decay=0.01).network
    assert (network.learning_rate, network.momentum, network.minibatch, network.weight_decay) == (0.25, 0.5, 7, 0.01)


def test_sizes_of_the_input(tmp_path):
    layer = 'layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 9 dim: 2 dim: 7 dim: 6 } } }\n'
    found = read(tmp_path, layer + CHAIN[len(DATA) :], input_shape=None).network
    assert (found.shape, found.minibatch) == (SIZE, 9)
    layer = (
        'layer { name: "in" type: "MemoryData" top: "data" top: "label" '
        "memory_data_param { batch_size: 6 channels: 2 height: 7 width: 6 } transform_param { scale: 0.5 } }\n"
    )
    found = read(tmp_path, layer + CHAIN[len(DATA) :], input_shape=None)
    assert (found.network.shape, found.network.minibatch) == (SIZE, 6)
    assert "layer 'in': scale: the data are taken as they are" in found.notes


@pytest.mark.parametrize(
    "rule, there",
    [
        ("include { phase: TRAIN }", True),
        ("include { phase: TEST }", False),
        ("include { phase: TEST } include { phase: TRAIN }", True),
        ('include { stage: "deploy" }', False),
        ('include { not_stage: "deploy" }', True),
        ("include { min_level: 1 }", False),
        ("exclude { phase: TRAIN }", False),
        ("exclude { phase: TEST }", True),
        ('exclude { stage: "deploy" }', True),
    ],
)
def test_layers_of_the_training(tmp_path, rule, there):
    names = [x.name for x in read(tmp_path, CHAIN.replace('name: "tanh1"', f'name: "tanh1" {rule}')).network.layers]
    assert ("tanh1" in names) == there


def test_messages_are_whole():
    """Every message that a field names is there, and no number stands twice."""
    for kind, fields in MESSAGES.items():
        numbers = [words.split()[1] for words in fields.split(", ")]
        assert len(set(numbers)) == len(numbers), kind
        assert _message(kind)()


def test_the_command(tmp_path, monkeypatch, capsys):
    """Imported, calibrated and trained on the machine model, every word as in the reference."""
    monkeypatch.chdir(tmp_path)
    dataset(tmp_path)
    (tmp_path / "a.prototxt").write_text(CHAIN)
    (tmp_path / "s.prototxt").write_text(SOLVER)
    words = ["import", "a.prototxt", "--solver", "s.prototxt", "--input", "1,8,8", "--minibatch", "8"]
    assert cli.run([*words, "--data", "data.npz", "--out", "mine"]) == 0
    network = load("mine/net.toml")
    assert network.minibatch == 8 and network.name == "a" and "momentum" in network.layers[0].formats
    train = ["train", "mine/net.toml", "--weights", "mine/weights.npz", "--data", "data.npz", "--epochs", "1"]
    assert cli.run([*train, "--backend", "machine", "--engine", SMALL, "--check", "step", "--out", "run"]) == 0
    assert json.loads((tmp_path / "run/report.json").read_text())["differing_words"] == 0
    capsys.readouterr()
    for words, said in (
        (["a.prototxt", "--loss", "euclidean"], "--loss: a.prototxt says it"),
        (["a.prototxt", "--solver", "s.prototxt", "--momentum", "0.5"], "--momentum: s.prototxt says it"),
        (["a.prototxt", "--input", "1,8"], "--input: '1,8' is not MAPS,ROWS,COLUMNS"),
        (["a.prototxt", "--input", "1,8,8", "--weights", "none"], "none: cannot be read"),
        (["a.cfg", "--solver", "s.prototxt"], "--solver: goes with a .prototxt alone"),
        (["a.onnx", "--weights", "x"], "--weights: goes with a .cfg or .prototxt alone"),
    ):
        assert cli.run(["import", *words, "--out", "other"]) == cli.USER
        assert said in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
