# SPDX-License-Identifier: Apache-2.0
"""Passes of every length against NumPy's matrix product, with the cycle of every column."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from tb.support import primitives
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first, long
from tb.support.runner import expect_elaboration_error, parameter, run


class Array:
    """Drives passes into the array and holds every column that leaves against the expected one."""

    def __init__(self, dut):
        self.dut = dut
        self.cols, self.dw, self.acc_w = parameter("COLS"), parameter("DW"), parameter("ACC_W")
        self.has_sum = parameter("SUM_COLUMN")
        self.lanes = parameter("GRID") ** 2
        self.levels = {4: 1, 8: 2, 16: 2, 32: 3, 64: 3}[self.cols]
        self.now, self.earliest = 0, 0
        self.expected = {}  # cycle: (index, last, sums)

    async def cycle(self, valid, first=None, last=None, columns=None, add=None, row=None, col=None):
        """One cycle; what is not given is noise."""
        dut = self.dut
        noise = random.getrandbits
        dut.s_valid.value = valid
        dut.s_first.value = noise(1) if first is None else first
        dut.s_last.value = noise(1) if last is None else last
        dut.s_columns.value = random.randint(1, self.cols) if columns is None else columns
        dut.s_sum.value = noise(1) if add is None else add
        dut.s_row.value = noise(self.lanes * self.dw) if row is None else pack(row, self.dw)
        dut.s_col.value = noise(self.lanes * self.dw) if col is None else pack(col, self.dw)
        await ReadOnly()
        due = self.expected.pop(self.now, None)
        assert bool(dut.m_valid.value) == (due is not None), f"cycle {self.now}: {due}"
        if due:
            assert (int(dut.m_index.value), bool(dut.m_last.value)) == due[:2]
            assert unpack(dut.m_acc.value, self.acc_w, self.lanes) == due[2]
        await cycles(dut, 1)
        self.now += 1

    def wrap(self, values):
        half = 1 << (self.acc_w - 1)
        return [int((int(v) + half) % (2 * half) - half) for v in values]

    async def send(self, row, col, columns, add, bubbles=0.0):
        """One pass: row and col are steps x lanes."""
        steps = len(row)
        wait = random.randrange(steps)  # where to wait until the earlier pass has left
        for k in range(steps):
            while random.random() < bubbles or (k == wait and self.now + steps - 1 - k < self.earliest):
                await self.cycle(0)
            if k == steps - 1:
                self.plan(row, col, columns, add)
                await self.cycle(1, k == 0, 1, columns, add, row[k], col[k])
            else:
                await self.cycle(1, k == 0, 0, None, None, row[k], col[k])

    def plan(self, row, col, columns, add):
        groups = self.lanes // self.cols
        a = row.reshape(-1, groups, self.cols).astype(object)
        b = col.reshape(-1, groups, self.cols).astype(object)
        result = np.concatenate([a[:, g].T @ b[:, g] for g in range(groups)])  # lanes x COLS
        add = add and self.has_sum
        due = self.now + 3 + self.levels + (parameter("DSP") == 2)
        for j in range(columns):
            self.expected[due + j] = j, j == columns - 1 and not add, self.wrap(result[:, j])
        if add:
            self.expected[due + self.cols] = self.cols, True, self.wrap(row.astype(object).sum(0))
        self.earliest = self.now + max(columns, self.cols + 1 if add else 1)

    async def drain(self):
        for _ in range(self.cols + 10):
            await self.cycle(0)
        assert not self.expected

    def operands(self, steps):
        return (np.random.randint(-(1 << (self.dw - 1)), 1 << (self.dw - 1), (steps, self.lanes)) for _ in range(2))


async def begin(dut):
    np.random.seed(random.getrandbits(32))
    await start(dut, s_first=0, s_last=0, s_columns=1, s_sum=0, s_row=0, s_col=0)
    return Array(dut)


@cocotb.test()
@cocotb.parametrize(bubbles=[0.0, 0.4])
async def passes_match_the_matrix_product(dut, bubbles):
    array = await begin(dut)
    for _ in range(12):
        steps = random.choice([1, 2, 3, array.cols, random.randint(1, 2 * array.cols)])
        await array.send(*array.operands(steps), random.randint(1, array.cols), random.getrandbits(1), bubbles)
    await array.drain()


@cocotb.test()
async def passes_follow_each_other_at_the_minimum_spacing(dut):
    array = await begin(dut)
    for columns, add in [(array.cols, 0), (array.cols, 1), (1, 0), (1, 0), (2, 0), (1, 1), (array.cols, 0), (1, 0)]:
        # After a pass with n columns n steps keep the array full; after the single column a single step follows.
        steps = max(1, array.earliest - array.now)
        await array.send(*array.operands(steps), columns, add)
    for columns in [array.cols, 1, 1, 3]:
        await array.send(*array.operands(1), columns, 0)
    await array.drain()


@cocotb.test()
async def sums_of_extremes_are_exact_modulo_acc_w(dut):
    array = await begin(dut)
    low, high = -(1 << (array.dw - 1)), (1 << (array.dw - 1)) - 1
    for a, b in [(low, low), (low, high), (high, high), (-1, low), (-1, -1), (0, low), (low, 1)]:
        for steps in [1, 40]:  # with the least ACC_W forty products of low * low wrap around
            row, col = np.full((steps, array.lanes), a), np.full((steps, array.lanes), b)
            await array.send(row, col, array.cols, 1)
    await array.drain()


@cocotb.test()
async def reset_in_mid_pass_forgets_it(dut):
    array = await begin(dut)
    for steps in [2, array.cols + 8]:  # while nothing, and while columns leave
        await array.send(*array.operands(3), array.cols, 1)
        for _ in range(steps):
            await array.cycle(0)
        await array.cycle(1, first=1, last=0)
        dut.s_valid.value = 0
        await reset(dut)
        array.expected.clear()
        await array.send(*array.operands(4), array.cols, 1)
        await array.drain()


@pytest.mark.parametrize("cols", first(2, [4, 8, 16]))
def test_mac_array(cols):
    dw = random.randint(8, 16)
    acc_w = random.choice([2 * dw + 4, 48, random.randint(2 * dw + 4, 48)])
    run("mac_array", "gc_mac_array", {"GRID": 4, "COLS": cols, "DW": dw, "ACC_W": acc_w, "SUM_COLUMN": 1, "DSP": 0})


@pytest.mark.long
@pytest.mark.parametrize("cols, dw, acc_w", [(16, 16, 48), (32, 8, 20)])
def test_large_mac_array(cols, dw, acc_w):
    # Fixed widths, because the compiled model is worth keeping.
    run(
        "mac_array",
        "gc_mac_array",
        {"GRID": 8, "COLS": cols, "DW": dw, "ACC_W": acc_w, "SUM_COLUMN": 1, "DSP": 0},
        sim="verilator",
    )


@pytest.mark.parametrize("cols, dsp", [(8, 1), (4, 2), long(4, 1), long(8, 2)])
def test_of_dsp_blocks_by_name(cols, dsp):
    """The same, of DSP48E2 and of MULT18X18D."""
    dw = random.randint(8, 16)
    acc_w = random.choice([2 * dw + 4, 48, random.randint(2 * dw + 4, 48)])
    sizes = {"GRID": 4, "COLS": cols, "DW": dw, "ACC_W": acc_w, "SUM_COLUMN": 1, "DSP": dsp}
    run("mac_array", "gc_mac_array", sizes, models=primitives.models(), defines=primitives.DEFINES)


def test_without_sum_column():
    run("mac_array", "gc_mac_array", {"GRID": 4, "COLS": 8, "DW": 16, "ACC_W": 36, "SUM_COLUMN": 0, "DSP": 0})


@pytest.mark.parametrize(
    "parameters, reason",
    [
        ({"GRID": 6, "COLS": 16}, "GRID_"),
        ({"COLS": 4}, "COLS_"),
        ({"COLS": 24}, "COLS_"),
        ({"COLS": 128}, "COLS_"),
        ({"DW": 7}, "DW_"),
        ({"DW": 16, "ACC_W": 35}, "ACC_W_"),
        ({"ACC_W": 49}, "ACC_W_"),
        ({"DSP": 3}, "DSP_"),
    ],
)
def test_refuses(parameters, reason):
    expect_elaboration_error("mac_array", "gc_mac_array", parameters, reason)
