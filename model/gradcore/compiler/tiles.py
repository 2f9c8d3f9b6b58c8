# SPDX-License-Identifier: Apache-2.0
"""Tiles of the maps of a layer: those whose weights, or gradients, are on chip together."""

from dataclasses import replace
from math import gcd, lcm

from gradcore.compiler.tuples import Span
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import RowLayout, ceil_div
from gradcore.network.weighted_layer import LayerParameters


def output_tiles(config: EngineConfig, layout: RowLayout, depth: int, share: int = 1) -> list[Span]:
    """Output maps (first, end) in tiles whose rows, with a row of bias for each group, take at most 1/share of
    `depth`; empty where not even the smallest fits."""
    # The rows of weights of a tile, and those of its bias, begin at a beat.
    step = 1 if layout.pieces else lcm(_beats(layout, layout.inner), _beats(layout, 1) if layout.bias else 1)
    most = depth // share // (layout.inner + layout.bias)
    return _cut(layout.outputs, layout.groups, most, step, config.cols)


def input_tiles(config: EngineConfig, layout: RowLayout, depth: int, share: int = 1) -> list[Span]:
    """Input maps (first, end) in tiles whose rows, of all output groups and taps, take at most 1/share of `depth`;
    empty where not even the smallest fits."""
    cols = config.cols
    each = layout.groups * layout.kernel[0] * layout.kernel[1]
    if layout.rows <= depth // share:
        return [(0, layout.inputs)]
    if _beats(layout, layout.inputs) > 1:
        return []
    step = _beats(layout, cols)
    return _cut(layout.inputs, ceil_div(layout.inputs, cols), depth // share // (each * cols), step, cols)


def row_layout(p: LayerParameters, described: LayerParameters, config: EngineConfig) -> RowLayout:
    """How weights and momentum of a layer lie in DRAM: the same for every minibatch. `p`: the layer as FP computes it,
    `described`: as the network has it."""
    outputs, inputs, rows, columns = p.weight_shape
    taps, errors = described.weight_shape[2:] if p is not described else (1, 1), p.shift_bp is not None
    words = config.word_bytes, config.mem_bytes
    layout = RowLayout(config.cols, outputs, inputs, (rows, columns), p.bias, *words, taps=taps)
    can = layout.taps_in_pieces or not errors
    return replace(layout, pieces=can and in_pieces(config, layout, errors, p.groups))


def in_pieces(config: EngineConfig, layout: RowLayout, errors: bool, groups: int = 1) -> bool:
    """Must the rows of a layer lie in pieces that begin at a beat each? That is where a tile of rows that follow each
    other does not fit, or its gradients fit only once because of the rows of bias, or where not all `groups` of a
    convolution would begin at one; `errors`: the layer has a BP."""
    if _beats(layout, 1) == 1:
        return False  # every row begins at a beat
    each = layout.groups // groups
    if groups > 1 and any(_beats(layout, rows) > 1 for rows in (each * layout.inner, each * layout.bias)):
        return True
    if _bias_in_the_way(config, layout):
        return True
    weights = output_tiles(config, layout, config.wgt_depth)
    gradients = output_tiles(config, layout, config.grad_depth) or row_fits(config, layout)
    # BP can take COLS maps of a tap where they begin at a beat.
    own = layout.by_taps
    taps = _beats(own, own.inputs) == 1 and (own.inputs <= config.cols or _beats(own, config.cols) == 1)
    errors_fit = not errors or taps or input_tiles(config, own, config.wgt_depth)
    return not (weights and gradients and errors_fit)


def _bias_in_the_way(config: EngineConfig, layout: RowLayout) -> bool:
    """Does a layer whose gradients do not fit have tiles of which two fit only if each row of bias begins at a beat,
    and do pieces change nothing else?"""
    pieces = replace(layout, pieces=True)
    ours, others = (output_tiles(config, one, config.grad_depth, 2) for one in (layout, pieces))
    return layout.rows + layout.groups > config.grad_depth and pieces.dense and bool(others and not ours)


def row_fits(config: EngineConfig, layout: RowLayout) -> bool:
    """Can the gradients of one row of the kernel, of one output group, be taken by themselves where rows of weights
    follow each other?"""
    row = layout.kernel[1] * layout.inputs
    bias = not layout.bias or layout.groups == 1 or _beats(layout, 1) == 1
    return row + layout.bias <= config.grad_depth and _beats(layout, row) == 1 and bias


def _beats(layout: RowLayout, rows: int) -> int:
    """How many times `rows` rows make whole beats."""
    return layout.beat // gcd(layout.beat, rows * layout.row_bytes)


def _cut(maps: int, groups: int, most: int, step: int, cols: int) -> list[Span]:
    """`groups` groups of `cols` maps in tiles of equal size, at most `most` groups and a multiple of `step`."""
    if most >= groups:
        return [(0, maps)]
    most = most // step * step
    if not most:
        return []
    tiles = ceil_div(groups, most)
    size = ceil_div(ceil_div(groups, tiles), step) * step
    return [(first * cols, min((first + size) * cols, maps)) for first in range(0, groups, size)]
