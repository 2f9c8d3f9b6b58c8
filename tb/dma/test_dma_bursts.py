# SPDX-License-Identifier: Apache-2.0
import cocotb
import pytest

from tb.dma.memory import bursts, random_descriptor, words
from tb.support.bench import PAUSES, Sink, Source, cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def keep_the_4_kib_rule(dut, pauses):
    beat = parameter("MEM_W") // 8
    await start(dut)
    sink = Sink(dut, "m_", ["addr", "len", "last"], pauses[1])
    descriptors = [random_descriptor(beat) for _ in range(25)]
    await Source(dut, "s_", pauses[0]).send([words(d) for d in descriptors])
    expected = [bursts(d, beat, parameter("MAX_BURST")) for d in descriptors]
    got = await sink.receive(sum(map(len, expected)))
    assert [(int(w["addr"]), int(w["len"]), int(w["last"])) for w in got] == [
        (*b, int(i == len(e) - 1)) for e in expected for i, b in enumerate(e)]
    await cycles(dut, 10)
    assert len(sink.words) == len(got)


@pytest.mark.parametrize("mem_w, max_burst", [(64, 256), (128, 16), (512, 64)])
def test_dma_bursts(mem_w, max_burst):
    run("dma", "dma_bursts", {"MEM_W": mem_w, "MAX_BURST": max_burst, "ADDR_W": 40})


def test_refuses():
    expect_elaboration_error("dma", "dma_bursts", {"MAX_BURST": 48}, "MAX_BURST_must")
