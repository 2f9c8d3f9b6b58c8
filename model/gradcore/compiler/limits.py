# SPDX-License-Identifier: Apache-2.0
"""What the compiler refuses."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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


# What is refused, and why. doc/architecture.md shows this table.
REFUSED = (
    ("data width, accumulator width, minibatch", "the engine or the network has another"),
    (
        "vectors of what a strip reads or gives",
        "an operand buffer holds less than one tap of one block needs of COLS maps: up to 16 x COLS vectors",
    ),
    ("gate vectors of a strip", "the gate buffer holds less than that of a pooled layer, beside gates that stay"),
    ("weight or gradient rows of a tap of one column group", "less than COLS rows and one of the bias fit"),
    (
        "a convolution with a stride of other than whole beats of maps behind another layer",
        "VECTOR moves the taps of a pixel side by side in whole beats",
    ),
    (
        "a convolution in groups of other than multiples of COLS maps",
        "a column group, and what a LOAD brings of a group, would begin in the middle of COLS channels",
    ),
    ("an addition of more than two tensors", "VECTOR adds two"),
    (
        "a dropout that others than the next convolution read, a second layer on the input",
        "its factors are the drain's; images have one fold",
    ),
    (
        "a sigmoid, tanh, mean or addition before a loss other than softmax",
        "the drain makes the local gradient of what the array leaves",
    ),
    ("a maximum pooling of 256 pixels in 8 bits", "a word cannot number them, and none"),
    (
        "a dropout behind or before a sigmoid, tanh or pooling, a leaky ReLU behind one",
        "their factors are the drain's",
    ),
    ("numbers of an instruction", "layers, minibatches, padding beyond what an instruction says"),
)


class CompileError(ValueError):
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit; for the
    search: stages whose folds may be coarser, layers that may be computed in strips, the layer whose gates may go to
    DRAM, layers whose gates may lie in shares."""

    def __init__(
        self,
        layer: str | None,
        quantity: str,
        need: int | str,
        limit: int | str,
        stages: tuple[int, ...] = (),
        strips: Iterable[int] = (),
        spilled: int | None = None,
        shares: Iterable[int] = (),
    ) -> None:
        self.layer, self.quantity, self.need, self.limit = layer, quantity, need, limit
        self.stages, self.strips, self.spilled, self.shares = stages, frozenset(strips), spilled, frozenset(shares)
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")


@contextmanager
def blaming(cause: CompileError) -> Iterator[None]:
    """A second way that is refused, too, is refused for the reason of the first where coarser folds would mend that."""
    try:
        yield
    except CompileError as error:
        if not cause.stages:
            raise
        more = cause.strips | error.strips, cause.spilled, error.shares
        raise CompileError(cause.layer, cause.quantity, cause.need, cause.limit, cause.stages, *more) from None
