# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def delays_every_word_and_empties_at_once(dut):
    length, width, clears = parameter("CYCLES"), parameter("W"), parameter("CLEAR")
    await start(dut, clear=1, s_data=0)
    await cycles(dut, max(length, 1))
    line = [0] * length
    for _ in range(300):
        word, clear = random.getrandbits(width), random.random() < 0.1
        dut.s_data.value, dut.clear.value = word, int(clear)
        await ReadOnly()
        assert int(dut.m_data.value) == (line[-1] if length else word)
        await cycles(dut, 1)
        line = [0] * length if clear and clears else [word, *line][:length]


@pytest.mark.parametrize("clear", [0, 1])
@pytest.mark.parametrize("width, length", [(1, 0), (1, 1), (17, 5), (128, 2)])
def test_delay_line(width, length, clear):
    run("stream", "gc_delay_line", {"W": width, "CYCLES": length, "CLEAR": clear})


@pytest.mark.parametrize("bad, reason", [({"W": 0}, "W_below_1"), ({"CYCLES": -1}, "CYCLES_below_0")])
def test_refuses(bad, reason):
    expect_elaboration_error("stream", "gc_delay_line", bad, reason)
