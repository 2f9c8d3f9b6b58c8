# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph as layers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, cast

from gradcore.frontends.errors import ModelError
from gradcore.frontends.layers import Layers, Value, located, refuse
from gradcore.frontends.onnx_constants import FLOATS, Constant, Grid
from gradcore.frontends.onnx_layers import NEAREST, OPERATORS, Call, Made, bias_of, made_of
from gradcore.frontends.onnx_quantisation import OPERATORS as QUANTISATION
from gradcore.frontends.onnx_quantisation import QONNX, Integers, is_quantisation, quantised
from gradcore.frontends.onnx_sizes import OPERATORS as SIZES
from gradcore.frontends.onnx_sizes import Sizes, is_of_sizes, sizes_of
from gradcore.network.graph import INPUT
from gradcore.ops import checks as check
from gradcore.ops.convolution import Conv, Dense

OPSETS = (7, 28)  # versions of the operator set that are read
DOMAINS = ("", "ai.onnx")
DATA_MAX = 16  # bits of a word


@dataclass
class OnnxLayers(Layers):
    """weights: constants by layer and key (weight, bias); nodes: name and operator of the node that a layer is, by
    layer; in_loss: name of the Softmax at the end, "" where there is none; grids: of quantised tensors by layer ("" is
    the input) and kind of format; formats: those of the network."""

    shape: tuple[int, int, int] = (1, 1, 1)
    weights: dict[str, dict[str, Constant]] = field(default_factory=dict)
    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    in_loss: str = ""
    grids: dict[tuple[str, str], Grid] = field(default_factory=dict)

    @property
    def formats(self) -> dict[str, int]:
        grid = self.grids.get(("", "input"))
        return {"input": grid.frac} if grid else {}

    def lie_on(self, layer: str, kind: str, grid: Grid) -> None:
        """Note where the words of a layer lie, and give it that format. Raises ModelError."""
        had = self.grids.setdefault((layer, kind), grid)
        refuse(had.frac != grid.frac, f"the scale is 2^{-grid.frac}, before it 2^{-had.frac}", "one scale for both")
        for place, own in enumerate(self.layers):
            if own.name == layer:
                self.layers[place] = replace(own, formats=own.formats | {kind: grid.frac})

    def quantise(self, x: Value, grid: Grid) -> None:
        """A tensor is quantised: it, or what it is the largest or positive part of. Raises ModelError."""
        name = x.layer
        by_name = {layer.name: number for number, layer in enumerate(self.layers)}
        while name != INPUT and "act" not in self.layers[by_name[name]].own_formats:
            number = by_name[name]
            before = self.layers[number - 1].name if number else INPUT
            name = (self.layers[number].inputs or (before,))[0]
        self.lie_on("" if name == INPUT else name, "input" if name == INPUT else "act", grid)


def read(model: Any) -> OnnxLayers:
    """The layers of a model of onnx_ir. Raises ModelError."""
    versions = {version for domain, version in model.opset_imports.items() if domain in DOMAINS}
    refuse(not versions, "imports no operator set of ONNX", "an ONNX model")
    wrong = [version for version in versions if not OPSETS[0] <= version <= OPSETS[1]]
    refuse(wrong, f"version {wrong} of the operator set", f"{OPSETS[0]} to {OPSETS[1]}")
    reader = _Reader(max(versions))
    graph = model.graph
    reader.input(graph)
    for number, node in enumerate(graph):
        with located(partial(_at, _name(node, number), node.op_type), "ONNX's documentation"):
            reader.add(node, number)
    reader.end(graph)
    return reader.found


def _at(name: str, operator: str, problem: str, nearest: str) -> ModelError:
    return ModelError(problem, nearest, name, operator=operator)


def _name(node: Any, number: int) -> str:
    return str(node.name or f"{node.op_type}_{number}")


class _Reader:
    """What has been read so far. values: by those of onnx_ir; ends: the values that Softmax makes, and its node."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.images: int | None = None
        self.values: dict[Any, Value | Constant | Sizes | Integers] = {}
        self.ends: dict[Any, str] = {}
        self.used: dict[int, str] = {}
        self.found = OnnxLayers()

    def input(self, graph: Any) -> None:
        """Takes over constants and the input of a graph."""
        for value in graph.initializers.values():
            refuse(value.const_value is None, f"the initialiser '{value.name}' has no words", "a whole model")
            self.values[value] = Constant(value.name, value, value.const_value)
        inputs = [value for value in graph.inputs if value not in self.values]
        names = ", ".join(f"'{value.name}'" for value in inputs)
        refuse(len(inputs) != 1, f"has {len(inputs)} inputs {names}", "one input")
        (value,) = inputs
        at = partial(_at, value.name, "input")
        with located(at, "ONNX's documentation"):
            kind = value.dtype.name if value.dtype else "of no type"
            refuse(kind not in FLOATS, f"is {kind}", " or ".join(FLOATS))
            sizes = None if value.shape is None else list(value.shape)
            rank = 0 if sizes is None else len(sizes)
            refuse(rank not in (2, 4), f"has {rank} axes", "images, maps, rows, columns; or images, words")
            assert sizes is not None
            wrong = [str(size) for size in sizes[1:] if not isinstance(size, int)]
            refuse(wrong, f"the sizes {', '.join(wrong)} are not fixed", "fixed sizes but for the number of images")
            shape = check.triple("shape", [*sizes[1:], 1, 1][:3])
            self.images = sizes[0] if isinstance(sizes[0], int) else None
        self.found.shape = shape
        self.values[value] = Value(INPUT, shape, rank == 2)

    def add(self, node: Any, number: int) -> None:
        """Takes over one node of the graph."""
        domain, kind = node.domain, node.op_type
        nearest = NEAREST.get(kind, "one of " + ", ".join([*OPERATORS, "Constant"]))
        known = domain in DOMAINS or kind == "Quant" and domain in QONNX
        refuse(not known, f"is of the domain '{domain}'", NEAREST.get(kind, "operators of ONNX itself"))
        if kind == "Constant":
            self._constant(node)
            return
        inputs = tuple(None if value is None else self._value(value) for value in node.inputs)
        if kind == "Transpose" and isinstance(inputs[0], Constant):
            refuse(len(inputs[0].shape) != 2, f"of a constant with {len(inputs[0].shape)} axes", "a matrix")
            order = tuple(self._attributes(node, {"perm": None})["perm"] or (1, 0))
            self.values[node.outputs[0]] = inputs[0].turned if order == (1, 0) else inputs[0]
            return
        if kind == "Identity" and isinstance(inputs[0], Constant):
            self.values[node.outputs[0]] = inputs[0]
            return
        if is_quantisation(kind, domain, inputs):
            self._quantised(node, inputs)
            return
        if is_of_sizes(kind, inputs):
            given = self._attributes(node, SIZES[kind])
            self.values[node.outputs[0]] = sizes_of(kind, given, inputs, self.images)
            return
        refuse(any(isinstance(x, Integers) for x in inputs), "reads integers", "DequantizeLinear before it")
        refuse(kind not in OPERATORS, "is not supported", nearest)
        _, defaults, most = OPERATORS[kind]
        refuse(not 1 <= len(inputs) <= most, f"has {len(inputs)} inputs", f"1 to {most}")
        for output in node.outputs[1:]:
            read = output.uses() or output.is_graph_output()
            refuse(read, f"its output '{output.name}' is read", "the first output alone")
        for value in node.inputs:
            refuse(value in self.ends, f"reads what '{self.ends.get(value)}' gives", "Softmax at the end, of the loss")
        call = Call(kind, self.opset, self._attributes(node, defaults), cast(Any, inputs), self.images)
        bias = bias_of(call) if kind in ("Add", "Sum") else None
        value = self._biased(node, *bias) if bias else self._made(node, number, made_of(call))
        self._stated(node.outputs[0], value)
        self.values[node.outputs[0]] = value

    def _quantised(self, node: Any, inputs: tuple) -> None:
        defaults, most = QUANTISATION[node.op_type]
        refuse(not 1 <= len(inputs) <= most, f"has {len(inputs)} inputs", f"1 to {most}")
        made = quantised(node.op_type, self._attributes(node, defaults), inputs)
        if isinstance(inputs[0], Value):
            alone = len(node.inputs[0].uses()) == 1
            refuse(not alone, f"others read '{node.inputs[0].name}' as it is", "all readers behind it")
        if isinstance(made, Integers):
            self.values[node.outputs[0]] = made
            return
        source, grid = made
        if isinstance(source, Value):
            self.found.quantise(source, grid)
        self.values[node.outputs[0]] = source if isinstance(source, Value) else replace(source, grid=grid)

    def end(self, graph: Any) -> None:
        """Takes over the output."""
        outputs = graph.outputs
        names = ", ".join(f"'{value.name}'" for value in outputs)
        refuse(len(outputs) != 1, f"has {len(outputs)} outputs {names}", "one output")
        x = self.values.get(outputs[0])
        refuse(not isinstance(x, Value), f"the output '{outputs[0].name}' is computed from no input", "one output")
        assert isinstance(x, Value)
        last = self.found.last
        text = f"the output is that of '{x.layer}', and '{last}' behind it has no reader"
        refuse(x.layer != last, text, "leave it out")
        self.found.output, self.found.in_loss = x, self.ends.get(outputs[0], "")

    def _value(self, value: Any) -> Value | Constant | Sizes | Integers:
        refuse(value not in self.values, f"reads '{value.name}', which nothing makes before it", "a sorted graph")
        return self.values[value]

    def _attributes(self, node: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
        for attribute in node.attributes.values():
            refuse(attribute.is_ref(), f"the attribute {attribute.name} is that of a function", "no functions")
            known = ", ".join(defaults) or "none"
            refuse(attribute.name not in defaults, f"has the attribute {attribute.name}", f"the attributes {known}")
        return {**defaults, **{name: attribute.value for name, attribute in node.attributes.items()}}

    def _constant(self, node: Any) -> None:
        import onnx_ir

        (attribute,) = node.attributes.values()
        kind, output = attribute.name, node.outputs[0]
        known = kind in ("value", "value_int", "value_ints", "value_float", "value_floats")
        refuse(not known, f"has the attribute {kind}", "value")
        tensor = attribute.value if kind == "value" else onnx_ir.tensor(attribute.value)
        self.values[output] = Constant(output.name, node, tensor)

    def _made(self, node: Any, number: int, made: Made) -> Value:
        x = made.inputs[0]
        if made.in_loss:
            self.ends[node.outputs[0]] = _name(node, number)
        if made.layer is None:
            return replace(x, flat=made.flat)
        name = _name(node, number)
        if made.weight is not None:
            path, _, end = made.weight.name.rpartition(".")
            name = path if end == "weight" else name
        name = re.sub(r"[^\w.-]+", "_", name).strip("_.") or node.op_type
        value = self.found.add(made.layer, name, list(made.inputs))
        self.found.nodes[value.layer] = _name(node, number), node.op_type
        if made.weight is not None:
            self.found.weights[value.layer] = {}
            self._own(value.layer, "weight", made.weight)
        if made.bias is not None:
            self._own(value.layer, "bias", made.bias)
        return replace(value, flat=made.flat)

    def _biased(self, node: Any, x: Value, bias: Constant) -> Value:
        """An Add of a constant, which becomes the bias of the layer before it."""
        layer = self.found.layers[-1] if self.found.layers else None
        weighted = isinstance(layer, (Conv, Dense)) and layer.name == x.layer
        nearest = "a bias of the convolution or matrix product just before it"
        refuse(not weighted, "adds a constant", nearest)
        assert isinstance(layer, (Conv, Dense))
        refuse(layer.bias, f"adds a constant to '{x.layer}', which has a bias", nearest)
        alone = all(
            len(value.uses()) == 1 and not value.is_graph_output()
            for value in node.inputs
            if isinstance(self.values[value], Value)
        )
        refuse(not alone, f"adds a constant to '{x.layer}', which others read, too", nearest)
        self.found.layers[-1] = replace(layer, bias=True)
        self._own(x.layer, "bias", bias)
        return x

    def _own(self, layer: str, key: str, constant: Constant) -> None:
        """Notes a layer's weights, which no other layer has."""
        other = self.used.setdefault(id(constant.owner), layer)
        own = self.found.weights[layer]
        refuse(other != layer or constant in own.values(), f"shares '{constant.name}' with '{other}'", "one of its own")
        own[key] = constant
        if constant.grid and (key == "weight" or constant.grid.bits <= DATA_MAX):  # wider biases are rounded
            self.found.lie_on(layer, key, constant.grid)

    def _stated(self, output: Any, value: Value) -> None:
        """Compares the shape with the one that the model states."""
        if output.shape is None:
            return
        ours = (prod(value.shape),) if value.flat else value.shape
        theirs = list(output.shape)[1:]
        same = len(ours) == len(theirs) and all(a == b for a, b in zip(ours, theirs) if isinstance(b, int))
        text = f"'{output.name}' has the shape {[str(b) for b in theirs]} in the model, {list(ours)} by its operators"
        refuse(not same, text, "a model whose shapes are inferred anew")
