# SPDX-License-Identifier: Apache-2.0
"""Loop nests of random depth against itertools.product, cycle by cycle."""

import itertools
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run


def count_late(dut, counts):
    """What may come late: the counts, and which of them are small."""
    dut.cfg_count.value = pack(counts, parameter("W"))
    dut.s_single.value = pack([count <= 1 for count in counts], 1)
    dut.s_two.value = pack([count == 2 for count in counts], 1)


async def begin(dut, counts):
    """First iteration of a nest of these counts, which come as late as they may."""
    late = parameter("COUNT_LATE")
    count_late(dut, [random.getrandbits(parameter("W")) for _ in counts] if late else counts)
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    count_late(dut, counts)


async def walk(dut, counts, steps, pause=0.3):
    """`steps` steps from the first iteration on, with idle cycles; checks every output in every cycle."""
    levels, width = parameter("LEVELS"), parameter("W")
    ranges = [range(max(c, 1)) for c in counts]
    for index in itertools.islice(itertools.cycle(itertools.product(*ranges)), steps):
        first = [i == 0 for i in index]
        at_last = [i == r[-1] for i, r in zip(index, ranges)]
        inner = [all(at_last[level + 1 :]) for level in range(levels)]  # every loop inside is in its last iteration
        while True:
            step = random.random() >= pause
            dut.step.value = int(step)
            await ReadOnly()
            assert unpack(dut.index.value, width, levels, signed=False) == list(index)
            assert int(dut.at_first.value) == pack(first, 1)
            assert int(dut.at_last.value) == pack(at_last, 1)
            assert bool(dut.last.value) == all(at_last)
            assert int(dut.advance.value) == pack([inner[n] and not at_last[n] for n in range(levels)], 1)
            assert int(dut.restart.value) == pack([inner[n] and at_last[n] for n in range(levels)], 1)
            await cycles(dut, 1)
            if step:
                break
    dut.step.value = 0


def random_counts(limit=300):
    """Counts with 0 and 1 among them, whose product is at most `limit`."""
    levels, top = parameter("LEVELS"), min((1 << parameter("W")) - 1, 40)
    counts = [min(top, random.choice([0, 1, 2, 3, random.randint(0, top)])) for _ in range(levels)]
    while product(counts) > limit:
        counts[random.randrange(levels)] = random.randint(0, min(top, 2))
    return counts


def product(counts):
    total = 1
    for count in counts:
        total *= max(count, 1)
    return total


@cocotb.test()
async def visits_every_iteration_and_begins_again(dut):
    await start(dut, step=0, start=0)
    for _ in range(8):
        counts = random_counts()
        await begin(dut, counts)
        await walk(dut, counts, 2 * product(counts) + 1)


@cocotb.test()
async def the_next_counts_come_behind_the_last_step(dut):
    """Late counts without a start, as in compute_drain: the nest has returned to its first iteration by itself."""
    await start(dut, step=0, start=0)
    await begin(dut, [1] * parameter("LEVELS"))
    for _ in range(20):
        counts = random_counts(60)
        if parameter("COUNT_LATE"):
            count_late(dut, counts)
        else:
            await begin(dut, counts)
        await walk(dut, counts, product(counts), random.choice([0.0, 0.3]))


@cocotb.test()
async def counts_of_0_and_1_are_one_iteration(dut):
    levels = parameter("LEVELS")
    await start(dut, step=0, start=0)
    for counts in ([0] * levels, [1] * levels, [n % 2 for n in range(levels)]):
        await begin(dut, counts)
        await walk(dut, counts, 5)


@cocotb.test()
async def the_largest_count_of_one_loop(dut):
    levels, top = parameter("LEVELS"), min((1 << parameter("W")) - 1, 1000)
    await start(dut, step=0, start=0)
    for level in range(levels):
        counts = [1] * levels
        counts[level] = top
        await begin(dut, counts)
        await walk(dut, counts, top + 2, 0.0)


@cocotb.test()
async def start_begins_anew_in_mid_run_even_beside_a_step(dut):
    await start(dut, step=0, start=0)
    for beside in (0, 1):
        counts = random_counts()
        await begin(dut, counts)
        await walk(dut, counts, random.randint(1, product(counts)))
        dut.step.value = beside
        counts = random_counts()
        await begin(dut, counts)
        await walk(dut, counts, product(counts))


@pytest.mark.parametrize(
    "levels, width, late", [(1, 16, 0), (2, 3, 0), (4, 16, 1), (6, 5, 1), (7, 16, 0), (3, 1, 0), (3, 1, 1)]
)
def test_loop_nest(levels, width, late):
    run("sequencer", "gc_loop_nest", {"LEVELS": levels, "W": width, "COUNT_LATE": late})


@pytest.mark.parametrize(
    "bad, reason", [({"LEVELS": 0}, "LEVELS_"), ({"W": 0}, "W_"), ({"COUNT_LATE": 2}, "COUNT_LATE_")]
)
def test_refuses(bad, reason):
    expect_elaboration_error("sequencer", "gc_loop_nest", bad, reason)
