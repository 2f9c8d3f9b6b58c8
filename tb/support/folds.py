# SPDX-License-Identifier: Apache-2.0
"""Folded vectors and the maps they hold (doc/architecture.md, "Folds"), for benches that compare lanes with maps."""

import numpy as np


def to_maps(lanes, fold: int, grid: int) -> np.ndarray:
    """Lanes (grid * grid) to maps (images, 1, rows, columns); images in the order ih, ix."""
    py, side = 1 << fold, grid >> fold
    return np.reshape(lanes, (side, py, side, py)).transpose(0, 2, 1, 3).reshape(side * side, 1, py, py)


def to_lanes(maps, grid: int) -> np.ndarray:
    """Inverse of `to_maps`."""
    py = maps.shape[2]
    side = grid // py
    return np.reshape(maps, (side, side, py, py)).transpose(0, 2, 1, 3).reshape(grid * grid)


def pooled_to_lanes(maps, grid: int) -> np.ndarray:
    """Pooled maps in the top left corner of each block of the fold that was pooled: lane {ih, 0, y}, {ix, 0, x}."""
    half = maps.shape[2]
    return to_lanes(np.pad(maps, ((0, 0), (0, 0), (0, half), (0, half))), grid)


def image_of_lane(row: int, col: int, fold: int, grid: int) -> int:
    """Number within its group of the image in a lane: the lowest bit goes to the highest place of ix."""
    bits = grid.bit_length() - 1 - fold
    ih, ix = row >> fold, col >> fold
    n = 0
    for b in range(bits):
        n |= ((ix >> (bits - 1 - b)) & 1) << (2 * b)
        n |= ((ih >> (bits - 1 - b)) & 1) << (2 * b + 1)
    return n
