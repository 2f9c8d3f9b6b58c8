# SPDX-License-Identifier: Apache-2.0
"""What the compiler refuses."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# What a field of an instruction holds, for messages.
QUANTITIES = {
    "n_base": "images of a minibatch",
    "rnd_tag": "layers",
    "addr": "bytes of all tensors",
    "key": "weights of an output map",
    "disp_y0": "rows of padding",
    "disp_x0": "columns of padding",
    "bias_exp": "shift of the bias",
    "factor_shift": "shift of the product of a dropout or leaky ReLU",
    "factor_1": "factor of a dropout or leaky ReLU, in the format of its local gradient",
}


@dataclass(frozen=True)
class Refusal:
    """what: what is refused, in words; why; quantity: the pattern of `CompileError.quantity` that says it."""

    what: str
    why: str
    quantity: str


# doc/architecture.md shows this table. A quantity that no row has is an error in the compiler.
REFUSED = (
    Refusal("data width, minibatch", "the engine or the network has another", "data width of the network|minibatch"),
    Refusal(
        "bits of a sum, a shift", "the accumulators have fewer", "bits of its largest sum|shift|steps of a sum of .*"
    ),
    Refusal(
        "vectors of what a strip reads or gives, of tiles, of the classes",
        "an operand buffer holds less than one tap of one block needs of COLS maps: up to 16 x COLS vectors",
        "vectors of .*",
    ),
    Refusal(
        "gate vectors of a strip, of the targets",
        "the gate buffer holds less than that of a pooled layer, beside gates that stay",
        "gate vectors of .*",
    ),
    Refusal(
        "weight or gradient rows of a tap of one column group",
        "less than COLS rows and one of the bias fit",
        "(weight|gradient) rows.*|rows from tap to tap",
    ),
    Refusal(
        "a convolution in groups of other than multiples of COLS maps",
        "a column group, and what a LOAD brings of a group, would begin in the middle of COLS channels",
        "a .* in .* groups of .* maps",
    ),
    Refusal(
        "a 2x2 maximum pooling behind a convolution with a stride in groups, or in a frozen part of maps of other than "
        "whole beats",
        "it takes blocks of pixels, and the stride fold 0",
        "a .* of stride .* groups, with a pooling",
    ),
    Refusal("an addition of more than two tensors", "VECTOR adds two", "an addition of .* tensors"),
    Refusal(
        "terms of an addition in formats that differ much, a local gradient with more fraction bits than its products",
        "VECTOR shifts to the left by 15 bits at most, and only where it adds",
        "an addition of formats .*|a .* fraction bits than .*|a .* more fraction bits",
    ),
    Refusal(
        "a second layer on the input, or one without weights",
        "images have one fold, and no layer makes them",
        ".* of the network's input|dropout|ReLU|sigmoid|tanh|addition|average pooling|maximum pooling",
    ),
    Refusal(
        "a sigmoid, tanh, mean, addition or dropout before a loss other than softmax, a leaky ReLU before any",
        "the drain makes the local gradient of what the array leaves",
        "an? .* before the loss.*",
    ),
    Refusal(
        "a maximum pooling of 256 pixels in 8 bits", "a word cannot number them, and none", "a window of .* pixels"
    ),
    Refusal("a leaky ReLU that is not directly behind a convolution", "its factors are the drain's", "leaky ReLU"),
    Refusal(
        "pieces of a tensor that are no whole beats",
        "a transfer begins and ends with a beat",
        "bytes behind a beat of .*",
    ),
    Refusal(
        "what a part does that the engine is built without",
        "`HAS_VECTOR`, `HAS_SOFTMAX` or `HAS_FACTOR` is 0",
        "has_(vector|softmax|factor)",
    ),
    Refusal(
        "numbers of an instruction, instructions",
        "layers, minibatches, padding, coefficients beyond what an instruction or its counters say",
        "|".join([*QUANTITIES.values(), "a number of an instruction", "instructions of .*", "learning rate or .*"]),
    ),
)


def refusal(quantity: str) -> Refusal:
    """The row of `REFUSED` that has a quantity. Raises LookupError where there is none."""
    for row in REFUSED:
        if re.fullmatch(row.quantity, quantity):
            return row
    raise LookupError(f"no reason is known to refuse '{quantity}'")


class CompileError(ValueError):
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit, refusal; for the
    search: stages whose folds may be coarser, layers that may be computed in strips, the layer whose gates may go to
    DRAM, layers whose gates may be scattered."""

    def __init__(
        self,
        layer: str | None,
        quantity: str,
        need: int | str,
        limit: int | str,
        stages: tuple[int, ...] = (),
        strips: Iterable[int] = (),
        spilled: int | None = None,
        scattered: Iterable[int] = (),
    ) -> None:
        self.layer, self.quantity, self.need, self.limit = layer, quantity, need, limit
        self.refusal = refusal(quantity)
        self.stages, self.strips, self.spilled = stages, frozenset(strips), spilled
        self.scattered = frozenset(scattered)
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")


class NotBuilt(CompileError):
    """`what` a layer needs is done by a `part` (has_vector, ..) that the engine is built without."""

    def __init__(self, layer: str, what: str, part: str):
        super().__init__(layer, part, 1, 0)
        self.args = (f"layer '{layer}': {what} needs an engine with {part}=1; this one has {part}=0",)


class TooMany(CompileError):
    """A program of more instructions than are wanted."""


@contextmanager
def blaming(cause: CompileError) -> Iterator[None]:
    """A second way that is refused, too, is refused for the reason of the first where coarser folds would mend that."""
    try:
        yield
    except CompileError as error:
        if isinstance(error, TooMany) or not cause.stages:
            raise
        more = cause.strips | error.strips, cause.spilled, error.scattered
        raise CompileError(cause.layer, cause.quantity, cause.need, cause.limit, cause.stages, *more) from None
