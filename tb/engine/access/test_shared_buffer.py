# SPDX-License-Identifier: Apache-2.0
"""An operand buffer with two users on each side: who goes first, whose vector comes back, and what a scrub leaves."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.access import ACCESS_W, natural
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 8


class Buffer:
    """Drives all four users, each with its own address and channel, and compares what comes back with `words` by
    address."""

    def __init__(self, dut):
        self.dut, self.depth, self.width, self.lanes = dut, parameter("DEPTH"), parameter("DW"), parameter("GRID") ** 2
        self.words, self.pipe = {}, [None] * LATENCY
        self.counts = {"a": 0, "b": 0, "wait": 0}

    def vector(self):
        return [random.getrandbits(self.width) for _ in range(self.lanes)]

    async def cycle(self, a_rd=None, b_rd=None, a_wr=None, b_wr=None, scrub=None):
        """Addresses; writes get a random vector. Vectors of an address are all of one channel, so that they have one
        place."""
        dut, mark = self.dut, random.getrandbits(parameter("MARK_W"))
        vectors = self.vector(), self.vector()
        for name, addr in (("a_rd", a_rd), ("b_rd", b_rd), ("a_wr", a_wr), ("b_wr", b_wr)):
            getattr(dut, f"{name}_valid").value = int(addr is not None)
            getattr(dut, f"{name}_access").value = (
                random.getrandbits(ACCESS_W) if addr is None else natural(addr, 0, 0, addr, 0)
            )
        dut.a_wr_data.value, dut.b_wr_data.value, dut.a_wr_enable.value = (
            pack(vectors[0], self.width),
            pack(vectors[1], self.width),
            (1 << self.lanes) - 1,
        )
        # Without its turn, user a may be at work in another buffer.
        dut.a_rd_valid.value = int(a_rd is not None or random.getrandbits(1))
        dut.a_rd_row.value = int(a_rd is not None)
        dut.a_rd_other.value = random.getrandbits(ACCESS_W)
        dut.b_rd_mark.value, dut.s_scrub.value = mark, int(scrub is not None)
        dut.s_scrub_addr.value = random.randrange(self.depth) if scrub is None else scrub
        await ReadOnly()
        assert dut.b_rd_ready.value == int(a_rd is None) and dut.b_wr_ready.value == int(a_wr is None)
        due = self.pipe.pop(0)
        assert dut.m_b_valid.value == int(due is not None and due[0] == "b")
        if due:
            self.counts[due[0]] += 1
            assert due[0] == "a" or dut.m_b_mark.value == due[1]
            assert unpack(dut.m_rd_data.value, self.width, self.lanes, signed=False) == due[2], due
        user, addr = ("a", a_rd) if a_rd is not None else ("b", b_rd)
        self.pipe.append(None if addr is None else (user, mark, self.words[addr]))
        self.counts["wait"] += a_rd is not None and b_rd is not None
        for addr, vector in ((b_wr if a_wr is None else None, vectors[1]), (a_wr, vectors[0])):
            if addr is not None:
                self.words[addr] = vector
        await cycles(dut, 1)

    async def scrub(self, addresses):
        """As long as gc_scrub waits."""
        for addr in addresses:
            await self.cycle(scrub=addr)
        for _ in range(8):
            await self.cycle()
        self.words |= {addr: [0] * self.lanes for addr in addresses}

    def some(self, chance=0.6):
        return random.randrange(self.depth) if random.random() < chance else None


async def begin(dut):
    await start(
        dut,
        a_rd_valid=0,
        b_rd_valid=0,
        a_wr_valid=0,
        b_wr_valid=0,
        a_rd_channel=0,
        a_rd_split=0,
        a_rd_step=0,
        a_rd_channels=0,
        s_scrub=0,
    )
    return Buffer(dut)


@cocotb.test()
async def a_goes_first_and_b_gets_its_own_vectors(dut):
    buffer = await begin(dut)
    await buffer.scrub(range(buffer.depth))
    for _ in range(400):
        await buffer.cycle(buffer.some(), buffer.some(), buffer.some(), buffer.some())
    for _ in range(LATENCY):
        await buffer.cycle()
    assert all(n > 20 for n in buffer.counts.values())


@cocotb.test()
async def a_scrub_makes_all_words_of_an_address_zero(dut):
    """Also those of unknown memories, whatever stands at the inputs of the others."""
    buffer = await begin(dut)
    await buffer.scrub(range(buffer.depth))
    for addr in range(buffer.depth):
        await buffer.cycle(a_wr=addr)
    rows = random.sample(range(buffer.depth), buffer.depth // 2)
    await buffer.scrub(rows)
    for addr in range(buffer.depth):
        await buffer.cycle(b_rd=addr)
    for addr in rows[:9]:
        await buffer.cycle(b_wr=addr, a_rd=addr)
    for addr in range(buffer.depth):
        await buffer.cycle(a_rd=addr)
    for _ in range(LATENCY):
        await buffer.cycle()


@pytest.mark.parametrize("grid, cols, width, mark", first(2, [(4, 4, 16, 1), (4, 8, 1, 2), (8, 16, 8, 1)]))
def test_shared_buffer(grid, cols, width, mark):
    run(
        "engine",
        "gc_shared_buffer",
        {
            "GRID": grid,
            "DW": width,
            "DEPTH": 64,
            "COLS": cols,
            "COLS_LOG": cols.bit_length() - 1,
            "ADDR_W": 20 if width == 1 else 16,
            "MARK_W": mark,
            "ACCESS_W": ACCESS_W,
        },
    )


def test_refuses():
    expect_elaboration_error(
        "engine", "gc_shared_buffer", {"DEPTH": 1 << 17, "ACCESS_W": ACCESS_W}, "DEPTH_beyond_the_addresses"
    )
