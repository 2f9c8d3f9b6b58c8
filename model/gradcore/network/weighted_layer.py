# SPDX-License-Identifier: Apache-2.0
"""The layers with weights, each with the activation, the pooling and the dropout that follow it alone."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from gradcore.network.graph import Graph, Node
from gradcore.network.stage import Stage, stages_between
from gradcore.network.update_numbers import update_parameters
from gradcore.ops.activation import LeakyRelu, Relu
from gradcore.ops.checks import NetworkError
from gradcore.ops.dropout import Dropping
from gradcore.ops.layer import Parametric, Shape
from gradcore.ops.max_pooling import MaxPooling
from gradcore.ops.optimiser import UpdateParameters

if TYPE_CHECKING:
    from gradcore.network.description import Network


@dataclass(frozen=True)
class Factor:
    """A leaky ReLU or a dropout that ends what is done in one. layer, source_layer: numbers that the random numbers of
    its output's and of its input's words have; shift_fp, shift_bp: from products to words, of its output and of its
    input's local gradient (None where that is not needed; below zero: to the left)."""

    operator: LeakyRelu | Dropping
    layer: int
    source_layer: int
    shift_fp: int
    shift_bp: int | None

    @property
    def gated(self) -> bool:
        """Does the gate choose the factor in the backward pass?"""
        return isinstance(self.operator, LeakyRelu)


@dataclass(frozen=True)
class LayerParameters:
    """All numbers of one layer with weights. Shapes without the image axis: (maps, rows, columns); symbols as in
    doc/numerics.md.

    index: among the layers with weights; layer: number that the random numbers of its sums have; input, output: names
    of tensors; nodes: names of the nodes that are done in one; alone: the next layer alone reads what they leave, or
    the loss; stages: what is done from tensor to tensor before the next layer.
    in_shape: input; conv_shape: sums and gate; out_shape: after pooling; weight_shape: (O, C, KY, KX). `bias_exp` is e,
    `shift_fp` = fa + fw - fo, `shift_bp` = fd + fw - fe (None where the input's local gradient is not needed);
    `fv`, `fvb`: fractions of the momenta; `learning_rate`: the layer's own, else the network's. A frozen layer
    (`trainable` False) has no `weight_update`; `bias_update` is None without bias, too. `fd` is None where the local
    gradient at the layer's sums is not needed: no trained layer up to it.
    """

    index: int
    layer: int
    name: str
    input: str
    output: str
    nodes: tuple[str, ...]
    in_shape: Shape
    conv_shape: Shape
    out_shape: Shape
    weight_shape: tuple[int, int, int, int]
    pad: tuple[int, int]
    stride: tuple[int, int]
    groups: int
    bias: bool
    relu: bool
    pool: int | None
    factor: Factor | None
    alone: bool
    stages: tuple[Stage, ...]
    fa: int
    fo: int
    fw: int
    fb: int
    fv: int
    fvb: int
    fd: int | None
    fe: int | None
    bias_exp: int
    shift_fp: int
    shift_bp: int | None
    learning_rate: float
    trainable: bool
    weight_update: UpdateParameters | None
    bias_update: UpdateParameters | None

    @property
    def tap_rows(self) -> int:
        """Rows of the kernel whose taps are input maps together: more than one where the input is unfolded so
        (gradcore.compiler.unfold)."""
        return self.in_shape[0] // (self.groups * self.weight_shape[1])

    @property
    def gated(self) -> bool:
        """Has its backward pass gates? Where others read what it leaves, VECTOR does what they are for, but for a
        pooling."""
        own = self.relu or bool(self.factor and self.factor.gated)
        return (own and self.alone) or bool(self.pool)

    @property
    def leaky(self) -> Factor | None:
        """The leaky ReLU whose local gradient VECTOR scales, as others than the next layer read what it leaves."""
        factor = None if self.alone else self.factor
        return factor if factor and factor.gated and factor.shift_bp is not None else None


def weighted_layers(
    network: "Network",
    graph: Graph,
    fractions: Callable[[int], Mapping[str, int]],
    apart: Collection[str] = (),
) -> tuple[LayerParameters, ...]:
    """One `LayerParameters` per parametric node of the graph of `network`; fractions(number): those of a layer by kind
    of tensor; apart: names of nodes whose pooling is not done in one with them. Raises NetworkError with layer and
    name."""
    weighted = [node for node in graph.nodes if node.operator.parametric]
    runs = [_run(graph, node, following, apart) for node, following in zip_longest(weighted, weighted[1:])]
    stages, result = stages_between(graph, {node.name for run in runs for node in run}), []
    for index, run in enumerate(runs):
        node = run[0]
        try:
            readers = graph.readers[run[-1].name]
            alone = readers == tuple(following[0] for following in runs[index + 1 : index + 2])
            result.append(_parameters(network, graph, index, run, alone, stages[index], fractions(node.layer)))
        except NetworkError as error:
            error.layer, error.name = node.layer, node.name
            raise
    return tuple(result)


def _parameters(
    network: "Network",
    graph: Graph,
    index: int,
    run: list[Node],
    alone: bool,
    stages: tuple[Stage, ...],
    fractions: Mapping[str, int],
) -> LayerParameters:
    node = run[0]
    source, sums, output = (graph.tensors[name] for name in (node.inputs[0], node.name, run[-1].name))
    operator, w, fe = node.operator, node.weights, source.delta_frac
    assert isinstance(operator, Parametric) and w is not None
    fv = fractions["momentum"]
    fvb = fractions.get("bias_momentum", w.fb + fv - w.fw)
    fd, own = sums.delta_frac, getattr(network.layers[node.layer], "learning_rate", None)
    rate = network.learning_rate if own is None else own
    weight = bias = None
    if w.trainable:
        grad = sums.known_delta_frac
        weight = update_parameters(network, rate, "format.momentum", w.fw, fv, grad + source.frac)
        bias = update_parameters(network, rate, "format.bias_momentum", w.fb, fvb, grad) if w.bias else None
    return LayerParameters(
        index=index,
        layer=node.layer,
        name=node.name,
        input=source.name,
        output=output.name,
        nodes=tuple(n.name for n in run),
        in_shape=source.shape,
        conv_shape=sums.shape,
        out_shape=output.shape,
        weight_shape=w.shape,
        pad=operator.pad,
        stride=operator.stride,
        groups=operator.groups,
        bias=w.bias,
        relu=any(isinstance(n.operator, Relu) for n in run),
        pool=2 if any(isinstance(n.operator, MaxPooling) for n in run) else None,
        factor=_factor(graph, run),
        alone=alone,
        stages=stages,
        fa=source.frac,
        fo=sums.frac,
        fw=w.fw,
        fb=w.fb,
        fv=fv,
        fvb=fvb if w.bias else fv,
        fd=fd,
        fe=fe,
        bias_exp=w.bias_exp,
        shift_fp=node.shift,
        shift_bp=None if fe is None or fd is None else fd + w.fw - fe,
        learning_rate=rate,
        trainable=w.trainable,
        weight_update=weight,
        bias_update=bias,
    )


def _run(graph: Graph, node: Node, following: Node | None, apart: Collection[str]) -> list[Node]:
    """The node, a ReLU and a 2x2 maximum pooling in either order and a dropout behind it, or a leaky ReLU, as far as
    each reads the one before alone. Not the pooling, where its way back would have to spread over the pixels that a
    stride leaves out. Not a dropout that others than `following`, the next one with weights, read.

    The ReLU is done before the pooling in either order, which is the same in every bit: it changes none of the words
    that are chosen, and nothing passes where none is above zero."""
    run, operator = [node], node.operator
    assert isinstance(operator, Parametric)
    spread = operator.stride != (1, 1) and graph.tensors[node.inputs[0]].delta_frac is not None

    def reader() -> Node | None:
        readers = graph.readers[run[-1].name]
        return readers[0] if len(readers) == 1 else None

    for kind in (Relu(), *([] if spread or node.name in apart else [MaxPooling(), Relu()])):
        found = reader()
        if found and found.operator == kind:
            run.append(found)
    found = reader()
    if found and isinstance(found.operator, LeakyRelu) and len(run) == 1:
        run.append(found)
    if found and isinstance(found.operator, Dropping) and graph.readers[found.name] == (following,):
        run.append(found)
    return run


def _factor(graph: Graph, run: list[Node]) -> Factor | None:
    node = run[-1]
    if not isinstance(node.operator, (LeakyRelu, Dropping)):
        return None
    source = graph.tensors[node.inputs[0]]
    assert source.layer is not None
    needed = source.delta_frac is not None and graph.tensors[node.name].delta_frac is not None
    shift_bp = graph.contribution_frac(node) - source.known_delta_frac if needed else None
    return Factor(node.operator, node.layer, source.layer, node.shift, shift_bp)
