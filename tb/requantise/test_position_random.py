# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.numerics.random_numbers import position_random
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.pipeline import flow
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 11


def word() -> tuple[dict, list[int]]:
    rows, columns = parameter("ROWS"), parameter("COLS")

    def value() -> int:
        return random.choice([0, 0xFFFFFFFF, random.getrandbits(32), random.getrandbits(20)])

    seed, tag, k = value(), random.choice([0, 0xFFFF, random.getrandbits(16)]), value()
    i, j = [value() for _ in range(rows)], [value() for _ in range(columns)]
    payload = {"seed": seed, "tag": tag, "k": k, "i": pack(i, 32), "j": pack(j, 32)}
    return payload, position_random(seed, tag, k, np.array(i)[:, None], np.array(j)).ravel().tolist()


async def check(dut, words, gap=0.0):
    got = await flow(dut, [payload for payload, _ in words], LATENCY, ["rnd"], gap)
    for result, (payload, expected) in zip(got, words, strict=True):
        assert unpack(result["rnd"], 16, parameter("ROWS") * parameter("COLS"), signed=False) == expected, payload


@cocotb.test()
async def matches_the_definition(dut):
    await start(dut)
    await check(dut, [word()])
    await check(dut, [word() for _ in range(60)])
    await check(dut, [word() for _ in range(60)], gap=0.5)


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut)
    dut.s_valid.value = 1
    await cycles(dut, 7)
    dut.s_valid.value = 0
    await reset(dut, 1)
    await check(dut, [word() for _ in range(5)])


@pytest.mark.parametrize("grid, rows, cols", [(4, 4, 4), (8, 8, 8), (8, 2, 8), (8, 1, 4)])
def test_position_random(grid, rows, cols):
    run("requantise", "gc_position_random", {"GRID": grid, "ROWS": rows, "COLS": cols})


@pytest.mark.parametrize("bad, reason", [({"GRID": 5}, "GRID_"), ({"GRID": 8, "ROWS": 9}, "ROWS_and_COLS")])
def test_refuses(bad, reason):
    expect_elaboration_error("requantise", "gc_position_random", bad, reason)
