# SPDX-License-Identifier: Apache-2.0
"""Descriptors to words: those that lie in the beats of their runs, narrowed; lengths that do not agree are told."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.dma.memory import Memory, addresses
from tb.support.bench import PAUSES, Sink, cycles, reset, start
from tb.support.bits import unpack
from tb.support.runner import parameter, run


def memory_width() -> int:
    return 8 if parameter("DW") == 8 else 16


def beats_of(words: int) -> int:
    return -(-words * parameter("LANES") * memory_width() // parameter("MEM_W"))


async def begin(dut, descriptor, words):
    """At one of the four bases."""
    addr, run_beats, n1, stride1, n2, stride2 = descriptor
    width, choice = parameter("ADDR_W"), random.randrange(4)
    bases = [parameter("MEM_W") // 8 * random.randrange(1 << 10) for _ in range(4)]
    dut.cfg_base.value, dut.cfg_base_sel.value = sum(base << width * n for n, base in enumerate(bases)), choice
    dut.cfg_addr.value = addr - bases[choice] & (1 << 48) - 1
    dut.cfg_run_beats.value, dut.cfg_n_words.value = run_beats, words
    dut.cfg_n1.value, dut.cfg_stride1.value, dut.cfg_n2.value, dut.cfg_stride2.value = n1, stride1, n2, stride2
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0


def descriptor_of(words: int):
    """Runs that hold just these words; the last beat may be more than they need."""
    beat, beats = parameter("MEM_W") // 8, beats_of(words)
    n1 = random.choice([n for n in (1, 2, 3) if beats % n == 0])
    n2 = random.choice([n for n in (1, 2) if beats // n1 % n == 0])
    run = beats // n1 // n2
    gap = [beat * random.randint(0, 5) for _ in range(2)]
    stride1 = run * beat + gap[0]
    return beat * random.randint(2048, 4096), run, n1, stride1, n2, stride1 * n1 + gap[1]


def lanes_of(memory, descriptor, words):
    """Lanes of the words as they lie in memory, cut to the data width."""
    beat, width = parameter("MEM_W") // 8, memory_width()
    flat = [
        lane for at in addresses(descriptor, beat) for lane in unpack(memory.word(at), width, 8 * beat // width, False)
    ]
    mask, lanes = (1 << parameter("DW")) - 1, parameter("LANES")
    return [[lane & mask for lane in flat[n * lanes : (n + 1) * lanes]] for n in range(words)]


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def words_are_those_of_the_runs(dut, pauses):
    await start(dut, start=0)
    memory, sink = (
        Memory(dut, parameter("MEM_W") // 8, pauses[0], latency=(1, 30)),
        Sink(dut, "m_", ["data", "last"], pauses[1]),
    )
    for _ in range(8):
        words = random.choice([1, 2, random.randint(3, 40)])
        descriptor = descriptor_of(words)
        sink.words.clear()
        await begin(dut, descriptor, words)
        await sink.receive(words)
        got = [unpack(word["data"], parameter("DW"), parameter("LANES"), False) for word in sink.words]
        assert got == lanes_of(memory, descriptor, words)
        assert [bool(word["last"]) for word in sink.words] == [False] * (words - 1) + [True]
        assert not dut.sts_open.value
        await cycles(dut, 3)
        assert len(sink.words) == words and not dut.sts_bad.value


@cocotb.test()
@cocotb.parametrize(more=[1, -1])
async def beats_that_do_not_fit_the_words_are_bad(dut, more):
    await start(dut, start=0)
    Memory(dut, parameter("MEM_W") // 8, 0.3, latency=(1, 30))
    for _ in range(6):
        await reset(dut)
        words = random.randint(4, 20)
        while not beats_of(words) + more:
            words += 4
        await begin(dut, (4096, beats_of(words) + more, 1, 0, 1, 0), words)
        dut.m_ready.value, bad = 1, False
        for _ in range(600):
            await ReadOnly()
            bad = bad or bool(dut.sts_bad.value)
            await cycles(dut, 1)
            if bad:
                break
        assert bad


@pytest.mark.parametrize("lanes, width, mem_w", [(4, 16, 64), (16, 8, 64), (16, 11, 128), (4, 16, 256), (4, 8, 512)])
def test_word_reader(lanes, width, mem_w):
    run("engine", "gc_word_reader", {"LANES": lanes, "DW": width, "MEM_W": mem_w, "ADDR_W": random.randint(32, 48)})
