# SPDX-License-Identifier: Apache-2.0
"""The board's block RAM: bursts of the engine on both sides at once, single words of the host in between."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.files.places import ROOT
from tb.support.bench import cycles, start
from tb.support.runner import parameter, run

FILE = ROOT / "boards" / "ulx3s" / "gc_ulx3s_memory.v"


class Port:
    """The three users of the memory, and what it should hold."""

    def __init__(self, dut):
        self.dut, self.depth = dut, parameter("DEPTH")
        self.words = {}

    def span(self, low, high):
        """Start and length of a burst inside these addresses."""
        length = random.randint(1, min(32, high - low))
        return random.randint(low, high - length), length

    async def shown(self, condition, limit=200):
        """Cycles until something is so, looked at before the edge."""
        for count in range(limit):
            await ReadOnly()
            if condition():
                return count
            await cycles(self.dut, 1)
        raise AssertionError("nothing came")

    async def write(self, low, high):
        dut, (first, length) = self.dut, self.span(low, high)
        dut.s_wreq_valid.value, dut.s_wreq_addr.value = 1, 8 * first
        await self.shown(lambda: dut.s_wreq_ready.value)
        await cycles(dut, 1)
        dut.s_wreq_valid.value = 0
        for k in range(length):
            while random.random() < 0.3:
                await cycles(dut, 1)
            word = random.getrandbits(64)
            dut.s_wdat_valid.value, dut.s_wdat_data.value, dut.s_wdat_last.value = 1, word, k == length - 1
            await ReadOnly()
            assert dut.s_wdat_ready.value and not dut.m_wrsp_valid.value
            await cycles(dut, 1)
            dut.s_wdat_valid.value = 0
            self.words[first + k] = word
        await ReadOnly()
        assert dut.m_wrsp_valid.value
        await cycles(dut, 1)

    async def read(self, low, high):
        """Two bursts, the second asked for at once."""
        dut, spans, got = self.dut, [self.span(low, high) for _ in range(2)], []
        want = [(at, at == first + length - 1) for first, length in spans for at in range(first, first + length)]

        async def ask():
            for first, length in spans:
                dut.s_rreq_valid.value, dut.s_rreq_addr.value, dut.s_rreq_len.value = 1, 8 * first, length - 1
                await self.shown(lambda: dut.s_rreq_ready.value)
                await cycles(dut, 1)
                dut.s_rreq_valid.value = 0

        cocotb.start_soon(ask())
        for cycle in range(len(want) + 4):
            await ReadOnly()
            if dut.m_rdat_valid.value:
                got.append((int(dut.m_rdat_data.value), bool(dut.m_rdat_last.value)))
            assert len(got) == max(0, cycle - 3), "a beat per cycle, four after the request"
            await cycles(dut, 1)
        assert got == [(self.words[at], last) for at, last in want]

    async def host(self, at):
        """A word of the host's, written or read."""
        dut, write, word = self.dut, random.random() < 0.5, random.getrandbits(64)
        dut.s_host_valid.value, dut.s_host_write.value = 1, write
        dut.s_host_addr.value, dut.s_host_data.value = 8 * at, word
        await self.shown(lambda: dut.s_host_ready.value)
        await cycles(dut, 1)
        dut.s_host_valid.value = 0
        if write:
            self.words[at] = word
        else:
            await self.shown(lambda: dut.m_host_valid.value)
            assert not dut.m_rdat_valid.value and int(dut.m_host_data.value) == self.words[at]
            await cycles(dut, 1)


async def never_reads_while_it_writes(dut):
    while True:
        await ReadOnly()
        assert not (dut.u_ram.s_rd_en.value and dut.u_ram.s_wr_en.value)
        await cycles(dut, 1)


async def filled(dut):
    await start(dut)
    port = Port(dut)
    dut.s_host_valid.value = dut.s_rreq_valid.value = dut.s_wreq_valid.value = dut.s_wdat_valid.value = 0
    while len(port.words) < port.depth:
        await port.write(min(set(range(port.depth)) - set(port.words)), port.depth)
    return port


@cocotb.test()
async def keeps_every_word(dut):
    port = await filled(dut)
    middle = port.depth // 2
    for _ in range(30):
        writing = cocotb.start_soon(port.write(0, middle))
        await port.read(middle, port.depth)
        await writing
        await port.host(random.randrange(port.depth))
        await port.read(0, port.depth)


@cocotb.test()
async def the_host_waits_for_the_end_of_a_burst(dut):
    port = await filled(dut)
    cocotb.start_soon(never_reads_while_it_writes(dut))
    for _ in range(30):
        burst = cocotb.start_soon(random.choice([port.write, port.read])(1, port.depth))
        await cycles(dut, random.randint(0, 3))
        await port.host(0)
        await burst


@cocotb.test()
async def a_reset_forgets_bursts_but_no_word(dut):
    port = await filled(dut)
    for _ in range(10):
        dut.s_rreq_valid.value, dut.s_rreq_addr.value, dut.s_rreq_len.value = 1, 0, 9
        dut.s_wreq_valid.value = 1
        await cycles(dut, random.randint(1, 5))
        dut.s_rreq_valid.value = dut.s_wreq_valid.value = 0
        dut.rst.value = 1
        await cycles(dut, 1)
        dut.rst.value = 0
        await ReadOnly()
        assert not dut.m_rdat_valid.value and not dut.m_wrsp_valid.value and dut.s_rreq_ready.value
        await cycles(dut, 3)
        await port.read(0, port.depth)


@pytest.mark.parametrize("depth", [8, 48, 100])
def test_memory(depth):
    run("ram", "gc_ulx3s_memory", {"DEPTH": depth}, models=[FILE])
