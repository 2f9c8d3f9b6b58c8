# SPDX-License-Identifier: Apache-2.0
"""Activations (doc/numerics.md, "Forward pass" and "Other layers")."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gradcore.numerics.fixed_point import saturate
from gradcore.ops import checks as check
from gradcore.ops.layer import Arithmetic, Layer, Operator, Place, Shape

BITS = 15  # fraction of a slope and of the words of a table
TABLE_FRAC, SEGMENT = 12, 6  # of a table: fraction of its 16-bit input, bits of a segment


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

    def gate(self, saved: Any, shape: tuple[int, ...], behind: np.ndarray) -> np.ndarray:
        gate: np.ndarray = saved & behind
        return gate


@dataclass(frozen=True)
class LeakyRelu(Operator):
    """z where z > 0, else slope * z; the local gradient likewise. On integers the slope is `numerator` / 2^15."""

    slope: float
    what: ClassVar[str] = "leaky ReLU"

    @property
    def numerator(self) -> int:
        """Of the slope, even: a half of it and of 1 are words of 16 bits."""
        return 2 * round(self.slope * 2 ** (BITS - 1))

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return fractions[0] + BITS

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + BITS

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return words << BITS

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words << BITS

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        return self._passed(arithmetic, inputs[0], inputs[0] > 0), inputs[0] > 0

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [self._passed(arithmetic, delta, saved)]

    def _passed(self, arithmetic: Arithmetic, x: np.ndarray, gate: np.ndarray) -> np.ndarray:
        steep = arithmetic.align(arithmetic.times(x, self.slope, BITS - 1), 1)
        return np.where(gate, arithmetic.align(x, BITS), steep)


@dataclass(frozen=True)
class TableActivation(Operator):
    """A function f of real numbers. On integers f and its derivative are tables over -8 to 8 (`Table`)."""

    def f(self, z: np.ndarray) -> np.ndarray:
        """Of every element of `z`, as real numbers."""
        raise NotImplementedError

    def derivative(self, z: np.ndarray) -> np.ndarray:
        """That of `f`."""
        raise NotImplementedError

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return BITS

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + BITS

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return 1 << BITS

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        return words << BITS

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        (z,) = inputs
        if z.dtype.kind == "f":
            return self.f(z), self.derivative(z)
        return self.tables[0](z, node.fractions[0]), self.tables[1](z, node.fractions[0])

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        return [delta * saved]

    @cached_property
    def tables(self) -> tuple["Table", "Table"]:
        """Of f and of its derivative, on integers."""
        return Table(self.f), Table(self.derivative)


class Table:
    """A function as 1024 straight segments: `values` at their beginnings, fraction 15, `rises` over each."""

    def __init__(self, f: Callable[[np.ndarray], np.ndarray]) -> None:
        ends = np.arange(-512, 513) * 2.0 ** (SEGMENT - TABLE_FRAC)
        points = saturate(np.round(f(ends) * 2**BITS).astype(np.int64), BITS + 1)
        self.values, self.rises = points[:-1], np.diff(points)

    def __call__(self, z: np.ndarray, frac: int) -> np.ndarray:
        """f of words `z` of fraction `frac` as integers of fraction 15; `z` is taken as 16 bits of fraction 12, lower
        bits dropped."""
        shift = TABLE_FRAC - frac
        q = saturate(z << shift if shift >= 0 else z >> -shift, 16)
        segment, rest = (q >> SEGMENT) + 512, q & (1 << SEGMENT) - 1
        return self.values[segment] + (self.rises[segment] * rest + (1 << SEGMENT - 1) >> SEGMENT)


@dataclass(frozen=True)
class LogisticFunction(TableActivation):
    """1 / (1 + exp(-z))."""

    what: ClassVar[str] = "sigmoid"

    def f(self, z: np.ndarray) -> np.ndarray:
        return (np.tanh(z / 2) + 1) / 2  # does not overflow

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return self.f(z) * (1 - self.f(z))


@dataclass(frozen=True)
class HyperbolicTangent(TableActivation):
    """tanh(z)."""

    what: ClassVar[str] = "tanh"

    def f(self, z: np.ndarray) -> np.ndarray:
        return np.tanh(z)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return 1 - np.tanh(z) ** 2


@dataclass(frozen=True)
class ReluLayer(Layer):
    """ReLU as a layer of its own. It has its input's format."""

    prefix: ClassVar[str] = "relu"
    own_formats: ClassVar[tuple] = ()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", Relu())]


@dataclass(frozen=True)
class LeakyReluLayer(Layer):
    """Leaky ReLU. slope: factor of what is not positive, 0 to 1."""

    prefix: ClassVar[str] = "leaky"

    slope: float = field(default=0.01, metadata={"range": (0, 1)})

    def check(self) -> None:
        check.number("slope", self.slope, 0, 1, "0 to 1")
        super().check()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", LeakyRelu(self.slope))]


@dataclass(frozen=True)
class Sigmoid(Layer):
    """The logistic function 1 / (1 + exp(-z))."""

    prefix: ClassVar[str] = "sigmoid"

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", LogisticFunction())]


@dataclass(frozen=True)
class Tanh(Layer):
    """The hyperbolic tangent."""

    prefix: ClassVar[str] = "tanh"

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        return [("", HyperbolicTangent())]
