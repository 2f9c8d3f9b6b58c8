# SPDX-License-Identifier: Apache-2.0
"""Tensors written in one fold and read in another: every lane must hold the element that its coordinates name."""

import random

import cocotb
import numpy as np
import pytest

from gradcore.skew import image_of
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 7


class Tensor:
    """A random tensor of whole image groups [n, c, y, x] and its place in the buffer."""

    def __init__(self, grid, width, base, fold, groups, channels, height, width_px):
        self.grid, self.fold, self.base, self.c, self.h, self.w = grid, fold, base, channels, height, width_px
        self.py = 1 << fold
        self.pb = (grid // self.py) ** 2
        self.bh, self.bw = -(-height // self.py), -(-width_px // self.py)
        self.data = np.array([[[[random.getrandbits(width) for _ in range(width_px)] for _ in range(height)]
                               for _ in range(channels)] for _ in range(groups * self.pb)], dtype=object)

    def size(self):
        return len(self.data) // self.pb * self.bh * self.bw * self.c

    def access(self, fold_a, group, y0, x0, chan, dy=0, dx=0):
        """Fields of an access of fold_a to image group `group` (of that fold), block origin (y0, x0)."""
        images = (self.grid >> fold_a) ** 2
        rank = group * images % self.pb            # first image within the storage group
        nh = nx = 0
        bits = (self.grid >> self.fold).bit_length() - 1
        for i in range(bits):
            top = bits - 1 - i
            nx |= (rank >> (2 * i) & 1) << top
            nh |= (rank >> (2 * i + 1) & 1) << top
        block = (group * images // self.pb * self.bh + y0 // self.py) * self.bw + x0 // self.py
        return dict(addr=self.base + block * self.c + chan, y0=y0, x0=x0, dy=dy & 255, dx=dx & 255, chan=chan,
                    fold_a=fold_a, fold_s=self.fold, stride_y=self.bw * self.c, stride_x=self.c,
                    rot_y=self.py * nh, rot_x=self.py * nx, height=self.h, width=self.w)

    def lane(self, fold_a, group, y0, x0, chan, row, col):
        """Element of a lane, None outside the map."""
        images = (self.grid >> fold_a) ** 2
        y, x = y0 + row % (1 << fold_a), x0 + col % (1 << fold_a)
        if not (0 <= y < self.h and 0 <= x < self.w and chan < self.c):
            return None
        return self.data[group * images + image_of(self.grid, fold_a, row, col), chan, y, x]


def drive(dut, prefix, **fields):
    for name, value in fields.items():
        port = getattr(dut, prefix + name)
        port.value = int(value) & ((1 << len(port)) - 1)


async def write(dut, tensor, fold_a):
    """Write the whole tensor with accesses of fold_a, in random order, with bubbles."""
    grid, width, side = tensor.grid, parameter("DW"), 1 << fold_a
    images = (grid // side) ** 2
    places = [(g, y0, x0, c) for g in range(len(tensor.data) // images) for y0 in range(0, tensor.h, side)
              for x0 in range(0, tensor.w, side) for c in range(tensor.c)]
    random.shuffle(places)
    for g, y0, x0, c in places:
        while random.random() < 0.1:
            dut.s_wr_valid.value = 0
            await cycles(dut, 1)
        lanes = [tensor.lane(fold_a, g, y0, x0, c, r, k) for r in range(grid) for k in range(grid)]
        drive(dut, "s_wr_", valid=1, enable=-1, **tensor.access(fold_a, g, y0, x0, c),
              data=pack([random.getrandbits(width) if v is None else v for v in lanes], width))
        await cycles(dut, 1)
    dut.s_wr_valid.value = 0


async def read(dut, accesses):
    """Issue (fields, expected lanes) back to back with bubbles; check each vector LATENCY cycles later."""
    grid, width = parameter("GRID"), parameter("DW")
    pipe = [None] * LATENCY
    for fields, expected in accesses + [(None, None)] * LATENCY:
        if fields and random.random() < 0.1:
            accesses.append((fields, expected))
            fields = expected = None
        dut.s_rd_valid.value = int(fields is not None)
        if fields:
            drive(dut, "s_rd_", **fields)
        pipe = [expected] + pipe[:-1]
        await cycles(dut, 1)
        assert bool(dut.m_rd_valid.value) == (pipe[-1] is not None)
        if pipe[-1] is not None:
            got = unpack(dut.m_rd_data.value, width, grid * grid, signed=False)
            assert got == [0 if v is None else v for v in pipe[-1]]


def random_tensor(fold):
    """Of moderate size, at the start or the end of the buffer; in fold 0, where a displacement crosses the most blocks, now and then a long one."""
    grid, width = parameter("GRID"), parameter("DW")
    groups, limit, most = (random.randint(1, 2), 2 * grid, 2 * grid + 3) if fold else (1, 3, 2 * grid + 3)
    size = [random.randint(1, limit), random.randint(1, limit)]
    if not fold and random.random() < 0.5:
        size, most = random.sample([random.randint(20, 120), 1], 2), 7
    tensor = Tensor(grid, width, 0, fold, groups, random.randint(1, most), *size)
    tensor.base = random.choice([random.randrange(64), parameter("DEPTH") - tensor.size()])
    return tensor


@cocotb.test()
async def pixels_and_channels_reach_their_lanes(dut):
    grid, rows = parameter("GRID"), parameter("CHANNEL_R")
    log, cols = grid.bit_length() - 1, grid * rows
    await start(dut)
    for _ in range(3):
        fold_s = random.randint(0, log)
        tensor = random_tensor(fold_s)
        await write(dut, tensor, random.randint(fold_s, log))
        accesses = []
        for _ in range(60):
            fold_a = random.randint(fold_s, log)
            side = 1 << fold_a
            group = random.randrange(len(tensor.data) // (grid // side) ** 2)
            y0 = side * random.randrange(-(-tensor.h // side))
            x0 = side * random.randrange(-(-tensor.w // side))
            dy, dx = (random.choice([random.randint(-10, 10), random.randint(-128, 127)]) for _ in range(2))
            if random.random() < 0.5:
                chan = random.randrange(tensor.c)
                fields = tensor.access(fold_a, group, y0, x0, chan, dy, dx) | dict(channel=0, step=0, channels=0)
                lanes = [tensor.lane(fold_a, group, y0 + dy, x0 + dx, chan, r, k) for r in range(grid) for k in range(grid)]
            else:
                chan, step = cols * random.randrange(-(-tensor.c // cols)), random.randrange(cols)
                fields = tensor.access(fold_a, group, y0, x0, chan, dy, dx) | dict(channel=1, step=step, channels=tensor.c)
                lanes = [tensor.lane(fold_a, group, y0 + dy, x0 + dx, chan + grid * (r % rows) + k,
                                     step // grid + rows * (r // rows), step % grid) for r in range(grid) for k in range(grid)]
            accesses.append((fields, lanes))
        await read(dut, accesses)


@pytest.mark.parametrize("grid, rows, depth", [(4, 1, 1024), (4, 2, 1024), (4, 4, 1 << 17), (8, 1, 1024), (8, 2, 1024), (8, 8, 1024)])
def test_operand_buffer(grid, rows, depth):
    width = random.choice([1, 8, 11, 16])
    run("operand_buffer", "operand_buffer", {"GRID": grid, "DW": width, "DEPTH": depth, "CHANNEL_R": rows, "USER_W": 3})


@pytest.mark.parametrize("bad, text", [({"GRID": 5}, "GRID_must"), ({"CHANNEL_R": 3}, "CHANNEL_R_must"),
                                       ({"DEPTH": 100}, "DEPTH_must"), ({"DEPTH": 1 << 21}, "DEPTH_must"), ({"DW": 33}, "DW_must")])
def test_refuses(bad, text):
    expect_elaboration_error("operand_buffer", "operand_buffer", bad, text)
