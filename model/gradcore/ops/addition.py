# SPDX-License-Identifier: Apache-2.0
"""The sum of tensors, as at the end of a residual block (doc/numerics.md, "Other layers")."""

from dataclasses import dataclass
from typing import ClassVar

from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Layer, Operator


@dataclass(frozen=True)
class Addition(Operator):
    """Sum of two or more tensors of one shape: aligned to the finest fraction, added exactly, rounded once."""

    what: ClassVar[str] = "addition"

    def shape(self, shapes):
        for shape in shapes[1:]:
            if shape != shapes[0]:
                raise NetworkError("inputs", f"have the shapes {' and '.join(map(str, shapes))}", "one shape")
        return shapes[0]

    def forward_most(self, words, shapes, fractions):
        return sum(words << max(fractions) - frac for frac in fractions)

    def forward(self, arithmetic, inputs, node, state):
        finest = max(node.fractions)
        return sum(arithmetic.align(x, finest - frac) for x, frac in zip(inputs, node.fractions)), None

    def backward(self, arithmetic, delta, inputs, saved, state):
        return [delta] * len(inputs)


@dataclass(frozen=True)
class Add(Layer):
    """The sum of the layers that `inputs` names."""

    prefix: ClassVar[str] = "add"
    reads: ClassVar[tuple] = (2, 16)

    def operators(self, shapes):
        return [("", Addition())]
