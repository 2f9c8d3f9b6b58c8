# SPDX-License-Identifier: Apache-2.0
"""Average pooling (doc/numerics.md, "Other layers")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape
from gradcore.ops.windows import Windows, checked

WINDOW_MAX = 128
BITS = 15  # of the reciprocal of the window's area


@dataclass(frozen=True)
class AveragePooling(Operator):
    """Mean of each window; what is outside the map counts as zeros.

    On integers: exact sum times m = round(2^15 / area), a fraction of 15 bits more. Backward: delta times m, in every
    pixel of the window.
    """

    windows: Windows
    what: ClassVar[str] = "average pooling"

    def shape(self, shapes: list[Shape]) -> Shape:
        return self.windows.shape(shapes[0])

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return fractions[0] + BITS

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + BITS

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return words * self.windows.area << BITS

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words * self.windows.meeting << BITS

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        sums = self.windows.split(inputs[0], 0).sum(axis=0)
        return arithmetic.times(sums, 1 / self.windows.area, BITS), None

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        share = arithmetic.times(delta, 1 / self.windows.area, BITS)
        return [self.windows.join(np.broadcast_to(share, (self.windows.area, *share.shape)), inputs[0].shape)]


@dataclass(frozen=True)
class AveragePool(Layer):
    """Average pooling. What is outside the map counts as zeros.

    window, stride, pad: (rows, columns) or one number for both: window 1..128; stride 1..128, by default the window;
    pad up to half the window.
    """

    prefix: ClassVar[str] = "average"

    window: tuple = field(default=(2, 2), metadata={"range": (1, WINDOW_MAX)})
    stride: tuple | None = field(default=None, metadata={"range": (1, WINDOW_MAX)})
    pad: tuple = field(default=(0, 0), metadata={"range": (0, WINDOW_MAX // 2)})

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", AveragePooling(checked(shapes[0], WINDOW_MAX, self.window, self.stride, self.pad, False)))]
