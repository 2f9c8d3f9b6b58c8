# SPDX-License-Identifier: Apache-2.0
"""Layers that treat each element by itself, in plain Python numbers, written from doc/numerics.md."""

import math


def element(layer, frac, drawn):
    """(function, fraction of its sums, fraction of its factors) of a layer that reads words of `frac`:
    function(place, z) is (sum, factor of the local gradient). drawn(place): a random number of 16 bits."""
    kind = type(layer).__name__
    if kind == "LeakyReluLayer":
        m = 2 * round(layer.slope * 16384)
        return lambda place, z: (z * 32768, 32768) if z > 0 else (z * m, m), frac + 15, 15
    if kind == "Dropout":
        m, least = round(4096 / (1 - layer.p)), round(layer.p * 65536)
        return lambda place, z: (z * m, m) if drawn(place) >= least else (0, 0), frac + 12, 12
    if kind == "Tanh":
        tables = math.tanh, lambda x: 1 - math.tanh(x) ** 2
    else:
        tables = logistic, lambda x: logistic(x) * (1 - logistic(x))
    return lambda place, z: tuple(table(f, z, frac) for f in tables), 15, 15


def logistic(x):
    return 1 / (1 + math.exp(-x))


def table(f, z, frac):
    """f(z * 2^-frac), fraction 15, from 1024 segments over -8 to 8."""
    q = min(max(math.floor(z * 2.0 ** (12 - frac)), -32768), 32767)
    segment, rest = divmod(q, 64)
    left, right = (min(max(round(32768 * f(k / 64)), -32768), 32767) for k in (segment, segment + 1))
    return left + math.floor((right - left) * rest / 64 + 0.5)
