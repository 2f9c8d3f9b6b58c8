# SPDX-License-Identifier: Apache-2.0
"""What is done from tensor to tensor and not in one with a layer with weights: activations by tables, poolings,
additions, and each ReLU and dropout that is not a layer's own."""

from collections.abc import Collection
from dataclasses import dataclass

from gradcore.network.graph import Graph, Node
from gradcore.ops.activation import Relu, TableActivation
from gradcore.ops.addition import Addition
from gradcore.ops.average_pooling import AveragePooling
from gradcore.ops.dropout import Dropping
from gradcore.ops.layer import Shape
from gradcore.ops.max_pooling import MaxPooling

KINDS = TableActivation, MaxPooling, AveragePooling, Addition, Relu, Dropping


@dataclass(frozen=True)
class Stage:
    """One of them. name: of its node and its tensor; layer, source_layers: numbers that the random numbers of its
    output and of its inputs' local gradients have (None for the network's input); operator: one of `KINDS`; inputs,
    fractions: of the tensors that it reads; shift_fp, shifts_bp: from exact sums to words, of its output and of what it
    contributes to the local gradient of each input (None where that is not needed; below zero: to the left)."""

    name: str
    layer: int
    source_layers: tuple[int | None, ...]
    operator: TableActivation | MaxPooling | AveragePooling | Addition | Relu | Dropping
    inputs: tuple[str, ...]
    fractions: tuple[int, ...]
    in_shape: Shape
    shape: Shape
    shift_fp: int
    shifts_bp: tuple[int | None, ...]


def stages_between(graph: Graph, fused: Collection[str]) -> list[tuple[Stage, ...]]:
    """Those behind each layer with weights, up to the next one, in the order of the nodes. fused: names of nodes that
    are done in one with a layer."""
    found: list[list[Stage]] = []
    for node in graph.nodes:
        if node.operator.parametric:
            found.append([])
        elif found and node.name not in fused and isinstance(node.operator, KINDS):
            found[-1].append(_stage(graph, node))
    return [tuple(stages) for stages in found]


def _stage(graph: Graph, node: Node) -> Stage:
    operator, result = node.operator, graph.tensors[node.name]
    assert isinstance(operator, KINDS) and result.layer is not None
    shifts: list[int | None] = []
    for name in node.inputs:
        own = graph.tensors[name].delta_frac
        shifts.append(None if own is None or result.delta_frac is None else graph.contribution_frac(node) - own)
    sources = [graph.tensors[name] for name in node.inputs]
    layers, shapes = tuple(source.layer for source in sources), (sources[0].shape, result.shape)
    return Stage(
        node.name, result.layer, layers, operator, node.inputs, node.fractions, *shapes, node.shift, tuple(shifts)
    )
