# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock

from gradcore.numerics.fixed_point import ACC_W, fits, requantize, round_shift
from tb.support.bench import cycles
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 4


@cocotb.test()
async def any_width_matches_the_model(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await cycles(dut, 1)
    in_w, out_w = parameter("IN_W"), parameter("OUT_W")
    with_base = hasattr(dut, "s_base")  # gc_round_shift_step
    if with_base:
        dut.s_step.value = 0b1111
    shifts = min(in_w, 1 << parameter("SHIFT_W"), ACC_W)
    modes = 4 if parameter("ROUND_W") == 16 else 3
    expected = []
    for now in range(1500 + LATENCY):
        if now >= LATENCY:
            assert (dut.m_y.value.to_signed(), dut.m_over.value) == expected[now - LATENCY], f"word {now - LATENCY}"
        shift, mode, rnd = (
            random.randrange(shifts),
            random.randrange(modes),
            random.choice([0, 65535, random.getrandbits(16)]),
        )
        near = random.choice([0, -1 << (out_w - 1), (1 << (out_w - 1)) - 1, random.randrange(-9, 9)])
        half, bit = (1 << shift) >> 1, 1 << random.randrange(in_w)
        x = (near << shift) + random.choice([0, half, random.getrandbits(shift)]) + random.randrange(-1, 2)
        tie = (near << shift) + half ^ bit  # one bit decides what becomes of it, wherever it is
        x = random.choice([x, tie, random.getrandbits(in_w), -1 << (in_w - 1)]) & ((1 << in_w) - 1)
        dut.s_x.value, dut.s_shift.value, dut.s_mode.value, dut.s_rnd.value = x, shift, mode, rnd
        signed = x - ((x >> (in_w - 1)) << in_w)
        if with_base:
            base = random.choice([0, -1 << (out_w - 1), (1 << (out_w - 1)) - 1, -near, random.getrandbits(out_w - 1)])
            base = min(base, (1 << (out_w - 1)) - 1)
            dut.s_base.value = base & ((1 << out_w) - 1)
            signed += base << shift
        over = not fits(round_shift(signed, shift, mode, rnd), out_w)
        expected.append((int(requantize(signed, shift, out_w, mode, rnd)), int(over)))
        await cycles(dut, 1)


@pytest.mark.parametrize(
    "in_w, out_w, shift_w, round_w",
    [
        (48, 24, 6, 16),
        (48, 16, 6, 16),
        (55, 16, 6, 16),
        (48, 16, 5, 16),
        (41, 16, 5, 16),
        (40, 16, 6, 16),
        (33, 12, 6, 16),
        (33, 8, 5, 16),
        (32, 16, 4, 16),
        (17, 17, 5, 16),
        (12, 8, 4, 16),
        (8, 8, 3, 16),
        (62, 8, 6, 16),
        (33, 16, 5, 1),
        (33, 8, 5, 1),
        (62, 16, 6, 1),
        (48, 24, 6, 2),
        (12, 12, 4, 7),
        (48, 16, 6, 15),
    ],
)
def test_round_shift(in_w, out_w, shift_w, round_w):
    run("requantise", "gc_round_shift", {"IN_W": in_w, "OUT_W": out_w, "SHIFT_W": shift_w, "ROUND_W": round_w})


@pytest.mark.parametrize(
    "in_w, out_w, shift_w, round_w", [(32, 16, 5, 16), (24, 8, 4, 16), (17, 17, 5, 16), (20, 12, 4, 1), (31, 9, 5, 7)]
)
def test_base(in_w, out_w, shift_w, round_w):
    run("requantise", "gc_round_shift_step", {"IN_W": in_w, "OUT_W": out_w, "SHIFT_W": shift_w, "ROUND_W": round_w})


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("OUT_W", 49, "OUT_W_above"),
        ("IN_W", 63, "IN_W_above_62"),
        ("SHIFT_W", 2, "SHIFT_W_not_3_to_6"),
        ("SHIFT_W", 7, "SHIFT_W_not_3_to_6"),
        ("ROUND_W", 0, "ROUND_W_not_1_to_16"),
        ("ROUND_W", 17, "ROUND_W_not_1_to_16"),
    ],
)
def test_illegal_parameters(name, value, text):
    expect_elaboration_error("requantise", "gc_round_shift", {name: value}, text)


@pytest.mark.parametrize(
    "name, value, text", [("IN_W", 96, "IN_W_above_OUT_W_plus_3_STEP"), ("MOST", 4, "MOST_not_0_to_3")]
)
def test_illegal_parameters_of_a_digit(name, value, text):
    expect_elaboration_error("requantise", "gc_shift_digit", {name: value}, text)
