# SPDX-License-Identifier: Apache-2.0
"""Maximum pooling (doc/numerics.md, "Forward pass" and "Other layers")."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape
from gradcore.ops.windows import Windows, checked

WINDOW_MAX = 16


@dataclass(frozen=True)
class MaxPooling(Operator):
    """Maximum of each window; of equal values the first in raster order. What is outside the map is never it."""

    windows: Windows = Windows()
    rounded: ClassVar[bool] = False
    what: ClassVar[str] = "maximum pooling"

    @property
    def sums_back(self) -> bool:
        return self.windows.meeting > 1

    def shape(self, shapes: list[Shape]) -> Shape:
        return self.windows.shape(shapes[0])

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words * self.windows.meeting

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        return max_pool(inputs[0], self.windows)

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [self.windows.join(delta * saved, inputs[0].shape)]

    def gate(self, saved: Any, shape: tuple[int, ...], behind: np.ndarray) -> np.ndarray:
        return self.windows.join(saved & behind, shape)


@dataclass(frozen=True)
class MaxPool(Layer):
    """Maximum pooling. It has its input's format.

    window, stride, pad: (rows, columns) or one number for both: window 1..16; stride 1..16, by default the window; pad
    up to half the window. ceil_mode: rows and columns at the end that fill no window get one.
    """

    prefix: ClassVar[str] = "pool"
    own_formats: ClassVar[tuple] = ()

    window: tuple = field(default=(2, 2), metadata={"range": (1, WINDOW_MAX)})
    stride: tuple | None = field(default=None, metadata={"range": (1, WINDOW_MAX)})
    pad: tuple = field(default=(0, 0), metadata={"range": (0, WINDOW_MAX // 2)})
    ceil_mode: bool = False

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", MaxPooling(checked(shapes[0], WINDOW_MAX, self.window, self.stride, self.pad, self.ceil_mode)))]


def max_pool(a: np.ndarray, windows: Windows = Windows()) -> tuple[np.ndarray, np.ndarray]:
    """(maximum of each window, where in the window it is) of maps `a` (N, C, H, W). The second, bool, has an axis of
    places in raster order in front."""
    lowest = -np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
    parts = windows.split(a, lowest)
    return parts.max(axis=0), parts.argmax(axis=0) == np.arange(len(parts))[:, None, None, None, None]


def upsample(e: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Each element of 2x2 pooled maps `e` in all pixels of its window, in maps of `shape` (N, C, H, W); 0 elsewhere.
    The backward pass is this, times the gate."""
    return Windows().join(np.broadcast_to(e, (4, *e.shape)), shape)
