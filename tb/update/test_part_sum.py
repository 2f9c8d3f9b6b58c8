# SPDX-License-Identifier: Apache-2.0
"""Sums and differences in parts of the carry chain, with carries through all of them."""

import random

import cocotb
import pytest
from cocotb.clock import Clock

from tb.support.bench import cycles
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def is_the_sum_modulo_its_width(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await cycles(dut, 1)
    width, parts, subtract = parameter("W"), parameter("PARTS"), parameter("SUBTRACT")
    mask, expected = (1 << width) - 1, []
    for now in range(800 + parts):
        if now >= parts:
            assert dut.m_sum.value.to_unsigned() == expected[now - parts], f"word {now - parts}"
        a, b = (
            random.choice([0, mask, random.getrandbits(width), 1 << random.randrange(width)]) + random.randint(-1, 1)
            for _ in range(2)
        )
        dut.s_a.value = a & mask
        dut.s_b.value = b & mask
        expected.append((a - b if subtract else a + b) & mask)
        await cycles(dut, 1)


@pytest.mark.parametrize("subtract", [0, 1])
@pytest.mark.parametrize("width, parts", [(55, 3), (47, 2), (40, 2), (9, 1), (7, 7), (5, 3)])
def test_part_sum(width, parts, subtract):
    run("update", "gc_part_sum", {"W": width, "PARTS": parts, "SUBTRACT": subtract})


@pytest.mark.parametrize("name, value", [("PARTS", 0), ("PARTS", 9)])
def test_refuses(name, value):
    expect_elaboration_error("update", "gc_part_sum", {"W": 8, name: value}, f"{name}_")
