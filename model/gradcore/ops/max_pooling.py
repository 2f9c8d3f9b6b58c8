# SPDX-License-Identifier: Apache-2.0
"""2x2 maximum pooling with stride 2 (doc/numerics.md, "Forward pass")."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Layer, Operator


@dataclass(frozen=True)
class MaxPooling(Operator):
    """Maximum of each 2x2 window; an odd last row or column is dropped. The first of equal values is the maximum."""

    rounded: ClassVar[bool] = False
    what: ClassVar[str] = "maximum pooling"

    def shape(self, shapes):
        maps, rows, columns = shapes[0]
        return maps, rows // 2, columns // 2

    def forward(self, arithmetic, inputs, node, state):
        return max_pool(inputs[0])

    def backward(self, arithmetic, delta, inputs, saved, state):
        return [upsample(delta, saved.shape) * saved]


@dataclass(frozen=True)
class MaxPool(Layer):
    """2x2 maximum pooling as a layer of its own. It has its input's format."""

    prefix: ClassVar[str] = "pool"
    own_formats: ClassVar[tuple] = ()

    def operators(self, shapes):
        if min(shapes[0][1:]) < 2:
            raise NetworkError("type", f"maps of {shapes[0][1]}x{shapes[0][2]} cannot be pooled", "no pooling")
        return [("", MaxPooling())]


def max_pool(a) -> tuple:
    """(maximum of each window, gate) of maps `a` (N, O, H, W). The gate, bool of the shape of `a`, tells the maxima."""
    rows, columns = a.shape[2] // 2, a.shape[3] // 2
    windows = np.stack([a[:, :, y : 2 * rows : 2, x : 2 * columns : 2] for y in (0, 1) for x in (0, 1)])
    first = windows.argmax(axis=0)
    gate = np.zeros(a.shape, dtype=bool)
    for place in range(4):
        gate[:, :, place // 2 : 2 * rows : 2, place % 2 : 2 * columns : 2] = first == place
    return windows.max(axis=0), gate


def upsample(e, shape) -> np.ndarray:
    """Copy each element of pooled maps `e` to its 2x2 window in maps of `shape` (N, O, H, W); a dropped odd row or
    column is 0."""
    full = np.zeros(shape, dtype=e.dtype)
    full[:, :, : 2 * e.shape[2], : 2 * e.shape[3]] = e.repeat(2, axis=2).repeat(2, axis=3)
    return full
