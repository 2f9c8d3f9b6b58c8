# SPDX-License-Identifier: Apache-2.0
"""Activations (doc/numerics.md, "Forward pass")."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gradcore.ops.layer import Layer, Operator


@dataclass(frozen=True)
class Relu(Operator):
    """max(z, 0). The local gradient passes where z > 0."""

    rounded: ClassVar[bool] = False
    what: ClassVar[str] = "ReLU"

    def forward(self, arithmetic, inputs, node, state):
        return np.maximum(inputs[0], 0), inputs[0] > 0

    def backward(self, arithmetic, delta, inputs, saved, state):
        return [delta * saved]


@dataclass(frozen=True)
class ReluLayer(Layer):
    """ReLU as a layer of its own. It has its input's format."""

    prefix: ClassVar[str] = "relu"
    own_formats: ClassVar[tuple] = ()

    def operators(self, shapes):
        return [("", Relu())]
