# SPDX-License-Identifier: Apache-2.0
"""What is refused of an ONNX model, by node, operator and nearest supported form: nothing is dropped."""

import numpy as np
import pytest

from gradcore.files.atomic import FileError
from gradcore.frontends.errors import ModelError

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: the extra [onnx]")

from gradcore import from_onnx  # noqa: E402
from tb.model.frontends.onnx_models import Graph, small  # noqa: E402

WINDOW = {"kernel_shape": [2, 2], "strides": [2, 2]}


def behind(kind, *constants, words=32, **attributes):
    """A model with one operator of 2 maps of 4x4 behind a convolution."""
    outputs = attributes.pop("outputs", 1)
    domain, opset = attributes.pop("domain", ""), attributes.pop("opset", 20)
    graph = Graph((2, 4, 4), opset=opset)
    x = graph.op("Conv", graph.x, graph.weights(2, 2, 1, 1, name="conv.weight"), graph.weights(2), name="first")
    inputs = [graph.const(array) for array in constants]
    x = graph.op(kind, x, *inputs, name="odd", outputs=outputs, domain=domain, **attributes)
    return end(graph, x, words)


def end(graph, x, words):
    return graph.model(graph.op("Gemm", graph.op("Flatten", x), graph.weights(3, words), transB=1, name="last"))


def conv(shape=(3, 2, 3, 3), words=12, dtype=None, **attributes):
    graph = Graph((2, 4, 4))
    weight = graph.weights(*shape, name="kernel")
    if dtype:
        weight.const_value = ir.tensor(weight.const_value.numpy().astype(dtype))
    return end(graph, graph.op("Conv", graph.x, weight, name="odd", **attributes), words)


def gemm(rows=3, columns=8, bias=3, **attributes):
    def more(graph, x):
        x = graph.op("Gemm", x, graph.weights(rows, columns), graph.weights(bias), name="odd", **attributes)
        return x

    return small(more)


def spoiled(value, name="conv.weight"):
    model = small()
    held = model.graph.initializers[name]
    array = held.const_value.numpy().copy()
    array.flat[1] = value
    held.const_value = ir.tensor(array)
    return model


def of(build, shape=(2, 4, 4), **options):
    graph = Graph(shape, **options)
    return graph.model(*build(graph))


def shared(graph):
    weight = graph.weights(2, 2, 1, 1, name="same")
    x = graph.op("Conv", graph.op("Conv", graph.x, weight), weight, name="odd")
    return [graph.op("Flatten", x)]


def biases(graph, first=(2, 1, 1), others=False, act=False):
    x = graph.op("Conv", graph.x, graph.weights(2, 2, 1, 1), *([] if others or act else [graph.weights(2)]))
    x = graph.op("Relu", x) if act else x
    y = graph.op("Add", x, graph.weights(*first), name="odd")
    return [graph.op("Flatten", graph.op("Add", x, y) if others else y)]


def two_inputs():
    graph = Graph((2, 4, 4))
    other = ir.Value(name="other", shape=ir.Shape(["N", 2, 4, 4]), type=graph.type)
    return graph.model(graph.op("Flatten", graph.op("Add", graph.x, other)), inputs=[other])


def unsorted():
    model = small()
    model.graph.insert_before(model.graph[0], moved := model.graph[1])
    assert model.graph[0] is moved
    return model


def stated():
    model = small()
    model.graph[0].outputs[0].shape = ir.Shape(["N", 2, 3, 2])
    return model


def imports(**versions):
    model = small()
    model.graph.opset_imports.clear()
    model.graph.opset_imports.update(versions)
    return model


def softmax(graph, x):
    return graph.op("Gemm", graph.op("Softmax", x, name="soft"), graph.weights(3, 3), transB=1, name="odd")


def unread(graph):
    x = graph.op("Flatten", graph.op("Conv", graph.x, graph.weights(2, 2, 4, 4), name="a"))
    graph.op("Relu", x, name="b")
    return [x]


def sized(graph, place, axes=(0,)):
    size = graph.op("Gather", graph.op("Shape", graph.x), graph.const(np.int64(place)))
    size = graph.op("Unsqueeze", size, graph.const(np.int64(axes)))
    return [graph.op("Reshape", graph.x, graph.op("Concat", size, graph.const(np.int64([-1])), axis=0))]


ODD = "node 'odd': "
MODELS = {
    "operator": (lambda: behind("Erf"), ODD + "Erf: is not supported; nearest supported: one of Conv, Gemm, MatMul"),
    "near": (lambda: behind("Elu"), ODD + "Elu: is not supported; nearest supported: LeakyRelu"),
    "normalisation": (
        lambda: behind("BatchNormalization", *np.ones((4, 2))),
        ODD + "BatchNormalization: is not supported; .*folded into the convolution before it, another model would be",
    ),
    "layout": (lambda: behind("Transpose", perm=[0, 2, 3, 1]), ODD + "Transpose: .*maps before rows and columns"),
    "of integers": (
        lambda: behind("QLinearConv"),
        ODD + "QLinearConv: .*Conv between DequantizeLinear and QuantizeLinear",
    ),
    "Quant elsewhere": (lambda: behind("Quant", domain="my.own"), ODD + "Quant: is of the domain 'my.own'"),
    "domain": (
        lambda: behind("FusedConv", domain="com.microsoft"),
        "FusedConv: is of the domain 'com.microsoft'; near",
    ),
    "shape": (lambda: behind("Slice"), "Slice: is not supported; nearest supported: Flatten, or Reshape to the const"),
    "attribute": (lambda: behind("Relu", alpha=1.0), ODD + "Relu: has the attribute alpha; .*attributes none"),
    "dilations": (
        lambda: conv(dilations=[2, 2]),
        ODD + r"Conv: dilations \(2, 2\); nearest supported: dilations=.1, 1",
    ),
    "pads": (lambda: conv(pads=[1, 1, 0, 0]), r"Conv: pads \(1, 1, 0, 0\), not the same on both sides; .*\[1, 1, 1, 1"),
    "auto_pad": (
        lambda: conv((3, 2, 2, 2), 48, auto_pad="SAME_UPPER"),
        r"auto_pad 'SAME_UPPER' gives the pads \(0, 0, 1, 1\), not the same",
    ),
    "unknown auto_pad": (lambda: conv(auto_pad="HALF"), "auto_pad 'HALF'; nearest supported: NOTSET"),
    "wide padding": (lambda: conv((3, 2, 1, 1), 108, pads=[1] * 4), "Conv: pad: .*nearest supported: 0"),
    "kernel": (lambda: conv((3, 2, 12, 12)), "Conv: kernel: .*nearest supported: 11"),
    "kernel_shape": (lambda: conv(kernel_shape=[2, 3]), r"kernel_shape \(2, 3\); nearest supported: \(3, 3\)"),
    "one axis": (lambda: conv((3, 2, 3)), "the weights 'kernel' have 3 axes; nearest supported: a convolution of rows"),
    "maps": (lambda: conv((3, 1, 3, 3)), "Conv: reads 1 maps in 1 groups and gets 2"),
    "strides": (lambda: conv(strides=[1]), r"strides \(1,\); nearest supported: rows and columns"),
    "bytes": (lambda: conv(dtype="i1"), ODD + "Conv: 'kernel' is INT8; nearest supported: FLOAT or DOUBLE or FLOAT16"),
    "computed weights": (
        lambda: of(lambda g: [g.op("Flatten", g.op("Conv", g.x, g.op("Relu", g.x), name="odd"))]),
        "Conv: input 1 is computed by the model; nearest supported: a constant",
    ),
    "constant first": (
        lambda: of(lambda g: [g.op("MatMul", g.weights(4, 4), g.x, name="odd")]),
        "MatMul: input 1 is computed by the model",
    ),
    "no flatten": (
        lambda: of(lambda g: [g.op("Gemm", g.x, g.weights(3, 32), transB=1, name="odd")]),
        "Gemm: reads maps of 4x4; nearest supported: Flatten",
    ),
    "words": (lambda: gemm(5, 4, 4), ODD + "Gemm: reads 5 words and gets 3; nearest supported: 3 words"),
    "alpha": (lambda: gemm(3, 3, alpha=0.5), ODD + "Gemm: alpha=0.5; nearest supported: alpha=1"),
    "beta": (lambda: gemm(3, 3, beta=2.0), "Gemm: beta=2.0"),
    "transA": (lambda: gemm(3, 3, transA=1), "Gemm: transA=1"),
    "bias": (lambda: gemm(3, 3, 1), r"Gemm: the bias has the shape \(1,\); nearest supported: \(3,\)"),
    "uncounted": (
        lambda: behind("AveragePool", kernel_shape=[3, 3], pads=[1] * 4),
        "AveragePool: count_include_pad=0 with pads; .*count_include_pad=1",
    ),
    "ceil mode": (lambda: behind("AveragePool", ceil_mode=1, **WINDOW), "AveragePool: ceil_mode=1; .*ceil_mode=0"),
    "dilated pool": (lambda: behind("MaxPool", dilations=[2, 2], **WINDOW), r"MaxPool: dilations \(2, 2\)"),
    "storage": (lambda: behind("MaxPool", storage_order=1, **WINDOW), "MaxPool: storage_order=1"),
    "large window": (lambda: behind("MaxPool", kernel_shape=[17, 2]), "MaxPool: window: .*nearest supported: 16"),
    "no window": (lambda: behind("MaxPool"), "MaxPool: kernel_shape None; nearest supported: rows and columns"),
    "flatten": (lambda: behind("Flatten", axis=2), "Flatten: axis=2; nearest supported: axis=1"),
    "reshape": (
        lambda: behind("Reshape", np.int64([0, 2, -1])),
        r"Reshape: gives the shape \[0, 2, -1\] to 32 words of",
    ),
    "zero": (lambda: behind("Reshape", np.int64([0, -1]), allowzero=1), r"gives the shape \[0, -1\]"),
    "one image": (
        lambda: behind("Reshape", np.int64([1, -1])),
        r"gives the shape \[1, -1\] to 32 words of .*\[0, -1\]",
    ),
    "squeeze": (lambda: behind("Squeeze", np.int64([2, 3])), r"Squeeze: axes \[2, 3\] of the shape \(2, 4, 4\)"),
    "size": (lambda: of(lambda g: sized(g, 4)), r"Gather: takes the sizes \[4\] of 4; nearest supported: 0 to 3"),
    "other size": (lambda: of(lambda g: sized(g, 1)), r"Reshape: gives the shape \[2, -1\] to 32 words of an image"),
    "sum of sizes": (lambda: of(lambda g: [g.op("Add", g.op("Shape", g.x), g.x, name="odd")]), "Add: input 0 is none"),
    "gathered": (lambda: behind("Gather", np.int64([0])), ODD + "Gather: is not supported"),
    "unsqueezed": (lambda: of(lambda g: sized(g, 0, [1])), "Unsqueeze: of another than a number; .*axes=.0."),
    "mean of maps": (
        lambda: of(lambda g: [g.op("Gemm", g.op("ReduceMean", g.x, g.const(np.int64([2, 3]))), g.weights(2, 2))]),
        "Gemm: reads maps of 1x1; nearest supported: Flatten",
    ),
    "mean": (lambda: behind("ReduceMean", np.int64([1])), r"ReduceMean: axes \[1\]; nearest supported: rows and col"),
    "dropout": (lambda: behind("Dropout", np.float32(0.95)), "Dropout: p: 0.95 is not supported; nearest supported"),
    "number": (lambda: behind("Add", np.float32(1)), r"Add: adds a constant of the shape \(\); .*a bias of the shape"),
    "second bias": (lambda: of(biases), "Add: adds a constant to 'node_Conv_0', which has a bias"),
    "bias read by others": (lambda: of(lambda g: biases(g, others=True)), "which others read, too"),
    "bias behind": (lambda: of(lambda g: biases(g, act=True)), "Add: adds a constant; .*just before it"),
    "shapes": (
        lambda: of(lambda g: [g.op("Add", g.x, g.op("MaxPool", g.x, **WINDOW), name="odd")]),
        r"Add: adds the shapes \(2, 4, 4\) and \(2, 2, 2\)",
    ),
    "shared": (
        lambda: of(shared),
        ODD + "Conv: shares 'same' with 'node_Conv_0'; nearest supported: one of its",
    ),
    "softmax inside": (lambda: small(softmax), ODD + "Gemm: reads what 'soft' gives; .*Softmax at the end"),
    "softmax of others": (
        lambda: small(lambda g, x: g.op("Softmax", x, axis=0, name="odd")),
        "Softmax: axis=0 is not that of the classes",
    ),
    "NaN": (lambda: spoiled(np.nan), "Conv: 1 of 18 words of 'conv.weight' are infinite or NaN; .*finite numbers"),
    "infinity": (lambda: spoiled(np.inf, "fc.bias"), "Gemm: 1 of 3 words of 'fc.bias' are infinite"),
    "old": (lambda: small(opset=6), r"version \[6\] of the operator set; nearest supported: 7 to 28"),
    "new": (lambda: small(opset=29), r"version \[29\] of the operator set"),
    "no version": (lambda: imports(**{"ai.onnx.ml": 3}), "imports no operator set of ONNX"),
    "two inputs": (two_inputs, "has 2 inputs 'image', 'other'; nearest supported: one input"),
    "two outputs": (lambda: of(lambda g: [g.op("Flatten", g.x), g.op("Relu", g.x)]), "has 2 outputs"),
    "constant output": (lambda: of(lambda g: [g.const([1.0], node=True)]), "is computed from no input"),
    "rows": (lambda: of(lambda g: [g.op("Relu", g.x)], (2, "H", 4)), "node 'image': input: the sizes H are not fixed"),
    "axes": (lambda: of(lambda g: [g.op("Relu", g.x)], (2, 4)), "input: has 3 axes; .*images, maps, rows, columns"),
    "integers": (lambda: of(lambda g: [g.op("Relu", g.x)], dtype=np.int8), "input: is INT8; nearest supported: FLOAT"),
    "unsorted": (unsorted, "which nothing makes before it; nearest supported: a sorted graph"),
    "other shape": (stated, r"Conv: 'val_0' has the shape .* in the model, \[2, 2, 2\] by its operators"),
    "unread": (lambda: of(unread), "the output is that of 'a', and 'b' behind it has no reader"),
    "maps at the end": (lambda: of(lambda g: [g.op("Conv", g.x, g.weights(2, 2, 1, 1))]), "Conv: type: .*4x4 pixels"),
    "end": (lambda: small(lambda g, x: g.op("Relu", x)), "Relu: type: the loss needs the sums of the last layer"),
    "no weights": (
        lambda: of(lambda g: [g.op("Flatten", g.op("GlobalAveragePool", g.x))]),
        "layer: no layer has weights; nearest supported: one Dense",
    ),
    "no model": (lambda: 3, "int is no ONNX model; nearest supported: a file, an onnx_ir.Model"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    make, message = MODELS[name]
    with pytest.raises(ModelError, match=message):
        from_onnx(make())


@pytest.mark.parametrize("kind", ["MaxPool", "Dropout"])
def test_a_second_output_that_is_read(kind):
    graph, given = Graph((2, 4, 4)), WINDOW if kind == "MaxPool" else {}
    second = graph.op(kind, graph.x, outputs=2, name="odd", **given).producer().outputs[1]
    with pytest.raises(ModelError, match=f"node 'odd': {kind}: its output '.*' is read; .*the first output alone"):
        from_onnx(graph.model(graph.op("Flatten", second)))


OPTIONS = {
    "loss": ({"loss": "hinge"}, "loss: 'hinge' is not supported; nearest supported: square_hinge"),
    "optimiser": ({"optimiser": "adam"}, "optimiser: 'adam' is not supported"),
    "rate": ({"learning_rate": -1}, "learning_rate: -1 is not supported"),
    "format": ({"formats": {"acts": 3}}, "acts: is not a known field; nearest supported: act"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    given, message = OPTIONS[name]
    with pytest.raises(ModelError, match=message):
        from_onnx(small(), **given)


def test_softmax_of_another_loss():
    model = small(lambda graph, x: graph.op("LogSoftmax", x, name="odd"))
    with pytest.raises(ModelError, match="node 'odd': loss: 'euclidean' has no softmax inside; .*='softmax_cross_en"):
        from_onnx(model, loss="euclidean")


@pytest.mark.parametrize("content", [b"", b"abcdefgh" * 9, None], ids=["empty", "text", "missing"])
def test_files(tmp_path, content):
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((FileError, ModelError), match="is no ONNX model|cannot be read|imports no operator set"):
        from_onnx(path)
