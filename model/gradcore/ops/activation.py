# SPDX-License-Identifier: Apache-2.0
"""Activations (doc/numerics.md, "Forward pass")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape


@dataclass(frozen=True)
class Relu(Operator):
    """max(z, 0). The local gradient passes where z > 0."""

    rounded: ClassVar[bool] = False
    what: ClassVar[str] = "ReLU"

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        return np.maximum(inputs[0], 0), inputs[0] > 0

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [delta * saved]

    def gate(self, saved: Any, shape: tuple[int, ...]) -> np.ndarray:
        gate: np.ndarray = saved
        return gate


@dataclass(frozen=True)
class ReluLayer(Layer):
    """ReLU as a layer of its own. It has its input's format."""

    prefix: ClassVar[str] = "relu"
    own_formats: ClassVar[tuple] = ()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", Relu())]
