# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.numerics.fixed_point import round_shift
from gradcore.ops.loss import LOSSES, difference, loss_delta, loss_sum
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.pipeline import flow
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 5
NAMES = {code: name for name, code in LOSSES.items()}


def sum_latency() -> int:
    return 5 + (parameter("GRID") ** 2).bit_length() - 1


def element() -> int:
    dw = parameter("DW")
    top = 1 << (dw - 1)
    return random.choice([-top, top - 1, -1, 0, 1, random.randrange(-top, top), random.randrange(-20, 20)])


def word(kind: int | None = None, shift: int | None = None) -> tuple[dict, tuple[list[int], list[int]], int]:
    """Payload, deltas and which of them are saturated, and sum of squares of a word."""
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    kind = random.randrange(3) if kind is None else kind
    shift = random.randrange(32) if shift is None else shift
    t_pos, t_neg = element(), element()
    data, target, enable = (
        [f() for _ in range(lanes)] for f in (element, lambda: random.randrange(2), lambda: int(random.random() < 0.8))
    )
    payload = {
        "kind": kind,
        "t_pos": t_pos & ((1 << dw) - 1),
        "t_neg": t_neg & ((1 << dw) - 1),
        "shift": shift,
        "target": pack(target, 1),
        "enable": pack(enable, 1),
        "data": pack(data, dw),
    }
    if kind == 0:
        return payload, (data, [0] * lanes), 0
    d = difference(NAMES[kind], np.array(data), np.array(target), t_pos, t_neg) * enable
    delta = loss_delta(d, shift, dw)
    return (
        payload,
        (delta.tolist(), (delta != round_shift(d << 16, shift, "half_up")).astype(int).tolist()),
        loss_sum(d),
    )


async def check(dut, words, gap=0.0):
    dut.cfg_clear.value = 1
    await cycles(dut, 1)
    dut.cfg_clear.value = 0
    got = await flow(dut, [w[0] for w in words], LATENCY, ["delta", "over"], gap)
    for result, (payload, expected, _) in zip(got, words, strict=True):
        lanes = parameter("GRID") ** 2
        assert (
            unpack(result["delta"], parameter("DW"), lanes),
            unpack(result["over"], 1, lanes, signed=False),
        ) == expected, payload
    await cycles(dut, sum_latency())
    assert int(dut.sts_loss.value) == sum(w[2] for w in words)


@cocotb.test()
async def every_shift_of_every_kind(dut):
    await start(dut, cfg_clear=0)
    await check(dut, [word(kind, shift) for kind in range(3) for shift in range(32)])


@cocotb.test()
async def gaps_and_single_words(dut):
    await start(dut, cfg_clear=0)
    for _ in range(10):
        await check(dut, [word()])
    await check(dut, [word() for _ in range(60)], gap=0.5)


@cocotb.test()
async def sum_appears_at_its_latency(dut):
    await start(dut, cfg_clear=0)
    payload, _, value = word(kind=1)
    while value == 0:
        payload, _, value = word(kind=1)
    for name, v in payload.items():
        getattr(dut, f"s_{name}").value = v
    dut.s_valid.value = 1
    await cycles(dut, 1)
    dut.s_valid.value = 0
    await cycles(dut, sum_latency() - 2)
    assert int(dut.sts_loss.value) == 0
    await cycles(dut, 1)
    assert int(dut.sts_loss.value) == value


@cocotb.test()
async def largest_squares_are_summed_exactly(dut):
    await start(dut, cfg_clear=0)
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    low, high = -(1 << (dw - 1)), (1 << (dw - 1)) - 1
    payload = {
        "kind": 1,
        "t_pos": high,
        "t_neg": 0,
        "shift": 16,
        "target": (1 << lanes) - 1,
        "enable": (1 << lanes) - 1,
        "data": pack([low] * lanes, dw),
    }
    await check(dut, [(payload, ([low] * lanes, [1] * lanes), lanes * (high - low) ** 2)] * 40)


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut, cfg_clear=0)
    for when in range(1, sum_latency() + 2):
        for name, v in word(kind=2)[0].items():
            getattr(dut, f"s_{name}").value = v
        dut.s_valid.value = 1
        await cycles(dut, 1)
        dut.s_valid.value = 0
        await cycles(dut, when)
        await reset(dut, 1)
        await cycles(dut, sum_latency())
        assert int(dut.sts_loss.value) == 0
        await check(dut, [word()])


@pytest.mark.parametrize("grid, dw", [(4, 16), (4, 8), (4, 11), (8, 16)])
def test_loss(grid, dw):
    run("loss", "gc_loss", {"GRID": grid, "DW": dw})


@pytest.mark.parametrize("name, value", [("GRID", 2), ("DW", 7), ("DW", 17)])
def test_illegal_parameters(name, value):
    expect_elaboration_error("loss", "gc_loss", {name: value}, name)
