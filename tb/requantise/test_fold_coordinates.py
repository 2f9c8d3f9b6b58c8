# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from gradcore.numerics.random_numbers import even_bits, odd_bits
from tb.support.bench import start
from tb.support.bits import unpack
from tb.support.folds import image_of_lane
from tb.support.pipeline import flow
from tb.support.runner import parameter, run


def word(fold: int) -> tuple[dict, list[tuple[int, int]]]:
    grid, py = parameter("GRID"), 1 << fold
    group = (grid // py) ** 2
    y0, x0 = (random.choice([0, 4096 // py - 1, random.randrange(4096 // py)]) * py for _ in range(2))
    first = random.choice([0, 65536 // group - 1, random.randrange(65536 // group)]) * group
    places = []
    for row in range(grid):
        for col in range(grid):
            n = first + image_of_lane(row, col, fold, grid)
            places.append((((y0 + row % py) << 8) | int(odd_bits(n)), ((x0 + col % py) << 8) | int(even_bits(n))))
    return {"y0": y0, "x0": x0, "fold": fold, "image": first}, places


@cocotb.test()
async def every_lane_gets_the_place_of_its_element(dut):
    await start(dut)
    grid = parameter("GRID")
    words = [word(fold) for _ in range(60) for fold in range(grid.bit_length())]
    got = await flow(dut, [payload for payload, _ in words], 1, ["i", "j"], gap=0.3)
    for result, (payload, expected) in zip(got, words, strict=True):
        i, j = (unpack(result[n], 32, grid, signed=False) for n in "ij")
        assert [(i[r], j[c]) for r in range(grid) for c in range(grid)] == expected, payload


@pytest.mark.parametrize("grid", [4, 8])
def test_fold_coordinates(grid):
    run("requantise", "gc_fold_coordinates", {"GRID": grid})
