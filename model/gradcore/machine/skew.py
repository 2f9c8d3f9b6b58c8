# SPDX-License-Identifier: Apache-2.0
"""Where an access of a skewed buffer finds its lanes (doc/architecture.md, "The bank function" and "Accesses").

The definition that ``rtl/operand_buffer`` is bit-exact with. The functions return ``grid x grid`` arrays, indexed [lane
row, lane column]. Addresses are exact integers; the buffer takes them modulo its depth. What the buffer can do with a
lane outside the map or beyond the last channel is settled by ``valid``: it reads as zero and is not written.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Access:
    """One access of a buffer. Folds are log2 of a block's side; strides and `addr`, that of block (y0, x0) and channel
    `chan`, count vectors; `dy` and `dx` are -128..127."""

    addr: int
    y0: int
    x0: int
    chan: int
    fold_a: int
    fold_s: int
    stride_y: int
    stride_x: int
    height: int
    width: int
    dy: int = 0
    dx: int = 0
    rot_y: int = 0
    rot_x: int = 0


def _lanes(
    grid: int,
    a: Access,
    row_shift: int,
    col_shift: int,
    lane_row: np.ndarray | int,
    lane_col: np.ndarray | int,
    chan: np.ndarray | int,
) -> tuple[np.ndarray, ...]:
    """Lanes that hold channel `a.chan + chan` of the pixel in lane (lane_row, lane_col) of the block, moved by the
    displacement."""
    row, col = np.indices((grid, grid))
    bank_row = (row + row_shift + a.y0 + a.dy + a.rot_y + a.chan // grid) % grid
    bank_col = (col + col_shift + a.x0 + a.dx + a.rot_x + a.chan % grid) % grid
    move_y, move_x = a.dy + lane_row % (1 << a.fold_a), a.dx + lane_col % (1 << a.fold_a)
    down, right = move_y >> a.fold_s, move_x >> a.fold_s
    address = a.addr + chan + down * a.stride_y + right * a.stride_x
    y, x = a.y0 + move_y, a.x0 + move_x
    valid = (y >= 0) & (y < a.height) & (x >= 0) & (x < a.width)
    return bank_row, bank_col, np.asarray(address), np.asarray(valid)


def pixel_access(grid: int, a: Access) -> tuple[np.ndarray, ...]:
    """Bank row, bank column, address and validity of each lane: one channel of a block of pixels and images."""
    row, col = np.indices((grid, grid))
    return _lanes(grid, a, 0, 0, row, col, 0)


def split_access(grid: int, cols: int, a: Access) -> tuple[np.ndarray, ...]:
    """As `pixel_access`, but each group of `cols` lanes has the pixels of the first: group g those of channel `a.chan`
    + g * cols."""
    row, col = np.indices((grid, grid))
    rows = cols // grid
    bank_row, bank_col, address, valid = _lanes(grid, a, 0, 0, row % rows, col, cols * (row // rows))
    return bank_row, bank_col, address, valid


def channel_access(grid: int, cols: int, a: Access, step: int, channels: int) -> tuple[np.ndarray, ...]:
    """Bank row, bank column, address and validity of each lane: `cols` channels from `a.chan` (a multiple of cols) on
    of grid^2 / cols pixels.

    `step` (0..cols-1) chooses the pixels of the block, all steps together read each once. Channels from `channels` on
    are not valid.
    """
    row, col = np.indices((grid, grid))
    rows = cols // grid
    lane_col, first_row = step % grid, step // grid
    chan = grid * (row % rows) + col
    *place, valid = _lanes(grid, a, first_row, lane_col, first_row + rows * (row // rows), lane_col, chan)
    return *place, valid & (a.chan + chan < channels)
