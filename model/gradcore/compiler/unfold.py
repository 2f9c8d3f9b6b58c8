# SPDX-License-Identifier: Apache-2.0
"""The first layer's input unfolded: its taps become channels, so that few input maps still fill the array's columns,
and so that the first convolution can have a stride.

Unfolded, a convolution is a 1x1 convolution with `KY*KX*C` input maps. Channel `(ky*KX + kx)*C + c` of the unfolded
input holds map c displaced by the tap, of the pixels that the stride takes. That is the order of the rows of weights in
DRAM: weights, momentum and row keys stay what they are. The engine has no stride: a first layer with one is unfolded in
FP, too; any other one, in WU alone, where that is faster.
"""

from dataclasses import replace

import numpy as np

from gradcore.isa.fold import ceil_div


def forward_layers(network) -> tuple:
    """`LayerParameters` of a network as FP computes them."""
    first, *others = network.parameters
    return (_unfold(first) if _strided(first) else first, *others)


def unfolded(p, cols: int):
    """`LayerParameters` of layer 0 with its taps as input maps, where it has WU and that takes fewer column groups;
    else `p` itself."""
    (_, inputs, *kernel) = p.weight_shape
    taps = kernel[0] * kernel[1]
    if not p.trainable or p.groups > 1 or ceil_div(taps * inputs, cols) >= taps * ceil_div(inputs, cols):
        return p
    return _unfold(p)


def unfold_images(x, p) -> np.ndarray:
    """Images (N, C, H, W) as the input (N, KY*KX*C, OH, OW) of the unfolded layer; `p` is the layer as the network has
    it."""
    (_, inputs, *kernel), pad, (down, right) = p.weight_shape, p.pad, p.stride
    padded = np.pad(x, ((0, 0), (0, 0), *((n, n) for n in pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))  # N, C, OH, OW, KY, KX
    windows = windows[:, :, ::down, ::right]
    return windows.transpose(0, 4, 5, 1, 2, 3).reshape(len(x), kernel[0] * kernel[1] * inputs, *windows.shape[2:4])


def forward_images(x, p) -> np.ndarray:
    """Images (N, C, H, W) as FP of layer 0 reads them; `p` is the layer as the network has it."""
    return unfold_images(x, p) if _strided(p) else x


def _strided(p) -> bool:
    return p.stride != (1, 1)


def _unfold(p):
    outputs, inputs, *kernel = p.weight_shape
    maps = kernel[0] * kernel[1] * inputs
    shape = dict(in_shape=(maps, *p.conv_shape[1:]), weight_shape=(outputs, maps, 1, 1))
    return replace(p, **shape, pad=(0, 0), stride=(1, 1))
