# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy on integers and on floats (doc/numerics.md, "Softmax with cross-entropy")."""

import numpy as np

from gradcore.numerics.fixed_point import int64

P_FRAC = 15  # fraction of a probability
BITS_FRAC = 16  # fraction of the loss, which is in bits
LOG2_E = round(2**14 / np.log(2))  # fraction 14
_E_FRAC = 24  # fraction of an exponential
COARSE = np.round(2.0 ** (17 - np.arange(256) / 256)).astype(np.int64)  # 2^-x, x = 0 to 1 in steps of 2^-8
FINE = np.round(2.0 ** (17 - np.arange(256) / 65536)).astype(np.int64)  # likewise in steps of 2^-16
LOG2 = np.round(2**BITS_FRAC * np.log2(1 + (np.arange(1024) + 0.5) / 1024)).astype(np.int64)  # log2 of 1 to 2


def exponents(z: np.ndarray, fo: int) -> np.ndarray:
    """u of outputs `z` (N, classes) of fraction `fo`: (max z - z) * log2(e), fraction 16."""
    below = (z.max(axis=1, keepdims=True) - z) * LOG2_E
    shift = fo + 14 - BITS_FRAC
    return below >> shift if shift >= 0 else below << -shift


def exponentials(u: np.ndarray) -> np.ndarray:
    """2^-u, fraction 24."""
    mantissa = COARSE[u >> 8 & 255] * FINE[u & 255]
    return mantissa >> np.minimum(34 - _E_FRAC + (u >> BITS_FRAC), 62)


def probabilities(e: np.ndarray) -> np.ndarray:
    """p of exponentials (N, classes), fraction 15: each divided by their sum."""
    total = e.sum(axis=1, keepdims=True)
    length = bit_length(total)
    reciprocal = (int64(1) << _E_FRAC + length) // total
    return ((e * reciprocal >> length) + (1 << _E_FRAC - P_FRAC - 1)) >> _E_FRAC - P_FRAC


def log2_sum(e: np.ndarray) -> np.ndarray:
    """log2 of the sum of exponentials (N, classes): (N,), fraction 16."""
    total = e.sum(axis=1)
    length = bit_length(total)
    return (length - 1 - _E_FRAC << BITS_FRAC) + LOG2[total >> length - 11 & 1023]


def difference(z: np.ndarray, bits: np.ndarray, fo: int) -> tuple[np.ndarray, int]:
    """(d = p - target bit of fraction 15, LOSS: sum of -log2 p of the labelled classes, fraction 16) of outputs `z`
    (N, classes), target bits (bool) of the same shape."""
    u = exponents(int64(z), fo)
    e = exponentials(u)
    return probabilities(e) - (bits.astype(np.int64) << P_FRAC), int((log2_sum(e)[:, None] + u)[bits].sum())


def real_difference(a: np.ndarray, bits: np.ndarray) -> tuple[np.ndarray, float]:
    """(p - target bit, sum of -ln p of the labelled classes) of real outputs `a` (N, classes)."""
    below = a - a.max(axis=1, keepdims=True)
    total = np.exp(below).sum(axis=1, keepdims=True)
    return np.exp(below) / total - bits.astype(a.dtype), float((np.log(total) - below)[bits].sum(dtype=np.float64))


def bit_length(x: np.ndarray) -> np.ndarray:
    """Number of bits of positive integers below 2^53."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)
