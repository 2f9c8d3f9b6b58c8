# SPDX-License-Identifier: Apache-2.0
"""What every kind of layer and every operator has in common.

A *layer* is an entry of a network's description: `Conv`, `AveragePool`, ... An *operator* is one piece of mathematics:
a convolution, a ReLU. A layer becomes one operator, or several that follow each other. A new kind of layer is a file of
this folder with both, and a line in `gradcore.ops.kinds`.

Operators work on integers and on floats alike. What differs is in the arithmetic that they are given
(gradcore.reference.arithmetic): `align(x, shift)` is x * 2^shift on integers and x on floats, `times(x, value, bits)`
is x * round(value * 2^bits) or x * value.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from gradcore.ops import checks as check

LAYER_FORMATS = ("act", "weight", "bias", "delta", "momentum", "bias_momentum")


class Operator:
    """One piece of mathematics. Shapes are (maps, rows, columns), without the image axis, which every tensor has in
    front.

    parametric: it has weights and a bias; rounded: `forward`
    gives exact sums of a fraction of their own, which are rounded to the output's format, else words in the input's.
    """

    parametric: ClassVar[bool] = False
    rounded: ClassVar[bool] = True
    what: ClassVar[str] = ""  # in messages

    def shape(self, shapes: list) -> tuple:
        """Shape of the output. Raises NetworkError."""
        return shapes[0]

    def forward_frac(self, fractions: list, weight_frac: int) -> int:
        """Fraction of the exact sums of `forward`, from those of the inputs and of the weights."""
        return max(fractions)

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        """Fraction of the exact sums of `backward`, from those of the local gradient and of the weights."""
        return delta_frac

    def forward_most(self, words: int, shapes: list, fractions: list) -> int:
        """Largest magnitude of a sum of `forward`, without bias, for inputs and weights of magnitude `words`."""
        return words

    def backward_most(self, words: int, shapes: list) -> int:
        """Largest magnitude of a sum of `backward`, likewise."""
        return words

    def forward(self, arithmetic, inputs: list, node, state) -> tuple:
        """(output, what `backward` needs of it). node: `Node` of gradcore.network.graph, for the fractions of the
        inputs and of the bias; state: weight and bias."""
        raise NotImplementedError

    def backward(self, arithmetic, delta, inputs: list, saved, state) -> list:
        """Contribution to the local gradient of every input, as exact sums."""
        raise NotImplementedError

    def gradients(self, delta, inputs: list) -> tuple:
        """((sums, factors), (sums, factors)) of weight and bias: sums(*factors) is the exact gradient."""
        raise NotImplementedError


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

    def operators(self, shapes: list) -> list:
        """The operators in their order as (suffix of the name, operator). Raises NetworkError."""
        raise NotImplementedError
