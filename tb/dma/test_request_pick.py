# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import parameter, run


@cocotb.test()
@cocotb.parametrize(density=[0.1, 0.5, 0.9])
async def picks_the_lowest_and_keeps_it_until_it_is_taken_once_shown(dut, density):
    await start(dut, s_request=0, s_show=0, s_taken=0)
    requests, held = set(), None
    for _ in range(400):
        requests |= {i for i in range(parameter("N")) if random.random() < density}
        pick = held if held is not None else min(requests, default=None)
        show = held is not None or random.random() < 0.6
        taken = pick is not None and show and random.random() < 0.4
        dut.s_request.value = sum(1 << i for i in requests)
        dut.s_show.value, dut.s_taken.value = show, taken
        await ReadOnly()
        assert int(dut.m_pick.value) == (0 if pick is None else 1 << pick)
        would = range(min(requests, default=parameter("N") - 1) + 1) if held is None else [held]
        assert int(dut.m_turn.value) == show * sum(1 << i for i in would)
        await cycles(dut, 1)
        held = pick if show and not taken else None
        if taken:
            requests.discard(pick)
        if random.random() < 0.02:
            dut.s_request.value = 0
            await reset(dut, 1)
            requests, held = set(), None


@pytest.mark.parametrize("clients", [1, 2, 5])
def test_request_pick(clients):
    run("dma", "gc_request_pick", {"N": clients})
