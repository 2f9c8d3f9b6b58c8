# SPDX-License-Identifier: Apache-2.0
import random

import cocotb

from tb.support.bench import cycles, start
from tb.support.runner import parameter, run


@cocotb.test()
async def adds_and_restarts(dut):
    mask, term = (1 << parameter("W")) - 1, 0
    await start(dut, start=1, advance=0, restart=0, stride=0)
    await cycles(dut, 1)
    for _ in range(500):
        begin, advance, restart, stride = *(int(random.random() < p) for p in (0.05, 0.6, 0.1)), random.randint(0, mask)
        dut.start.value, dut.advance.value, dut.restart.value, dut.stride.value = begin, advance, restart, stride
        await cycles(dut, 1)
        term = 0 if begin or restart else (term + stride * advance) & mask
        assert int(dut.m_term.value) == term


def test_loop_term():
    run("sequencer", "loop_term", {"W": 12})
