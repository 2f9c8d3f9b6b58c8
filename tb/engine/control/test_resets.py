# SPDX-License-Identifier: Apache-2.0
"""Everything is in reset while it should be, whatever the resets look like."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def units_go_in_together_and_come_out_one_by_one(dut):
    units, asked = parameter("UNITS"), []
    await start(dut, s_all=1, s_core=0)
    for step in range(400):
        every, core = (random.random() < 0.1 or step < 2, random.random() < 0.1)
        dut.s_all.value, dut.s_core.value = every, core
        asked.append((every, core))
        await ReadOnly()
        if step > units + 1:
            assert dut.m_memory.value == any(a or c for a, c in asked[-2:])
            assert dut.m_control.value == any(asked[-2])
            unit = [any(a or c for a, c in asked[-3 - n : -1]) for n in range(units)]
            assert int(dut.m_unit.value) == sum(value << n for n, value in enumerate(unit))
            assert dut.m_busy.value == any(unit)
        await cycles(dut, 1)


@pytest.mark.parametrize("units", [2, 6, 7])
def test_resets(units):
    run("engine", "gc_resets", {"UNITS": units})


def test_refuses():
    expect_elaboration_error("engine", "gc_resets", {"UNITS": 1}, "UNITS_below_2")
