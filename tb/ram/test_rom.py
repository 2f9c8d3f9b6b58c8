# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def words_come_a_cycle_later(dut):
    await start(dut, s_addr=0)
    width, depth = parameter("WIDTH"), parameter("DEPTH")
    for addr in [*range(depth), *random.choices(range(depth), k=50)]:
        dut.s_addr.value = addr
        await cycles(dut, 1)
        assert int(dut.m_data.value) == parameter("WORDS") >> width * addr & ((1 << width) - 1)


@pytest.mark.parametrize("width, depth", [(1, 2), (5, 6)])
def test_rom(width, depth):
    run("ram", "gc_rom", {"WIDTH": width, "DEPTH": depth, "WORDS": random.getrandbits(width * depth)})


def test_refuses_depth_one():
    expect_elaboration_error("ram", "gc_rom", {"DEPTH": 1}, "DEPTH_below_2")
