# SPDX-License-Identifier: Apache-2.0
"""Convolution and the fully connected layer (doc/numerics.md, "Forward pass", "Backward pass").

Shapes: maps (images N, maps, rows, columns); weights (output maps O, input maps C of a group, KY, KX); pad and stride
(rows, columns).
Products and sums keep every bit: integers give int64, and OverflowError where int64 could not hold the worst case;
floats of any width pass through the same code.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gradcore.numerics.fixed_point import int64
from gradcore.ops import checks as check
from gradcore.ops.activation import Relu
from gradcore.ops.checks import MAPS_MAX, RATE_MAX, NetworkError
from gradcore.ops.layer import LAYER_FORMATS, Arithmetic, Gradient, Layer, Operator, Parametric, Place, Shape
from gradcore.ops.max_pooling import MaxPooling

KERNEL_MAX, DENSE_MAX = 11, 128


@dataclass(frozen=True)
class Convolution(Parametric):
    """Convolution with `maps` output maps; kernel, pad and stride: (rows, columns). With `groups`, each part of the
    output maps reads its own part of the input maps."""

    maps: int
    kernel: tuple[int, int]
    pad: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    groups: int = 1
    what: ClassVar[str] = "convolution"

    def shape(self, shapes: list[Shape]) -> Shape:
        return (self.maps, *extent(shapes[0], self.kernel, self.pad, self.stride))

    def forward_frac(self, fractions: Sequence[int], weight_frac: int) -> int:
        return fractions[0] + weight_frac

    def backward_frac(self, delta_frac: int, weight_frac: int) -> int:
        return delta_frac + weight_frac

    def forward_most(self, words: int, shapes: list[Shape], fractions: Sequence[int]) -> int:
        return shapes[0][0] // self.groups * self.kernel[0] * self.kernel[1] * words**2

    def backward_most(self, words: int, shapes: list[Shape]) -> int:
        # A pixel meets every stride-th tap, and no more taps than the sums have rows and columns.
        sizes = extent(shapes[0], self.kernel, self.pad, self.stride)
        taps = math.prod(min(-(-k // s), size) for k, s, size in zip(self.kernel, self.stride, sizes))
        return self.maps // self.groups * taps * words**2

    def forward(
        self, arithmetic: Arithmetic, inputs: list[np.ndarray], node: Place, state: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        sums = conv(inputs[0], state["weight"], self.pad, self.stride, self.groups)
        if node.weights is not None and node.weights.bias:
            sums += arithmetic.align(state["bias"], node.weights.bias_exp)[:, None, None]
        return sums, None

    def backward(
        self,
        arithmetic: Arithmetic,
        delta: np.ndarray,
        inputs: list[np.ndarray],
        saved: Any,
        state: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        shape = inputs[0].shape[2:]
        return [conv_input(delta, state["weight"], self.pad, self.stride, self.groups, (shape[0], shape[1]))]

    def gradients(self, delta: np.ndarray, inputs: list[np.ndarray]) -> tuple[Gradient, Gradient]:
        def weight(delta: np.ndarray, act: np.ndarray) -> np.ndarray:
            return conv_weights(delta, act, self.kernel, self.pad, self.stride, self.groups)

        return (weight, (delta, inputs[0])), (bias_gradient, (delta,))


@dataclass(frozen=True, kw_only=True)
class _Weighted(Layer):
    """What `Conv` and `Dense` share.

    learning_rate: the layer's own, of weights and bias, in the place of the network's; trainable: False for a frozen
    layer, whose weights and bias stay what they are.
    """

    own_formats: ClassVar[tuple] = LAYER_FORMATS

    maps: int = field(metadata={"range": (1, MAPS_MAX)}, kw_only=False)
    learning_rate: float | None = field(default=None, metadata={"above": 0, "most": RATE_MAX})
    trainable: bool = True

    def check(self) -> None:
        check.integer("maps", self.maps, 1, MAPS_MAX)
        if self.learning_rate is not None:
            check.learning_rate(self.learning_rate)
        for key in ("bias", "relu", "trainable"):
            if not isinstance(getattr(self, key), bool):
                raise NetworkError(key, f"{getattr(self, key)!r} is neither true nor false", "true")
        super().check()


@dataclass(frozen=True)
class Conv(_Weighted):
    """Convolution, then ReLU, then 2x2 maximum pooling.

    maps: output maps; kernel, pad and stride: (rows, columns) or one number for both, kernel and stride 1..11, pad
    0..kernel-1; groups: a divisor of the maps on both sides; pool: 2 or None; learning_rate: the layer's own, in the
    place of the network's; trainable: False for a frozen layer; formats: fraction widths that differ from the
    network's (keys of LAYER_FORMATS).
    """

    prefix: ClassVar[str] = "conv"

    kernel: tuple = field(default=(3, 3), metadata={"range": (1, KERNEL_MAX)})
    pad: tuple = field(default=(0, 0), metadata={"range": (0, KERNEL_MAX - 1)})
    bias: bool = True
    relu: bool = True
    pool: int | None = field(default=None, metadata={"choices": (2,)})
    stride: tuple = field(default=(1, 1), metadata={"range": (1, KERNEL_MAX)})
    groups: int = field(default=1, metadata={"range": (1, MAPS_MAX)})

    def check(self) -> None:
        if self.pool is not None and (isinstance(self.pool, bool) or self.pool != 2):
            raise NetworkError("pool", f"{self.pool!r} is not supported", "pool = 2")
        check.integer("groups", self.groups, 1, MAPS_MAX)
        super().check()

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        kernel = check.pair("kernel", self.kernel, 1, (KERNEL_MAX, KERNEL_MAX))
        pad = check.pair("pad", self.pad, 0, (kernel[0] - 1, kernel[1] - 1))
        stride = check.pair("stride", self.stride, 1, (KERNEL_MAX, KERNEL_MAX))
        maps, rows, columns = shapes[0]
        if maps % self.groups or self.maps % self.groups:
            raise NetworkError(
                "groups",
                f"{self.groups} groups of {maps} input and {self.maps} output maps",
                math.gcd(self.groups, maps, self.maps),
            )
        left = extent(shapes[0], kernel, pad, stride)
        if min(left) < 1:
            raise NetworkError(
                "kernel",
                f"{kernel[0]}x{kernel[1]} with pad {pad[0]}, {pad[1]} does not fit maps of {rows}x{columns}",
                f"kernel {min(kernel[0], rows)}x{min(kernel[1], columns)}",
            )
        found: list[tuple[str, Operator]] = [("", Convolution(self.maps, kernel, pad, stride, self.groups))]
        if self.relu:
            found.append(("relu", Relu()))
        if self.pool:
            if min(left) < 2:
                raise NetworkError("pool", f"maps of {left[0]}x{left[1]} cannot be pooled", "no pool")
            found.append(("pool", MaxPooling()))
        return found


@dataclass(frozen=True)
class Dense(_Weighted):
    """Fully connected layer: a convolution whose kernel is the whole map, without padding. Fields as in `Conv`."""

    prefix: ClassVar[str] = "fc"

    bias: bool = True
    relu: bool = False

    def operators(self, shapes: list[Shape]) -> list[tuple[str, Operator]]:
        _, *kernel = shapes[0]
        if max(kernel) > DENSE_MAX:
            raise NetworkError(
                "type",
                f"a Dense layer on maps of {kernel[0]}x{kernel[1]}",
                f"maps up to {DENSE_MAX}x{DENSE_MAX}: pool before",
            )
        found: list[tuple[str, Operator]] = [("", Convolution(self.maps, (kernel[0], kernel[1]), (0, 0)))]
        if self.relu:
            found.append(("relu", Relu()))
        return found


def extent(
    shape: tuple[int, ...], kernel: tuple[int, ...], pad: tuple[int, int], stride: tuple[int, int] = (1, 1)
) -> tuple[int, int]:
    """Rows and columns of the result of a convolution of maps of `shape` (maps, rows, columns)."""
    rows, columns = ((n + 2 * p - k) // s + 1 for n, p, k, s in zip(shape[1:], pad, kernel, stride))
    return rows, columns


def conv(
    a: np.ndarray, w: np.ndarray, pad: tuple[int, int], stride: tuple[int, int] = (1, 1), groups: int = 1
) -> np.ndarray:
    """Forward sums (N, O, rows, columns) of maps `a` (N, C * groups, H, W) and weights `w` (O, C, KY, KX), without
    bias; frac fa + fw."""
    if groups > 1:
        parts = zip(np.split(a, groups, axis=1), np.split(w, groups))
        return np.concatenate([conv(*part, pad, stride) for part in parts], axis=1)
    dtype = _exact_type(w[0].size, a, w)
    sums = w.reshape(len(w), -1).astype(dtype) @ _columns(a.astype(dtype), w.shape[2:], pad, stride)
    rows, columns = extent(a.shape[1:], w.shape[2:], pad, stride)
    return _back(sums, a).reshape(len(w), len(a), rows, columns).transpose(1, 0, 2, 3)


def conv_input(
    delta: np.ndarray,
    w: np.ndarray,
    pad: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    groups: int = 1,
    shape: tuple[int, int] | None = None,
) -> np.ndarray:
    """Backward sums (N, C * groups, H, W) of local gradients `delta` (N, O, ..) at the layer's output; frac fd + fw.
    shape: (H, W), where the stride is not 1."""
    if groups > 1:
        parts = zip(np.split(delta, groups, axis=1), np.split(w, groups))
        return np.concatenate([conv_input(*part, pad, stride, 1, shape) for part in parts], axis=1)
    if stride != (1, 1):
        assert shape is not None
        delta = _spread(delta, stride, extent((1, *shape), w.shape[2:], pad))
    if delta.shape[2:] == (1, 1) and tuple(pad) == (0, 0):  # fully connected: every output reaches every input once
        dtype = _exact_type(len(w), delta, w)
        sums = delta.reshape(len(delta), -1).astype(dtype) @ w.reshape(len(w), -1).astype(dtype)
        return _back(sums, delta).reshape(len(delta), *w.shape[1:])
    flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return conv(delta, flipped, (w.shape[2] - 1 - pad[0], w.shape[3] - 1 - pad[1]))


def conv_weights(
    delta: np.ndarray,
    a: np.ndarray,
    kernel: tuple[int, int],
    pad: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Weight gradients (O, C, KY, KX): `delta` (N, O, ..) times input maps `a` (N, C * groups, H, W), summed over the
    minibatch; frac fd + fa."""
    if groups > 1:
        parts = zip(np.split(delta, groups, axis=1), np.split(a, groups, axis=1))
        return np.concatenate([conv_weights(*part, kernel, pad, stride) for part in parts])
    dtype = _exact_type(delta.size // delta.shape[1], delta, a)
    rows = delta.transpose(1, 0, 2, 3).reshape(delta.shape[1], -1).astype(dtype)
    sums = rows @ _columns(a.astype(dtype), kernel, pad, stride).T
    return _back(sums, delta).reshape(delta.shape[1], a.shape[1], *kernel)


def bias_gradient(delta: np.ndarray) -> np.ndarray:
    """Bias gradients (O,): `delta` (N, O, H, W) summed over images and pixels; frac fd."""
    return delta.sum(axis=(0, 2, 3))


def _spread(delta: np.ndarray, stride: tuple[int, int], shape: tuple[int, int]) -> np.ndarray:
    """`delta` where a convolution of stride 1, of results of `shape`, would have it; zeros between."""
    full = np.zeros((*delta.shape[:2], *shape), dtype=delta.dtype)
    rows, columns = (slice(0, (n - 1) * s + 1, s) for n, s in zip(delta.shape[2:], stride))
    full[:, :, rows, columns] = delta
    return full


def _columns(
    a: np.ndarray, kernel: tuple[int, int], pad: tuple[int, int], stride: tuple[int, int] = (1, 1)
) -> np.ndarray:
    """Patches of `a` as a matrix (C*KY*KX, N*rows*columns)."""
    images, maps = a.shape[:2]
    rows, columns = extent(a.shape[1:], kernel, pad, stride)
    padded = np.pad(a, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))).transpose(1, 0, 2, 3)
    patches = np.empty((maps, *kernel, images, rows, columns), dtype=a.dtype)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            down = slice(ky, ky + (rows - 1) * stride[0] + 1, stride[0])
            right = slice(kx, kx + (columns - 1) * stride[1] + 1, stride[1])
            patches[:, ky, kx] = padded[:, :, down, right]
    return patches.reshape(maps * kernel[0] * kernel[1], -1)


def _exact_type(terms: int, x: np.ndarray, y: np.ndarray) -> np.dtype | type[np.number]:
    """Type in which sums of `terms` products of x and y are exact: float64 (fast) below 2^53, else int64; floats keep
    theirs."""
    if x.dtype.kind == "f":
        return x.dtype
    bound = terms * _magnitude(x) * _magnitude(y)
    if bound >= 1 << 63:
        raise OverflowError(f"a sum of {terms} products could need more than 64 bits")
    return np.float64 if bound < 1 << 53 else np.int64


def _magnitude(x: np.ndarray) -> int:
    x = int64(x)
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0


def _back(sums: np.ndarray, like: np.ndarray) -> np.ndarray:
    return sums if like.dtype.kind == "f" else sums.astype(np.int64)
