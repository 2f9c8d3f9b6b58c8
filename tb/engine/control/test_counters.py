# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def counts_events_and_keeps_the_high_word(dut):
    """Counters are set just below a carry into the high word or below their end, so that a pair of reads meets one.
    Not the one whose word is being written; a clear is followed by reads of words that the first turn has not met."""
    n = parameter("N")
    await start(dut, clear=1, s_event=0, s_twice=0, s_read=0, s_high=0, s_index=0)
    await cycles(dut, 1)
    dut.clear.value, counts, high, data = 0, [0] * n, None, None
    for i in range(4000):
        if i % 500 == 200:
            for k in set(range(n)) - {int(dut.turned_q.value)}:
                counts[k] = (random.getrandbits(16) << 32) - 1 - random.randrange(200) & (1 << 48) - 1
                dut.g_counter[k].g_used.low_q.value = counts[k] & 255
                dut.g_counter[k].g_used.carry_q.value = 0
                for memory in (dut.u_turns.g_any.memory, dut.u_words.g_any.memory):
                    memory[k].value = counts[k] >> 8
        clear, events, twice, read = i % 500 == 99, random.getrandbits(n), random.getrandbits(n), random.random() < 0.7
        second, index = high is not None and random.random() < 0.5, random.randrange(64)
        if random.random() < 0.3:
            index = int(dut.turned_q.value)  # the word that is being written
        dut.clear.value, dut.s_event.value, dut.s_twice.value = clear, events, twice
        dut.s_read.value, dut.s_high.value, dut.s_index.value = read, second, index
        if read:
            count = counts[index] if index < n else 0
            data, high = (high, high) if second else (count & 0xFFFFFFFF, count >> 32)
        added = [(events >> k & 1) + 2 * (twice >> k & 1) for k in range(n)]
        counts = [0 if clear else count + more & (1 << 48) - 1 for count, more in zip(counts, added)]
        await cycles(dut, 1)
        assert data is None or int(dut.m_data.value) == data


@pytest.mark.parametrize("n", [1, 52, 64])
def test_counters(n):
    run("engine", "gc_counters", {"N": n})


@pytest.mark.parametrize("n", [0, 65])
def test_illegal_parameters(n):
    expect_elaboration_error("engine", "gc_counters", {"N": n}, "N_outside_1_to_64")
