# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.isa.instruction import FACTOR_GATE, FACTOR_KEEP, FACTOR_SIGN
from gradcore.numerics.fixed_point import requantize, round_shift, saturate
from gradcore.ops.loss import LOSSES, difference, loss_delta, loss_sum
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.pipeline import flow
from tb.support.runner import expect_elaboration_error, parameter, run

from .test_factor import LATE, factored
from .test_pool2x2 import pool

NAMES = {code: name for name, code in LOSSES.items()}


def latency() -> int:
    return parameter("GATE_LATENCY") + 9


def bits(count: int, share: float = 0.5) -> list[int]:
    return [int(random.random() < share) for _ in range(count)]


def word(**fixed) -> tuple[dict, dict]:
    """Payload, and the expected data, enable, gate, user and loss, and what was saturated: (an activation, a delta)."""
    grid, acc_w, dw, user_w = (parameter(n) for n in ("GRID", "ACC_W", "DW", "USER_W"))
    lanes, top = grid * grid, 1 << (dw - 1)
    shift = random.choice([0, random.randrange(acc_w - dw + 2)])
    spread = random.choice([2, 20, 1 << (dw - 1), 1 << dw])  # few values make ties in windows
    acc = saturate(
        [(random.randrange(-spread, spread) << shift) + random.getrandbits(shift) for _ in range(lanes)], acc_w
    )
    if random.random() < 0.5:  # one lane, which may take part or not
        acc[random.randrange(lanes)] = random.choice([-1 << (acc_w - 1), (1 << (acc_w - 1)) - 1])
    word = {
        "shift": shift,
        "mode": random.randrange(4),
        "relu": random.randrange(2),
        "pool": random.randrange(2),
        "fold": random.randrange(1, grid.bit_length()),
        "scale": 0,
        "loss": 0,
        "delta": random.randrange(2),
        "t_pos": random.randrange(-top, top),
        "t_neg": random.randrange(-top, top),
        "loss_shift": random.randrange(14, 20),
        "factor": random.choice([0, 0, FACTOR_SIGN, FACTOR_KEEP, FACTOR_GATE]) * parameter("HAS_FACTOR"),
        "factor_0": random.choice([0, 327, random.getrandbits(16)]),
        "factor_1": random.choice([4096, 1 << 15, random.getrandbits(16)]),
        "factor_shift": random.choice([12, 15, random.randrange(32)]),
        "threshold": random.choice([0, 0xFFFF, random.getrandbits(16)]),
    }
    if not word["pool"]:
        word["fold"] = random.randrange(grid.bit_length())
        word["loss"] = 0 if word["factor"] else random.randrange(3)
        word["scale"] = random.randrange(2) if word["loss"] == 0 else 0
    elif word["factor"] == FACTOR_GATE:
        word["factor"] = 0
    word.update(fixed)
    py = 1 << word["fold"]
    rows, cols = (random.choice([py, random.randrange(py + 1)]) for _ in range(2))  # less at the map's edge
    lane_valid = [int(r % py < rows and c % py < cols) for r in range(grid) for c in range(grid)]
    rnd, img, gate = [random.getrandbits(16) for _ in range(lanes)], bits(lanes, 0.8), bits(lanes)

    data = requantize(acc, word["shift"], dw, word["mode"], rnd)
    rounded = round_shift(acc, word["shift"], word["mode"], rnd)
    used = np.array(img) & np.array(lane_valid) & (np.array(gate) if word["scale"] else 1)
    first, clipped = bool(((data != rounded) & used).any()), False
    loss = 0
    if word["loss"]:
        d = difference(NAMES[word["loss"]], data, np.array(gate), word["t_pos"], word["t_neg"]) * img * lane_valid
        loss, data = loss_sum(d), loss_delta(d, word["loss_shift"], dw)
        clipped = bool((data != round_shift(d << 16, word["loss_shift"], "half_up")).any())
    if word["scale"]:
        data = data * gate
    passes = (data > 0) | (not word["relu"] and word["factor"] != FACTOR_SIGN)
    data = (np.maximum(data, 0) if word["relu"] else data).tolist()
    enable, maximum = lane_valid, lane_valid
    if word["pool"]:
        data, enable, maximum = pool(data, word["fold"], grid, rows, cols)
    draw, late_rnd = ([random.choice([word["threshold"], random.getrandbits(16)]) for _ in range(lanes)] for _ in "ab")
    if word["factor"]:
        data, clipped = factored(np.array(data), word, word["mode"], draw, late_rnd, np.array(gate))
        first |= bool((clipped & np.array(enable) & np.array(img)).any())
        data, clipped = data.tolist(), False
    user = random.getrandbits(user_w)
    payload = {
        **{n: v & ((1 << dw) - 1) if n.startswith("t_") else v for n, v in word.items()},
        "acc": pack(acc, acc_w),
        "rnd": pack(rnd, 16),
        "img_enable": pack(img, 1),
        "lane_valid": pack(lane_valid, 1),
        "gate": pack(gate, 1),
        "draw": pack(draw, 16),
        "factor_rnd": pack(late_rnd, 16),
        "user": user,
    }
    return payload, {
        "data": data,
        "enable": enable,
        "gate": [int(p and m) for p, m in zip(passes, maximum)],
        "user": user,
        "loss": loss,
        "saturated": (int(first and not word["delta"]), int(first and word["delta"] or clipped)),
    }


async def note(dut, seen: list):
    """Cycles in which an activation, a delta was saturated."""
    while True:
        seen.append(int(dut.sts_saturated.value))
        await cycles(dut, 1)


async def check(dut, words, gap=0.0):
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    dut.cfg_loss_clear.value = 1
    await cycles(dut, 1)
    dut.cfg_loss_clear.value = 0
    watch = cocotb.start_soon(note(dut, seen := []))
    got = await flow(
        dut,
        [payload for payload, _ in words],
        latency(),
        ["data", "enable", "gate", "user"],
        gap,
        late={"gate": parameter("GATE_LATENCY"), "draw": latency(), "factor_rnd": latency() + 3},
        longer=lambda word: LATE if word["factor"] else 0,
    )
    for result, (payload, expected) in zip(got, words, strict=True):
        enable = unpack(result["enable"], 1, lanes, signed=False)
        assert enable == expected["enable"], payload
        data = unpack(result["data"].to_unsigned(), dw, lanes)
        assert [d for d, e in zip(data, enable) if e] == [d for d, e in zip(expected["data"], enable) if e], payload
        assert unpack(result["gate"], 1, lanes, signed=False) == expected["gate"], payload
        assert int(result["user"]) == expected["user"]
    await cycles(dut, 8)
    watch.cancel()
    assert [(s & 1, s >> 1) for s in seen if s] == [
        expected["saturated"] for _, expected in words if any(expected["saturated"])
    ]
    assert int(dut.sts_loss.value) == sum(expected["loss"] for _, expected in words)


@cocotb.test()
async def words_of_every_kind_back_to_back(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    await check(dut, [word() for _ in range(100)])


@cocotb.test()
async def words_with_gaps_keep_their_own_configuration(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    await check(dut, [word()])
    await check(dut, [word() for _ in range(40)], gap=0.5)


@cocotb.test()
async def what_the_gate_takes_away_is_not_saturated(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    await check(dut, [word(scale=1, pool=0, loss=0, factor=0) for _ in range(100)])


@cocotb.test()
async def factors_of_every_kind(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    if not parameter("HAS_FACTOR"):
        return
    kinds = (0, FACTOR_SIGN, FACTOR_KEEP, FACTOR_GATE)
    for gap in (0.0, 0.6):
        await check(dut, [word(pool=0, loss=0, factor=random.choice(kinds)) for _ in range(100)], gap)
    folds = range(1, parameter("GRID").bit_length())
    await check(dut, [word(pool=1, fold=random.choice(folds), loss=0, scale=0, factor=FACTOR_KEEP) for _ in range(40)])


@cocotb.test()
async def pooling_in_every_fold(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    await check(
        dut,
        [
            word(pool=1, fold=fold, relu=relu, loss=0, scale=0, factor=0)
            for _ in range(8)
            for fold in range(1, parameter("GRID").bit_length())
            for relu in range(2)
        ],
    )


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut, cfg_loss_clear=0, s_gate=0)
    for when in range(1, latency() + 1, 3):
        for name, value in word(loss=1, pool=0, factor=0)[0].items():
            getattr(dut, f"s_{name}").value = value
        dut.s_valid.value = 1
        await cycles(dut, when)
        dut.s_valid.value = 0
        await reset(dut, 1)
        await check(dut, [word() for _ in range(3)])


@pytest.mark.parametrize(
    "grid, acc_w, dw, user_w, gate_latency, factor",
    first(
        4,
        [(4, 48, 16, 32, 4, 1), (4, 20, 8, 1, 5, 1), (4, 40, 12, 7, 9, 1), (4, 24, 8, 9, 4, 0), (8, 48, 16, 32, 6, 1)],
    ),
)
def test_drain(grid, acc_w, dw, user_w, gate_latency, factor):
    sizes = {"GRID": grid, "ACC_W": acc_w, "DW": dw, "USER_W": user_w, "GATE_LATENCY": gate_latency}
    run("drain", "gc_drain", sizes | {"HAS_FACTOR": factor})


@pytest.mark.parametrize(
    "name, value", [("GRID", 5), ("ACC_W", 50), ("DW", 20), ("GATE_LATENCY", 3), ("HAS_FACTOR", 2)]
)
def test_illegal_parameters(name, value):
    expect_elaboration_error("drain", "gc_drain", {name: value}, name)
