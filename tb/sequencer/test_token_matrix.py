# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, reset, start
from tb.support.runner import parameter, run


@cocotb.test()
async def counts_every_pair(dut):
    producers, consumers, top = parameter("PRODUCERS"), parameter("CONSUMERS"), (1 << parameter("W")) - 1
    await start(dut, s_signal=0, s_take=0)
    counts = {(p, c): 0 for p in range(producers) for c in range(consumers)}
    full = False
    for step in range(1500):
        signal = take = 0
        rate = 0.6 if step < 700 else 0.2
        for (p, c), count in counts.items():
            add, remove = random.random() < rate, count > 0 and random.random() < 0.4
            signal |= add << (p * consumers + c)
            take |= remove << (c * producers + p)
            full |= add and not remove and count == top
            counts[p, c] = (count + add - remove) & top
        dut.s_signal.value, dut.s_take.value = signal, take
        await cycles(dut, 1)
        want = sum((count > 0) << (c * producers + p) for (p, c), count in counts.items())
        assert int(dut.m_available.value) == want
        assert bool(dut.sts_overflow.value) == full
    dut.s_signal.value = dut.s_take.value = 0
    assert full, "the overflow was never provoked"
    await reset(dut)
    assert int(dut.m_available.value) == 0 and dut.sts_overflow.value == 0


@pytest.mark.parametrize("producers, consumers", [(6, 5), (1, 1), (2, 3)])
def test_token_matrix(producers, consumers):
    run("sequencer", "token_matrix", {"PRODUCERS": producers, "CONSUMERS": consumers, "W": 4})
