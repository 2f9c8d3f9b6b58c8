# SPDX-License-Identifier: Apache-2.0
"""2x2 maximum pooling with stride 2 (doc/numerics.md, "Forward pass")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape


@dataclass(frozen=True)
class MaxPooling(Operator):
    """Maximum of each 2x2 window; an odd last row or column is dropped. The first of equal values is the maximum."""

    rounded: ClassVar[bool] = False
    what: ClassVar[str] = "maximum pooling"

    def shape(self, shapes: list[Shape]) -> Shape:
        maps, rows, columns = shapes[0]
        return maps, rows // 2, columns // 2

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        return max_pool(inputs[0])

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [upsample(delta, saved.shape) * saved]


@dataclass(frozen=True)
class MaxPool(Layer):
    """2x2 maximum pooling as a layer of its own. It has its input's format."""

    prefix: ClassVar[str] = "pool"
    own_formats: ClassVar[tuple] = ()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        if min(shapes[0][1:]) < 2:
            raise NetworkError("type", f"maps of {shapes[0][1]}x{shapes[0][2]} cannot be pooled", "no pooling")
        return [("", MaxPooling())]


def max_pool(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(maximum of each window, gate) of maps `a` (N, O, H, W). The gate, bool of the shape of `a`, tells the maxima."""
    rows, columns = a.shape[2] // 2, a.shape[3] // 2
    windows = np.stack([a[:, :, y : 2 * rows : 2, x : 2 * columns : 2] for y in (0, 1) for x in (0, 1)])
    first = windows.argmax(axis=0)
    gate = np.zeros(a.shape, dtype=bool)
    for place in range(4):
        gate[:, :, place // 2 : 2 * rows : 2, place % 2 : 2 * columns : 2] = first == place
    return windows.max(axis=0), gate


def upsample(e: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Copy each element of pooled maps `e` to its 2x2 window in maps of `shape` (N, O, H, W); a dropped odd row or
    column is 0."""
    full = np.zeros(shape, dtype=e.dtype)
    full[:, :, : 2 * e.shape[2], : 2 * e.shape[3]] = e.repeat(2, axis=2).repeat(2, axis=3)
    return full
