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
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit."""

    def __init__(self, layer, quantity, need, limit, stages=()):
        self.layer, self.quantity, self.need, self.limit, self.stages = layer, quantity, need, limit, stages
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")
