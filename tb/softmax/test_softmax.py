# SPDX-License-Identifier: Apache-2.0
"""Frames of random classes, formats and images: the words and the LOSS of gradcore.ops.softmax."""

import random

import cocotb
import numpy as np
import pytest

from gradcore.machine.drain import loss_gradient
from gradcore.ops.softmax import difference
from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run
from tb.upsample.test_upsample import gate_source

IDLE = dict.fromkeys(
    ("start", "s_clear", "cfg_vectors", "cfg_classes", "cfg_kept", "cfg_u_shift", "cfg_loss_shift", "s_gate"), 0
)


class Frame:
    """Outputs of LANES images, in every temper, with their configuration and what becomes of them."""

    def __init__(self, classes: int, spare: int = 0, fo: int | None = None):
        self.lanes, self.width = parameter("LANES"), parameter("DW")
        top, rng = 1 << self.width - 1, np.random.default_rng(random.getrandbits(32))
        fo, fd = random.randrange(-8, 32) if fo is None else fo, random.randrange(32)
        spread = rng.choice([0, 0.1, 1, 3, 8, 1e5], (self.lanes, 1)) * 2.0 ** min(max(fo, 0), self.width - 1)
        z = np.clip(np.round(rng.normal(size=(self.lanes, classes + spare)) * spread), -top, top - 1).astype(np.int64)
        z[rng.random(z.shape) < 0.02] = top - 1
        z[rng.random(z.shape) < 0.02] = -top
        self.z, self.bits = z, rng.random(z.shape) < random.choice([0.05, 0.5, 1 / classes])
        kept = rng.random(self.lanes) < random.choice([0.1, 0.8, 1])
        self.fields = dict(
            cfg_vectors=classes + spare,
            cfg_classes=classes,
            cfg_kept=pack(kept.astype(int).tolist(), 1),
            cfg_u_shift=fo + 8,
            cfg_loss_shift=31 - fd,
        )
        d, self.loss = difference(z[:, :classes], self.bits[:, :classes] & kept[:, None], fo)
        delta, saturated = loss_gradient(np.where(kept[:, None], d, 0), 31 - fd, self.width)
        self.saturated = int(saturated.any(axis=0).sum())
        self.delta = np.pad(delta, ((0, 0), (0, spare))).T.tolist()

    @property
    def words(self) -> list:
        return [{"data": pack(vector, self.width)} for vector in self.z.T.tolist()] * 3

    @property
    def gates(self) -> list:
        return [{"gate": pack(vector, 1)} for vector in self.bits.T.astype(int).tolist()]


async def note(dut, seen: list):
    """Whether a result was saturated, cycle by cycle."""
    while True:
        seen.append(int(dut.sts_saturated.value))
        await cycles(dut, 1)


async def play(dut, source, gates, sink, frame):
    for name, value in frame.fields.items():
        getattr(dut, name).value = value
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    sink.words.clear()
    watch = cocotb.start_soon(note(dut, seen := []))
    gate_task = cocotb.start_soon(gates.send(frame.gates))
    await source.send(frame.words)
    await gate_task
    found = await sink.receive(len(frame.delta))
    assert [unpack(word["data"], frame.width, frame.lanes) for word in found] == frame.delta
    await cycles(dut, 8)
    watch.cancel()
    assert sum(seen) == frame.saturated
    assert not dut.sts_busy.value and not dut.s_ready.value


async def frames(dut, pauses, some):
    await start(dut, **IDLE)
    sink = Sink(dut, "m_", ["data"], pauses[1])
    source, gates, total = Source(dut, "s_", pauses[0]), gate_source(dut, pauses[0]), 0
    for frame in some:
        if random.random() < 0.2:
            dut.s_clear.value, total = 1, 0
            await cycles(dut, 1)
            dut.s_clear.value = 0
        await play(dut, source, gates, sink, frame)
        total += frame.loss
        assert int(dut.sts_loss.value) == total


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def frames_are_the_models(dut, pauses):
    counts = [1, 2, random.randint(3, 12), random.randint(3, 40)]
    await frames(dut, pauses, [Frame(count, random.choice([0, 0, 1, 3])) for count in random.sample(counts, 4)])


@cocotb.test()
async def every_fraction(dut):
    await frames(dut, PAUSES[0], [Frame(random.randint(1, 4), 0, fo) for fo in range(-8, 32)])


@cocotb.test()
async def many_classes(dut):
    await frames(dut, PAUSES[0], [Frame(random.randint(65, 130), 0, random.randint(0, 12))])


@cocotb.test()
async def the_stated_cycles(dut):
    """A vector takes LANES/SLICE + 1 cycles, 9 at least; the division 72 for each slice."""
    await start(dut, **IDLE)
    sink = Sink(dut, "m_", ["data"])
    slices, frame, spent = parameter("LANES") // parameter("SLICE"), Frame(10), 0
    task = cocotb.start_soon(play(dut, Source(dut, "s_"), gate_source(dut), sink, frame))
    while not task.done():
        await cycles(dut, 1)
        spent += 1
    wanted = 30 * (max(slices, 8) + 1) + 72 * slices
    assert wanted < spent < wanted + 70


@cocotb.test()
async def reset_in_the_middle_of_a_frame(dut):
    await start(dut, **IDLE)
    sink, frame = Sink(dut, "m_", ["data"]), Frame(3)
    for taken in (1, 4, 6, 8):
        task = cocotb.start_soon(play(dut, Source(dut, "s_"), gate_source(dut), sink, frame))
        await cycles(dut, taken * 40)
        task.cancel()
        dut.s_valid.value = dut.s_gate_valid.value = 0
        await reset(dut)
        await play(dut, Source(dut, "s_"), gate_source(dut), sink, frame)
        assert int(dut.sts_loss.value) == frame.loss


@pytest.mark.parametrize("lanes, width, step", first(2, [(16, 16, 4), (16, 11, 2), (16, 8, 1), (64, 16, 4)]))
def test_softmax(lanes, width, step):
    run("softmax", "gc_softmax", {"LANES": lanes, "DW": width, "SLICE": step}, sim="verilator")


@pytest.mark.parametrize("name, value", [("LANES", 32), ("DW", 7), ("DW", 17), ("SLICE", 3), ("SLICE", 8)])
def test_illegal_parameters(name, value):
    expect_elaboration_error("softmax", "gc_softmax", {name: value}, name)
