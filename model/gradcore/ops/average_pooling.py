# SPDX-License-Identifier: Apache-2.0
"""Average pooling over windows that do not overlap (doc/numerics.md, "Other layers")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape

WINDOW_MAX = 128
BITS = 15  # of the reciprocal of the window's area


@dataclass(frozen=True)
class AveragePooling(Operator):
    """Mean of each window of `window` (rows, columns); rows and columns that fill no window are dropped.

    On integers: exact sum times m = round(2^15 / area), a fraction of 15 bits more. Backward: delta times m, in every
    element of the window.
    """

    window: tuple[int, int]
    what: ClassVar[str] = "average pooling"

    def shape(self, shapes: list[Shape]) -> Shape:
        maps, rows, columns = shapes[0]
        return maps, rows // self.window[0], columns // self.window[1]

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return fractions[0] + BITS

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + BITS

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return words * self.window[0] * self.window[1] << BITS

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words << BITS

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        images, maps, rows, columns = inputs[0].shape
        high, wide = rows // self.window[0], columns // self.window[1]
        used = inputs[0][:, :, : high * self.window[0], : wide * self.window[1]]
        sums = used.reshape(images, maps, high, self.window[0], wide, self.window[1]).sum(axis=(3, 5))
        return arithmetic.times(sums, self._reciprocal, BITS), None

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        full = inputs[0] * 0
        share = arithmetic.times(delta, self._reciprocal, BITS).repeat(self.window[0], axis=2)
        full[:, :, : share.shape[2], : delta.shape[3] * self.window[1]] = share.repeat(self.window[1], axis=3)
        return [full]

    @property
    def _reciprocal(self) -> float:
        return 1 / (self.window[0] * self.window[1])


@dataclass(frozen=True)
class AveragePool(Layer):
    """Average pooling over windows of `window` rows and columns (one number or two, 1..128)."""

    prefix: ClassVar[str] = "average"

    window: tuple = field(default=(2, 2), metadata={"range": (1, WINDOW_MAX)})

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        window = check.pair("window", self.window, 1, (WINDOW_MAX, WINDOW_MAX))
        _, rows, columns = shapes[0]
        if window[0] > rows or window[1] > columns:
            raise NetworkError(
                "window",
                f"{window[0]}x{window[1]} does not fit maps of {rows}x{columns}",
                f"{min(window[0], rows)}x{min(window[1], columns)}",
            )
        return [("", AveragePooling(window))]
