# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.fixed import GRADIENT, MOMENTUM, WEIGHT, mode_name, position_random
from gradcore.network import UpdateParameters
from gradcore.optimiser import update
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run


def integers(width, count):
    """Signed integers with many extremes, ties and small numbers among them."""
    top = 1 << (width - 1)
    choices = [-top, top - 1, -1, 0, 1]
    return [random.choice(choices) if random.random() < 0.2 else random.randrange(-top, top) >> random.choice([0, 0, width // 2])
            for _ in range(count)]


class Case:
    """One configuration, its rows and what they become."""

    def __init__(self, rows):
        self.cols, self.dw, self.acc_w = (parameter(n) for n in ("COLS", "DW", "ACC_W"))
        self.mode, self.momentum, self.seed, self.tag = random.randrange(4), random.getrandbits(1), random.getrandbits(32), random.getrandbits(16)
        coefficients = [random.choice([0, 1, 32767, random.getrandbits(15)]) for _ in range(2)]
        self.numbers = UpdateParameters(*coefficients, random.randrange(min(48, self.acc_w)), random.randrange(32), random.randrange(16), 0, 0)
        self.rows = [self.row() for _ in range(rows)]

    def row(self):
        return dict(grad=integers(self.acc_w, self.cols), wgt=integers(self.dw, self.cols), mom=integers(self.dw, self.cols),
                    key=random.getrandbits(32), of=random.randrange(1 << 10) * self.cols)

    def configure(self, dut):
        p = self.numbers
        for name, value in dict(momentum=self.momentum, mode=self.mode, shift_g=p.shift_g, shift_v=p.shift_v, shift_w=p.shift_w, lr_m=p.lr_m,
                                beta_m=p.beta_m, seed=self.seed, tag=self.tag).items():
            getattr(dut, f"cfg_{name}").value = value

    def words(self):
        widths = dict(grad=self.acc_w, wgt=self.dw, mom=self.dw)
        return [{n: pack(np.array(v, dtype=object), widths[n]) if n in widths else v for n, v in row.items()} for row in self.rows]

    def expected(self):
        """(weights, momentum) of each row."""
        result = []
        for row in self.rows:
            maps = row["of"] + np.arange(self.cols)
            rnd = [position_random(self.seed, self.tag, row["key"], maps, j) for j in (GRADIENT, MOMENTUM, WEIGHT)]
            previous = np.array(row["mom"]) * self.momentum
            w, v = update(np.array(row["wgt"]), previous, np.array(row["grad"]), self.numbers, self.dw, mode_name(self.mode), rnd)
            result.append((w.tolist(), v.tolist()))
        return result


async def check(dut, case, pause=0.0, stall=0.0):
    case.configure(dut)
    sink = Sink(dut, "m_", ["wgt", "mom"], stall)
    await Source(dut, "s_", pause).send(case.words())
    got = await sink.receive(len(case.rows))
    assert [(unpack(w["wgt"], case.dw, case.cols), unpack(w["mom"], case.dw, case.cols)) for w in got] == case.expected()
    await cycles(dut, 40)
    assert len(sink.words) == len(case.rows)
    sink.task.cancel()


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def matches_the_model(dut, pauses):
    await start(dut)
    for _ in range(8):
        await check(dut, Case(random.choice([1, 2, 40])), *pauses)


@cocotb.test()
async def a_row_every_cycle(dut):
    await start(dut)
    case = Case(100)
    case.configure(dut)
    dut.m_ready.value = 1
    for word in case.words():
        dut.s_valid.value = 1
        for name, value in word.items():
            getattr(dut, f"s_{name}").value = value
        assert dut.s_ready.value == 1
        await cycles(dut, 1)


@cocotb.test()
async def reset_in_mid_run_drops_what_is_inside(dut):
    await start(dut)
    case = Case(10)
    case.configure(dut)
    await Source(dut, "s_").send(case.words())
    await reset(dut)
    await cycles(dut, 40)
    assert dut.m_valid.value == 0
    await check(dut, Case(40), 0.2, 0.2)


@pytest.mark.parametrize("cols, dw, acc_w", [(4, 8, 24), (8, 13, 40), (16, 16, 48)])
def test_update(cols, dw, acc_w):
    run("update", "update", {"COLS": cols, "DW": dw, "ACC_W": acc_w})


def test_refuses():
    expect_elaboration_error("update", "update", {"DW": 17}, "DW_must")
    expect_elaboration_error("update", "update", {"ACC_W": 20}, "ACC_W_must")
