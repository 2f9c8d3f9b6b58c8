# SPDX-License-Identifier: Apache-2.0
"""The sum of tensors, as at the end of a residual block (doc/numerics.md, "Other layers")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape


@dataclass(frozen=True)
class Addition(Operator):
    """Sum of two or more tensors of one shape: aligned to the finest fraction, added exactly, rounded once."""

    what: ClassVar[str] = "addition"

    def shape(self, shapes: list[Shape]) -> Shape:
        for shape in shapes[1:]:
            if shape != shapes[0]:
                raise NetworkError("inputs", f"have the shapes {' and '.join(map(str, shapes))}", "one shape")
        return shapes[0]

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return sum(words << max(fractions) - frac for frac in fractions)

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        finest = max(node.fractions)
        aligned = (arithmetic.align(x, finest - frac) for x, frac in zip(inputs, node.fractions))
        return sum(aligned, np.zeros_like(inputs[0])), None

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [delta] * len(inputs)


@dataclass(frozen=True)
class Add(Layer):
    """The sum of the layers that `inputs` names."""

    prefix: ClassVar[str] = "add"
    reads: ClassVar[tuple] = (2, 16)

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", Addition())]
