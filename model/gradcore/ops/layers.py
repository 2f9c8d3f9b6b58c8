# SPDX-License-Identifier: Apache-2.0
"""The linear algebra of a layer, exact on integers; floats of any width pass through the same code.

Shapes: maps (images N, maps, rows, columns); weights (output maps O, input maps C, KY, KX); pad (rows, columns).
Products and sums keep every bit: integers give int64, and OverflowError where int64 could not hold the worst case.
"""

import numpy as np

from gradcore.numerics.fixed_point import int64


def conv(a, w, pad) -> np.ndarray:
    """Forward sums (N, O, H+2*pad-KY+1, ..) of maps `a` (N, C, H, W) and weights `w`, without bias; frac fa + fw."""
    dtype = _exact_type(w[0].size, a, w)
    sums = w.reshape(len(w), -1).astype(dtype) @ _columns(a.astype(dtype), w.shape[2:], pad)
    rows, columns = _extent(a.shape, w.shape[2:], pad)
    return _back(sums, a).reshape(len(w), len(a), rows, columns).transpose(1, 0, 2, 3)


def conv_input(delta, w, pad) -> np.ndarray:
    """Backward sums (N, C, H, W) of local gradients `delta` (N, O, ..) at the layer's output; frac fd + fw."""
    if delta.shape[2:] == (1, 1) and tuple(pad) == (0, 0):  # fully connected: every output reaches every input once
        dtype = _exact_type(len(w), delta, w)
        sums = delta.reshape(len(delta), -1).astype(dtype) @ w.reshape(len(w), -1).astype(dtype)
        return _back(sums, delta).reshape(len(delta), *w.shape[1:])
    flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return conv(delta, flipped, (w.shape[2] - 1 - pad[0], w.shape[3] - 1 - pad[1]))


def conv_weights(delta, a, kernel, pad) -> np.ndarray:
    """Weight gradients (O, C, KY, KX): `delta` (N, O, ..) times input maps `a` (N, C, H, W), summed over the minibatch;
    frac fd + fa."""
    dtype = _exact_type(delta.size // delta.shape[1], delta, a)
    rows = delta.transpose(1, 0, 2, 3).reshape(delta.shape[1], -1).astype(dtype)
    sums = rows @ _columns(a.astype(dtype), kernel, pad).T
    return _back(sums, delta).reshape(delta.shape[1], a.shape[1], *kernel)


def bias_gradient(delta) -> np.ndarray:
    """Bias gradients (O,): `delta` (N, O, H, W) summed over images and pixels; frac fd."""
    return delta.sum(axis=(0, 2, 3))


def activate(z, relu: bool, pool) -> tuple:
    """(output, gate) of the sums `z` (N, O, H, W): ReLU if `relu`, then 2x2 maximum if `pool` is 2 (None: no pooling).

    The gate is bool of z's shape: where the local gradient passes. The first of equal values is the maximum.
    """
    a = np.maximum(z, 0) if relu else z
    gate = z > 0 if relu else np.ones(z.shape, dtype=bool)
    if pool is None:
        return a, gate
    rows, columns = z.shape[2] // 2, z.shape[3] // 2
    windows = np.stack([a[:, :, y : 2 * rows : 2, x : 2 * columns : 2] for y in (0, 1) for x in (0, 1)])
    first = windows.argmax(axis=0)
    is_maximum = np.zeros(z.shape, dtype=bool)
    for place in range(4):
        is_maximum[:, :, place // 2 : 2 * rows : 2, place % 2 : 2 * columns : 2] = first == place
    return windows.max(axis=0), gate & is_maximum


def upsample(e, shape) -> np.ndarray:
    """Copy each element of pooled maps `e` to its 2x2 window in maps of `shape` (N, O, H, W); a dropped odd row or
    column is 0."""
    full = np.zeros(shape, dtype=e.dtype)
    full[:, :, : 2 * e.shape[2], : 2 * e.shape[3]] = e.repeat(2, axis=2).repeat(2, axis=3)
    return full


def _extent(shape, kernel, pad) -> tuple:
    """Rows and columns of the result of a convolution."""
    return shape[2] + 2 * pad[0] - kernel[0] + 1, shape[3] + 2 * pad[1] - kernel[1] + 1


def _columns(a, kernel, pad) -> np.ndarray:
    """Patches of `a` as a matrix (C*KY*KX, N*rows*columns)."""
    images, maps = a.shape[:2]
    rows, columns = _extent(a.shape, kernel, pad)
    padded = np.pad(a, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))).transpose(1, 0, 2, 3)
    patches = np.empty((maps, *kernel, images, rows, columns), dtype=a.dtype)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            patches[:, ky, kx] = padded[:, :, ky : ky + rows, kx : kx + columns]
    return patches.reshape(maps * kernel[0] * kernel[1], -1)


def _exact_type(terms: int, x, y):
    """Type in which sums of `terms` products of x and y are exact: float64 (fast) below 2^53, else int64; floats keep
    theirs."""
    if x.dtype.kind == "f":
        return x.dtype
    bound = terms * _magnitude(x) * _magnitude(y)
    if bound >= 1 << 63:
        raise OverflowError(f"a sum of {terms} products could need more than 64 bits")
    return np.float64 if bound < 1 << 53 else np.int64


def _magnitude(x) -> int:
    x = int64(x)
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0


def _back(sums, like) -> np.ndarray:
    return sums if like.dtype.kind == "f" else sums.astype(np.int64)
