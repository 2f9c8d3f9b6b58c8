# SPDX-License-Identifier: Apache-2.0
"""What stands behind a layer with weights and is done from tensor to tensor: activations by tables and poolings."""

from dataclasses import dataclass

from gradcore.network.graph import Graph, Node
from gradcore.ops.activation import TableActivation
from gradcore.ops.average_pooling import AveragePooling
from gradcore.ops.layer import Shape
from gradcore.ops.max_pooling import MaxPooling

KINDS = TableActivation, MaxPooling, AveragePooling


@dataclass(frozen=True)
class Stage:
    """One of them. name: of its node and its tensor; layer, source_layer: numbers that the random numbers of its output
    and of its input's local gradient have; source_frac: fraction of its input; shift_fp, shift_bp: from exact sums to
    words, of its output and of its input's local gradient (None where that is not needed; below zero: to the left)."""

    name: str
    layer: int
    source_layer: int
    operator: TableActivation | MaxPooling | AveragePooling
    in_shape: Shape
    shape: Shape
    source_frac: int
    shift_fp: int
    shift_bp: int | None


def stages_behind(graph: Graph, last: Node) -> tuple[Stage, ...]:
    """Those behind a node, each reading the one before alone, up to the next layer with weights."""
    found: list[Stage] = []
    name = last.name
    while len(graph.readers[name]) == 1 and isinstance(graph.readers[name][0].operator, KINDS):
        (node,) = graph.readers[name]
        found.append(_stage(graph, node))
        name = node.name
    return tuple(found)


def _stage(graph: Graph, node: Node) -> Stage:
    source, result, operator = graph.tensors[node.inputs[0]], graph.tensors[node.name], node.operator
    assert isinstance(operator, KINDS) and result.layer is not None and source.layer is not None
    needed = source.delta_frac is not None and result.delta_frac is not None
    shift_bp = graph.contribution_frac(node) - source.known_delta_frac if needed else None
    shapes = source.shape, result.shape
    return Stage(node.name, result.layer, source.layer, operator, *shapes, source.frac, node.shift, shift_bp)
