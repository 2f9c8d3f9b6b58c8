# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.dma.memory import Memory, addresses, bursts, random_descriptor, transfer, words
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def delivers_every_beat_in_order(dut, pauses):
    beat = parameter("MEM_W") // 8
    await start(dut)
    memory = Memory(dut, beat, stall=pauses[0], latency=random.choice([1, (1, 60), 60]))
    sink = Sink(dut, "m_", ["data"], pauses[1])
    descriptors = [random_descriptor(beat, 60) for _ in range(12)]
    await Source(dut, "s_", 0.2).send([words(d) for d in descriptors])
    want = [a for d in descriptors for a in addresses(d, beat)]
    got = await sink.receive(len(want))
    assert [int(w["data"]) for w in got] == [memory.word(a) for a in want]
    assert memory.reads == [b for d in descriptors for b in bursts(d, beat, parameter("MAX_BURST"))]


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5, 1.0])
async def one_beat_per_cycle_while_the_fifo_covers_the_latency(dut, share):
    """The first beat comes 6 cycles + latency after the descriptor; from then on there is no gap, not even between
    descriptors."""
    beat, depth = parameter("MEM_W") // 8, parameter("DEPTH")
    burst = min(parameter("MAX_BURST"), 4096 // beat)
    if burst < 2 or depth < 2 * burst:
        return  # a burst every two cycles; no room for a second one
    latency = 1 + int(share * (depth - burst - 8))
    await start(dut)
    Memory(dut, beat, latency=latency)
    sink, times = Sink(dut, "m_", ["data"]), []
    halves = [words(transfer(addr, 2 * depth)) for addr in (0, 1 << 20)]
    cocotb.start_soon(Source(dut, "s_").send(halves))
    for cycle in range(4 * depth + latency + 20):
        times += [cycle] * (len(sink.words) - len(times))
        await cycles(dut, 1)
    assert times == list(range(latency + 6, latency + 6 + 4 * depth))


@cocotb.test()
async def asks_only_for_what_it_can_hold(dut):
    beat, depth = parameter("MEM_W") // 8, parameter("DEPTH")
    await start(dut)
    memory, sink = Memory(dut, beat, latency=5), Sink(dut, "m_", ["data"], 1.0)
    await Source(dut, "s_").send([words(transfer(run_beats=3 * depth))])
    await cycles(dut, 3 * depth + 40)
    asked = sum(length + 1 for _, length in memory.reads)
    assert depth - parameter("MAX_BURST") < asked <= depth
    sink.stall = 0.0
    got = await sink.receive(3 * depth, 10 * depth + 200)
    assert [int(w["data"]) for w in got] == [memory.word(i * beat) for i in range(3 * depth)]


@cocotb.test()
async def starts_anew_after_a_reset(dut):
    beat = parameter("MEM_W") // 8
    await start(dut)
    memory, sink = Memory(dut, beat, 0.3, (1, 20)), Sink(dut, "m_", ["data"], 0.3)
    for _ in range(4):
        await Source(dut, "s_").send([words((0, 40, 2, 4096, 1, 0))])
        await cycles(dut, random.randint(0, 60))
        await reset(dut, 2)
        assert dut.m_rreq_valid.value == 0 and dut.m_valid.value == 0
        sink.words.clear()
        await Source(dut, "s_").send([words((64 * beat, 3, 1, 0, 1, 0))])
        assert [int(w["data"]) for w in await sink.receive(3)] == [memory.word((64 + i) * beat) for i in range(3)]


@pytest.mark.parametrize(
    "addr_w, mem_w, depth, max_burst",
    [
        (40, 64, 128, 32),
        (40, 512, 128, 32),
        (48, 128, 256, 128),
        (32, 256, 16, 1),
        (40, 128, 8, 8),
        (48, 512, 512, 256),
    ],
)
def test_dma_reader(addr_w, mem_w, depth, max_burst):
    run("dma", "gc_dma_reader", {"ADDR_W": addr_w, "MEM_W": mem_w, "DEPTH": depth, "MAX_BURST": max_burst})


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"MAX_BURST": 64, "DEPTH": 32}, "MAX_BURST_above_DEPTH"),
        ({"DEPTH": 1024}, "DEPTH_above_512"),
        ({"DEPTH": 96}, "DEPTH_"),
        ({"MAX_BURST": 3}, "MAX_BURST_must"),
        ({"ADDR_W": 31}, "ADDR_W_"),
        ({"MEM_W": 1024}, "MEM_W_"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("dma", "gc_dma_reader", bad, reason)
