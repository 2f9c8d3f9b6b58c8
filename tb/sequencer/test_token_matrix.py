# SPDX-License-Identifier: Apache-2.0
"""Tokens against a matrix of integers, cycle by cycle."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.runner import expect_elaboration_error, parameter, run


class Tokens:
    """Drives the ports and compares every output in every cycle; counters saturate at 2^W - 1."""

    def __init__(self, dut):
        self.dut, self.producers, self.consumers = dut, parameter("PRODUCERS"), parameter("CONSUMERS")
        self.full = (1 << parameter("W")) - 1
        self.clear()

    def clear(self):
        self.count = {(p, c): 0 for p in range(self.producers) for c in range(self.consumers)}
        self.overflow = False

    async def cycle(self, signal=(), take=()):
        """`signal`, `take`: sets of (producer, consumer)."""
        dut = self.dut
        dut.s_signal.value = pack([(p, c) in signal for p in range(self.producers) for c in range(self.consumers)], 1)
        dut.s_take.value = pack([(p, c) in take for c in range(self.consumers) for p in range(self.producers)], 1)
        await ReadOnly()
        assert int(dut.m_available.value) == pack(
            [self.count[p, c] > 0 for c in range(self.consumers) for p in range(self.producers)], 1
        )
        assert bool(dut.sts_overflow.value) == self.overflow
        for pair in self.count:
            number = self.count[pair] + (pair in signal) - (pair in take)
            self.overflow |= number > self.full
            self.count[pair] = min(number, self.full)
        await cycles(dut, 1)

    def draw(self, add, take):
        """Random sets; only what is there is taken."""
        return (
            {pair for pair in self.count if random.random() < add},
            {pair for pair, number in self.count.items() if number and random.random() < take},
        )


async def begin(dut):
    await start(dut, s_signal=0, s_take=0)
    return Tokens(dut)


@cocotb.test()
@cocotb.parametrize(load=[(0.1, 0.9), (0.5, 0.6), (0.9, 0.9), (0.7, 0.3)])
async def counts_every_pair_on_its_own(dut, load):
    tokens = await begin(dut)
    for _ in range(300):
        await tokens.cycle(*tokens.draw(*load))


@cocotb.test()
async def one_pair_at_a_time_with_add_and_take_together(dut):
    tokens = await begin(dut)
    for pair in tokens.count:
        await tokens.cycle({pair})
        await tokens.cycle({pair}, {pair})
        await tokens.cycle((), {pair})
        await tokens.cycle()


@cocotb.test()
async def a_full_counter_keeps_its_tokens_and_says_so(dut):
    tokens = await begin(dut)
    pair = random.choice(list(tokens.count))
    for _ in range(tokens.full):
        await tokens.cycle({pair})
    await tokens.cycle({pair}, {pair})  # full, but one leaves
    await tokens.cycle()
    assert not tokens.overflow
    await tokens.cycle({pair})
    await tokens.cycle()
    assert tokens.overflow
    for _ in range(tokens.full):
        await tokens.cycle((), {pair})
    await tokens.cycle()
    await reset(dut, 1)
    tokens.clear()
    await tokens.cycle()


@cocotb.test()
async def reset_takes_all_tokens_away(dut):
    tokens = await begin(dut)
    for _ in range(20):
        await tokens.cycle(*tokens.draw(0.9, 0.1))
    await reset(dut, 1)
    tokens.clear()
    for _ in range(20):
        await tokens.cycle(*tokens.draw(0.3, 0.3))


@pytest.mark.parametrize("producers, consumers, width", [(6, 5, 4), (1, 1, 1), (3, 2, 8)])
def test_token_matrix(producers, consumers, width):
    run("sequencer", "gc_token_matrix", {"PRODUCERS": producers, "CONSUMERS": consumers, "W": width})


@pytest.mark.parametrize(
    "bad, reason", [({"PRODUCERS": 0}, "PRODUCERS_"), ({"CONSUMERS": 0}, "PRODUCERS_"), ({"W": 0}, "W_")]
)
def test_refuses(bad, reason):
    expect_elaboration_error("sequencer", "gc_token_matrix", bad, reason)
