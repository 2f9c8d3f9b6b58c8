# SPDX-License-Identifier: Apache-2.0
"""Forward and backward pass over the graph of a network: one loop for the integers and for the floats.

What differs is in a `Rounding`: `ReferenceTrainer` has one that rounds, `FloatTrainer` one that does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gradcore.network.description import Network
from gradcore.network.graph import INPUT, Graph, Node, Tensor
from gradcore.ops.layer import Arithmetic

States = Mapping[str, Mapping[str, np.ndarray]]  # weight and bias by the name of a node
TENSORS = ("act", "z", "out", "gate", "delta", "error", "grad", "grad_bias")


class Rounding(Arithmetic, Protocol):
    """The arithmetic of a pass."""

    def activation(self, node: Node, sums: np.ndarray) -> np.ndarray:
        """Words of a rounded operator's sums."""

    def delta(self, tensor: Tensor, parts: list[tuple[Node, np.ndarray]]) -> np.ndarray:
        """The local gradient of a tensor from the contributions of its readers, as sums."""

    def gradient(self, sums: Callable[..., np.ndarray], *factors: np.ndarray) -> np.ndarray:
        """The gradient sums(*factors)."""


@dataclass
class Pass:
    """What a forward and a backward pass have computed. words and deltas: by tensor; gradients: by node, those of
    weight and bias; saved: by node, what its backward pass needs."""

    words: dict[str, np.ndarray] = field(default_factory=dict)
    deltas: dict[str, np.ndarray] = field(default_factory=dict)
    gradients: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)
    saved: dict[str, Any] = field(default_factory=dict)


def forward(graph: Graph, x: np.ndarray, weights: States, arithmetic: Rounding, keep: bool) -> Pass:
    """Words of all tensors (with `keep`; else of the output alone) for the images `x` (N, C, H, W)."""
    done = Pass({INPUT: x})
    last: dict[str, Node] = {}
    for node in graph.nodes:
        last |= dict.fromkeys(node.inputs, node)
    for node in graph.nodes:
        inputs = [done.words[name] for name in node.inputs]
        sums, saved = node.operator.forward(arithmetic, inputs, node, weights.get(node.name, {}))
        done.words[node.name] = arithmetic.activation(node, sums) if node.operator.rounded else sums
        if keep:
            done.saved[node.name] = saved
        else:
            for name in node.inputs:
                if last[name] is node:
                    done.words.pop(name, None)
    return done


def backward(graph: Graph, done: Pass, delta: np.ndarray, weights: States, arithmetic: Rounding) -> None:
    """Adds local gradients and gradients to the `Pass` of a forward pass. delta: that of the output."""
    done.deltas[graph.output.name] = delta
    parts: dict[str, list[tuple[Node, np.ndarray]]] = {}
    for node in reversed(graph.nodes):
        tensor = graph.tensors[node.name]
        if tensor.delta_frac is None:
            continue
        if node.name not in done.deltas:
            done.deltas[node.name] = arithmetic.delta(tensor, parts.pop(node.name))
        delta, inputs = done.deltas[node.name], [done.words[name] for name in node.inputs]
        if node.weights and node.weights.trainable:
            done.gradients[node.name] = tuple(
                arithmetic.gradient(sums, *factors) for sums, factors in node.operator.gradients(delta, inputs)
            )
        if any(graph.tensors[name].delta_frac is not None for name in node.inputs):
            found = node.operator.backward(arithmetic, delta, inputs, done.saved[node.name], weights.get(node.name, {}))
            for name, sums in zip(node.inputs, found):
                parts.setdefault(name, []).append((node, sums))


def by_layer(network: Network, done: Pass) -> dict:
    """The tensors of a pass as lists with one entry per layer with weights: act (its input), z, out, gate (bool), delta
    (at z), error (of its input), grad, grad_bias. Local gradients are None where nobody needs them, gradients in a
    frozen layer."""
    found: dict[str, list] = {key: [] for key in TENSORS}
    nodes = {node.name: node for node in network.graph.nodes}
    for p in network.parameters:
        gate = np.ones(done.words[p.output].shape, dtype=bool)
        for node in (nodes[name] for name in reversed(p.nodes[1:])):
            if not node.operator.rounded:
                gate = node.operator.gate(done.saved[node.name], done.words[node.inputs[0]].shape, gate)
        grad, grad_bias = done.gradients.get(p.name, (None, None))
        values = (done.words[p.input], done.words[p.name], done.words[p.output], gate, done.deltas.get(p.name))
        for key, value in zip(TENSORS, (*values, done.deltas.get(p.input), grad, grad_bias)):
            found[key].append(value)
    return found
