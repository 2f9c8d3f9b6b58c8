# SPDX-License-Identifier: Apache-2.0
"""The start of a transfer: its descriptor at the chosen base until it is taken, its words counted."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import parameter, run


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.6])
async def offers_the_descriptor_and_counts_the_words(dut, stall):
    width = parameter("ADDR_W")
    await start(dut, start=0, s_word=0)
    for _ in range(40):
        addr, bases, choice = random.getrandbits(48), [random.getrandbits(width) for _ in range(4)], random.randrange(4)
        words = left = random.choice([1, 2, random.randint(1, 20)])
        dut.cfg_addr.value, dut.cfg_base_sel.value, dut.cfg_words.value = addr, choice, words
        dut.cfg_base.value, dut.start.value = sum(base << width * n for n, base in enumerate(bases)), 1
        await cycles(dut, 1)
        dut.start.value, dut.cfg_base.value, offered = 0, random.getrandbits(4 * width), True
        while left or offered:
            ready, word = random.random() >= stall, left > 0 and random.random() >= stall
            dut.m_ready.value, dut.s_word.value = int(ready), int(word)
            await ReadOnly()
            assert (bool(dut.m_valid.value), bool(dut.m_open.value), bool(dut.m_last.value)) == (
                offered,
                left > 0,
                left == 1,
            )
            assert not offered or int(dut.m_addr.value) == (addr + bases[choice]) % (1 << width)
            await cycles(dut, 1)
            offered, left = offered and not ready, left - word
        dut.m_ready.value = dut.s_word.value = 0


@cocotb.test()
async def reset_takes_it_back(dut):
    await start(dut, start=0, s_word=0, cfg_addr=0, cfg_base=0, cfg_base_sel=0, cfg_words=5)
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    assert dut.m_valid.value and dut.m_open.value
    await reset(dut)
    assert not dut.m_valid.value and not dut.m_open.value


@pytest.mark.parametrize("width", [32, 40, 48])
def test_transfer_start(width):
    run("engine", "gc_transfer_start", {"ADDR_W": width})
