# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def counts_the_free_places(dut):
    """Takes only what is free and gives only what is taken; both in one cycle, too, and at both ends."""
    most = parameter("CREDITS")
    await start(dut, s_take=0, s_give=0)
    free, seen = most, set()
    for number in range(600):
        rush = (0.9, 0.2) if number // 100 % 2 else (0.2, 0.9)
        take, give = free > 0 and random.random() < rush[0], free < most and random.random() < rush[1]
        dut.s_take.value, dut.s_give.value = int(take), int(give)
        await ReadOnly()
        assert int(dut.sts_free.value) == free and bool(dut.m_any.value) == (free > 0)
        seen.add(free)
        await cycles(dut, 1)
        free += give - take
    assert {0, most} <= seen
    await reset(dut)
    assert int(dut.sts_free.value) == most


@pytest.mark.parametrize("credits", [1, 3, 16, 32])
def test_credit_counter(credits):
    run("stream", "gc_credit_counter", {"CREDITS": credits})


def test_refuses():
    expect_elaboration_error("stream", "gc_credit_counter", {"CREDITS": 0}, "CREDITS_below_1")
