# SPDX-License-Identifier: Apache-2.0
"""Random words at the stages of the drain; what of each is told, and when, in every cycle."""

import random
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.cases import first
from tb.support.runner import parameter, run

from .test_factor import LATE

LOSS, PLACE, TOLD = 5, 9, 11  # cycles from a word's s_over on
PRODUCT = PLACE + LATE


def some_lanes() -> int:
    """None, one, or many."""
    lanes = parameter("LANES")
    return random.choice([0, 0, 1 << random.randrange(lanes), random.getrandbits(lanes)])


@dataclass
class Word:
    """A word of the drain: its saturated lanes at each stage."""

    over: int
    gradient: int
    loss_over: int
    factor: int
    product_over: int
    product_gradient: int

    @property
    def told(self) -> int:
        """Bit 0 an activation, bit 1 a local gradient."""
        product = self.product_over if self.factor else 0
        found = {(bool(self.over), self.gradient), (bool(self.loss_over), 1), (bool(product), self.product_gradient)}
        return sum(1 << kind for kind in (0, 1) if (True, kind) in found)


def word(**fixed) -> Word:
    drawn = {name: some_lanes() for name in ("over", "loss_over", "product_over")}
    drawn |= {name: random.getrandbits(1) for name in ("gradient", "factor", "product_gradient")}
    return Word(**(drawn | fixed))


async def feed(dut, words, gap=0.0, cut=None):
    """Feed the words with idle cycles between them, and after one with a factor those that it needs; noise where nobody
    is. Until all are told, or for `cut` cycles."""
    lanes, schedule, told = parameter("LANES"), {}, {}
    at, before = 0, None
    for one in words:
        at += LATE if before and before.factor and not one.factor else 0
        while random.random() < gap:
            at += 1
        schedule[at], told[at + TOLD + LATE * one.factor] = one, one.told
        at, before = at + 1, one
    for now in range(max(told) + 2 if cut is None else cut):
        here, loss, place, product = (schedule.get(now - after) for after in (0, LOSS, PLACE, PRODUCT))
        product = product if product and product.factor else None
        values = {
            "over": here.over if here else random.getrandbits(lanes),
            "gradient": here.gradient if here else random.getrandbits(1),
            "loss_valid": int(loss is not None),
            "loss_over": loss.loss_over if loss else random.getrandbits(lanes),
            "factor": place.factor if place else random.getrandbits(1),
            "product_valid": int(product is not None),
            "product_gradient": product.product_gradient if product else random.getrandbits(1),
            "product_over": product.product_over if product else random.getrandbits(lanes),
        }
        for name, value in values.items():
            getattr(dut, f"s_{name}").value = value
        await ReadOnly()
        assert dut.sts_saturated.value == told.get(now, 0), (now, schedule)
        await cycles(dut, 1)


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.5])
async def each_word_is_told_once_in_its_cycle(dut, gap):
    await start(dut)
    await feed(dut, [word()])
    await feed(dut, [word() for _ in range(300)], gap)


@cocotb.test()
async def words_with_a_factor_follow_each_other(dut):
    await start(dut)
    await feed(dut, [word(factor=1) for _ in range(100)])


@cocotb.test()
async def every_lane_of_every_stage_counts(dut):
    await start(dut)
    nobody = dict(over=0, loss_over=0, product_over=0, factor=1)
    stages = "over", "loss_over", "product_over"
    await feed(dut, [word(**nobody | {s: 1 << lane}) for s in stages for lane in range(parameter("LANES"))])


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut)
    every = dict.fromkeys(("over", "loss_over", "product_over"), (1 << parameter("LANES")) - 1)
    for factor in (0, 1):
        for cut in range(1, TOLD + LATE * factor + 1):
            await feed(dut, [word(factor=factor, **every)], cut=cut)
            dut.s_loss_valid.value = dut.s_product_valid.value = 0
            await reset(dut, 1)
            await feed(dut, [word() for _ in range(3)])


@pytest.mark.parametrize("lanes", first(1, [16, 8, 24, 64]))
def test_saturations(lanes):
    run("drain", "gc_saturations", {"LANES": lanes})
