# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def squares_turn_two_cycles_later_and_bubbles_hold_them(dut):
    grid, width = parameter("GRID"), parameter("W")
    sign = 1 if parameter("INVERSE") else -1
    await start(dut, s_rot_y=0, s_rot_x=0, s_data=0, s_keep=0)
    expected = [None, None]  # of the next edges; None: what was there stays
    seen = None
    for k in range(100 + 2 * grid * grid):
        valid = k < 2 * grid * grid or random.random() < 0.6
        rot_y, rot_x = (
            divmod(k % (grid * grid), grid) if k < 2 * grid * grid else (random.randrange(grid), random.randrange(grid))
        )
        square = np.array([random.getrandbits(width) for _ in range(grid * grid)]).reshape(grid, grid)
        dut.s_valid.value, dut.s_rot_y.value, dut.s_rot_x.value = int(valid), rot_y, rot_x
        dut.s_data.value = pack(square, width)
        expected.append(np.roll(square, (sign * rot_y, sign * rot_x), (0, 1)).ravel().tolist() if valid else None)
        turned = expected[-2]
        keep = [random.randrange(2) for _ in range(grid * grid)]  # of the square before
        dut.s_keep.value = pack(keep, 1)
        await cycles(dut, 1)
        if turned:
            seen = [word if bit or not parameter("MASK") else 0 for word, bit in zip(turned, keep, strict=True)]
        if seen:
            assert unpack(dut.m_data.value, width, grid * grid, signed=False) == seen


@pytest.mark.parametrize("inverse, mask", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("grid, width", [(4, 1), (4, 16), (8, 1), (8, 9)])
def test_rotator2d(grid, width, inverse, mask):
    run("operand_buffer", "gc_rotator2d", {"GRID": grid, "W": width, "INVERSE": inverse, "MASK": mask})


def test_refuses():
    expect_elaboration_error("operand_buffer", "gc_rotator2d", {"GRID": 16}, "GRID_not_4_or_8")
