# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.dma.memory import bursts, random_descriptor, transfer, words
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


async def begin(dut, stall=0.0):
    await start(dut)
    return Sink(dut, "m_", ["addr", "len", "last"], stall)


async def check(dut, sink, descriptors, pause=0.0):
    beat, mask = parameter("MEM_W") // 8, (1 << parameter("ADDR_W")) - 1
    expected = [bursts(d, beat, parameter("MAX_BURST")) for d in descriptors]
    sink.words.clear()
    await Source(dut, "s_", pause).send([words(d) for d in descriptors])
    got = await sink.receive(sum(map(len, expected)))
    assert [(int(w["addr"]), int(w["len"]), int(w["last"])) for w in got] == [
        (addr & mask, length, int(i == len(e) - 1)) for e in expected for i, (addr, length) in enumerate(e)
    ]
    await cycles(dut, 10)
    assert len(sink.words) == sum(map(len, expected))


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def keep_the_4_kib_rule(dut, pauses):
    sink = await begin(dut, pauses[1])
    await check(dut, sink, [random_descriptor(parameter("MEM_W") // 8) for _ in range(25)], pauses[0])


@cocotb.test()
async def one_burst_every_two_cycles_also_between_transfers(dut):
    sink, beat, times = await begin(dut), parameter("MEM_W") // 8, []
    cocotb.start_soon(Source(dut, "s_").send([words(transfer(n1=10, stride1=beat, n2=2, stride2=64 * beat))] * 2))
    for cycle in range(120):
        times += [cycle] * (len(sink.words) - len(times))
        await cycles(dut, 1)
    assert len(times) == 40 and {b - a for a, b in zip(times, times[1:])} == {2}


@cocotb.test()
async def fit_the_page_and_the_limit_exactly(dut):
    sink, beat, limit = await begin(dut), parameter("MEM_W") // 8, parameter("MAX_BURST")
    page = 4096 // beat
    for first in {0, 1, page - 1, max(page - limit, 0), page // 2}:
        for beats in {1, 2, limit - 1, limit, limit + 1, page - first, page - first + 1, 2 * page} - {0}:
            await check(dut, sink, [transfer((7 * page + first) * beat, beats, n1=2, stride1=page * beat)])


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def count_down_more_than_65_536_beats(dut, stall):
    """The upper half of the beats that are left follows a cycle after the lower one."""
    sink, beat, limit = await begin(dut, stall), parameter("MEM_W") // 8, parameter("MAX_BURST")
    for beats in (65535, 65536 + random.randint(0, limit), 2 * 65536 + 1) if limit >= 64 else ():
        await check(dut, sink, [transfer(random.randrange(64) * beat, beats, n1=2, stride1=3 * beat)])


@cocotb.test()
async def wrap_at_the_end_of_the_addresses(dut):
    sink, beat, top = await begin(dut), parameter("MEM_W") // 8, 1 << parameter("ADDR_W")
    await check(
        dut, sink, [transfer(top - 3 * beat, 5, n1=2, stride1=(1 << 32) - beat, n2=2, stride2=(1 << 32) - beat)]
    )


@cocotb.test()
async def transfers_of_nothing_are_taken(dut):
    nothing = [transfer(run_beats=0, n1=5, n2=5), transfer(n1=0, n2=9), transfer(run_beats=7, n2=0)]
    await check(dut, await begin(dut), nothing * 3 + [transfer(4096)] + nothing)


@cocotb.test()
async def reset_drops_the_largest_transfer(dut):
    sink, beat = await begin(dut, 0.3), parameter("MEM_W") // 8
    for _ in range(3):
        sink.words.clear()
        await Source(dut, "s_").send([words(transfer(run_beats=(1 << 32) - 1, n1=65535, n2=65535))])
        await cycles(dut, random.randint(0, 30))
        length = min(4096 // beat, parameter("MAX_BURST"))
        assert [(int(w["addr"]), int(w["len"])) for w in sink.words] == [
            (n * length * beat, length - 1) for n in range(len(sink.words))
        ]
        await reset(dut, 1)
        assert not dut.m_valid.value and dut.s_ready.value
        await check(dut, sink, [random_descriptor(beat) for _ in range(3)])


@pytest.mark.parametrize(
    "addr_w, mem_w, max_burst", [(40, 64, 256), (48, 128, 16), (40, 512, 64), (32, 128, 1), (64, 512, 256)]
)
def test_dma_bursts(addr_w, mem_w, max_burst):
    run("dma", "gc_dma_bursts", {"ADDR_W": addr_w, "MEM_W": mem_w, "MAX_BURST": max_burst})


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"MAX_BURST": 0}, "MAX_BURST_"),
        ({"MAX_BURST": 48}, "MAX_BURST_"),
        ({"MAX_BURST": 512}, "MAX_BURST_"),
        ({"ADDR_W": 31}, "ADDR_W_"),
        ({"ADDR_W": 65}, "ADDR_W_"),
        ({"MEM_W": 32}, "MEM_W_"),
        ({"MEM_W": 96}, "MEM_W_"),
        ({"MEM_W": 1024}, "MEM_W_"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("dma", "gc_dma_bursts", bad, reason)
