# SPDX-License-Identifier: Apache-2.0
"""The first layer's input unfolded: its taps become channels, so that few input maps still fill the array's columns.

A convolution whose input maps fill a column group only in part takes a pass per tap and column group in WU. Unfolded it
is a 1x1 convolution with `KY*KX*C` input maps. Channel `(ky*KX + kx)*C + c` of the unfolded input holds map c displaced
by the tap, which is the order of the rows of weights in DRAM: weights, momentum and row keys stay what they are.
"""

from dataclasses import replace

import numpy as np

from gradcore.isa.fold import ceil_div


def unfolded(p, cols: int):
    """`LayerParameters` of layer 0 with its taps as input maps, where it has WU and that takes fewer column groups;
    else `p` itself."""
    outputs, inputs, *kernel = p.weight_shape
    taps = kernel[0] * kernel[1]
    if not p.trainable or ceil_div(taps * inputs, cols) >= taps * ceil_div(inputs, cols):
        return p
    return replace(
        p, in_shape=(taps * inputs, *p.conv_shape[1:]), weight_shape=(outputs, taps * inputs, 1, 1), pad=(0, 0)
    )


def unfold_images(x, p) -> np.ndarray:
    """Images (N, C, H, W) as the input (N, KY*KX*C, OH, OW) of the unfolded layer; `p` is the layer as the network has
    it."""
    (_, inputs, *kernel), pad = p.weight_shape, p.pad
    padded = np.pad(x, ((0, 0), (0, 0), *((n, n) for n in pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))  # N, C, OH, OW, KY, KX
    return windows.transpose(0, 4, 5, 1, 2, 3).reshape(len(x), kernel[0] * kernel[1] * inputs, *windows.shape[2:4])
