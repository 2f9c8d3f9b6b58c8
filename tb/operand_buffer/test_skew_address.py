# SPDX-License-Identifier: Apache-2.0
"""Rotations, masks and bank addresses against gradcore.machine.skew, over the whole range of every field."""

import random
from dataclasses import asdict

import cocotb
import numpy as np
import pytest

from gradcore.machine.skew import Access, channel_access, pixel_access, split_access
from tb.support.bench import cycles, start
from tb.support.bits import unpack
from tb.support.runner import parameter, run


def some(bits):
    """A number of so many bits, often an extreme."""
    return random.choice([0, 1, (1 << bits) - 1, *[random.getrandbits(bits) for _ in range(3)]])


def displacement():
    return random.choice([-128, 127, -1, 0, random.randint(-128, 127), random.randint(-4, 4)])


def random_access(grid, width):
    log = grid.bit_length() - 1
    fold_a = random.randint(0, log)
    fold_s = random.randint(0, fold_a)
    origin = [min(4095, some(12)) >> fold_a << fold_a for _ in range(2)]
    size = [
        min(4095, max(0, random.choice([o + random.randint(-9, 17), some(12)]))) for o in origin
    ]  # borders of the map in the block
    return Access(
        some(width),
        *origin,
        some(16),
        fold_a,
        fold_s,
        some(width),
        some(width),
        *size,
        displacement(),
        displacement(),
        random.randrange(grid),
        random.randrange(grid),
    )


def expected(grid, width, cols, a, kind, step, channels):
    """Rotations; masks of rows, columns and channels together; address of each bank."""
    accesses = {
        "channel": lambda: channel_access(grid, cols, a, step, channels),
        "split": lambda: split_access(grid, cols, a),
        "pixel": lambda: pixel_access(grid, a),
    }
    bank_row, bank_col, address, valid = accesses[kind]()
    banks = np.zeros((grid, grid), int)
    banks[bank_row, bank_col] = address % (1 << width)
    return (bank_row[0, 0], bank_col[0, 0]), valid.ravel().tolist(), banks.ravel().tolist()


@cocotb.test()
@cocotb.parametrize(bubbles=[0.0, 0.4])
async def accesses_match_the_model(dut, bubbles):
    grid, width = parameter("GRID"), parameter("AW")
    cols = grid * parameter("CHANNEL_R")
    await start(dut)
    due, inside, before = [None] * 4, [], []
    for _ in range(300):
        a, kind, step = random_access(grid, width), random.choice(["pixel", "channel", "split"]), random.randrange(cols)
        if kind == "channel":
            a = Access(**asdict(a) | dict(chan=a.chan // cols * cols))
        channels = random.choice([some(16), min(a.chan + random.randint(0, cols), 0xFFFF), max(0, a.chan - 1)])
        valid = random.random() >= bubbles
        fields = asdict(a) | dict(
            dy=a.dy & 255,
            dx=a.dx & 255,
            valid=int(valid),
            channel=int(kind == "channel"),
            split=int(kind == "split"),
            step=step,
            channels=channels,
        )
        for name, value in fields.items():
            getattr(dut, f"s_{name}").value = value
        due = [expected(grid, width, cols, a, kind, step, channels) if valid else None] + due[:-1]
        await cycles(dut, 1)
        assert bool(dut.m_valid.value) == valid
        if due[0]:
            assert (int(dut.m_rot_y.value), int(dut.m_rot_x.value)) == due[0][0]
        if due[1]:
            rows, columns = (unpack(bus.value, 1, grid, signed=False) for bus in (dut.m_row_mask, dut.m_col_mask))
            inside = [bool(rows[i // grid] and columns[i % grid]) for i in range(grid * grid)]
        if due[2]:
            chans = unpack(dut.m_chan_mask.value, 1, cols, signed=False)
            assert [bool(before[i] and chans[i % cols]) for i in range(grid * grid)] == due[2][1]
            assert unpack(dut.m_bank_addr.value, width, grid * grid, signed=False) == due[2][2]
        before = inside


@pytest.mark.parametrize("grid, rows", [(4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4), (8, 8)])
def test_skew_address(grid, rows):
    run("operand_buffer", "gc_skew_address", {"GRID": grid, "AW": random.choice([6, 11, 16]), "CHANNEL_R": rows})
