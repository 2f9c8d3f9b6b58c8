# SPDX-License-Identifier: Apache-2.0
import random
from collections import deque

import cocotb
import pytest

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def first_in_first_out_with_room_and_valid_in_every_cycle(dut):
    width, depth = parameter("WIDTH"), parameter("DEPTH")
    await start(dut, s_push=0, s_pop=0, s_data=0)
    inside = deque()
    for step in range(600):
        if step == 300:
            dut.s_push.value, dut.s_pop.value = 1, 1  # a reset comes first
            await reset(dut)
            inside.clear()
        assert (dut.m_room.value, dut.m_valid.value) == (len(inside) < depth, bool(inside))
        if inside:
            assert int(dut.m_data.value) == inside[0]
        filling = random.random() < (0.8 if step // 40 % 2 else 0.2)
        push, pop, word = (
            filling and len(inside) < depth,
            random.random() < 0.5 and bool(inside),
            random.getrandbits(width),
        )
        dut.s_push.value, dut.s_pop.value, dut.s_data.value = int(push), int(pop), word
        if push:
            inside.append(word)
        if pop:
            inside.popleft()
        await cycles(dut, 1)


@pytest.mark.parametrize("width, depth", [(1, 2), (9, 4), (64, 16)])
def test_register_queue(width, depth):
    run("stream", "gc_register_queue", {"WIDTH": width, "DEPTH": depth})


@pytest.mark.parametrize("depth", [1, 6])
def test_refuses_a_depth_that_is_no_power_of_two(depth):
    expect_elaboration_error("stream", "gc_register_queue", {"DEPTH": depth}, "DEPTH_must_be_a_power_of_two")
