# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.dma.memory import Memory, addresses, bursts, random_descriptor, words
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def delivers_every_beat_in_order(dut, pauses):
    beat = parameter("MEM_W") // 8
    await start(dut)
    memory = Memory(dut, beat, stall=pauses[0], latency=random.choice([1, 20, 60]))
    sink = Sink(dut, "m_", ["data"], pauses[1])
    descriptors = [random_descriptor(beat, 60) for _ in range(12)]
    await Source(dut, "s_", 0.2).send([words(d) for d in descriptors])
    want = [a for d in descriptors for a in addresses(d, beat)]
    got = await sink.receive(len(want))
    assert [int(w["data"]) for w in got] == [memory.word(a) for a in want]
    assert memory.reads == [b for d in descriptors for b in bursts(d, beat, parameter("MAX_BURST"))]


@cocotb.test()
async def runs_at_the_full_rate_of_the_port(dut):
    beat, latency, count = parameter("MEM_W") // 8, 60, 512
    await start(dut)
    Memory(dut, beat, latency=latency)
    sink = Sink(dut, "m_", ["data"])
    await Source(dut, "s_").send([words((0, count, 1, 0, 1, 0))])
    for _ in range(latency + count + 20):
        await cycles(dut, 1)
    assert len(sink.words) == count


@cocotb.test()
async def starts_anew_after_a_reset(dut):
    beat = parameter("MEM_W") // 8
    await start(dut)
    dut.m_rreq_ready.value, dut.s_rdat_valid.value = 0, 0
    await Source(dut, "s_").send([words((0, 40, 2, 4096, 1, 0))])
    await reset(dut)
    assert dut.m_rreq_valid.value == 0 and dut.m_valid.value == 0
    memory, sink = Memory(dut, beat), Sink(dut, "m_", ["data"])
    await Source(dut, "s_").send([words((64 * beat, 3, 1, 0, 1, 0))])
    assert [int(w["data"]) for w in await sink.receive(3)] == [memory.word((64 + i) * beat) for i in range(3)]


@pytest.mark.parametrize("mem_w, depth, max_burst", [(64, 128, 32), (512, 128, 32), (128, 256, 128)])
def test_dma_reader(mem_w, depth, max_burst):
    run("dma", "dma_reader", {"MEM_W": mem_w, "MAX_BURST": max_burst, "DEPTH": depth, "ADDR_W": 40})


def test_refuses():
    expect_elaboration_error("dma", "dma_reader", {"MAX_BURST": 64, "DEPTH": 32}, "MAX_BURST_above_DEPTH")
    expect_elaboration_error("dma", "dma_reader", {"DEPTH": 1024}, "DEPTH_above_512")
