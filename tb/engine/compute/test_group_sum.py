# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import parameter, run


@cocotb.test()
async def groups_are_joined_in_the_lanes_of_the_first(dut):
    lanes, cols, width = parameter("LANES"), parameter("COLS"), parameter("ACC_W")
    groups = lanes // cols
    await start(dut, s_split=0, s_acc=0)
    due = [None] * (groups.bit_length() - 1)
    for _ in range(200):
        split = random.getrandbits(1)
        acc = [random.choice([0, (1 << width) - 1, 1 << width - 1, random.getrandbits(width)]) for _ in range(lanes)]
        joined = [sum(acc[lane::cols]) % (1 << width) for lane in range(cols)] + [0] * (lanes - cols)
        dut.s_split.value, dut.s_acc.value = split, pack(acc, width)
        due = [joined if split else acc, *due[:-1]]
        await cycles(dut, 1)
        if due[-1]:
            assert unpack(dut.m_acc.value, width, lanes, signed=False) == due[-1]


@pytest.mark.parametrize("lanes, cols", [(16, 4), (16, 8), (64, 8), (64, 16), (64, 32)])
def test_group_sum(lanes, cols):
    """In Verilator: Icarus takes minutes for the vector of all stages, whose time grows with its square."""
    sizes = {"LANES": lanes, "COLS": cols, "ACC_W": random.randint(24, 48)}
    run("engine", "gc_group_sum", sizes, sim="verilator")
