# SPDX-License-Identifier: Apache-2.0
"""Dropout (doc/numerics.md, "Other layers")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gradcore.ops import checks as check
from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape

P_MAX = 0.9
BITS = 12  # fraction of 1 / (1 - p)


@dataclass(frozen=True)
class Dropping(Operator):
    """In training an element is dropped with probability p, else multiplied by 1 / (1 - p), on integers by
    round(2^12 / (1 - p)); the local gradient likewise. In inference it passes."""

    p: float
    what: ClassVar[str] = "dropout"

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return fractions[0] + BITS

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + BITS

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return words * round(2**BITS / (1 - self.p))

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words * round(2**BITS / (1 - self.p))

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        kept = arithmetic.kept(node.layer, inputs[0].shape, self.p)
        if kept is None:
            return arithmetic.align(inputs[0], BITS), None
        return self._scaled(arithmetic, inputs[0], kept), kept

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [self._scaled(arithmetic, delta, saved)]

    def _scaled(self, arithmetic: Arithmetic, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        return arithmetic.times(x, 1 / (1 - self.p), BITS) * kept


@dataclass(frozen=True)
class Dropout(Layer):
    """Dropout in training, with inverted scaling. p: probability of dropping an element, 0 to 0.9."""

    prefix: ClassVar[str] = "dropout"

    p: float = field(default=0.5, metadata={"range": (0, P_MAX)})

    def check(self) -> None:
        check.number("p", self.p, 0, P_MAX, f"0 to {P_MAX}")
        super().check()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", Dropping(self.p))]
