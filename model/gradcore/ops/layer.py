# SPDX-License-Identifier: Apache-2.0
"""What every kind of layer and every operator has in common.

A *layer* is an entry of a network's description: `Conv`, `AveragePool`, ... An *operator* is one piece of mathematics:
a convolution, a ReLU. A layer becomes one operator, or several that follow each other. A new kind of layer is a file of
this folder with both, and a line in `gradcore.ops.kinds`.

Operators work on integers and on floats alike. What differs is in the arithmetic that they are given
(`Arithmetic`; the two are in gradcore.reference).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from gradcore.ops import checks as check

LAYER_FORMATS = ("act", "weight", "bias", "delta", "momentum", "bias_momentum")
Shape = tuple[int, int, int]  # maps, rows, columns
Gradient = tuple[Callable[..., np.ndarray], tuple[np.ndarray, ...]]  # sums and factors: sums(*factors) is exact


class Arithmetic(Protocol):
    """What differs between integers and floats inside an operator."""

    def align(self, x: np.ndarray, shift: int) -> np.ndarray:
        """x * 2^shift on integers, x on floats."""

    def times(self, x: np.ndarray, value: float, bits: int) -> np.ndarray:
        """x * round(value * 2^bits) on integers, x * value on floats."""

    def kept(self, layer: int, shape: tuple[int, ...], p: float) -> np.ndarray | None:
        """Which elements of a tensor (N, maps, rows, columns) of `layer` dropout keeps (bool) where it drops with
        probability p; None in inference."""


@dataclass(frozen=True)
class Weights:
    """Weights and bias of a parametric operator at its place: shape (O, C, KY, KX), C input maps of a group; fractions;
    e, by which the bias is shifted (doc/numerics.md, "Forward pass"); whether they are trained."""

    shape: tuple[int, int, int, int]
    fw: int
    fb: int
    bias: bool
    bias_exp: int
    trainable: bool = True


class Place(Protocol):
    """Where an operator stands: `Node` of gradcore.network.graph."""

    @property
    def layer(self) -> int:
        """Number of its layer."""

    @property
    def fractions(self) -> tuple[int, ...]:
        """Of the inputs."""

    @property
    def weights(self) -> Weights | None:
        """None without any."""


class Operator:
    """One piece of mathematics. Shapes are (maps, rows, columns), without the image axis, which every tensor has in
    front.

    parametric: it has weights and a bias (`Parametric`). rounded: `forward` gives exact sums of a fraction of their
    own, which are rounded to the output's format; else it gives words in the input's.
    """

    parametric: ClassVar[bool] = False
    rounded: ClassVar[bool] = True
    what: ClassVar[str] = ""  # in messages

    @property
    def sums_back(self) -> bool:
        """Does `backward` give sums, not words in the format of its delta?"""
        return self.rounded

    def shape(self, shapes: list[Shape]) -> Shape:
        """Shape of the output. Raises NetworkError."""
        return shapes[0]

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        """Fraction of the exact sums of `forward`, from those of the inputs and of the weights."""
        return max(fractions)

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        """Fraction of the exact sums of `backward`, from those of the local gradient and of the weights."""
        return delta_frac

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        """Largest magnitude of a sum of `forward`, without bias, for inputs and weights of magnitude `words`."""
        return words

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        """Largest magnitude of a sum of `backward`, likewise."""
        return words

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        """(output, what `backward` needs of it). state: weight and bias of a parametric operator."""
        raise NotImplementedError

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        """Contribution to the local gradient of every input, as exact sums."""
        raise NotImplementedError

    def gradients(self, delta: np.ndarray, inputs: list[np.ndarray]) -> tuple[Gradient, Gradient]:
        """Those of weight and bias."""
        raise NotImplementedError

    def gate(self, saved: Any, shape: tuple[int, ...], behind: np.ndarray) -> np.ndarray:
        """Where the local gradient passes (bool, `shape` of the input), of an operator that lets it pass or not;
        behind: where it passes at the output."""
        raise NotImplementedError


class Parametric(Operator):
    """An operator with weights (maps, maps of its input / groups, *kernel) and a bias. kernel, pad and stride: (rows,
    columns)."""

    parametric: ClassVar[bool] = True
    maps: int
    kernel: tuple[int, int]
    pad: tuple[int, int]
    stride: tuple[int, int]
    groups: int


@dataclass(frozen=True, kw_only=True)
class Layer:
    """An entry of a description. name: "" for one that is made from kind and place; inputs: names of the layers that it
    reads ("input": the network's), empty for the layer before it; formats: fraction widths other than the network's."""

    prefix: ClassVar[str] = ""  # of a name that is made
    reads: ClassVar[tuple] = (1, 1)  # least and largest number of inputs
    own_formats: ClassVar[tuple] = ("act", "delta")

    formats: dict = field(default_factory=dict)
    name: str = ""
    inputs: tuple = ()

    def check(self) -> None:
        """Refuse fields whose values are wrong whatever the rest of the network. Raises NetworkError."""
        check.fractions(self.formats, self.own_formats)

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        """The operators in their order as (suffix of the name, operator). Raises NetworkError."""
        raise NotImplementedError
