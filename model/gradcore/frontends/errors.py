# SPDX-License-Identifier: Apache-2.0
"""What is refused of a model of another framework."""

from gradcore.files import toml_text
from gradcore.ops.checks import NetworkError


class ModelError(NetworkError):
    """A model or its training that has no equal here. Attributes besides those of `NetworkError`: node (of the model's
    graph), module (its path in the model), operator; each "" where there is none."""

    def __init__(
        self, problem: str, nearest: object = "", node: str = "", module: str = "", operator: str = ""
    ) -> None:
        super().__init__(operator or "model", problem, nearest, name=module)
        self.node, self.module, self.operator = node, module, operator

    def __str__(self) -> str:
        places = (("node", self.node), ("module", self.module))
        parts = [f"{what} '{toml_text.printable(value)}'" for what, value in places if value]
        text = ": ".join([*parts, toml_text.printable(self.field), toml_text.printable(self.problem)])
        return text + (f"; nearest supported: {toml_text.printable(self.nearest)}" if self.nearest else "")
