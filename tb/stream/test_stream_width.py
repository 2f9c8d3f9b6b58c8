# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
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
            [{"data": w, "last": int(i == len(f) - 1)} for f in frames for i, w in enumerate(f)]
        )
        beats = await sink.receive(sum(-(-len(f) // ratio) for f in frames))
        got, frame = [], []
        for beat in beats:
            words, lanes = int(beat["words"]), unpack(beat["data"], width, ratio, signed=False)
            frame += lanes[:words]
            assert not any(lanes[words:])
            if beat["last"]:
                got.append(frame)
                frame = []
        assert got == frames
    else:
        beats = [
            {"data": pack((f + [0] * ratio)[i : i + ratio], width)} for f in frames for i in range(0, len(f), ratio)
        ]
        cocotb.start_soon(Source(dut, "s_", pause).send(beats))
        got = []
        for frame in frames:
            words = []
            for _ in range(1000):
                if len(words) == len(frame):
                    break
                dut.m_ready.value = int(random.random() >= stall)
                dut.m_flush.value = int(len(words) == len(frame) - 1)
                await ReadOnly()
                if dut.m_valid.value and dut.m_ready.value:
                    words.append(int(dut.m_data.value))
                await cycles(dut, 1)
            got.append(words)
        assert got == frames


@cocotb.test()
async def reset_in_mid_frame_forgets_it(dut):
    """One word of a frame is inside when reset comes; the next frame starts in lane 0."""
    width, ratio = parameter("WIDTH"), parameter("RATIO")
    await start(dut)
    for name in ("s_last", "m_flush"):
        if hasattr(dut, name):
            getattr(dut, name).value = 0
    dut.s_data.value = 0
    dut.s_valid.value = 1
    await cycles(dut, 1)
    dut.s_valid.value = 0
    await reset(dut)
    assert dut.m_valid.value == 0 and dut.s_ready.value == 1
    words = [random.getrandbits(width) for _ in range(ratio)]
    if hasattr(dut, "m_words"):
        sink = Sink(dut, "m_", ["data", "words", "last"])
        await Source(dut, "s_").send([{"data": w, "last": int(i == ratio - 1)} for i, w in enumerate(words)])
        beat = (await sink.receive(1))[0]
        assert unpack(beat["data"], width, ratio, signed=False) == words and int(beat["words"]) == ratio
    else:
        sink = Sink(dut, "m_", ["data"])
        await Source(dut, "s_").send([{"data": pack(words, width)}])
        assert [int(w["data"]) for w in await sink.receive(ratio)] == words


@pytest.mark.parametrize("width, ratio", [(13, 1), (1, 2), (40, 3), (16, 8)])
@pytest.mark.parametrize("toplevel", ["gc_stream_upsize", "gc_stream_downsize"])
def test_stream_width(toplevel, width, ratio):
    run("stream", toplevel, {"WIDTH": width, "RATIO": ratio})


@pytest.mark.parametrize("toplevel", ["gc_stream_upsize", "gc_stream_downsize"])
def test_refuses_ratio_zero(toplevel):
    expect_elaboration_error("stream", toplevel, {"RATIO": 0}, "RATIO_below_1")
