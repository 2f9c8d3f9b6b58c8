# SPDX-License-Identifier: Apache-2.0
import random
from itertools import product

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import parameter, run


@cocotb.test()
async def counts_as_nested_loops(dut):
    levels, width = parameter("LEVELS"), parameter("W")
    await start(dut, start=0, step=0, cfg_count=0)
    for _ in range(30):
        counts = [random.choice([0, 1, 1, 2, random.randint(1, 5)]) for _ in range(levels)]
        order = list(product(*[range(max(c, 1)) for c in counts]))[:400]
        whole = len(order) < 400
        dut.cfg_count.value, dut.start.value = pack(counts, width), 1
        await cycles(dut, 1)
        dut.start.value = 0
        for now, after in zip(order, [*order[1:], order[0]]):
            while random.random() < 0.3:
                dut.step.value = 0
                await cycles(dut, 1)
            dut.step.value = 1
            await Timer(1, "ns")
            assert unpack(dut.index.value, width, levels, signed=False) == list(now)
            first = [i == 0 for i in now]
            last = [i == max(c, 1) - 1 for i, c in zip(now, counts)]
            inside = [all(last[l + 1:]) for l in range(levels)]
            want = {"at_first": first, "at_last": last, "advance": [i and not x for i, x in zip(inside, last)],
                    "restart": [i and x for i, x in zip(inside, last)]}
            for name, bits in want.items():
                assert unpack(getattr(dut, name).value, 1, levels, signed=False) == [int(b) for b in bits], name
            assert bool(dut.last.value) == all(last)
            await cycles(dut, 1)
            if now != order[-1] or whole:
                assert unpack(dut.index.value, width, levels, signed=False) == list(after)
        dut.step.value = 0


@pytest.mark.parametrize("levels", [1, 2, 4, 7])
def test_loop_nest(levels):
    run("sequencer", "loop_nest", {"LEVELS": levels, "W": random.randint(3, 16)})
