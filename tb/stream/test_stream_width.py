# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import PAUSES, Sink, Source, cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def frames_pass_whole(dut, pauses):
    """Frames of random length through the converter under test, told by its toplevel's ports."""
    pause, stall = pauses
    width, ratio = parameter("WIDTH"), parameter("RATIO")
    await start(dut)
    frames = [[random.getrandbits(width) for _ in range(random.randint(1, 3 * ratio))] for _ in range(30)]
    if hasattr(dut, "m_words"):
        sink = Sink(dut, "m_", ["data", "words", "last"], stall)
        await Source(dut, "s_", pause).send(
            [{"data": w, "last": int(i == len(f) - 1)} for f in frames for i, w in enumerate(f)])
        beats = await sink.receive(sum(-(-len(f) // ratio) for f in frames))
        got, frame = [], []
        for beat in beats:
            frame += unpack(beat["data"], width, ratio, signed=False)[:int(beat["words"])]
            if beat["last"]:
                got.append(frame)
                frame = []
        assert got == frames
    else:
        beats = [{"data": pack((f + [0] * ratio)[i:i + ratio], width)} for f in frames for i in range(0, len(f), ratio)]
        cocotb.start_soon(Source(dut, "s_", pause).send(beats))
        got = []
        for frame in frames:
            words = []
            while len(words) < len(frame):
                dut.m_ready.value = int(random.random() >= stall)
                dut.m_flush.value = int(len(words) == len(frame) - 1)
                await ReadOnly()
                if dut.m_valid.value and dut.m_ready.value:
                    words.append(int(dut.m_data.value))
                await cycles(dut, 1)
            got.append(words)
        assert got == frames


@pytest.mark.parametrize("ratio", [1, 2, 3, 8])
@pytest.mark.parametrize("toplevel", ["stream_upsize", "stream_downsize"])
def test_stream_width(toplevel, ratio):
    run("stream", toplevel, {"WIDTH": random.randint(1, 40), "RATIO": ratio})


@pytest.mark.parametrize("toplevel", ["stream_upsize", "stream_downsize"])
def test_refuses_ratio_zero(toplevel):
    expect_elaboration_error("stream", toplevel, {"RATIO": 0}, "RATIO_below_1")
