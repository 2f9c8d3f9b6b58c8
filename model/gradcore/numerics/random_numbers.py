# SPDX-License-Identifier: Apache-2.0
"""Random numbers by position: each element of a tensor has its own, whatever the order of computing
(doc/numerics.md)."""

import numpy as np
from numpy.typing import ArrayLike

from gradcore.numerics.fixed_point import int64

_MASK = 0xFFFFFFFF


def mix32(x: ArrayLike) -> np.ndarray:
    """Hash of 32-bit numbers (any integers, taken modulo 2^32), as int64 in 0..2^32-1."""
    x = int64(x) & _MASK
    x = (x + (x << 10)) & _MASK
    x = x ^ (x >> 6)
    x = (x + (x << 3)) & _MASK
    x = x ^ (x >> 11)
    return (x + (x << 15)) & _MASK


def position_random(seed: int, tag: int, k: ArrayLike, i: ArrayLike, j: ArrayLike) -> np.ndarray:
    """16-bit random numbers (int64, 0..65535) of the elements at (k, i, j), integer arrays that broadcast together."""
    key = mix32(mix32((seed & _MASK) ^ (tag << 16)) + int64(k))
    low, high = (key & 0xFFFF).astype(np.uint16), (key >> 16).astype(np.uint16)
    row = (mix32(int64(i) + 0x9E3779B9) & 0xFFFF).astype(np.uint16)
    column = (mix32(int64(j) + 0x7F4A7C15) & 0xFFFF).astype(np.uint16)
    with np.errstate(over="ignore"):
        t = (low ^ row) + (high ^ column)
        u = t + (t << np.uint16(5))
        return (u ^ (u >> np.uint16(8))).astype(np.int64)


def even_bits(n: ArrayLike) -> np.ndarray:
    """Bits 0, 2, 4, .. 14 of n (0..65535), packed."""
    n = int64(n)
    return sum((((n >> (2 * bit)) & 1) << bit for bit in range(8)), np.zeros_like(n))


def odd_bits(n: ArrayLike) -> np.ndarray:
    """Bits 1, 3, 5, .. 15 of n (0..65535), packed."""
    return even_bits(int64(n) >> 1)


KINDS = {"act": 0, "delta": 1, "param": 2, "mask": 3}
GRADIENT, MOMENTUM, WEIGHT = 0, 1, 2  # j of the three roundings of an update


def random_tag(layer: int, kind: str) -> int:
    """Tag of a tensor: `layer` counts from 0; `kind` is act, delta or mask (all of the layer's output) or param."""
    return layer * 4 + KINDS[kind]


def map_random(seed: int, tag: int, shape: tuple) -> np.ndarray:
    """Random numbers of a whole activation or delta tensor of shape (images, maps, rows, columns), image 0 first."""
    n, c, y, x = np.ogrid[tuple(slice(size) for size in shape)]
    return position_random(seed, tag, c, (y << 8) | odd_bits(n), (x << 8) | even_bits(n))


def dropout_mask(seed: int, layer: int, shape: tuple, p: float) -> np.ndarray:
    """Which elements of a tensor (images, maps, rows, columns) dropout keeps, bool: those whose random number is not
    below round(p * 2^16)."""
    return map_random(seed, random_tag(layer, "mask"), shape) >= round(p * 65536)


def weight_random(seed: int, tag: int, shape: tuple, j: int) -> np.ndarray:
    """Random numbers of the weights of shape (output maps, input maps, KY, KX); j is GRADIENT, MOMENTUM or WEIGHT."""
    o, c, ky, kx = np.ogrid[tuple(slice(size) for size in shape)]
    return position_random(seed, tag, (ky * shape[3] + kx) * shape[1] + c, o, j)


def bias_random(seed: int, tag: int, shape: tuple, j: int) -> np.ndarray:
    """Random numbers of the biases of a layer whose weights have `shape`, as (output maps,); j as in
    `weight_random`."""
    return position_random(seed, tag, shape[1] * shape[2] * shape[3], np.arange(shape[0]), j)


def iteration_seed(seed: int, iteration: int) -> int:
    """Value of the register SEED for a training iteration (counted from 0)."""
    return int(mix32((seed + iteration) & _MASK))
