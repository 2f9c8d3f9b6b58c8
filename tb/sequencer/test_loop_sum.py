# SPDX-License-Identifier: Apache-2.0
"""The sum of some levels of a loop nest against iteration times stride, cycle by cycle."""

import itertools
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, start
from tb.support.bits import pack
from tb.support.runner import expect_elaboration_error, parameter, run


async def walk(dut, ranges, own, rare):
    """All iterations of a nest and the first one again; `own` are the levels that count, `rare` is one of them that
    advances only with every second iteration, or None."""
    width = parameter("W")
    strides = [random.getrandbits(width) for _ in own]
    dut.stride.value = pack(strides, width)
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    for index in [*itertools.product(*ranges), tuple(0 for _ in ranges)]:
        times = [index[level] // 2 if level == rare else index[level] for level in own]
        total = sum(time * stride for time, stride in zip(times, strides))
        ended = [i == r[-1] for i, r in zip(index, ranges)]
        inner = [all(ended[level + 1 :]) for level in range(len(ranges))]
        while True:
            step = random.random() >= 0.3
            dut.step.value = int(step)
            dut.restart.value = pack([inner[level] and ended[level] for level in own], 1)
            dut.advance.value = pack(
                [inner[level] and not ended[level] and (level != rare or index[level] % 2 == 1) for level in own],
                1,
            )
            await ReadOnly()
            assert int(dut.m_sum.value) == total % (1 << width)
            await cycles(dut, 1)
            if step:
                break
    dut.step.value = 0


@cocotb.test()
async def is_iteration_times_stride(dut):
    await start(dut, step=0, start=0, advance=0, restart=0, stride=0)
    levels = parameter("LEVELS")
    for _ in range(12):
        depth = levels + random.randint(0, 2)  # levels of the nest that have no stride
        ranges = [range(random.choice([1, 1, 2, 3])) for _ in range(depth)]
        own = sorted(random.sample(range(depth), levels))
        await walk(dut, ranges, own, random.choice([None, *own]))


@pytest.mark.parametrize("levels, width", [(1, 16), (3, 16), (4, 5), (6, 20), (2, 1)])
def test_loop_sum(levels, width):
    run("sequencer", "gc_loop_sum", {"LEVELS": levels, "W": width})


@pytest.mark.parametrize("bad, reason", [({"LEVELS": 0}, "LEVELS_"), ({"W": 0}, "W_")])
def test_refuses(bad, reason):
    expect_elaboration_error("sequencer", "gc_loop_sum", bad, reason)
