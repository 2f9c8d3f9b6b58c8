# SPDX-License-Identifier: Apache-2.0
"""Random traffic against a list of banks, and a matrix read by row and by column."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run


class Buffer:
    """Drives both ports and compares every cycle with banks in a NumPy array."""

    def __init__(self, dut):
        self.dut = dut
        self.cols, self.dw, self.depth = parameter("COLS"), parameter("DW"), parameter("DEPTH")
        self.latency, self.groups = parameter("LATENCY"), parameter("GROUPS")
        self.banks = np.zeros((self.cols, self.depth), dtype=int)
        self.waiting = [None] * (self.latency - 4)  # requests that have not read yet
        self.leaving = [None] * 4
        self.b_leaving = [None] * 4
        self.b_taken = 0

    def word(self, j, addr, rot, ramp):
        return int(self.banks[(j + rot) % self.cols, (addr + (j if ramp else 0)) % self.depth])

    def words(self, addr, rot, ramp, split=0):
        """Words of a read: every group's row, with split each another."""
        return [
            self.word(j, addr ^ g * self.cols * split, rot, ramp) for g in range(self.groups) for j in range(self.cols)
        ]

    def parts(self, first, count=1):
        """Parts in which the rows first.. lie."""
        most = parameter("PARTS").bit_length() - 1
        bits = max(min(most, (self.depth // self.cols).bit_length() - 1), 0)
        found = set()
        for row in range(first, first + count):
            part, digits = 0, row % self.depth // self.cols
            while bits and digits:
                part, digits = part ^ digits % (1 << bits), digits >> bits
            found.add(part)
        return found

    async def cycle(self, write=None, read=None, b=None, scrub=None):
        """write: (addr, rot, words), read: (addr, rot, ramp[, split]), b: (addr, rot), scrub: addr; returns the words
        that leave in this cycle."""
        dut = self.dut
        dut.s_scrub.value, dut.s_scrub_addr.value = (
            scrub is not None,
            random.randrange(self.depth) if scrub is None else scrub,
        )
        dut.s_b_valid.value = b is not None
        dut.s_b_addr.value, dut.s_b_rot.value = b or (0, 0)
        dut.s_wr_valid.value, dut.s_rd_valid.value = write is not None, read is not None
        addr, rot, words = write or (random.randrange(self.depth), random.randrange(self.cols), self.row())
        dut.s_wr_addr.value, dut.s_wr_rot.value, dut.s_wr_data.value = addr, rot, pack(words, self.dw)
        dut.s_rd_addr.value, dut.s_rd_rot.value, dut.s_rd_ramp.value = (
            read[:3] if read else (random.randrange(self.depth), 0, 1)
        )
        dut.s_rd_split.value = split = int(len(read) > 3 and read[3]) if read else random.getrandbits(1)
        await ReadOnly()
        due = self.leaving.pop(0)
        got = unpack(dut.m_rd_data.value, self.dw, self.groups * self.cols) if due else None
        assert bool(dut.m_rd_valid.value) == (due is not None)
        assert got == due
        b_due = self.b_leaving.pop(0)
        assert bool(dut.m_b_valid.value) == (b_due is not None)
        assert b_due is None or unpack(dut.m_b_data.value, self.dw, self.cols) == b_due
        self.waiting.append(read and (*read[:3], split))
        read = self.waiting.pop(0)
        taken = b is not None and not (
            read and (read[3] or self.parts(b[0]) & self.parts(read[0], self.cols if read[2] else 1))
        )
        assert b is None or bool(dut.s_b_ready.value) == taken
        self.b_taken += taken
        self.b_leaving.append([self.word(j, *b, 0) for j in range(self.cols)] if taken else None)
        self.leaving.append(self.words(*read) if read else None)
        if write:
            for j, word in enumerate(words):
                self.banks[(j + rot) % self.cols, addr] = word
        if scrub is not None:
            self.banks[:, scrub] = 0
        await cycles(dut, 1)
        return got

    def row(self):
        low, high = -(1 << (self.dw - 1)), (1 << (self.dw - 1)) - 1
        return [random.choice([low, high, -1, 0, random.randint(low, high)]) for _ in range(self.cols)]


async def begin(dut, fill=True):
    names = [
        "s_scrub",
        "s_scrub_addr",
        "s_wr_addr",
        "s_wr_rot",
        "s_wr_data",
        "s_rd_addr",
        "s_rd_rot",
        "s_rd_ramp",
        "s_rd_split",
        "s_b_addr",
        "s_b_rot",
    ]
    await start(dut, **dict.fromkeys(names, 0))
    buffer = Buffer(dut)
    for addr in range(buffer.depth if fill else 0):
        await buffer.cycle(write=(addr, random.randrange(buffer.cols), buffer.row()))
    return buffer


@cocotb.test()
@cocotb.parametrize(density=[0.3, 1.0])
async def reads_and_writes_match_the_banks(dut, density):
    buffer = await begin(dut)
    for _ in range(300):
        addr = random.randrange(min(4, buffer.depth))  # few rows, so that reads meet fresh writes
        rot = random.randrange(buffer.cols)
        write = (addr, rot, buffer.row()) if random.random() < density else None
        near = (addr + random.choice([0, 0, 1, -buffer.cols + 1])) % buffer.depth
        kind = random.choice([(0,), (1,), (0, 1)])  # a row, a ramp, a row for each group
        read = (near, random.randrange(buffer.cols), *kind) if random.random() < density else None
        b = (
            (random.choice([near, random.randrange(buffer.depth)]), random.randrange(buffer.cols))
            if random.random() < density
            else None
        )
        await buffer.cycle(write, read, b)
    for _ in range(buffer.latency):
        await buffer.cycle()


@cocotb.test()
async def matrix_comes_by_row_and_by_column(dut):
    buffer = await begin(dut)
    cols = buffer.cols
    blocks = max(1, min(2, buffer.depth // cols))
    rows = min(blocks * cols, buffer.depth)
    base = random.randrange(buffer.depth - rows + 1)
    weights = np.array([buffer.row() for _ in range(rows)])  # input map, output map
    for i in range(rows):
        await buffer.cycle(write=(base + i, i % cols, weights[i]))
    by_row = [(base + i, i % cols, 0) for i in range(rows)]
    expected = [list(weights[i]) for i in range(rows)]
    by_column = [(base + first, out, 1) for first in range(0, rows - cols + 1, cols) for out in range(cols)]
    expected += [
        list(weights[first : first + cols, out]) for first in range(0, rows - cols + 1, cols) for out in range(cols)
    ]
    got = [await buffer.cycle(read=read) for read in by_row + by_column]
    got += [await buffer.cycle() for _ in range(buffer.latency)]
    assert [words for words in got if words is not None] == [words * buffer.groups for words in expected]


@cocotb.test()
async def a_walk_through_the_rows_goes_on_beside_the_passes(dut):
    """The first port reads all the time, as FP or BP of a layer does; b still gets through its rows."""
    buffer = await begin(dut)
    ramp, row, spent = random.getrandbits(1), 0, 0
    while row < buffer.depth and spent < 12 * buffer.depth:
        inner = spent % buffer.cols
        step = spent // buffer.cols * buffer.cols
        before = buffer.b_taken
        await buffer.cycle(
            read=((step if ramp else step + inner) % buffer.depth, inner, ramp), b=(row, row % buffer.cols)
        )
        row, spent = row + buffer.b_taken - before, spent + 1
    one_part = len(buffer.parts(0, buffer.depth)) == 1
    assert row <= buffer.latency - 4 if one_part else (row == buffer.depth), (
        f"{row} of {buffer.depth} rows in {spent} cycles"
    )


@cocotb.test()
@cocotb.parametrize(before=["written", "unknown"])
async def scrubbed_rows_are_zero(dut, before):
    buffer = await begin(dut, fill=before == "written")
    rows = list(range(buffer.depth)) if before == "unknown" else random.sample(range(buffer.depth), buffer.depth // 2)
    for addr in rows:
        await buffer.cycle(
            scrub=addr, read=(addr, 0, 0) if before == "written" else None
        )  # a read sees it as it would a write
    for addr in range(buffer.depth):
        await buffer.cycle(
            read=(addr, random.randrange(buffer.cols), random.getrandbits(1)), b=(random.randrange(buffer.depth), 0)
        )
    for addr in random.sample(range(buffer.depth), 8):  # and can be written again
        await buffer.cycle(write=(addr, random.randrange(buffer.cols), buffer.row()))
    for addr in range(buffer.depth):
        await buffer.cycle(read=(addr, random.randrange(buffer.cols), 0))
    for _ in range(buffer.latency):
        await buffer.cycle()


@cocotb.test()
async def reset_forgets_requests_and_keeps_the_words(dut):
    buffer = await begin(dut)
    for _ in range(3):
        await buffer.cycle(read=(1, 0, 0), b=(buffer.depth - 1, 0))
    await buffer.cycle()
    dut.s_rd_valid.value = dut.s_b_valid.value = 0
    await reset(dut)
    buffer.waiting = [None] * len(buffer.waiting)
    buffer.leaving = [None] * 4
    buffer.b_leaving = [None] * 4
    for addr in range(buffer.depth):
        await buffer.cycle(read=(addr, 0, 0))
    for _ in range(buffer.latency):
        await buffer.cycle()


@pytest.mark.parametrize("cols", first(4, [4, 8, 16, 32, 64]))
def test_weight_buffer(cols):
    depth, parts = random.choice([16, 32, 128, 512]), random.choice([1, 2, 4, 8])
    made = max(1, min(parts, depth // cols))
    run(
        "weight_buffer",
        "gc_weight_buffer",
        {
            "COLS": cols,
            "DW": random.randint(8, 16),
            "DEPTH": depth,
            "LATENCY": random.randint(4, 9),
            "PARTS": parts,
            "GROUPS": random.choice([n for n in (1, 2, 4, 8) if n <= made]),
            "ULTRA": random.randint(0, 1),
        },
    )


@pytest.mark.parametrize(
    "cols, depth, parts, groups",
    first(3, [(4, 16, 4, 4), (8, 128, 8, 8), (32, 64, 4, 2), (16, 512, 4, 4), (32, 512, 4, 2)]),
)
def test_groups(cols, depth, parts, groups):
    run(
        "weight_buffer",
        "gc_weight_buffer",
        {"COLS": cols, "DW": 16, "DEPTH": depth, "LATENCY": 7, "PARTS": parts, "GROUPS": groups},
    )


@pytest.mark.parametrize("depth, latency", [(16, 4), (64, 5)])
def test_shortest_latencies(depth, latency):
    run(
        "weight_buffer",
        "gc_weight_buffer",
        {"COLS": 16, "DW": 16, "DEPTH": depth, "LATENCY": latency, "PARTS": 4, "GROUPS": 1},
    )


@pytest.mark.parametrize(
    "parameters, reason",
    [
        ({"COLS": 2}, "COLS_"),
        ({"COLS": 12}, "COLS_"),
        ({"COLS": 128}, "COLS_"),
        ({"DW": 7}, "DW_"),
        ({"DW": 17}, "DW_"),
        ({"DEPTH": 8}, "DEPTH_"),
        ({"ULTRA": -1}, "ULTRA_not_0_or_1"),
        ({"DEPTH": 100}, "DEPTH_"),
        ({"LATENCY": 3}, "LATENCY_"),
        ({"PARTS": 3}, "PARTS_"),
        ({"PARTS": 16}, "PARTS_"),
        ({"GROUPS": 3}, "GROUPS_"),
        ({"GROUPS": 8}, "GROUPS_"),
        ({"COLS": 64, "DEPTH": 128, "GROUPS": 4}, "GROUPS_"),
    ],
)
def test_refuses(parameters, reason):
    expect_elaboration_error("weight_buffer", "gc_weight_buffer", parameters, reason)
