# SPDX-License-Identifier: Apache-2.0
"""What the compiler refuses."""


class CompileError(ValueError):
    """A network that does not fit an engine. Attributes: layer (name or None), quantity, need, limit."""

    def __init__(self, layer, quantity, need, limit, stages=()):
        self.layer, self.quantity, self.need, self.limit, self.stages = layer, quantity, need, limit, stages
        where = f"layer '{layer}': " if layer else ""
        super().__init__(f"{where}{quantity} is {need}, limit {limit}")
