# SPDX-License-Identifier: Apache-2.0
"""Random rows and reads against plain integers, cycle by cycle."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run

TAKES_EFFECT = 5  # cycles from a row to reads that see it


class Buffer:
    """Drives the ports and compares every output in every cycle."""

    def __init__(self, dut):
        self.dut = dut
        self.cols, self.acc_w, self.depth = parameter("COLS"), parameter("ACC_W"), parameter("DEPTH")
        self.lanes = parameter("GRID") ** 2
        self.rows = {}
        self.flight = [None] * TAKES_EFFECT  # rows on their way, the oldest first
        self.leaving = [None] * 2
        self.overflow = False
        self.scrubbed = [None] * 2  # reads from two cycles later on see it
        self.first = False  # the row of the cycle before replaces the old one: its read is not needed

    def result(self, old, first, acc):
        """The new row and whether it overflows: exact integers, then modulo 2^ACC_W."""
        half = 1 << (self.acc_w - 1)
        exact = [sum(acc[k :: self.cols]) + (0 if first else old[k]) for k in range(self.cols)]
        return [(v + half) % (2 * half) - half for v in exact], any(not -half <= v < half for v in exact)

    async def cycle(self, row=None, read=None, clear=0, scrub=None):
        """row: (addr, first, acc), read, scrub: addr; returns whether the read was taken."""
        dut = self.dut
        addr, first, acc = row or (random.randrange(self.depth), random.getrandbits(1), [-1] * self.lanes)
        dut.s_valid.value, dut.s_addr.value, dut.s_first.value = row is not None, addr, first
        dut.s_acc.value = pack(acc, self.acc_w)
        dut.s_rd_valid.value = read is not None
        dut.s_rd_addr.value = random.randrange(self.depth) if read is None else read
        dut.s_clear.value = clear
        dut.s_scrub.value = scrub is not None
        dut.s_scrub_addr.value = random.randrange(self.depth) if scrub is None else scrub
        await ReadOnly()
        ready = self.flight[-1] is None or self.first
        assert bool(dut.s_rd_ready.value) == ready
        assert bool(dut.sts_idle.value) == (self.flight == [None] * TAKES_EFFECT)
        assert bool(dut.sts_overflow.value) == self.overflow
        self.scrubbed.append(scrub)
        if (zero := self.scrubbed.pop(0)) is not None:
            self.rows[zero] = [0] * self.cols
        due = self.leaving.pop(0)
        assert bool(dut.m_rd_valid.value) == (due is not None)
        assert due is None or unpack(dut.m_rd_data.value, self.acc_w, self.cols) == due
        done = self.flight.pop(0)
        self.overflow = self.overflow and not clear
        if done:
            addr, words, overflow = done
            self.rows[addr] = words
            self.overflow |= overflow
        self.leaving.append(list(self.rows[read]) if read is not None and ready else None)
        # The row takes effect five cycles later; in between its address does not come again.
        self.flight.append(None)
        if row:
            written = self.flight[0]  # four cycles ahead: not for a read yet, but for this row
            old = written[1] if written and written[0] == row[0] else self.rows.get(row[0])
            self.flight[-1] = (row[0], *self.result(old, *row[1:]))
        self.first = bool(row and row[1])
        await cycles(dut, 1)
        return ready

    def busy(self):
        """Addresses that must not come now."""
        return {f[0] for f in self.flight[-3:] if f}

    def acc(self, extreme=0.0):
        low, high = -(1 << (self.acc_w - 1)), (1 << (self.acc_w - 1)) - 1
        if random.random() < extreme:
            return [random.choice([low, high, -1, 0])] * self.lanes
        return [random.randint(low, high) >> random.choice([4, 6]) for _ in range(self.lanes)]

    async def fill(self):
        for addr in range(self.depth):
            await self.cycle((addr, 1, self.acc()))
        await self.drain()

    async def drain(self):
        for _ in range(8):
            await self.cycle()


async def begin(dut):
    await start(dut, s_addr=0, s_first=0, s_acc=0, s_rd_addr=0, s_clear=0, s_scrub=0, s_scrub_addr=0)
    buffer = Buffer(dut)
    await buffer.fill()
    return buffer


async def traffic(buffer, count, density, extreme, reads=0.7):
    read = None
    for _ in range(count):
        free = sorted(set(range(6)) - buffer.busy())
        row = (random.choice(free), random.random() < 0.2, buffer.acc(extreme)) if random.random() < density else None
        if read is None and random.random() < reads:
            read = random.randrange(6)
        if await buffer.cycle(row, read, random.random() < 0.1):
            read = None
    await buffer.drain()


@cocotb.test()
@cocotb.parametrize(density=[0.2, 0.7, 1.0])
async def rows_grow_exactly_while_others_are_read(dut, density):
    buffer = await begin(dut)
    await traffic(buffer, 200, density, 0.0)


@cocotb.test()
async def overflow_of_extremes_wraps_and_is_noted(dut):
    buffer = await begin(dut)
    await traffic(buffer, 200, 0.5, 0.5)
    half = 1 << (buffer.acc_w - 1)
    one = [half - 1] + [0] * (buffer.lanes - 1)
    await buffer.cycle(clear=1)
    await buffer.cycle((0, 1, one))  # the largest word fits
    await buffer.drain()
    assert not buffer.overflow
    await buffer.cycle((0, 0, [1] + [0] * (buffer.lanes - 1)))  # one more does not
    await buffer.drain()
    await buffer.cycle(read=0)
    assert buffer.overflow and buffer.rows[0][0] == -half
    await buffer.drain()


@cocotb.test()
async def one_row_grows_at_the_least_distance(dut):
    buffer = await begin(dut)
    for i in range(24):
        await buffer.cycle((3, 0, buffer.acc()) if i % 4 == 0 else None, 3 if i % 4 == 2 else None)
    await buffer.drain()


@cocotb.test()
async def reset_stops_what_is_under_way(dut):
    buffer = await begin(dut)
    for addr in range(4):
        await buffer.cycle((addr, 1, buffer.acc(1.0)), read=None)
    dut.s_valid.value = 0
    await reset(dut)
    buffer.flight, buffer.leaving, buffer.overflow = [None] * TAKES_EFFECT, [None] * 2, False
    await buffer.fill()  # rows in flight are lost or not: write them anew
    await traffic(buffer, 40, 0.5, 0.0)


@cocotb.test()
@cocotb.parametrize(order=["all", "some"])
async def scrubbed_rows_are_zero_and_grow_again(dut, order):
    buffer = await begin(dut)
    rows = list(range(buffer.depth)) if order == "all" else random.sample(range(buffer.depth), 5)
    for at, addr in enumerate(rows):
        await buffer.cycle(
            read=random.choice(rows[max(0, at - 3) : at + 1]), scrub=addr
        )  # the last two still are as they were
    for addr in range(buffer.depth):
        await buffer.cycle(read=addr)
    await buffer.drain()
    assert not any(any(buffer.rows[addr]) for addr in rows) and (order == "all" or any(map(any, buffer.rows.values())))
    await traffic(buffer, 60, 0.7, 0.0)


@cocotb.test()
async def a_memory_never_written_is_known_after_a_scrub(dut):
    await start(dut, s_addr=0, s_first=0, s_acc=0, s_rd_addr=0, s_clear=0, s_scrub=0, s_scrub_addr=0)
    buffer = Buffer(dut)
    for addr in range(buffer.depth):
        await buffer.cycle(scrub=addr)
    await buffer.drain()
    for addr in range(buffer.depth):
        await buffer.cycle(read=addr)
    for addr in range(buffer.depth):  # nothing is replaced: the old rows count
        await buffer.cycle((addr, 0, buffer.acc()))
    await buffer.drain()


@pytest.mark.parametrize("grid, cols", [(4, 4), (4, 8), (4, 16), (8, 8), (8, 16), (8, 64)])
def test_gradient_buffer(grid, cols):
    run(
        "gradient_buffer",
        "gc_gradient_buffer",
        {
            "GRID": grid,
            "COLS": cols,
            "ACC_W": random.choice([20, 48, random.randint(20, 48)]),
            "DEPTH": random.choice([16, 32]),
            "ULTRA": random.randint(0, 1),
        },
    )


@pytest.mark.parametrize(
    "parameters, reason",
    [
        ({"GRID": 5, "COLS": 5}, "GRID_"),
        ({"COLS": 4}, "COLS_"),
        ({"COLS": 24}, "COLS_"),
        ({"COLS": 128}, "COLS_"),
        ({"ACC_W": 19}, "ACC_W_"),
        ({"ACC_W": 49}, "ACC_W_"),
        ({"DEPTH": 8}, "DEPTH_"),
        ({"DEPTH": 24}, "DEPTH_"),
        ({"ULTRA": 2}, "ULTRA_not_0_or_1"),
    ],
)
def test_refuses(parameters, reason):
    expect_elaboration_error("gradient_buffer", "gc_gradient_buffer", parameters, reason)
