# SPDX-License-Identifier: Apache-2.0
"""Where the elements of a tensor sit in a skewed buffer and what an access reads (doc/architecture.md, "The bank function").

The definition that ``rtl/operand_buffer`` is bit-exact with. All functions return ``grid x grid`` integer arrays, indexed
[lane row, lane column].
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Access:
    """One access of a buffer: see doc/architecture.md, "Accesses". Folds are log2 of a block's side; strides count vectors."""

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


def _banks(grid: int, a: Access, row_shift: int, col_shift: int) -> tuple[np.ndarray, np.ndarray]:
    row, col = np.indices((grid, grid))
    bank_row = (row + row_shift + a.y0 + a.dy + a.rot_y + a.chan // grid) % grid
    bank_col = (col + col_shift + a.x0 + a.dx + a.rot_x + a.chan % grid) % grid
    return bank_row, bank_col


def pixel_access(grid: int, a: Access) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Bank row, bank column, address and validity of each lane of a pixel access."""
    row, col = np.indices((grid, grid))
    ly, lx = row % (1 << a.fold_a), col % (1 << a.fold_a)
    address = a.addr + ((a.dy + ly) >> a.fold_s) * a.stride_y + ((a.dx + lx) >> a.fold_s) * a.stride_x
    y, x = a.y0 + a.dy + ly, a.x0 + a.dx + lx
    valid = (0 <= y) & (y < a.height) & (0 <= x) & (x < a.width)
    return *_banks(grid, a, 0, 0), address, valid


def channel_access(grid: int, cols: int, a: Access, step: int, channels: int) -> tuple[np.ndarray, ...]:
    """Bank row, bank column, address and validity of each lane of a channel access, sub-step `step` of `cols`."""
    row, col = np.indices((grid, grid))
    rows = cols // grid
    lane_col, first_row = step % grid, step // grid
    lane_row = first_row + rows * (row // rows)
    ly, lx = lane_row % (1 << a.fold_a), lane_col % (1 << a.fold_a)
    chan = grid * (row % rows) + col
    address = a.addr + chan + ((a.dy + ly) >> a.fold_s) * a.stride_y + ((a.dx + lx) >> a.fold_s) * a.stride_x
    y, x = a.y0 + a.dy + ly, a.x0 + a.dx + lx
    valid = (0 <= y) & (y < a.height) & (0 <= x) & (x < a.width) & (a.chan + chan < channels)
    return *_banks(grid, a, first_row, lane_col), address, valid




def image_of(grid: int, fold: int, row: int, col: int) -> int:
    """Number within its group of the image in a lane: the reversed bits of ih and ix, interleaved, ix first."""
    bits = (grid >> fold).bit_length() - 1
    ih, ix, number = row >> fold, col >> fold, 0
    for i in range(bits):
        top = bits - 1 - i
        number |= (ix >> top & 1) << (2 * i) | (ih >> top & 1) << (2 * i + 1)
    return number
