# SPDX-License-Identifier: Apache-2.0
"""ONNX models that are imported: outputs against ONNX's reference evaluator, weights word for word; the way back."""

import numpy as np
import pytest

from gradcore.files.atomic import FileError
from gradcore.frontends.errors import ModelError
from gradcore.host import model_file
from gradcore.network import load
from gradcore.network.schedule import Step
from gradcore.numerics.fixed_point import Format, quantize
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: the extra [onnx]")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402

from gradcore import from_onnx, to_onnx  # noqa: E402
from tb.model.frontends.onnx_models import Graph, random_model, small  # noqa: E402

BOUND = {"FLOAT": 1e-5, "DOUBLE": 1e-12, "FLOAT16": 1e-2}  # of the largest output
LEAST = 1e-6  # a slope is float32 in ONNX


class MaxPool(OpRun):
    """From ONNX's text: the evaluator's own takes pads of one axis for those of the other."""

    def _run(self, x, auto_pad="NOTSET", ceil_mode=0, kernel_shape=(), pads=(), strides=(), **_):
        top, left, bottom, right = pads or (0, 0, 0, 0)
        shape, strides = (x.shape[2] + top + bottom, x.shape[3] + left + right), strides or (1, 1)
        padded = np.full((*x.shape[:2], shape[0] + 9, shape[1] + 9), -np.inf)  # ceil_mode reads behind the pads
        padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
        counts = [(n - k + (s - 1 if ceil_mode else 0)) // s + 1 for n, k, s in zip(shape, kernel_shape, strides)]
        found = np.empty((*x.shape[:2], *counts), x.dtype)
        for row, column in np.ndindex(*counts):
            y, z = row * strides[0], column * strides[1]
            found[:, :, row, column] = padded[:, :, y : y + kernel_shape[0], z : z + kernel_shape[1]].max(axis=(2, 3))
        return (found,)


def evaluated(model, x):
    """What ONNX says that a model computes."""
    first = model.graph.inputs[0]
    evaluator = ReferenceEvaluator(ir.to_proto(model), new_ops=[MaxPool])
    x = x.reshape(len(x), *list(first.shape)[1:]).astype(first.dtype.numpy())
    (found,) = evaluator.run(None, {first.name: x})
    return found.astype(np.float64)


def forward(found, x):
    """What the float trainer computes, and what belongs to the loss in the model."""
    trainer = FloatTrainer(found.network, 1, np.float64)
    trainer.state = [dict(layer) for layer in found.real]
    z = trainer.forward(x).reshape(len(x), -1)
    kind = found.model.graph.outputs[0].producer().op_type
    if kind not in ("Softmax", "LogSoftmax"):
        return z
    z = z - z.max(axis=1, keepdims=True)
    log = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return log if kind == "LogSoftmax" else np.exp(log)


def compare(model, rng):
    found = from_onnx(model)
    x = rng.uniform(-1, 1, (2, *found.network.shape))
    want = evaluated(model, x)
    ours, bound = forward(found, x), max(BOUND[model.graph.inputs[0].dtype.name], LEAST)
    assert ours.shape == want.reshape(2, -1).shape
    assert np.abs(ours - want.reshape(ours.shape)).max() <= bound * max(1, np.abs(want).max())
    return found


@pytest.mark.parametrize("number", range(60))
def test_random_models(number, rng):
    """Outputs; and the same model with rounded weights, by way of a file."""
    model, shape = random_model(rng)
    found = compare(model, rng)
    assert found.network.shape == shape
    found.to_onnx()
    again = compare(model, rng)
    for p, ours, theirs in zip(found.network.parameters, found.state, again.state, strict=True):
        assert all((ours[key] == theirs[key]).all() for key in ours), p.name


def chain(shape, *operators, words, **options):
    """A model of operators with one input, behind each other, and a matrix product."""
    graph = Graph(shape, **options)
    x = graph.x
    for kind, given in operators:
        x = graph.op(kind, x, **given)
    return graph.model(graph.op("Gemm", graph.op("Flatten", x), graph.weights(3, words), transB=1))


def mean(keepdims, opset):
    graph = Graph((2, 3, 5), opset=opset)
    axes = {"axes": [-2, -1]} if opset < 18 else {}
    inputs = [] if axes else [graph.const(np.int64([3, 2]))]
    x = graph.op("ReduceMean", graph.x, *inputs, keepdims=keepdims, **axes)
    x = graph.op("Flatten", x) if keepdims else x
    return graph.model(graph.op("Gemm", x, graph.weights(3, 2), transB=1))


def squeezed(opset):
    graph = Graph((2, 3, 3), opset=opset)
    x = graph.op("GlobalAveragePool", graph.x)
    x = graph.op("Squeeze", x, axes=[2, 3]) if opset < 13 else graph.op("Squeeze", x, graph.const(np.int64([2, 3])))
    return graph.model(graph.op("MatMul", x, graph.weights(2, 4)))


def reshaped(sizes):
    graph = Graph((2, 2, 3), batch=2)
    x = graph.op("Reshape", graph.x, graph.const(np.int64(sizes)))
    return graph.model(graph.op("MatMul", x, graph.weights(12, 4)))


def viewed(opset, batch="N", words=-1):
    """As PyTorch exports x.view(x.size(0), -1)."""
    graph = Graph((2, 2, 3), opset=opset, batch=batch)
    size = graph.op("Gather", graph.op("Shape", graph.x), graph.const(np.int64(0), node=True), axis=0)
    axes = {"axes": [0]} if opset < 13 else {}
    size = graph.op("Unsqueeze", size, *([] if axes else [graph.const(np.int64([0]))]), **axes)
    x = graph.op("Reshape", graph.x, graph.op("Concat", size, graph.const(np.int64([words])), axis=0))
    return graph.model(graph.op("MatMul", x, graph.weights(12, 4)))


def matrices():
    """A model of rows of words."""
    graph = Graph((5,))
    x = graph.op("Relu", graph.op("Gemm", graph.x, graph.weights(4, 5), graph.weights(4), transB=1))
    return graph.model(graph.op("Gemm", graph.op("Identity", x), graph.op("Identity", graph.weights(4, 3))))


def ceiling(stride, size=6):
    given = dict(kernel_shape=[3, 3], strides=[stride] * 2, ceil_mode=1)
    rows = -(-(size - 3) // stride) + 1
    return chain((2, size, size), ("MaxPool", given), words=2 * rows * rows)


MODELS = {
    "small": small,
    "halves": lambda: small(dtype=np.float16),
    "old": lambda: small(opset=7),
    "fixed batch": lambda: small(batch=2),
    "softmax": lambda: small(lambda graph, x: graph.op("Softmax", x)),
    "identity behind softmax": lambda: small(lambda graph, x: graph.op("LogSoftmax", graph.op("Identity", x), axis=-1)),
    "mean": lambda: mean(1, 13),
    "mean without axes": lambda: mean(0, 20),
    "squeeze": lambda: squeezed(11),
    "squeeze by an input": lambda: squeezed(13),
    "matrices": matrices,
    "ceil mode": lambda: ceiling(2),
    "ceil mode, whole": lambda: ceiling(3),
    "valid": lambda: chain((1, 5, 6), ("MaxPool", dict(kernel_shape=[2, 3], auto_pad="VALID")), words=16),
    "reshape of a fixed batch": lambda: reshaped([2, -1]),
    "reshape of words": lambda: reshaped([-1, 12]),
    "computed sizes": lambda: viewed(11),
    "computed sizes, later": lambda: viewed(18, words=12),
    "computed sizes of a fixed batch": lambda: viewed(18, 2),
    "leaky": lambda: chain((1, 2, 3), ("LeakyRelu", {}), words=6),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name, rng):
    compare(MODELS[name](), rng)


def test_weights_are_those_of_the_model():
    model = small()
    held = {name: value.const_value.numpy() for name, value in model.graph.initializers.items()}
    found = from_onnx(model)
    assert [p.name for p in found.network.parameters] == ["conv", "fc"]
    for p, layer in zip(found.network.parameters, found.real):
        for key in ("weight", "bias"):
            assert (layer[key].reshape(held[f"{p.name}.{key}"].shape) == held[f"{p.name}.{key}"]).all()


def test_files(tmp_path):
    """A model in a file; what is saved is what was imported, and comes back; the file of the model stays."""
    path = tmp_path / "model.onnx"
    ir.save(small(), path)
    before = path.read_bytes()
    found = from_onnx(path, minibatch=16, optimiser="sgd", learning_rate=0.5, schedule=Step(every=3), name="mine")
    found.save(tmp_path)
    network, kept = load(tmp_path / "net.toml"), model_file.read(tmp_path / "weights.npz")
    assert network == found.network and (network.minibatch, network.schedule.every) == (16, 3)
    assert all((a[key] == b[key]).all() for a, b in zip(found.state, kept.state, strict=True) for key in a)
    to_onnx(tmp_path / "weights.npz", path, tmp_path / "out.onnx")
    assert path.read_bytes() == before
    again = from_onnx(tmp_path / "out.onnx")
    assert all((a[key] == b[key]).all() for a, b in zip(found.state, again.state, strict=True) for key in a)
    for theirs, ours in zip(found.real, again.real):
        assert all(np.abs(theirs[key] - ours[key]).max() <= 2.0**-14 for key in theirs)
    from_onnx(ir.to_proto(small()))


def test_initialisers_that_are_inputs():
    """As models before version 4 of the file format have them."""
    proto = ir.to_proto(small())
    for held in proto.graph.initializer:
        declared = proto.graph.input.add(name=held.name)
        declared.type.tensor_type.elem_type = held.data_type
    proto.ir_version = 3
    found = from_onnx(proto)
    assert all((a[key] == b[key]).all() for a, b in zip(found.state, from_onnx(small()).state) for key in a)


def test_external_data(tmp_path):
    """Also that of a shape, which no training changes."""
    ir.save(reshaped([-1, 12]), tmp_path / "model.onnx", external_data="words", size_threshold_bytes=0)
    found, same = from_onnx(tmp_path / "model.onnx"), from_onnx(reshaped([-1, 12]))
    assert all((a[key] == b[key]).all() for a, b in zip(found.state, same.state) for key in a)
    found.save(tmp_path)
    to_onnx(tmp_path / "weights.npz", tmp_path / "model.onnx", tmp_path / "whole.onnx")
    (tmp_path / "words").unlink()
    from_onnx(tmp_path / "whole.onnx")
    with pytest.raises(ModelError, match="'constant.' cannot be read"):
        from_onnx(tmp_path / "model.onnx")


def test_trained_weights_come_back(rng):
    """What the reference has trained predicts the same in ONNX."""
    model = small()
    found = from_onnx(model, minibatch=4, learning_rate=0.1)
    trainer, x = ReferenceTrainer(found.network, 1, found.state), rng.uniform(-1, 1, (4, 1, 4, 4))
    words = quantize(x, Format(16, found.network.input_frac))
    before = evaluated(model, x)
    for iteration in range(3):
        trainer.step(words, [0, 1, 2, 0], iteration)
    found.to_onnx(trainer.weights())
    ours = trainer.forward(words).reshape(4, 3) * 2.0**-found.network.graph.output.frac
    assert np.abs(ours - evaluated(model, x)).max() < 0.01 < np.abs(ours - before).max()


def test_weights_of_another_model(tmp_path):
    from_onnx(small()).save(tmp_path)
    with pytest.raises(ModelError, match="module 'conv': .*weight of shape .2, 1, 3, 3. finds nothing"):
        to_onnx(tmp_path / "weights.npz", matrices())
    other = small()
    other.graph.initializers["fc.weight"].const_value = ir.tensor(np.zeros((5, 8), "f4"))
    other.graph.initializers["fc.bias"].const_value = ir.tensor(np.zeros(5, "f4"))
    kept = other.graph.initializers["conv.weight"].const_value
    with pytest.raises(ModelError, match=r"module 'fc': .*weight of shape \(3, 2, 2, 2\) finds the shape \(5, 8\)"):
        to_onnx(tmp_path / "weights.npz", other)
    assert other.graph.initializers["conv.weight"].const_value is kept
    with pytest.raises(FileError):
        to_onnx(tmp_path / "net.toml", small())


@pytest.mark.parametrize("opset", [7, 12])
def test_dropout(opset):
    graph = Graph((1, 2, 2), opset=opset)
    given = [[], {"ratio": 0.3}] if opset < 12 else [[graph.const(0.3), graph.const(np.bool_(False))], {}]
    x = graph.op("Flatten", graph.op("Dropout", graph.op("Dropout", graph.x, *given[0], **given[1])))
    found = from_onnx(graph.model(graph.op("MatMul", x, graph.weights(4, 3))))
    assert [layer.p for layer in found.network.layers[:2]] == [0.3, 0.5]


def test_weights_that_do_not_fit_get_a_format():
    model = small(lambda graph, x: graph.op("Softmax", x))
    model.graph.initializers["fc.bias"].const_value = ir.tensor(np.array([1, -20, 3], "f4"))
    found = from_onnx(model)
    assert [p.fb for p in found.network.parameters] == [13, 10]
    assert [note.partition(":")[0] for note in found.notes] == ["node 'node_Softmax_4'", "layer 'fc'"]
