# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from gradcore.numerics.fixed_point import requantize, round_shift
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.pipeline import flow
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 4


def sums(lanes: int, acc_w: int, dw: int, shift: int) -> list[int]:
    """Sums around everything that can go wrong: range ends, zero, ties and the two ends of the result."""
    top, half, unit = 1 << (acc_w - 1), (1 << shift) >> 1, 1 << shift
    near = [
        random.randrange(-1 << dw, 1 << dw) * unit + half,
        ((1 << (dw - 1)) - 1) * unit + half,
        -unit << (dw - 1),
        -half,
        half,
        0,
        -top,
        top - 1,
    ]
    values = []
    for _ in range(lanes):
        x = random.choice(near) + random.choice([-1, 0, 0, 1]) if random.random() < 0.7 else random.getrandbits(acc_w)
        values.append((x + top) % (2 * top) - top)
    return values


def word(mode: int | None = None, shift: int | None = None) -> tuple[dict, tuple[list[int], list[int]]]:
    """Payload; results, and which of them are saturated."""
    lanes, acc_w, dw = parameter("GRID") ** 2, parameter("ACC_W"), parameter("DW")
    mode = random.randrange(4) if mode is None else mode
    shift = random.randrange(acc_w) if shift is None else shift
    acc, rnd = sums(lanes, acc_w, dw, shift), [random.choice([0, 0xFFFF, random.getrandbits(16)]) for _ in range(lanes)]
    payload = {"shift": shift, "mode": mode, "acc": pack(acc, acc_w), "rnd": pack(rnd, 16)}
    data = requantize(acc, shift, dw, mode, rnd)
    return payload, (data.tolist(), (data != round_shift(acc, shift, mode, rnd)).astype(int).tolist())


async def check(dut, words, gap=0.0):
    got = await flow(dut, [payload for payload, _ in words], LATENCY, ["data", "over"], gap)
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    for result, (payload, expected) in zip(got, words, strict=True):
        assert (unpack(result["data"], dw, lanes), unpack(result["over"], 1, lanes, signed=False)) == expected, payload


@cocotb.test()
async def every_shift_in_every_mode(dut):
    await start(dut)
    await check(dut, [word(mode, shift) for mode in range(4) for shift in range(parameter("ACC_W"))])


@cocotb.test()
async def words_with_gaps_keep_their_own_configuration(dut):
    await start(dut)
    await check(dut, [word()])
    await check(dut, [word() for _ in range(60)], gap=0.5)


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut)
    dut.s_valid.value = 1
    await cycles(dut, 2)
    dut.s_valid.value = 0
    await reset(dut, 1)
    await check(dut, [word() for _ in range(5)])


@pytest.mark.parametrize("grid, acc_w, dw", [(4, 48, 16), (4, 20, 8), (4, 33, 11), (8, 48, 16)])
def test_requantise(grid, acc_w, dw):
    run("requantise", "gc_requantise", {"GRID": grid, "ACC_W": acc_w, "DW": dw})


@pytest.mark.parametrize("name, value", [("GRID", 6), ("ACC_W", 19), ("ACC_W", 49), ("DW", 7), ("DW", 17)])
def test_illegal_parameters(name, value):
    expect_elaboration_error("requantise", "gc_requantise", {name: value}, name)
