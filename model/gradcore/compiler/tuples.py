# SPDX-License-Identifier: Apache-2.0
"""Names of the tuples and dictionaries that the compiler hands around."""

from gradcore.network.weighted_layer import LayerParameters

Layers = tuple[LayerParameters, ...]
Span = tuple[int, int]  # first, end: of maps, pixels, blocks
Count = tuple[int, int]  # first, number: of taps, blocks, output groups
Area = tuple[Span, Span]  # of rows, of columns
Run = tuple[int, int, int, int]  # first block, blocks, first tap, taps: on one axis
Access = tuple[str, int, int]  # space, first, end
Floors = tuple[tuple[int, int], ...]  # stage, least fold
Fields = dict[str, int]  # of an instruction
