# SPDX-License-Identifier: Apache-2.0
"""A layer's input unfolded: its taps become channels, so that few input maps still fill the array's columns, and so
that a convolution can have a stride in any fold.

Unfolded, a convolution is a 1x1 convolution with `KY*KX*C` input maps. Channel `(ky*KX + kx)*C + c` of the unfolded
input holds map c displaced by the tap, of the pixels that the stride takes. That is the order of the rows of weights in
DRAM: weights, momentum and row keys stay what they are. The engine takes a stride in fold 0. Where few images leave
lanes empty so, a layer with one is unfolded, the first one by the host, others by VECTOR. Else the first layer is
unfolded in WU alone, where that is faster.

There some rows of the kernel can be unfolded together: a KYx1 convolution with `KX*C` input maps, whose rows of weights
are in the same order. Input map `(j*KX + kx)*C + c` holds map c displaced by row j and column kx of the kernel, and WU
takes taps ky, ky + 1, .. together, each with the maps of its j. So few taps fill the columns with few beats.

BP takes the pixels of a stride in phases, each with its own taps, or, where few images leave lanes empty so, as zeros
between the pixels of the local gradient.
"""

from dataclasses import replace

import numpy as np

from gradcore.compiler.folds import backward_steps, forward_passes
from gradcore.compiler.tuples import Floors, Layers
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import ceil_div
from gradcore.network.description import Network
from gradcore.network.weighted_layer import LayerParameters


def forward_layers(network: Network, config: EngineConfig, images: int, floors: Floors) -> Layers:
    """`LayerParameters` of a network as FP, and but for the first one WU, computes them for minibatches of `images`:
    with a stride as they are, where fold 0 takes the fewest passes and no `floors` forbid it, or where they cannot be
    unfolded; else unfolded."""
    kept = dict(floors)

    def direct(p: LayerParameters) -> bool:
        counts = [forward_passes(p, config.grid, fold, images) for fold in range(config.log_grid + 1)]
        best = not p.pool and counts[0] == min(counts) and not kept.get(2 * p.index)
        return best or not can_unfold(p, config)

    return tuple(_unfold(p, p.weight_shape[2]) if _strided(p) and not direct(p) else p for p in network.parameters)


def can_unfold(p: LayerParameters, config: EngineConfig) -> bool:
    """Can the taps of a layer become input maps? Those of a group would lie between others; behind another layer VECTOR
    moves whole beats."""
    _, inputs, *kernel = p.weight_shape
    unit = max(1, config.mem_bytes // config.vector_bytes)
    return p.groups == 1 and (p.index == 0 or inputs % unit == 0 or kernel == [1, 1])


def strided_layers(network: Network) -> list[int]:
    """Numbers of the layers behind another one that have a stride."""
    return [p.index for p in network.parameters if p.index and _strided(p)]


def backward_layers(network: Network, grid: int, images: int, floors: Floors) -> Layers:
    """`LayerParameters` of a network as BP computes them for minibatches of `images`: one with a stride as it is, for
    its phases are computed in fold 0, or without the stride where zeros between the pixels of its local gradient take
    fewer steps in another fold or `floors` forbid fold 0."""
    strided, kept = strided_layers(network), dict(floors)

    def phased(p: LayerParameters) -> bool:
        least = min(backward_steps(_spread(p), grid, fold, images) for fold in range(grid.bit_length()))
        return backward_steps(p, grid, 0, images) <= least and not kept.get(2 * p.index - 1)

    return tuple(_spread(p) if p.index in strided and not phased(p) else p for p in network.parameters)


def unfolded(p: LayerParameters, cols: int, rows: int) -> LayerParameters:
    """`LayerParameters` of layer 0 with the taps of `rows` rows of its kernel as input maps, where it has WU and that
    takes fewer column groups; else `p` itself."""
    found = _unfold(p, rows)
    useful = p.trainable and p.groups == 1 and column_groups(found, cols) < column_groups(p, cols)
    fills = found.tap_rows == 1 or found.in_shape[0] <= cols
    return found if useful and fills else p


def column_groups(p: LayerParameters, cols: int) -> int:
    """Of WU, for each of output maps."""
    taps = ceil_div(p.weight_shape[2], p.tap_rows) * p.weight_shape[3]
    return taps * ceil_div(p.weight_shape[1] * p.tap_rows, cols)


def unfold_images(x: np.ndarray, p: LayerParameters, rows: int) -> np.ndarray:
    """Images (N, C, H, W) as the input of the layer unfolded by `rows` rows of its kernel: (N, KY*KX*C, OH, OW) with
    all, else (N, rows*KX*C, H + `_above`, OW). `p` is the layer as the network has it."""
    (_, inputs, *kernel), (above, side), (down, across) = p.weight_shape, p.pad, p.stride
    below = above
    if rows < kernel[0]:
        above, below, down = _above(p, rows), rows - 1, 1
    padded = np.pad(x, ((0, 0), (0, 0), (above, below), (side, side)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, kernel[1]), axis=(2, 3))  # N, C, H, OW, rows, KX
    windows = windows[:, :, ::down, ::across]
    return windows.transpose(0, 4, 5, 1, 2, 3).reshape(len(x), rows * kernel[1] * inputs, *windows.shape[2:4])


def _above(p: LayerParameters, rows: int) -> int:
    """Rows of the input unfolded by some rows of the kernel that begin above the map."""
    return min(rows - 1, p.pad[0])


def _strided(p: LayerParameters) -> bool:
    return p.stride != (1, 1)


def _unfold(p: LayerParameters, rows: int) -> LayerParameters:
    outputs, inputs, *kernel = p.weight_shape
    if rows < kernel[0]:
        maps, above = kernel[1] * inputs, _above(p, rows)
        shape, taken = (outputs, maps, kernel[0], 1), (rows * maps, p.in_shape[1] + above, p.conv_shape[2])
        return replace(p, in_shape=taken, weight_shape=shape, pad=(p.pad[0] - above, 0), stride=(p.stride[0], 1))
    maps = kernel[0] * kernel[1] * inputs
    shape = (outputs, maps, 1, 1)
    return replace(p, in_shape=(maps, *p.conv_shape[1:]), weight_shape=shape, pad=(0, 0), stride=(1, 1))


def _spread(p: LayerParameters) -> LayerParameters:
    rows, columns = (n + 2 * pad - k + 1 for n, pad, k in zip(p.in_shape[1:], p.pad, p.weight_shape[2:]))
    shape = p.weight_shape[0], rows, columns
    return replace(p, conv_shape=shape, out_shape=shape, stride=(1, 1))
