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


class CompileError(ValueError):
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit; for the
    search: stages whose folds may be coarser, layers that may be computed in strips."""

    def __init__(self, layer, quantity, need, limit, stages=(), strips=()):
        self.layer, self.quantity, self.need, self.limit = layer, quantity, need, limit
        self.stages, self.strips = stages, frozenset(strips)
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")
