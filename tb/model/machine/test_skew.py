# SPDX-License-Identifier: Apache-2.0
"""The bank function and its accesses: every element has its own place, every access finds it there and touches each
bank once."""

import random

import numpy as np
import pytest

from gradcore.isa.fold import ceil_div, image_place
from gradcore.machine.banks import Banks, Map
from gradcore.machine.skew import Access, channel_access, pixel_access


class Stored:
    """A map of one storage group: the place of each element by the three lines of the document's bank function."""

    def __init__(self, grid, fold):
        self.grid, self.fold, self.py = grid, fold, 1 << fold
        self.c, self.h, self.w = (
            random.randint(1, 2 * grid + 3),
            random.randint(1, 2 * grid),
            random.randint(1, 2 * grid),
        )
        self.images = (grid // self.py) ** 2
        self.stride_x = self.c
        self.stride_y = ceil_div(self.w, self.py) * self.c
        n, c, y, x = np.indices((self.images, self.c, self.h, self.w))
        _, nh, nx = image_place(grid, fold, n)
        bank_row = (y + self.py * nh + c // grid) % grid
        bank_col = (x + self.py * nx + c % grid) % grid
        address = y // self.py * self.stride_y + x // self.py * self.stride_x + c
        self.place = np.stack([bank_row, bank_col, address], axis=-1)

    def access(self, fold_a, n0, c):
        """An access of the images from n0 on, with a random block and displacement."""
        side = 1 << fold_a
        y0, x0 = (side * random.randrange(ceil_div(size, side)) for size in (self.h, self.w))
        _, nh, nx = image_place(self.grid, self.fold, n0)
        return Access(
            y0 // self.py * self.stride_y + x0 // self.py * self.stride_x + c,
            y0,
            x0,
            c,
            fold_a,
            self.fold,
            self.stride_y,
            self.stride_x,
            self.h,
            self.w,
            random.randint(-20, 20),
            random.randint(-20, 20),
            int(nh) * self.py,
            int(nx) * self.py,
        )

    def image(self, fold_a, n0, row, col):
        """Image in a lane."""
        images = (self.grid >> fold_a) ** 2
        return next(
            n0 + n for n in range(images) if image_place(self.grid, fold_a, n)[1:] == (row >> fold_a, col >> fold_a)
        )

    def check(self, lanes, fold_a, n0, element):
        """Banks all different; valid lanes exactly those of elements; each at its place. `element` gives (row, col, c,
        y, x) of a lane."""
        bank_row, bank_col, address, valid = lanes
        assert sorted((bank_row * self.grid + bank_col).ravel()) == list(range(self.grid**2))
        for lane in np.ndindex(self.grid, self.grid):
            row, col, c, y, x = element(*lane)
            inside = c < self.c and 0 <= y < self.h and 0 <= x < self.w
            assert valid[lane] == inside
            if inside:
                assert [bank_row[lane], bank_col[lane], address[lane]] == list(
                    self.place[self.image(fold_a, n0, row, col), c, y, x]
                )


CASES = [(grid, s, a) for grid in (4, 8) for a in range(grid.bit_length()) for s in range(a + 1)]


@pytest.mark.parametrize("grid, fold_s", sorted({case[:2] for case in CASES}))
def test_every_element_has_its_own_place(grid, fold_s):
    places = Stored(grid, fold_s).place.reshape(-1, 3)
    assert len({tuple(place) for place in places.tolist()}) == len(places)


@pytest.mark.parametrize("grid, fold_s, fold_a", CASES)
def test_pixel_accesses(grid, fold_s, fold_a):
    for _ in range(4):
        stored, side = Stored(grid, fold_s), 1 << fold_a
        n0, c = random.randrange(0, stored.images, (grid // side) ** 2), random.randrange(stored.c)
        a = stored.access(fold_a, n0, c)
        stored.check(
            pixel_access(grid, a),
            fold_a,
            n0,
            lambda row, col: (row, col, c, a.y0 + a.dy + row % side, a.x0 + a.dx + col % side),
        )


@pytest.mark.parametrize("grid, fold_s, fold_a", CASES)
def test_channel_accesses(grid, fold_s, fold_a):
    for rows in (r for r in (1, 2, 4, 8) if r <= grid):
        stored, side, cols = Stored(grid, fold_s), 1 << fold_a, grid * rows
        n0, c = random.randrange(0, stored.images, (grid // side) ** 2), random.randrange(0, stored.c, cols)
        a, pixels = stored.access(fold_a, n0, c), set()
        for step in random.sample(range(cols), 3):

            def element(row, col):
                lane_row, lane_col = step // grid + rows * (row // rows), step % grid
                return (
                    lane_row,
                    lane_col,
                    c + grid * (row % rows) + col,
                    a.y0 + a.dy + lane_row % side,
                    a.x0 + a.dx + lane_col % side,
                )

            stored.check(channel_access(grid, cols, a, step, stored.c), fold_a, n0, element)
            fresh = {element(row, col)[:2] for row, col in np.ndindex(grid, grid)}
            assert len(fresh) == grid // rows and not fresh & pixels
            pixels |= fresh


@pytest.mark.parametrize("grid, fold_s, fold_a", CASES)
def test_the_machine_means_the_same(grid, fold_s, fold_a):
    depth = 4096
    banks = Banks(grid, depth, np.random.default_rng(0))
    stored = Stored(grid, fold_s)
    a = stored.access(fold_a, random.randrange(0, stored.images, (grid >> fold_a) ** 2), 0)
    m = Map(0, a.stride_y, a.stride_x, a.height, a.width, fold_s, fold_a, a.rot_y, a.rot_x)
    y, x, c = np.array(a.y0 + a.dy), np.array(a.x0 + a.dx), np.array(0)
    found = [(pixel_access(grid, a), banks.pixels(m, y, x, c))]
    index, inside = banks.channels(m, y, x, c, grid, stored.c)
    found += [(channel_access(grid, grid, a, p, stored.c), (index[p], inside[p])) for p in range(grid)]
    for (bank_row, bank_col, address, valid), (index, inside) in found:
        assert (valid.ravel() == inside.ravel()).all()
        assert ((bank_row * grid + bank_col) * depth + address % depth).ravel().tolist() == index.ravel().tolist()
