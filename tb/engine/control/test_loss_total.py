# SPDX-License-Identifier: Apache-2.0
import random

import cocotb

from tb.support.bench import cycles, start
from tb.support.runner import run


@cocotb.test()
async def is_the_sum_four_cycles_after_both_rest(dut):
    await start(dut, s_compute=0, s_load=0)
    for _ in range(200):
        words = [random.choice([0, 0xFFFF, (1 << 48) - 1, (1 << 64) - 1, random.getrandbits(64)]) for _ in range(2)]
        dut.s_compute.value, dut.s_load.value = words
        await cycles(dut, 4)
        assert int(dut.m_loss.value) == sum(words) & (1 << 64) - 1


def test_loss_total():
    run("engine", "gc_loss_total")
