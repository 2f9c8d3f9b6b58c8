# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run

TAIL = 8


async def pulse(dut):
    dut.s_start.value = 1
    await cycles(dut, 1)
    dut.s_start.value = 0


async def count(dut, steps):
    """So many cycles of a scrub, from its first one on: every address once, in order, then the tail."""
    depth = 1 << parameter("ADDR_W")
    for step in range(steps):
        assert dut.m_busy.value == 1 and dut.m_valid.value == int(step < depth), step
        assert step >= depth or dut.m_addr.value == step
        await cycles(dut, 1)


@cocotb.test()
async def counts_once_through_all_addresses(dut):
    await start(dut, s_start=0)
    for _ in range(3):
        for _ in range(random.randint(1, 9)):
            assert (dut.m_busy.value, dut.m_valid.value) == (0, 0)
            await cycles(dut, 1)
        await pulse(dut)
        await count(dut, (1 << parameter("ADDR_W")) + TAIL)
    assert (dut.m_busy.value, dut.m_valid.value) == (0, 0)


@cocotb.test()
async def a_start_in_between_begins_anew(dut):
    await start(dut, s_start=0)
    whole = (1 << parameter("ADDR_W")) + TAIL
    await pulse(dut)
    for steps in (random.randrange(whole - TAIL), whole - TAIL, whole - 2):
        await count(dut, steps)
        await pulse(dut)
    await count(dut, whole)
    assert dut.m_busy.value == 0


@cocotb.test()
async def a_reset_ends_it(dut):
    await start(dut, s_start=0)
    await pulse(dut)
    await cycles(dut, random.randrange(1 << parameter("ADDR_W")))
    await reset(dut)
    assert (dut.m_busy.value, dut.m_valid.value) == (0, 0)


@pytest.mark.parametrize("width", [4, 6, 9])
def test_scrub(width):
    run("engine", "gc_scrub", {"ADDR_W": width})


def test_refuses():
    expect_elaboration_error("engine", "gc_scrub", {"ADDR_W": 3}, "ADDR_W_below_4")
