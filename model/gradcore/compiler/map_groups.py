# SPDX-License-Identifier: Apache-2.0
"""The groups of a convolution: output maps that read input maps of their own. Each is a convolution for itself."""

from dataclasses import dataclass

from gradcore.compiler.tuples import Span
from gradcore.network.weighted_layer import LayerParameters


@dataclass(frozen=True)
class MapGroup:
    """One group of a convolution: its output and input maps as (first, end)."""

    number: int
    outputs: Span
    inputs: Span

    @property
    def sizes(self) -> tuple[int, int]:
        """Output and input maps."""
        return self.outputs[1] - self.outputs[0], self.inputs[1] - self.inputs[0]

    def given(self, maps: Span) -> Span:
        """The layer's output maps of those (first, end) of the group."""
        return maps[0] + self.outputs[0], maps[1] + self.outputs[0]

    def taken(self, maps: Span) -> Span:
        """The layer's input maps of those (first, end) of the group."""
        return maps[0] + self.inputs[0], maps[1] + self.inputs[0]


def map_groups(p: LayerParameters) -> list[MapGroup]:
    """The groups of a layer, one where it has none."""
    outputs, inputs = p.weight_shape[0] // p.groups, p.weight_shape[1]
    return [MapGroup(k, (k * outputs, (k + 1) * outputs), (k * inputs, (k + 1) * inputs)) for k in range(p.groups)]
