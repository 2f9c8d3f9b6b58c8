# SPDX-License-Identifier: Apache-2.0
"""Tiles of the maps of a layer: those whose weights, or gradients, are on chip together."""

from math import gcd, isqrt

from gradcore.compiler.estimate import TRANSFER_LATENCY, Bandwidth
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import Opcode

LOADW_LATENCY = TRANSFER_LATENCY[Opcode.LOADW] + Bandwidth().latency  # cycles from one LOADW's rows to the next one's


def output_tiles(setting: Setting, index: int, depth: int, share: int = 1) -> list:
    """Output maps (first, end) in tiles whose rows take at most 1/share of `depth`; empty where not even the smallest
    fits."""
    layout = setting.memory.weight[index].layout
    # The rows of a tile begin at a beat.
    step = _beats(setting, layout.inner)
    return _cut(layout.outputs, layout.groups, depth // share // layout.inner, step, setting.config.cols)


def input_tiles(setting: Setting, index: int, depth: int, share: int = 1) -> list:
    """Input maps (first, end) in tiles whose rows, of all output groups and taps, take at most 1/share of `depth`;
    empty where not even the smallest fits."""
    layout, cols = setting.memory.weight[index].layout, setting.config.cols
    each = layout.groups * layout.kernel[0] * layout.kernel[1]
    if layout.rows <= depth // share:
        return [(0, layout.inputs)]
    if layout.inputs * setting.config.row_bytes % setting.config.mem_bytes:
        return []
    step = _beats(setting, cols)
    return _cut(layout.inputs, ceil_div(layout.inputs, cols), depth // share // (each * cols), step, cols)


def brief(rows: int, depth: int) -> int:
    """The share of `depth` for tiles that come one after the other, `rows` in all, while the array waits for the first
    one and otherwise works as fast as they come: where the first one's rows and the latencies of all take the same
    time. At least two fit."""
    return max(2, depth // isqrt(LOADW_LATENCY * rows))


def _beats(setting: Setting, rows: int) -> int:
    """How many times `rows` rows make whole beats."""
    beat = setting.config.mem_bytes
    return beat // gcd(beat, rows * setting.config.row_bytes)


def _cut(maps: int, groups: int, most: int, step: int, cols: int) -> list:
    """`groups` groups of `cols` maps in tiles of equal size, at most `most` groups and a multiple of `step`."""
    if most >= groups:
        return [(0, maps)]
    most = most // step * step
    if not most:
        return []
    tiles = ceil_div(groups, most)
    size = ceil_div(ceil_div(groups, tiles), step) * step
    return [(first * cols, min((first + size) * cols, maps)) for first in range(0, groups, size)]
