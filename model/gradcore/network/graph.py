# SPDX-License-Identifier: Apache-2.0
"""A network as a graph: operators, and the tensors between them. The backward graph follows from it.

Every tensor has one producer and at least one reader, except the input, which nobody makes, and the output, which the
loss reads. Nodes stand in an order in which each reads what earlier ones have made. Nothing here knows an engine.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradcore.numerics.fixed_point import ACC_W
from gradcore.ops import checks as check
from gradcore.ops.checks import NAME_MAX, NetworkError
from gradcore.ops.layer import Layer, Operator, Parametric, Shape, Weights

INPUT = "input"


@dataclass(frozen=True)
class Tensor:
    """shape: (maps, rows, columns); frac: of its words; delta_frac: of its local gradient, None where nobody needs
    that; layer: number of the layer that makes it, which its random numbers have; None for the input. A tensor inside a
    layer is called `layer:operator`."""

    name: str
    shape: Shape
    frac: int
    delta_frac: int | None
    layer: int | None

    @property
    def layer_name(self) -> str:
        """Name of the layer that makes it."""
        return self.name.partition(":")[0]

    @property
    def known_delta_frac(self) -> int:
        """`delta_frac` of a tensor whose local gradient is needed."""
        assert self.delta_frac is not None, self.name
        return self.delta_frac


@dataclass(frozen=True)
class Node:
    """An operator at its place. inputs: names of tensors; fractions: theirs; layer: number of its layer; shift: from
    its exact sums to words of its output, which has the node's name; weights: None without any."""

    name: str
    layer: int
    operator: Operator
    inputs: tuple[str, ...]
    fractions: tuple[int, ...]
    shift: int
    weights: Weights | None


@dataclass(frozen=True)
class Graph:
    """nodes in an order in which they can be computed; tensors by name; readers: the nodes that read a tensor, by its
    name; output: the tensor that the loss reads."""

    nodes: tuple[Node, ...]
    tensors: dict[str, Tensor]
    readers: dict[str, tuple[Node, ...]]
    output: Tensor

    def contribution_frac(self, node: Node) -> int:
        """Fraction of what `node` contributes to the local gradients of its inputs."""
        return _contribution_frac(self.tensors, node)


def _contribution_frac(tensors: Mapping[str, Tensor], node: Node) -> int:
    weight_frac = node.weights.fw if node.weights else 0
    return node.operator.backward_frac(tensors[node.name].known_delta_frac, weight_frac)


def build(layers: Sequence[Layer], shape: Shape, fractions: Mapping[str, int], width: int) -> Graph:
    """The graph of a description: `layers` in their order, input of `shape`, `fractions` by kind of tensor. Raises
    NetworkError with layer, name and field."""
    builder = _Builder(shape, fractions, width)
    for number, layer in enumerate(layers):
        try:
            builder.add(number, layer)
        except NetworkError as error:
            error.layer, error.name = number, builder.name
            raise
    return builder.graph()


class _Builder:
    """The graph so far. outputs: the tensor that a layer leaves, by the layer's name."""

    def __init__(self, shape: Shape, fractions: Mapping[str, int], width: int) -> None:
        self.fractions, self.width, self.name = fractions, width, ""
        self.tensors = {INPUT: Tensor(INPUT, shape, fractions["input"], None, None)}
        self.nodes: list[Node] = []
        self.outputs = {INPUT: INPUT}
        self.readers: dict[str, list[Node]] = {INPUT: []}

    def add(self, number: int, layer: Layer) -> None:
        """Adds the operators of a layer."""
        if not isinstance(layer, Layer):
            raise NetworkError("type", f"{layer!r} is not a layer", "Conv or Dense")
        self.name = layer.name if isinstance(layer.name, str) else ""
        check.layer_name(layer.name)
        self.name = name = layer.name or f"{layer.prefix}{number}"
        if name in self.outputs:
            taken = "is the network's input" if name == INPUT else "is used twice"
            raise NetworkError("name", f"'{name}' {taken}", f"'{name}_{number}'")
        layer.check()
        own = {**self.fractions, **layer.formats}
        inputs = self._inputs(layer)
        bias, trainable = getattr(layer, "bias", False), getattr(layer, "trainable", False)
        for suffix, operator in layer.operators([self.tensors[key].shape for key in inputs]):
            full = f"{name}:{suffix}" if suffix else name
            inputs = (self._node(full, number, operator, inputs, own, bias, trainable),)
        self.outputs[name] = inputs[0]

    def graph(self) -> Graph:
        """The whole graph, once its last layer is there."""
        output = self.tensors[next(reversed(self.outputs.values()))]
        for name, readers in self.readers.items():
            tensor = self.tensors[name]
            if not readers and tensor is not output:
                raise NetworkError(
                    "layer", "nobody reads it, and it is not the last one", "inputs", *self._layer_of(tensor)
                )
            if tensor.delta_frac is not None and readers:
                self._delta_fits(tensor, readers)
        return Graph(tuple(self.nodes), self.tensors, {k: tuple(v) for k, v in self.readers.items()}, output)

    def _layer_of(self, tensor: Tensor) -> tuple[int | None, str]:
        return tensor.layer, tensor.layer_name

    def _inputs(self, layer: Layer) -> tuple[str, ...]:
        if not isinstance(layer.inputs, (list, tuple)) or not all(isinstance(key, str) for key in layer.inputs):
            raise NetworkError("inputs", f"{layer.inputs!r} is not a list of names", '["name", "name"]')
        for key in layer.inputs:
            if key not in self.outputs:
                close = difflib.get_close_matches(key[:NAME_MAX], list(self.outputs), 1)
                nearest = close[0] if close else f"one of {', '.join(list(self.outputs)[-5:])}"
                raise NetworkError("inputs", f"no layer before this one is called {key!r}", nearest)
        least, most = layer.reads
        given = layer.inputs or [next(reversed(self.outputs))]
        if not least <= len(given) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise NetworkError("inputs", f"{len(given)} of them", f"{wanted} names of layers")
        return tuple(self.outputs[key] for key in given)

    def _node(
        self,
        name: str,
        number: int,
        operator: Operator,
        inputs: tuple[str, ...],
        own: Mapping[str, int],
        bias: bool,
        trainable: bool,
    ) -> str:
        """Adds one node; the name of its output."""
        read = [self.tensors[key] for key in inputs]
        shapes, fractions = [t.shape for t in read], [t.frac for t in read]
        fo, fw, fb = (own[key] for key in ("act", "weight", "bias"))
        fd: int | None = own["delta"]
        sums = operator.forward_frac(fractions, fw)
        if not operator.rounded:
            fo, fd = sums, read[0].delta_frac
        short = "fa + fw - fo" if operator.parametric else "the shift"
        check.within("format.act", fo, sums - ACC_W + 1, sums, f"{short} = {sums - fo} is outside 0..{ACC_W - 1}")
        weights = None
        if isinstance(operator, Parametric):
            weights = self._weights(operator, shapes[0], sums, fw, fb, bias, trainable)
        most = operator.forward_most(1 << self.width - 1, shapes, fractions)
        extra = 1 << self.width - 1 + weights.bias_exp if weights and bias else 0
        self._fits("forward", operator, most, extra)
        needed = bool(weights and trainable) or any(t.delta_frac is not None for t in read)
        fe = read[0].delta_frac
        if operator.parametric and fe is not None and fd is not None:
            out = operator.backward_frac(fd, fw)
            text = f"fd + fw - fe = {out - fe} is outside 0..{ACC_W - 1}"
            check.within("format.delta", fd, fe - out + fd, fe - out + fd + ACC_W - 1, text)
        self.nodes.append(Node(name, number, operator, inputs, tuple(fractions), sums - fo, weights))
        self.tensors[name] = Tensor(name, operator.shape(shapes), fo, fd if needed else None, number)
        self.readers[name] = []
        for key in inputs:
            self.readers[key].append(self.nodes[-1])
        return name

    def _weights(
        self, operator: Parametric, shape: Shape, sums: int, fw: int, fb: int, bias: bool, trainable: bool
    ) -> Weights:
        if bias:
            most = self.width - 2
            check.within("format.bias", fb, sums - most, sums, f"fa + fw - fb = {sums - fb} is outside 0..{most}")
        maps = operator.maps, shape[0] // operator.groups
        return Weights((*maps, *operator.kernel), fw, fb, bias, sums - fb if bias else 0, trainable)

    def _delta_fits(self, tensor: Tensor, readers: list[Node]) -> None:
        """Each exact contribution to a local gradient must fit, aligned to the finer of both fractions."""
        words, own = 1 << self.width - 1, tensor.known_delta_frac
        for node in readers:
            frac = _contribution_frac(self.tensors, node)
            if frac - own >= ACC_W:
                text = f"the shift = {frac - own} is outside 0..{ACC_W - 1}"
                raise NetworkError("format.delta", text, frac - ACC_W + 1, *self._layer_of(tensor))
            most = node.operator.backward_most(words, [self.tensors[key].shape for key in node.inputs])
            try:
                self._fits("backward", node.operator, most << max(own - frac, 0), 0)
            except NetworkError as error:
                error.layer, error.name = self._layer_of(self.tensors[node.name])
                raise

    def _fits(self, what: str, operator: Operator, most: int, extra: int) -> None:
        room = (1 << ACC_W - 1) - 1
        if most + extra <= room:
            return
        products = 2 * self.width - 2
        if operator.parametric:
            problem, nearest = (
                f"{most >> products} products of {self.width} bits",
                f"{room - extra >> products} products",
            )
            raise NetworkError("maps", f"a {what} sum of {problem} could overflow {ACC_W} bits", nearest)
        raise NetworkError("type", f"a {what} sum of the {operator.what} could overflow {ACC_W} bits", "closer formats")
