# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.dma.memory import Memory, addresses, bursts, random_descriptor, words
from tb.support.bench import PAUSES, Source, cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def writes_and_waits_for_the_responses(dut, pauses):
    beat = parameter("MEM_W") // 8
    await start(dut, s_desc_valid=0)
    memory = Memory(dut, beat, stall=pauses[1], latency=random.choice([1, 30]))
    for _ in range(10):
        descriptor = random_descriptor(beat, 60)
        places = addresses(descriptor, beat)
        data, before = [random.getrandbits(8 * beat) for _ in places], len(memory.writes)
        for name, value in words(descriptor).items():
            getattr(dut, f"s_{name}").value = value
        dut.s_desc_valid.value = 1
        while not dut.s_desc_ready.value:
            await cycles(dut, 1)
        source = cocotb.start_soon(Source(dut, "s_", pauses[0]).send([{"data": w, "strb": (1 << beat) - 1} for w in data]))
        await cycles(dut, 1)
        dut.s_desc_valid.value = 0
        for _ in range(20 * len(places) + 200):
            if dut.m_done.value:
                break
            await cycles(dut, 1)
        assert dut.m_done.value == 1
        assert [memory.data.get(a) for a in places] == data, "done before the data were in the memory"
        assert memory.writes[before:] == bursts(descriptor, beat, parameter("MAX_BURST"))
        await source
        await cycles(dut, 1)
        assert dut.m_done.value == 0


@pytest.mark.parametrize("mem_w, depth, max_burst", [(64, 64, 32), (512, 32, 32), (128, 16, 1)])
def test_dma_writer(mem_w, depth, max_burst):
    run("dma", "dma_writer", {"MEM_W": mem_w, "MAX_BURST": max_burst, "DEPTH": depth, "ADDR_W": 40})


def test_refuses():
    expect_elaboration_error("dma", "dma_writer", {"MAX_BURST": 64, "DEPTH": 32}, "MAX_BURST_above_DEPTH")
