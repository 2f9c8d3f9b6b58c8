# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def adds_holds_and_returns(dut):
    """The term is base, or zero, and stride times the iterations since start or restart, modulo 2^W."""
    width = parameter("W")
    await start(dut, start=1, step=0, advance=0, restart=0, base=0, stride=0)
    await cycles(dut, 1)
    for _ in range(60):
        base, stride = (random.choice([0, 1, (1 << width) - 1, random.getrandbits(width)]) for _ in range(2))
        count, dut.base.value, dut.stride.value = 0, base, stride
        first = parameter("BASED") * base
        dut.start.value = 1
        await cycles(dut, 1)
        assert int(dut.m_term.value) == first
        for _ in range(random.randint(1, 12)):
            begin, step, restart, advance = (
                random.random() < 0.05,
                random.random() < 0.8,
                random.random() < 0.1,
                random.random() < 0.6,
            )
            dut.start.value, dut.step.value, dut.restart.value, dut.advance.value = begin, step, restart, advance
            await cycles(dut, 1)
            count = 0 if begin or (step and restart) else count + (step and advance)
            assert int(dut.m_term.value) == (first + count * stride) % (1 << width)


@pytest.mark.parametrize("width, based", [(1, 0), (16, 0), (16, 1), (48, 1)])
def test_loop_term(width, based):
    run("sequencer", "gc_loop_term", {"W": width, "BASED": based})


@pytest.mark.parametrize("name, value", [("W", 0), ("BASED", 2)])
def test_illegal_parameters(name, value):
    expect_elaboration_error("sequencer", "gc_loop_term", {name: value}, name)
