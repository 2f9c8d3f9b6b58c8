# SPDX-License-Identifier: Apache-2.0
"""Folds: where an element of a tensor is in a vector, in DRAM and in the rows of weights (doc/architecture.md,
"Folds")."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike


def block_size(fold: int) -> int:
    """Rows and columns of pixels in a vector (PY)."""
    return 1 << fold


def block_images(grid: int, fold: int) -> int:
    """Images in a vector (PB)."""
    return (grid >> fold) ** 2


def image_place(grid: int, fold: int, n: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(group, ih, ix) of image `n` (integer or array): low bits of n go to ix and ih alternately, the lowest bit to the
    highest place."""
    n = np.asarray(n)
    bits = (grid >> fold).bit_length() - 1
    ih = ix = np.zeros_like(n)
    for k in range(bits):
        ix = ix | (n >> (2 * k) & 1) << (bits - 1 - k)
        ih = ih | (n >> (2 * k + 1) & 1) << (bits - 1 - k)
    return n >> (2 * bits), ih, ix


def lane_images(grid: int, fold: int, group: int) -> np.ndarray:
    """Image number of each lane (LANES,) of the vectors of an image group."""
    images = block_images(grid, fold)
    n = group * images + np.arange(images)
    _, ih, ix = image_place(grid, fold, n)
    table = np.zeros((grid >> fold, grid >> fold), np.int64)
    table[ih, ix] = n
    return table.repeat(1 << fold, axis=0).repeat(1 << fold, axis=1).reshape(-1)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def round_up(a: int, b: int) -> int:
    return ceil_div(a, b) * b


def passes(grid: int, fold: int, images: int, height: int, width: int) -> int:
    """Vectors per channel that a map of the whole minibatch takes."""
    py = block_size(fold)
    return ceil_div(images, block_images(grid, fold)) * ceil_div(height, py) * ceil_div(width, py)


def tap_windows(block: int, size: int, delta_size: int, kernel: int, pad: int) -> list[tuple[int, int, int, int]]:
    """One axis of BP: (first block, blocks, first tap, taps) of the runs of blocks of `block` pixels that the same taps
    reach; pixel y of the `size` pixels takes `delta[y + pad - k]` of `delta_size` through tap k. A run that no tap
    reaches keeps one, which gives zeros."""
    runs: list[tuple[int, int, int, int]] = []
    for at in range(ceil_div(size, block)):
        low, high = at * block + pad, min(at * block + block, size) - 1 + pad
        first = min(max(0, low - delta_size + 1), kernel - 1)
        taps = max(min(kernel - 1, high) - first + 1, 1)
        if runs and runs[-1][2:] == (first, taps):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, first, taps)
        else:
            runs.append((at, 1, first, taps))
    return runs


def to_bytes(words: ArrayLike, word_bytes: int) -> np.ndarray:
    """Signed integers as little-endian words of 1 or 2 bytes."""
    return np.ascontiguousarray(words).astype(np.int8 if word_bytes == 1 else "<i2").reshape(-1).view(np.uint8)


def from_bytes(data: ArrayLike, word_bytes: int) -> np.ndarray:
    """Signed words of 1 or 2 bytes as int64."""
    return np.ascontiguousarray(data).view(np.int8 if word_bytes == 1 else "<i2").astype(np.int64)


@dataclass(frozen=True)
class MapLayout:
    """An activation or delta tensor in DRAM: image group, block row, block column, channel, lane. Every group starts at
    a beat. `unit`: channels are stored in multiples of it, so that every block starts at a beat."""

    grid: int
    fold: int
    images: int
    channels: int
    height: int
    width: int
    word_bytes: int = 2
    beat: int = 64
    unit: int = 1

    @property
    def pitch(self) -> int:
        """Vectors of a block: its channels, those that only fill up the unit included."""
        return round_up(self.channels, self.unit)

    @property
    def vector_bytes(self) -> int:
        return self.grid**2 * self.word_bytes

    @property
    def scattered(self) -> bool:
        """Has every share of a block beats of its own, with room that nobody uses?"""
        return False

    def channel_place(self, channel: int) -> int:
        """Vectors from the first of a block to that of a channel."""
        return channel

    @property
    def group_images(self) -> int:
        return block_images(self.grid, self.fold)

    @property
    def groups(self) -> int:
        return ceil_div(self.images, self.group_images)

    @property
    def rows(self) -> int:
        """Block rows of the map."""
        return ceil_div(self.height, block_size(self.fold))

    @property
    def columns(self) -> int:
        """Block columns of the map."""
        return ceil_div(self.width, block_size(self.fold))

    @property
    def group_vectors(self) -> int:
        return self.rows * self.columns * self.pitch

    @property
    def group_bytes(self) -> int:
        """From the start of one image group to that of the next."""
        return round_up(self.group_vectors * self.vector_bytes, self.beat)

    @property
    def size(self) -> int:
        return self.groups * self.group_bytes

    def _places(self) -> tuple[np.ndarray, ...]:
        """Indices [group, block row, block column, channel, lane] of the elements (n, c, y, x)."""
        n, c, y, x = np.ogrid[: self.images, : self.channels, : self.height, : self.width]
        py = block_size(self.fold)
        group, ih, ix = image_place(self.grid, self.fold, n)
        lane = (py * ih + y % py) * self.grid + py * ix + x % py
        return np.broadcast_arrays(group, y // py, x // py, c, lane)

    def pack(self, maps: ArrayLike) -> np.ndarray:
        """Integers (N, C, H, W) as the tensor's bytes; what is not an element is zero. Raises ValueError for another
        shape."""
        maps = np.asarray(maps)
        shape = (self.images, self.channels, self.height, self.width)
        if maps.shape != shape:
            raise ValueError(f"maps have shape {maps.shape}, not {shape}")
        vectors = np.zeros((self.groups, self.rows, self.columns, self.pitch, self.grid**2), np.int64)
        vectors[self._places()] = maps
        data = np.zeros((self.groups, self.group_bytes), np.uint8)
        words = to_bytes(vectors, self.word_bytes).reshape(self.groups, -1)
        data[:, : words.shape[1]] = words
        return data.reshape(-1)

    def unpack(self, data: ArrayLike) -> np.ndarray:
        """Integers (N, C, H, W) from the tensor's bytes."""
        used = self.group_vectors * self.vector_bytes
        data = np.asarray(data).reshape(self.groups, self.group_bytes)[:, :used]
        vectors = from_bytes(data, self.word_bytes).reshape(
            self.groups, self.rows, self.columns, self.pitch, self.grid**2
        )
        return vectors[self._places()]


@dataclass(frozen=True)
class GateLayout(MapLayout):
    """Gates in DRAM: a bit in the place of a word. `share`: so many maps of a block begin at a beat, also where they do
    not fill it; 0: maps follow each other."""

    share: int = 0

    @property
    def vector_bytes(self) -> int:
        return self.grid**2 // 8

    @property
    def scattered(self) -> bool:
        return 0 < self.share < self.unit

    @property
    def pitch(self) -> int:
        return ceil_div(self.channels, self.share) * self.unit if self.scattered else round_up(self.channels, self.unit)

    def channel_place(self, channel: int) -> int:
        return channel // self.share * self.unit + channel % self.share if self.scattered else channel


@dataclass(frozen=True)
class RowLayout:
    """Weights (or momentum) and bias of a layer in DRAM: output group of COLS, ky, kx, input map, output map in the
    group; bias at a beat. `pieces`: each COLS input maps of a tap begin at a beat, so does each row of bias. `taps`:
    the input maps are the taps of such a kernel, of each input map that the network has."""

    cols: int
    outputs: int
    inputs: int
    kernel: tuple[int, int]
    bias: bool
    word_bytes: int = 2
    beat: int = 64
    pieces: bool = False
    taps: tuple[int, int] = (1, 1)

    @property
    def groups(self) -> int:
        return ceil_div(self.outputs, self.cols)

    @property
    def weight_shape(self) -> tuple[int, int, int]:
        """(C, KY, KX) as the network has them."""
        (rows, columns), (down, right) = self.kernel, self.taps
        return self.inputs // (down * right), rows * down, columns * right

    @property
    def by_taps(self) -> "RowLayout":
        """The same rows, of the input maps and taps that the network has."""
        inputs, *kernel = self.weight_shape
        return replace(self, inputs=inputs, kernel=(kernel[0], kernel[1]), taps=(1, 1))

    @property
    def taps_in_pieces(self) -> bool:
        """Do taps that are input maps lie as taps do, in pieces, too?"""
        step = replace(self, pieces=True).unit
        return self.taps == (1, 1) or self.weight_shape[0] % (step if step <= self.cols else self.cols) == 0

    @property
    def inner(self) -> int:
        """Rows of one output group."""
        return self.kernel[0] * self.kernel[1] * self.inputs

    @property
    def rows(self) -> int:
        return self.groups * self.inner

    @property
    def row_bytes(self) -> int:
        return self.cols * self.word_bytes

    @property
    def unit(self) -> int:
        """What begins at a beat begins at a multiple of so many rows."""
        return max(1, self.beat // self.row_bytes) if self.pieces else 1

    @property
    def pitch(self) -> int:
        """From a tap to the next, in rows as they lie in DRAM."""
        if self.unit > self.cols:
            return ceil_div(self.inputs, self.cols) * self.unit
        return round_up(self.inputs, self.unit)

    @property
    def dense(self) -> bool:
        """Do all rows of weights follow each other?"""
        return self.pitch == self.inputs

    @property
    def outer(self) -> int:
        """From an output group to the next, in rows as they lie in DRAM."""
        return self.kernel[0] * self.kernel[1] * self.pitch

    def runs(self, tap: int, channels: tuple[int, int]) -> list[tuple[int, int, int]]:
        """Where the rows of a tap and of input maps (first, end) lie together: (row as it lies in DRAM, first input
        map, number). `first` is a multiple of COLS."""
        first, end = channels
        start, cols = tap * self.pitch, self.cols
        if self.unit <= cols:
            return [(start + first, first, end - first)]
        return [(start + c // cols * self.unit, c, min(cols, end - c)) for c in range(first, end, cols)]

    @property
    def bias_offset(self) -> int:
        """First byte of the bias."""
        return round_up(self.groups * self.outer * self.row_bytes, self.beat)

    @property
    def size(self) -> int:
        return self.bias_offset + self.bias * round_up(self.groups * self.unit * self.row_bytes, self.beat)

    def row_order(self, weights: ArrayLike) -> np.ndarray:
        """Integers (O, C, KY, KX) as rows (rows, COLS); what is not a weight is zero."""
        full = np.zeros((self.groups * self.cols, *self.weight_shape), np.int64)
        full[: self.outputs] = weights
        shaped = full.reshape(self.groups, self.cols, *self.weight_shape)
        return shaped.transpose(0, 3, 4, 2, 1).reshape(self.rows, self.cols)

    def from_rows(self, rows: ArrayLike) -> np.ndarray:
        """The reverse of `row_order`."""
        inputs, *kernel = self.weight_shape
        shaped = np.asarray(rows).reshape(self.groups, *kernel, inputs, self.cols).transpose(0, 4, 3, 1, 2)
        return shaped.reshape(self.groups * self.cols, inputs, *kernel)[: self.outputs].copy()

    def _places(self) -> np.ndarray:
        """Where each row lies in DRAM, as (rows,)."""
        one = np.concatenate([row + np.arange(n) for row, _, n in self.runs(0, (0, self.inputs))])
        taps = np.arange(self.groups * self.kernel[0] * self.kernel[1]) * self.pitch
        return (taps[:, None] + one).reshape(-1)

    def pack(self, weights: ArrayLike, bias: ArrayLike | None = None) -> np.ndarray:
        """Weights (O, C, KY, KX) and bias (O,) as bytes."""
        rows = np.zeros((self.size // self.row_bytes, self.cols), np.int64)
        rows[self._places()] = self.row_order(weights)
        if self.bias:
            assert bias is not None
            own = np.zeros(self.groups * self.cols, np.int64)
            own[: self.outputs] = bias
            rows[self._bias_places()] = own.reshape(self.groups, self.cols)
        return to_bytes(rows, self.word_bytes)

    def _bias_places(self) -> np.ndarray:
        return self.bias_offset // self.row_bytes + np.arange(self.groups) * self.unit

    def bias_place(self, group: int) -> int:
        """First byte of the bias of an output group."""
        return self.bias_offset + group * self.unit * self.row_bytes

    def unpack(self, data: ArrayLike) -> tuple[np.ndarray, np.ndarray | None]:
        """(weights, bias or None) from the bytes."""
        rows = from_bytes(np.asarray(data), self.word_bytes).reshape(-1, self.cols)
        weights = self.from_rows(rows[self._places()])
        return weights, rows[self._bias_places()].reshape(-1)[: self.outputs] if self.bias else None
