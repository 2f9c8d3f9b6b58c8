# SPDX-License-Identifier: Apache-2.0
"""Strided transfers into a memory whose data only show with the response: every byte, m_done, the rate of the port."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.dma.memory import Memory, addresses, bursts, random_descriptor, transfer, words
from tb.support.bench import PAUSES, Source, cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


class Writer:
    """The writer and its memory, whose bytes nobody writes keep their random values."""

    def __init__(self, dut, **memory):
        self.dut, self.beat = dut, parameter("MEM_W") // 8
        self.memory = Memory(dut, self.beat, **memory)

    async def describe(self, descriptor):
        """Returns in the cycle after the descriptor was taken."""
        self.dut.s_desc_valid.value = 1
        for name, value in words(descriptor).items():
            getattr(self.dut, f"s_{name}").value = value
        while True:
            await ReadOnly()
            taken = self.dut.s_desc_ready.value
            await cycles(self.dut, 1)
            if taken:
                break
        self.dut.s_desc_valid.value = 0

    async def write(self, descriptor, pause=0.0, early=0):
        """One transfer, its data `early` cycles before the descriptor; compares the memory in the cycle of m_done."""
        dut, beat, full = self.dut, self.beat, (1 << self.beat) - 1
        places, data, expected = addresses(descriptor, beat), [], {}
        for addr in places:
            word, strb = random.getrandbits(8 * beat), random.choice([full, full, 0, random.getrandbits(beat)])
            mask = sum(0xFF << 8 * i for i in range(beat) if strb >> i & 1)
            expected[addr] = expected.get(addr, self.memory.word(addr)) & ~mask | word & mask
            data.append({"data": word, "strb": strb})
        before = len(self.memory.writes)
        source = cocotb.start_soon(Source(dut, "s_", pause).send(data))
        await cycles(dut, early)
        await self.describe(descriptor)
        for _ in range(40 * len(places) + 300):
            if dut.m_done.value:
                break
            await cycles(dut, 1)
        assert dut.m_done.value == 1
        assert {a: self.memory.word(a) for a in places} == expected, "done before the data were in the memory"
        assert self.memory.writes[before:] == bursts(descriptor, beat, parameter("MAX_BURST"))
        await source
        await cycles(dut, 1)
        assert dut.m_done.value == 0


async def begin(dut, **memory):
    await start(dut)
    return Writer(dut, **memory)


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def writes_and_waits_for_the_responses(dut, pauses):
    writer = await begin(dut, stall=pauses[1], latency=random.choice([1, 30, (1, 60)]))
    for _ in range(10):
        await writer.write(random_descriptor(writer.beat, 60), pauses[0], random.choice([0, 0, 20]))


@cocotb.test()
async def transfers_of_nothing_are_done_in_the_next_cycle(dut):
    writer = await begin(dut)
    for descriptor in (transfer(run_beats=0), transfer(n1=0), transfer(n2=0)):
        await writer.describe(descriptor)
        assert dut.m_done.value == 1
        await cycles(dut, 1)
        assert dut.m_done.value == 0
    assert not writer.memory.writes


@cocotb.test()
async def a_burst_of_n_beats_takes_the_port_for_n_plus_1_cycles(dut):
    writer = await begin(dut, latency=1)
    length = min(parameter("MAX_BURST"), 4096 // writer.beat)
    if parameter("DEPTH") < 2 * length or length < 2:
        return  # no room for the next burst; dma_bursts gives one every two cycles
    await writer.write(transfer(run_beats=6 * length), early=parameter("DEPTH"))
    times = writer.memory.write_times
    assert [b - a for a, b in zip(times, times[1:])] == [length + 1] * 5


@cocotb.test()
async def a_slow_source_never_holds_the_port(dut):
    """The beats of a requested burst of n leave within n + 2 cycles: the last of them may still be on its way through
    the FIFO."""
    writer = await begin(dut)
    task = cocotb.start_soon(writer.write(transfer(writer.beat, 5 * parameter("MAX_BURST")), 0.8))
    left, due, now = 0, 0, 0
    while not task.done():
        await ReadOnly()
        left -= bool(dut.m_wdat_valid.value)
        assert left >= 0 and (not left or now < due)
        if dut.m_wreq_valid.value:
            left = int(dut.m_wreq_len.value) + 1
            due = now + left + 2
        now += 1
        await cycles(dut, 1)
    await task


@cocotb.test()
async def reset_in_mid_transfer(dut):
    writer = await begin(dut, latency=(1, 20), stall=0.3)
    for _ in range(4):
        data = [{"data": 0, "strb": 0}] * 80
        source = cocotb.start_soon(Source(dut, "s_").send(data))
        await writer.describe(transfer(run_beats=60, n1=2, stride1=4096))
        await cycles(dut, random.randint(0, 60))
        source.cancel()
        dut.s_valid.value = 0
        await reset(dut, 2)
        assert not dut.m_wreq_valid.value and not dut.m_wdat_valid.value and dut.s_desc_ready.value
        for _ in range(3):
            await writer.write(random_descriptor(writer.beat, 30))


@pytest.mark.parametrize(
    "addr_w, mem_w, depth, max_burst", [(40, 64, 64, 32), (40, 512, 32, 32), (32, 128, 16, 1), (48, 512, 512, 256)]
)
def test_dma_writer(addr_w, mem_w, depth, max_burst):
    run("dma", "gc_dma_writer", {"ADDR_W": addr_w, "MEM_W": mem_w, "DEPTH": depth, "MAX_BURST": max_burst})


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"MAX_BURST": 64, "DEPTH": 32}, "MAX_BURST_above_DEPTH"),
        ({"DEPTH": 96}, "DEPTH_"),
        ({"DEPTH": 65536}, "DEPTH_above"),
        ({"MAX_BURST": 3}, "MAX_BURST_must"),
        ({"ADDR_W": 31}, "ADDR_W_"),
        ({"MEM_W": 1024}, "MEM_W_"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("dma", "gc_dma_writer", bad, reason)
