# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.bits import pack
from tb.support.runner import parameter, run


@cocotb.test()
async def picks_the_word_of_its_cycle_and_the_sum_of_the_last_level(dut):
    n, width = parameter("N"), parameter("W")
    levels = {4: 1, 8: 2, 16: 2, 32: 3, 64: 3}[n]
    await start(dut, s_index=0, s_data=0, s_sum=0)
    history = []
    for _ in range(40 + 3 * n):
        index = random.choice([n, random.randrange(n)])
        words, total = [random.getrandbits(width) for _ in range(n)], random.getrandbits(width)
        dut.s_index.value, dut.s_data.value, dut.s_sum.value = index, pack(words, width), total
        history.append((index, words, total))
        await cycles(dut, 1)
        if len(history) >= levels:
            index, words, _ = history[-levels]
            assert int(dut.m_data.value) == (total if index == n else words[index])


@pytest.mark.parametrize("words", [4, 8, 16, 32, 64])
def test_column_select(words):
    run("mac_array", "gc_column_select", {"N": words, "W": random.randint(2, 9)})
