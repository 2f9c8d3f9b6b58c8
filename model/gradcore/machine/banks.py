# SPDX-License-Identifier: Apache-2.0
"""Operand buffers as banks: the accesses of doc/architecture.md ("The bank function"), many at a time, each bank at
most once per access."""

from dataclasses import dataclass

import numpy as np

Places = tuple[np.ndarray, np.ndarray]  # flat index into the words of the banks, mask


class BankConflict(AssertionError):
    """An access would touch a bank twice."""


@dataclass(frozen=True)
class Map:
    """A tensor in a buffer as an access sees it: vector address of block `corner` (row, column), channel 0, strides in
    vectors from there to the next block, or to the one so many blocks (`every`) behind it, extent of the map, storage
    and access fold, and the rotations that place the access's images inside the storage group."""

    base: int
    stride_y: int
    stride_x: int
    height: int
    width: int
    storage: int
    access: int
    rot_y: int = 0
    rot_x: int = 0
    corner: tuple[int, int] = (0, 0)
    every: tuple[int, int] = (1, 1)


class Banks:
    """GRID x GRID banks of `depth` words, garbage at first; `words[bank_row * GRID + bank_col, address]`."""

    def __init__(self, grid: int, depth: int, rng: np.random.Generator, dtype: type = np.int64) -> None:
        self.grid, self.depth, self.lanes = grid, depth, grid * grid
        largest = min(np.iinfo(dtype).max, (1 << 15) - 1)
        self.words = rng.integers(-largest - 1, largest, (self.lanes, depth), dtype, endpoint=True)

    def _banks(
        self, m: Map, y: np.ndarray, x: np.ndarray, image_row: np.ndarray, image_col: np.ndarray, c: np.ndarray
    ) -> Places:
        """Flat index into `words` of the elements; the rows and columns of the images are given in lanes of the storage
        fold."""
        g, py = self.grid, 1 << m.storage
        bank_row = (y + py * image_row + c // g) % g
        bank_col = (x + py * image_col + c % g) % g
        row = ((y >> m.storage) - m.corner[0]) // m.every[0]
        column = ((x >> m.storage) - m.corner[1]) // m.every[1]
        address = m.base + row * m.stride_y + column * m.stride_x + c
        return (bank_row * g + bank_col), address % self.depth

    def _index(
        self,
        m: Map,
        y0: np.ndarray,
        x0: np.ndarray,
        lane_y: np.ndarray,
        lane_x: np.ndarray,
        row: np.ndarray,
        col: np.ndarray,
        c: np.ndarray,
    ) -> Places:
        """Index and mask of lanes; y0, x0 block origins with displacement, (lane_y, lane_x) pixel in the block, row,
        col lane with the image."""
        py = 1 << m.access
        # Image of a lane: its high bits from the lane, its low bits from the rotation.
        image_row = (row >> m.access << (m.access - m.storage)) + (m.rot_y >> m.storage)
        image_col = (col >> m.access << (m.access - m.storage)) + (m.rot_x >> m.storage)
        y, x = y0 + lane_y % py, x0 + lane_x % py
        bank, address = self._banks(m, y, x, image_row, image_col, c)
        bank, address = np.broadcast_arrays(bank, address)
        inside = np.broadcast_to((y >= 0) & (y < m.height) & (x >= 0) & (x < m.width), bank.shape)
        if (np.sort(bank.reshape(-1, self.lanes), axis=1) != np.arange(self.lanes)).any():
            raise BankConflict(f"two lanes of one access in a bank: {m}")
        return bank * self.depth + address, inside

    def _lanes(self) -> tuple[np.ndarray, np.ndarray]:
        lane = np.arange(self.lanes)
        return lane // self.grid, lane % self.grid

    def pixels(self, m: Map, y0: np.ndarray, x0: np.ndarray, c: np.ndarray, groups: int = 1) -> Places:
        """(flat index, mask) of pixel accesses; y0 (block origin and displacement), x0, c broadcast together, lanes are
        added as last axis. With `groups` (split) each group of lanes has the pixels of the first, every next one those
        of LANES / groups channels later."""
        row, col = self._lanes()
        group, row = np.divmod(row, self.grid // groups)
        return self._index(
            m, y0[..., None], x0[..., None], row, col, row, col, c[..., None] + group * (self.lanes // groups)
        )

    def pooled(self, m: Map, y0: np.ndarray, x0: np.ndarray, c: np.ndarray) -> Places:
        """Pixel accesses of a pooled map: `m.access` is the fold of the computation, one more than that of the result,
        whose lanes are those with a zero bit above the pixel bits; only these are in the mask."""
        index, inside = self.pixels(m, y0, x0, c)
        row, col = self._lanes()
        py = 1 << m.access
        return index, inside & (row % py < py // 2) & (col % py < py // 2)

    def channels(self, m: Map, y0: np.ndarray, x0: np.ndarray, c: np.ndarray, steps: int, count: int) -> Places:
        """(flat index, mask) of channel accesses: axes steps and lanes are added; c is the first channel, `count` the
        channels there are."""
        lane_row, lane_col = self._lanes()
        rows = steps // self.grid  # R of the document
        p = np.arange(steps)[:, None]
        row, col = p // self.grid + rows * (lane_row // rows), p % self.grid
        channel = c[..., None, None] + self.grid * (lane_row % rows) + lane_col
        index, inside = self._index(m, y0[..., None, None], x0[..., None, None], row, col, row, col, channel)
        return index, inside & (channel < count)

    def natural(self, base: int, n: tuple, strides: tuple, fold: int, rot: tuple = (0, 0)) -> np.ndarray:
        """Flat index of whole stored vectors: n = (groups, rows, columns, channels) at strides (b, y, x), lanes last.
        rot: rows and columns of pixels before the first block, modulo GRID."""
        b, by, bx, c = np.ogrid[tuple(slice(k) for k in n)]
        row, col = self._lanes()
        address = (base + b * strides[0] + by * strides[1] + bx * strides[2] + c) % self.depth
        g = self.grid
        bank_row = (row + rot[0] + (by << fold)[..., None] + (c // g)[..., None]) % g
        bank_col = (col + rot[1] + (bx << fold)[..., None] + (c % g)[..., None]) % g
        return (bank_row * g + bank_col) * self.depth + address[..., None]

    def read(self, index: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        words = self.words.reshape(-1)[index]
        return words if mask is None else np.where(mask, words, 0)

    def write(self, index: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None) -> None:
        flat = self.words.reshape(-1)
        if mask is None:
            flat[index] = values
        else:
            flat[index[mask]] = np.broadcast_to(values, index.shape)[mask]
