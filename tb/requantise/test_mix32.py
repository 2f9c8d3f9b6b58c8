# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock

from gradcore.numerics.random_numbers import mix32
from tb.support.bench import cycles
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 3


@cocotb.test()
async def the_lowest_bits_of_the_hash(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.s_step.value = 7
    await cycles(dut, 1)
    words = [random.choice([0, 0xFFFFFFFF, 1 << random.randrange(32), random.getrandbits(32)]) for _ in range(500)]
    expected = (mix32(np.array(words, dtype=np.uint32)) & ((1 << parameter("OUT_W")) - 1)).tolist()
    for now in range(len(words) + LATENCY):
        if now >= LATENCY:
            assert dut.m_y.value.to_unsigned() == expected[now - LATENCY], hex(words[now - LATENCY])
        dut.s_x.value = words[now] if now < len(words) else 0
        await cycles(dut, 1)


@pytest.mark.parametrize("out_w", [16, 17, 25, 31, 32])
def test_mix32(out_w):
    run("requantise", "gc_mix32", {"OUT_W": out_w})


@pytest.mark.parametrize("out_w", [15, 33])
def test_refuses(out_w):
    expect_elaboration_error("requantise", "gc_mix32", {"OUT_W": out_w}, "OUT_W_not_16_to_32")
