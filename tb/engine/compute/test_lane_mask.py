# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.bits import unpack
from tb.support.folds import image_of_lane
from tb.support.runner import parameter, run


@cocotb.test()
async def masks_pixels_and_images(dut):
    grid = parameter("GRID")
    for _ in range(300):
        fold = random.randint(0, grid.bit_length() - 1)
        side, images = 1 << fold, random.randint(0, (grid >> fold) ** 2)
        y0, x0 = side * random.randrange(4), side * random.randrange(4)
        height, width = (random.choice([1, y0 + 1, x0 + side, random.randint(1, 40), 4095]) for _ in range(2))
        for name, value in dict(fold=fold, y0=y0, x0=x0, height=height, width=width, images=images).items():
            getattr(dut, f"s_{name}").value = value
        await Timer(1, "ns")
        lanes = [(row, col) for row in range(grid) for col in range(grid)]
        assert unpack(dut.m_inside.value, 1, grid * grid, signed=False) == [
            int(y0 + row % side < height and x0 + col % side < width) for row, col in lanes
        ]
        assert unpack(dut.m_image.value, 1, grid * grid, signed=False) == [
            int(image_of_lane(row, col, fold, grid) < images) for row, col in lanes
        ]


@pytest.mark.parametrize("grid", [4, 8])
def test_lane_mask(grid):
    run("engine", "gc_lane_mask", {"GRID": grid})
