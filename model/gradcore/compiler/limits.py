# SPDX-License-Identifier: Apache-2.0
"""What the compiler refuses."""

# What a field of an instruction holds, for messages.
QUANTITIES = {
    "n_base": "images of a minibatch",
    "rnd_tag": "layers",
    "addr": "bytes of all tensors",
    "key": "weights of an output map",
    "disp_y0": "rows of padding",
    "disp_x0": "columns of padding",
    "bias_exp": "shift of the bias",
}


# What is refused, and why. doc/architecture.md shows this table.
REFUSED = (
    ("data width, accumulator width, minibatch", "the engine or the network has another"),
    (
        "what a strip reads or gives, of one block",
        "an operand buffer holds less than WU needs of all input maps of a block",
    ),
    ("gate vectors of a strip", "the gate buffer holds less than one block's gates of one tile"),
    ("weight rows or vectors of a tap of one column group", "less than COLS channels of a tap fit"),
    ("weight or gradient rows of the bias", "the bias of all output maps leaves no row for weights or gradients"),
    ("gradient rows of one row of the kernel", "WU does not cut a row of the kernel"),
    ("bytes of weights behind a beat", "a tile of weights must begin at a beat: maps x COLS words are no whole beats"),
    (
        "bytes behind a beat of a piece of a tensor",
        "pieces that DRAM moves begin at a beat: gates and narrow rows may not",
    ),
    ("numbers of an instruction", "layers, minibatches, padding beyond what an instruction says"),
)


class CompileError(ValueError):
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit; for the
    search: stages whose folds may be coarser, layers that may be computed in strips."""

    def __init__(self, layer, quantity, need, limit, stages=(), strips=()):
        self.layer, self.quantity, self.need, self.limit = layer, quantity, need, limit
        self.stages, self.strips = stages, frozenset(strips)
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")
