# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, parameter, run


def insert(value: int, bit: int, q: int) -> int:
    return (value >> bit) << (bit + 1) | q << bit | value & ((1 << bit) - 1)


def frame(upsample: int, scale: int, pool_bit: int, count: int) -> tuple[list, list, list]:
    """Input words, gate words and expected output words."""
    grid, dw = parameter("GRID"), parameter("DW")
    top = 1 << (dw - 1)
    words, gates, expected = [], [], []
    for _ in range(count):
        data = [random.choice([-top, top - 1, -1, 0, random.randrange(-top, top)]) for _ in range(grid * grid)]
        words.append({"data": pack(data, dw)})
        for qy, qx in [(0, 0), (0, 1), (1, 0), (1, 1)] if upsample else [(0, 0)]:
            gate = [random.randrange(2) for _ in data]
            out = []
            for r in range(grid):
                for c in range(grid):
                    source = (insert(r >> 1, pool_bit, qy), insert(c >> 1, pool_bit, qx)) if upsample else (r, c)
                    out.append(data[source[0] * grid + source[1]] if gate[r * grid + c] or not scale else 0)
            expected.append(out)
            if scale:
                gates.append({"gate": pack(gate, 1)})
    return words, gates, expected


def on_its_input(words: list, upsample: int) -> list:
    """Each word on the input that counts, another one on the other."""
    bits = parameter("GRID") ** 2 * parameter("DW")
    names = ("data", "plain") if upsample else ("plain", "data")
    return [dict(zip(names, (word["data"], random.getrandbits(bits)), strict=True)) for word in words]


def gate_source(dut, pause: float = 0.0) -> Source:
    """The gate stream, whose payload has the name of the stream."""
    return Source(dut, "s_gate_", pause, payload="s_")


async def run_frame(dut, source, gate_stream, mode, count):
    """Returns as soon as the last word is taken: the next frame's configuration follows at once."""
    upsample, scale, pool_bit = mode
    words, gates, expected = frame(upsample, scale, pool_bit, count)
    dut.cfg_upsample.value, dut.cfg_scale.value, dut.cfg_pool_bit.value = upsample, scale, pool_bit
    gate_task = cocotb.start_soon(gate_stream.send(gates))
    await source.send(on_its_input(words, upsample))
    await gate_task
    return expected


def modes() -> list[tuple[int, int, int]]:
    bits = parameter("GRID").bit_length() - 1
    return [(0, 0, 0), (0, 1, 0)] + [(1, scale, bit) for scale in range(2) for bit in range(bits)]


def compare(got, expected):
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    assert [unpack(w["data"], dw, lanes) for w in got] == expected


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(pauses=PAUSES)
async def frames_of_every_mode_back_to_back(dut, pauses):
    await start(dut, cfg_upsample=0, cfg_scale=0, cfg_pool_bit=0)
    sink = Sink(dut, "m_", ["data"], pauses[1])
    source, gate_stream = Source(dut, "s_", pauses[0]), gate_source(dut, pauses[0])
    expected = []
    for mode in random.sample(modes() * 2, k=2 * len(modes())):
        expected += await run_frame(dut, source, gate_stream, mode, random.choice([1, 1, 2, 3]))
    compare(await sink.receive(len(expected)), expected)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def one_output_word_per_cycle(dut):
    await start(dut, cfg_upsample=0, cfg_scale=0, cfg_pool_bit=0)
    sink = Sink(dut, "m_", ["data"])
    for mode in modes():
        words, gates, expected = frame(*mode, 6)
        dut.cfg_upsample.value, dut.cfg_scale.value, dut.cfg_pool_bit.value = mode
        sink.words.clear()
        gate_task = cocotb.start_soon(gate_source(dut).send(gates))
        await cycles(dut, 1)  # the gate is registered first
        cocotb.start_soon(Source(dut, "s_").send(on_its_input(words, mode[0])))
        await cycles(dut, len(expected) + 1)
        compare(sink.words, expected)
        await gate_task


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reset_in_the_middle_of_a_word(dut):
    await start(dut, cfg_upsample=1, cfg_scale=0, cfg_pool_bit=1)
    sink = Sink(dut, "m_", ["data"])
    for taken in range(1, 7):
        dut.s_valid.value = 1
        await cycles(dut, taken)
        dut.s_valid.value = 0
        await reset(dut)
        sink.words.clear()
        words, _, expected = frame(1, 0, 1, 2)
        await Source(dut, "s_").send(on_its_input(words, 1))
        compare(await sink.receive(8), expected)


@pytest.mark.parametrize("grid, dw", [(4, 16), (4, 9), (8, 8)])
def test_upsample(grid, dw):
    run("upsample", "gc_upsample", {"GRID": grid, "DW": dw})


@pytest.mark.parametrize("name, value", [("GRID", 16), ("DW", 7), ("DW", 17)])
def test_illegal_parameters(name, value):
    expect_elaboration_error("upsample", "gc_upsample", {name: value}, name)
