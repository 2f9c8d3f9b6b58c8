# SPDX-License-Identifier: Apache-2.0
"""ONNX models, made with onnx_ir: what the tests of the front end import."""

import numpy as np
import onnx_ir as ir

OPSETS = (7, 10, 11, 12, 13, 17, 18, 20, 22, 25, 28)


class Graph:
    """A graph in the making. `op` adds a node, `const` an initialiser or a node Constant."""

    def __init__(self, shape, opset=20, dtype=np.float32, batch="N", rng=None):
        self.dtype, self.opset, self.rng = dtype, opset, rng or np.random.default_rng(1)
        self.nodes, self.initialisers = [], []
        self.x = ir.Value(name="image", shape=ir.Shape([batch, *shape]), type=self.type)

    @property
    def type(self):
        return ir.TensorType(ir.DataType.from_numpy(np.dtype(self.dtype)))

    def op(self, kind, *inputs, name="", outputs=1, domain="", **attributes):
        made = ir.node(kind, inputs, attributes, name=name or None, num_outputs=outputs, domain=domain)
        self.nodes.append(made)
        return made.outputs[0]

    def const(self, array, name="", node=False):
        array = np.asarray(array)
        tensor = ir.tensor(array if array.dtype.kind in "iub" else array.astype(self.dtype))
        if node:
            return self.op("Constant", value=tensor)
        name = name or f"constant{len(self.initialisers)}"
        value = ir.Value(name=name, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype), const_value=tensor)
        self.initialisers.append(value)
        return value

    def weights(self, *shape, name="", **options):
        return self.const(self.rng.normal(size=shape) / np.sqrt(np.prod(shape[1:])), name, **options)

    def model(self, *outputs, inputs=()):
        for value in outputs:
            value.type = self.type
        imports = {"": self.opset, **{node.domain: 1 for node in self.nodes if node.domain}}
        graph = ir.Graph(
            [self.x, *inputs],
            outputs,
            nodes=self.nodes,
            initializers=self.initialisers,
            opset_imports=imports,
            name="graph",
        )
        return ir.Model(graph, ir_version=8)


def small(end=lambda graph, x: x, **options):
    """Convolution, ReLU, Flatten, Gemm; then what `end` adds."""
    graph = Graph((1, 4, 4), **options)
    x = graph.op("Conv", graph.x, graph.weights(2, 1, 3, 3, name="conv.weight"), graph.weights(2, name="conv.bias"))
    x = graph.op("Flatten", graph.op("Relu", x))
    x = graph.op("Gemm", x, graph.weights(3, 8, name="fc.weight"), graph.weights(3, name="fc.bias"), transB=1)
    return graph.model(end(graph, x))


def random_model(rng):
    """(a model of what is read, shape of its images)."""
    shape = (int(rng.integers(1, 4)), *map(int, rng.integers(6, 10, 2)))
    dtype, opset = (np.float32, np.float64)[rng.integers(2)], int(rng.choice(OPSETS))
    graph = Graph(shape, opset, dtype, ("N", 2)[rng.integers(2)], rng)
    x, size = graph.x, shape
    for _ in range(int(rng.integers(1, 4))):
        x, size = _block(graph, rng, x, size)
        if min(size[1:]) < 4:
            break
    words = int(np.prod(size))
    kind = int(rng.integers(5))
    if kind == 0:
        x, words = graph.op("Flatten", graph.op("GlobalAveragePool", x)), size[0]
    elif kind == 1:
        x, words = graph.op("Flatten", graph.op("GlobalMaxPool", x), axis=1), size[0]
    elif kind == 2:
        x = graph.op("Reshape", x, graph.const(np.int64([0, -1])))
    elif kind == 3:
        x = graph.op("Reshape", x, graph.const(np.int64([-1, words]), node=True))
    else:
        x = graph.op("Flatten", x)
    maps = int(rng.integers(3, 7))
    x = _dense(graph, rng, x, words, maps)
    x = graph.op("Tanh", x)
    x = _dense(graph, rng, x, maps, 4)
    if rng.integers(2):
        x = graph.op(("Softmax", "LogSoftmax")[rng.integers(2)], x, **({"axis": 1} if rng.integers(2) else {}))
    return graph.model(x), shape


def _block(graph, rng, x, size):
    """A convolution, activations, perhaps a pooling and a sum: (output, its shape)."""
    out, node = int(rng.integers(1, 4)), bool(rng.integers(2))
    groups = size[0] if rng.random() < 0.3 else 1
    kernel, stride = rng.integers(1, 4, 2).tolist(), rng.integers(1, 3, 2).tolist()
    given = {"strides": stride, "group": groups}
    pad = [int(rng.integers(0, k)) for k in kernel]
    automatic = rng.random() < 0.3 and kernel[0] % 2 and kernel[1] % 2
    if automatic:
        given |= {"auto_pad": ("SAME_UPPER", "SAME_LOWER")[rng.integers(2)], "strides": [1, 1]}
        pad, stride = [k // 2 for k in kernel], [1, 1]
    else:
        given |= {"pads": pad * 2, "kernel_shape": kernel}
    maps = out * groups
    inputs = [x, graph.weights(maps, size[0] // groups, *kernel, node=node)]
    biased = int(rng.integers(3))
    if biased == 1:
        inputs.append(graph.weights(maps, node=node))
    x = graph.op("Conv", *inputs, **given)
    if biased == 2:
        x = graph.op("Add", x, graph.weights(*((1, maps, 1, 1) if node else (maps, 1, 1))))
    size = (maps, *((n + 2 * p - k) // s + 1 for n, p, k, s in zip(size[1:], pad, kernel, stride)))
    for kind in rng.integers(0, 6, 2):
        x = _activation(graph, int(kind), x)
    if rng.random() < 0.4:
        y = graph.op("Conv", x, graph.weights(maps, maps, 1, 1), graph.weights(maps))
        x = graph.op(("Add", "Sum")[rng.integers(2)], x, y)
    if min(size[1:]) >= 4:
        window, step = rng.integers(2, 4, 2).tolist(), rng.integers(1, 3, 2).tolist()
        edge = [int(rng.integers(0, k // 2 + 1)) for k in window]
        kind = ("MaxPool", "AveragePool")[rng.integers(2)]
        own = {"count_include_pad": 1} if kind == "AveragePool" else {}
        x = graph.op(kind, x, kernel_shape=window, strides=step, pads=edge * 2, **own)
        size = (maps, *((n + 2 * p - k) // s + 1 for n, p, k, s in zip(size[1:], edge, window, step)))
    return x, size


def _activation(graph, kind, x):
    if kind == 5:
        if graph.opset < 12:
            return graph.op("Dropout", x, ratio=0.25)
        return graph.op("Dropout", x, graph.const(np.float32(0.25)))
    given = {"alpha": 0.1} if kind == 1 else {}
    return graph.op(("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Identity")[kind], x, **given)


def _dense(graph, rng, x, words, maps):
    kind = int(rng.integers(5))
    if kind == 0:
        return graph.op("Gemm", x, graph.weights(maps, words), graph.weights(maps), transB=1)
    if kind == 1:
        return graph.op("Gemm", x, graph.weights(words, maps), graph.weights(1, maps))
    if kind == 2:
        return graph.op("MatMul", x, graph.weights(words, maps))
    if kind == 3:
        return graph.op("Add", graph.op("MatMul", x, graph.weights(words, maps)), graph.weights(maps, node=True))
    turned = graph.op("Transpose", graph.weights(maps, words), perm=[1, 0])
    return graph.op("Add", graph.weights(1, maps), graph.op("MatMul", x, turned))
