# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.isa.instruction import FACTOR_GATE, FACTOR_KEEP, FACTOR_SIGN
from gradcore.numerics.fixed_point import requantize, round_shift
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.pipeline import flow
from tb.support.runner import parameter, run

LATE = 7  # a word with a factor comes so much later
KINDS = 0, FACTOR_SIGN, FACTOR_KEEP, FACTOR_GATE


def factored(data, word, mode, draw, rnd, choice) -> tuple:
    """(lanes times their factor, whether each was saturated); `word`: what chooses, factors, shift and threshold."""
    takes_1 = {
        FACTOR_SIGN: data > 0,
        FACTOR_KEEP: np.array(draw) >= word["threshold"],
        FACTOR_GATE: choice > 0,
    }
    products = data * np.where(takes_1[word["factor"]], word["factor_1"], word["factor_0"])
    dw = parameter("DW")
    found = requantize(products, word["factor_shift"], dw, mode, rnd)
    return found, found != round_shift(products, word["factor_shift"], mode, rnd)


def number() -> int:
    return random.choice([0, 1, 327, 1 << 15, 0xFFFF, random.getrandbits(16)])


def word(**fixed) -> tuple[dict, dict]:
    """Payload, and what must leave with it."""
    lanes, dw, user_w = (parameter(name) for name in ("LANES", "DW", "USER_W"))
    top = 1 << dw - 1
    word = {
        "factor": random.choice(KINDS),
        "factor_0": number(),
        "factor_1": number(),
        "factor_shift": random.choice([0, 12, 15, random.randrange(32)]),
        "threshold": number(),
    } | fixed
    mode, values = random.randrange(4), random.choice([[-top, top - 1], [-1, 0, 1], range(-top, top)])
    data = [random.choice(values) for _ in range(lanes)]
    near = word["threshold"], max(word["threshold"] - 1, 0)
    draw = [random.choice([*near, number()]) for _ in range(lanes)]
    rnd = [number() for _ in range(lanes)]
    choice, enable, gate = (random.getrandbits(lanes) for _ in range(3))
    user = random.getrandbits(user_w)
    payload = {
        **{name.replace("factor_shift", "shift"): value for name, value in word.items()},
        "mode": mode,
        "draw": pack(draw, 16),
        "rnd": pack(rnd, 16),
        "choice": choice,
        "data": pack(data, dw),
        "enable": enable,
        "gate": gate,
        "user": user,
    }
    expected = {"late": bool(word["factor"]), "data": data, "enable": enable, "gate": gate, "user": user}
    if word["factor"]:
        bits = np.array(unpack(choice, 1, lanes, signed=False))
        found, over = factored(np.array(data), word, mode, draw, rnd, bits)
        expected |= {"data": found.tolist(), "over": over.astype(int).tolist()}
    return payload, expected


async def check(dut, words, gap=0.0):
    lanes, dw = parameter("LANES"), parameter("DW")
    got = await flow(
        dut,
        [payload for payload, _ in words],
        0,
        ["late", "data", "over", "enable", "gate", "user"],
        gap,
        late={"rnd": 3},
        longer=lambda payload: LATE if payload["factor"] else 0,
    )
    for result, (payload, expected) in zip(got, words, strict=True):
        found = {name: int(result[name]) for name in ("late", "enable", "gate", "user")}
        found["data"] = unpack(result["data"], dw, lanes)
        if expected["late"]:
            found["over"] = unpack(result["over"], 1, lanes, signed=False)
        assert found == expected, payload


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.5])
async def words_of_every_kind_leave_at_their_time(dut, gap):
    await start(dut)
    await check(dut, [word()])
    await check(dut, [word() for _ in range(150)], gap)


@cocotb.test()
async def words_with_a_factor_follow_each_other(dut):
    await start(dut)
    await check(dut, [word(factor=random.choice(KINDS[1:])) for _ in range(200)])


@cocotb.test()
async def words_without_a_factor_follow_each_other(dut):
    await start(dut)
    await check(dut, [word(factor=0) for _ in range(30)])


@cocotb.test()
async def every_shift_of_every_kind(dut):
    await start(dut)
    await check(dut, [word(factor=kind, factor_shift=shift) for kind in KINDS[1:] for shift in range(32)])


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut)
    for when in range(1, LATE + 1):
        for name, value in word(factor=FACTOR_SIGN)[0].items():
            getattr(dut, f"s_{name}").value = value
        dut.s_valid.value = 1
        await cycles(dut, when)
        dut.s_valid.value = 0
        await reset(dut, 1)
        await check(dut, [word() for _ in range(3)])


@pytest.mark.parametrize(
    "lanes, dw, user_w", first(2, [(16, 16, 49), (3, 8, 1), (16, 11, 7), (64, 16, 32), (1, 15, 3)])
)
def test_factor(lanes, dw, user_w):
    run("drain", "gc_factor", {"LANES": lanes, "DW": dw, "USER_W": user_w})
