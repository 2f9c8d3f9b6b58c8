# SPDX-License-Identifier: Apache-2.0
"""Rows of parameters against gradcore.ops.optimiser: every rounding, all optimisers, weight decay, extremes, ties."""

import random

import cocotb
import numpy as np
import pytest

from gradcore.network.update_numbers import UpdateParameters
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import GRADIENT, MOMENTUM, WEIGHT, position_random
from gradcore.ops.optimiser import saturates, update
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 31
NUMBERS = ("lr_m", "beta_m", "decay_m", "rate_m", "shift_g", "shift_v", "shift_d", "shift_w")


def numbers(width: int, count: int, shift: int = 0) -> list[int]:
    """Signed numbers of `width` bits: any magnitude, the extremes, and ties of a rounding by `shift`."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    half = 1 << max(shift - 1, 0)
    tie = [n for n in (half, -half, 3 * half, -3 * half, half - 1, 1 - half) if low <= n <= high] or [0]
    kinds = [
        lambda: random.choice([low, high, -1, 0, 1]),
        lambda: random.choice(tie),
        lambda: random.randint(low, high) >> random.randrange(width),
    ]
    return [random.choice(kinds)() for _ in range(count)]


class Setting:
    """One configuration, drawn from the whole range; `fixed` overrides single numbers."""

    def __init__(self, mode: str | None = None, momentum: int | None = None, **fixed):
        self.mode = mode or random.choice(list(MODES))
        self.momentum = random.getrandbits(1) if momentum is None else momentum
        coef = [0, 1, 32767, random.randrange(32768), random.randrange(256)]
        values = {
            "lr_m": random.choice(coef),
            "beta_m": random.choice(coef),
            "decay_m": random.choice(coef),
            "rate_m": random.choice(coef),
            "shift_v": random.randrange(32),
            "shift_g": random.randrange(48),
            "shift_d": random.choice([0, random.randrange(16)]),
            "shift_w": random.randrange(32),
        } | fixed
        self.fields = values
        self.numbers = UpdateParameters(**values, frac_v=0, frac_g=0)
        self.seed, self.tag, self.saturated = random.getrandbits(32), random.getrandbits(16), 0

    def drive(self, dut) -> None:
        for name in NUMBERS:
            getattr(dut, f"cfg_{name}").value = self.fields[name]
        dut.cfg_momentum.value, dut.cfg_mode.value = self.momentum, MODES[self.mode]
        dut.cfg_seed.value, dut.cfg_tag.value = self.seed, self.tag

    def row(self) -> tuple[dict, list, list]:
        """A random row: what the module gets, the new weights and the new momentum. `saturated` counts rows with a
        saturated word."""
        cols, dw, acc_w = parameter("COLS"), parameter("DW"), parameter("ACC_W")
        p = self.numbers
        grad, wgt = numbers(acc_w, cols, p.shift_g), numbers(dw, cols, p.shift_w)
        mom = numbers(dw, cols, p.shift_v + p.shift_d)
        key, of = random.getrandbits(random.choice([8, 32])), random.getrandbits(random.choice([8, 22]))
        maps = of + np.arange(cols)
        rnd = [position_random(self.seed, self.tag, key, maps, j) for j in (GRADIENT, MOMENTUM, WEIGHT)]
        before = np.array(mom) if self.momentum else np.zeros(cols, np.int64)
        state = np.array(wgt), before, np.array(grad), p, dw, self.mode, rnd
        new_wgt, new_mom = update(*state)
        self.saturated += int(saturates(*state).any())
        word = {"grad": pack(grad, acc_w), "wgt": pack(wgt, dw), "mom": pack(mom, dw), "key": key, "of": of}
        return word, new_wgt.tolist(), new_mom.tolist()


async def begin(dut, stall: float = 0.0) -> Sink:
    await start(dut)
    return Sink(dut, "m_", ["wgt", "mom"], stall)


def results(words: list[dict]) -> list[tuple[list, list]]:
    cols, dw = parameter("COLS"), parameter("DW")
    return [(unpack(w["wgt"], dw, cols), unpack(w["mom"], dw, cols)) for w in words]


async def count(dut, seen: list) -> None:
    while True:
        seen.append(int(dut.sts_saturated.value))
        await cycles(dut, 1)


async def check(dut, sink: Sink, setting: Setting, rows: int, pause: float = 0.0) -> None:
    setting.drive(dut)
    watch = cocotb.start_soon(count(dut, seen := []))
    data = [setting.row() for _ in range(rows)]
    sink.words.clear()
    await Source(dut, "s_", pause).send([word for word, _, _ in data])
    got = results(await sink.receive(rows, 2000))
    assert len(got) == rows
    for number, (row, (_, *want)) in enumerate(zip(got, data)):
        assert list(row) == want, f"row {number}: {setting.__dict__}"
    watch.cancel()
    assert sum(seen) == setting.saturated


@cocotb.test()
@cocotb.parametrize(mode=list(MODES), momentum=[0, 1])
async def matches_model(dut, mode, momentum):
    sink = await begin(dut)
    for _ in range(6):
        await check(dut, sink, Setting(mode, momentum), 10)


@cocotb.test()
async def matches_model_in_few_rows(dut):
    sink = await begin(dut)
    for mode in ("stochastic", "half_even"):
        await check(dut, sink, Setting(mode, 1), 4)


@cocotb.test()
@cocotb.parametrize(mode=list(MODES))
async def matches_model_at_ends_of_the_shifts(dut, mode):
    sink = await begin(dut)
    for shift_g in (0, 47):
        for shift_v, shift_d, shift_w in ((0, 0, 0), (1, 1, 1), (31, 0, 15), (0, 15, 31), (31, 15, 31)):
            shifts = dict(shift_g=shift_g, shift_v=shift_v, shift_d=shift_d, shift_w=shift_w)
            await check(dut, sink, Setting(mode, 1, **shifts), 4)


@cocotb.test()
async def matches_model_at_ends_of_the_sums(dut):
    """All multipliers the largest: every part of the sums carries."""
    sink = await begin(dut)
    largest = dict.fromkeys(("lr_m", "beta_m", "decay_m", "rate_m"), 32767)
    for shift_v in range(20, 32):
        await check(dut, sink, Setting(None, 1, **largest, shift_g=0, shift_v=shift_v, shift_d=15), 6)


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def keeps_order_under_back_pressure(dut, pauses):
    sink = await begin(dut, pauses[1])
    for rows in (1, 2, 90):
        await check(dut, sink, Setting(), rows, pauses[0])
    await cycles(dut, 40)
    assert len(sink.words) == 90


@cocotb.test()
async def holds_its_rows_while_the_output_waits(dut):
    await start(dut)
    setting = Setting()
    setting.drive(dut)
    data = [setting.row() for _ in range(40)]
    cocotb.start_soon(Source(dut, "s_").send([word for word, _, _ in data]))
    await cycles(dut, 80)
    assert not dut.s_ready.value and dut.m_valid.value
    got = results(await Sink(dut, "m_", ["wgt", "mom"]).receive(40, 200))
    assert got == [(wgt, mom) for _, wgt, mom in data]


@cocotb.test()
async def takes_one_row_per_cycle(dut):
    await start(dut, m_ready=1)
    setting = Setting()
    setting.drive(dut)
    word = setting.row()[0]
    for name, value in word.items():
        getattr(dut, f"s_{name}").value = value
    dut.s_valid.value = 1
    for cycle in range(1, 100):
        assert dut.s_ready.value
        await cycles(dut, 1)
        assert bool(dut.m_valid.value) == (cycle >= LATENCY), cycle


@cocotb.test()
async def reset_forgets_the_rows_inside(dut):
    sink = await begin(dut, 1.0)
    setting = Setting("stochastic", 1)
    setting.drive(dut)
    for rows in (1, 15, 32):
        await Source(dut, "s_").send([setting.row()[0] for _ in range(rows)])
        await reset(dut, 1)
        for _ in range(LATENCY + 2):
            assert not dut.m_valid.value
            await cycles(dut, 1)
        sink.stall = 0.0
        await check(dut, sink, Setting(), 36)
        sink.stall = 1.0


@pytest.mark.parametrize("cols, dw, acc_w", first(3, [(4, 8, 24), (4, 16, 48), (8, None, None), (16, None, 48)]))
def test_update(cols, dw, acc_w):
    run(
        "update",
        "gc_update",
        {"COLS": cols, "DW": dw or random.randint(8, 16), "ACC_W": acc_w or random.randint(24, 48)},
    )


def test_64_columns():
    run(
        "update",
        "gc_update",
        {"COLS": 64, "DW": 16, "ACC_W": random.randint(24, 48)},
        testcase="matches_model_in_few_rows",
    )


@pytest.mark.parametrize(
    "parameters, reason",
    [
        ({"DW": 7}, "DW_"),
        ({"DW": 17}, "DW_"),
        ({"ACC_W": 23}, "ACC_W_"),
        ({"ACC_W": 49}, "ACC_W_"),
        ({"COLS": 0}, "COLS_"),
        ({"COLS": 65}, "COLS_"),
    ],
)
def test_refuses(parameters, reason):
    expect_elaboration_error("update", "gc_update", parameters, reason)


@pytest.mark.parametrize("name", ["MOMENTUM", "LATENCY"])
def test_a_lane_refuses_another_latency(name):
    expect_elaboration_error("update", "gc_update_lane", {name: 9}, f"{name}_is_not")
