# SPDX-License-Identifier: Apache-2.0
"""A memory behind the native port (doc/streams.md) with random latency and stalls, and the bursts that a descriptor
means."""

import random
from collections import deque
from typing import ClassVar

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles


def runs(addr, run_beats, n1, stride1, n2, stride2):
    """(address, beats) of the contiguous runs."""
    return [(addr + i * stride1 + j * stride2, run_beats) for j in range(n2) for i in range(n1)] if run_beats else []


def words(descriptor):
    """A descriptor as the payload of its stream."""
    return dict(zip(("addr", "run_beats", "n1", "stride1", "n2", "stride2"), descriptor, strict=True))


def transfer(addr=0, run_beats=1, n1=1, stride1=0, n2=1, stride2=0):
    """A descriptor of one beat where nothing else is said."""
    return addr, run_beats, n1, stride1, n2, stride2


def addresses(descriptor, beat):
    """Addresses of all its beats in order."""
    return [addr + i * beat for addr, beats in runs(*descriptor) for i in range(beats)]


def bursts(descriptor, beat, limit):
    """(address, beats - 1) of the bursts: cut at 4 KiB and at `limit` beats."""
    result = []
    for addr, left in runs(*descriptor):
        while left:
            beats = min(left, limit, (4096 - addr % 4096) // beat)
            result.append((addr, beats - 1))
            addr, left = addr + beats * beat, left - beats
    return result


def random_descriptor(beat, most=200):
    """A descriptor inside 1 MiB, its runs apart; now and then a transfer of nothing."""
    run_beats, n1, n2 = (
        random.choice([0, 1, 1, random.randint(1, 20), random.randint(1, most)]),
        random.randint(1, 3),
        random.choice([0, 1, 2, 3]),
    )
    stride1 = beat * (run_beats + random.randint(0, 100))
    return (beat * random.randrange(4096), run_beats, n1, stride1, n2, stride1 * n1 + beat * random.randint(0, 100))


class Memory:
    """Serves `dut`'s native port and checks its rules; forgets what is under way when `dut` is reset.

    `latency` (a number or least and most): cycles from a request to its first beat, from the last beat to the response.
    `stall`: chance that a request or a write beat has to wait; `gap`: of a pause before a read beat. `data` maps beat
    addresses to words; `reads` and `writes` are the bursts (address, beats - 1), `read_times` and `write_times` the
    cycles in which they were taken.
    """

    def __init__(self, dut, beat, stall=0.0, latency=20, gap=None):
        self.dut, self.beat, self.stall, self.gap = dut, beat, stall, stall if gap is None else gap
        self.latency = (latency, latency) if isinstance(latency, int) else latency
        self.data, self.reads, self.writes, self.read_times, self.write_times = {}, [], [], [], []
        for name, serve in (("rreq", self._read), ("wreq", self._write)):
            if hasattr(dut, f"m_{name}_valid"):
                cocotb.start_soon(serve())

    def word(self, addr):
        return self.data.setdefault(addr, random.getrandbits(8 * self.beat))

    def write(self, addr, data, strb):
        mask = sum(0xFF << 8 * i for i in range(self.beat) if strb >> i & 1)
        self.data[addr] = self.word(addr) & ~mask | data & mask

    def _request(self, kind, held):
        """The request (address, beats - 1) that is shown, None without one; it must stay as it is until it is taken."""
        if not getattr(self.dut, f"m_{kind}_valid").value:
            assert held is None, f"m_{kind}_valid fell while stalled"
            return None
        addr, length = (int(getattr(self.dut, f"m_{kind}_{name}").value) for name in ("addr", "len"))
        assert held in (None, (addr, length)), f"m_{kind} changed while stalled"
        assert addr % self.beat == 0 and addr // 4096 == (addr + (length + 1) * self.beat - 1) // 4096, (
            "burst crosses 4 KiB"
        )
        return addr, length

    async def _read(self):
        dut, queue, held, now = self.dut, deque(), None, 0
        while True:
            ready, send = (
                random.random() >= self.stall,
                bool(queue) and queue[0][0] <= now and random.random() >= self.gap,
            )
            dut.m_rreq_ready.value, dut.s_rdat_valid.value = int(ready), int(send)
            dut.s_rdat_data.value = self.word(queue[0][1]) if send else random.getrandbits(8 * self.beat)
            if hasattr(dut, "s_rdat_last"):
                dut.s_rdat_last.value = int(send and queue[0][2])
            await ReadOnly()
            if send:
                queue.popleft()
            if dut.rst.value:
                queue.clear()
                held = None
            else:
                held = self._request("rreq", held)
                if held and ready:
                    (addr, length), held = held, None
                    self.reads.append((addr, length))
                    self.read_times.append(now)
                    due = now + random.randint(*self.latency)
                    queue.extend((due, addr + i * self.beat, i == length) for i in range(length + 1))
            now += 1
            await cycles(dut, 1)

    async def _write(self):
        dut, queue, answers, held, held_beat, now = self.dut, deque(), deque(), None, None, 0
        burst = []  # beats of the present burst
        while True:
            ready, take, answer = (
                random.random() >= self.stall,
                random.random() >= self.stall,
                bool(answers) and answers[0][0] <= now,
            )
            dut.m_wreq_ready.value, dut.m_wdat_ready.value, dut.s_wrsp_valid.value = int(ready), int(take), int(answer)
            await ReadOnly()
            if answer:  # not earlier: whoever does not wait for the response does not find the data
                for beat in answers.popleft()[1]:
                    self.write(*beat)
            if dut.rst.value:
                queue.clear()
                answers.clear()
                burst = []
                held = held_beat = None
            else:
                shown = bool(dut.m_wdat_valid.value)
                beat = (
                    (int(dut.m_wdat_data.value), int(dut.m_wdat_strb.value), bool(dut.m_wdat_last.value))
                    if shown
                    else None
                )
                assert held_beat in (None, beat), "m_wdat changed or fell while stalled"
                held_beat = None if take else beat
                if shown and take:
                    addr, last = queue.popleft()
                    burst.append((addr, *beat[:2]))
                    assert beat[2] == last, "m_wdat_last"
                    if last:
                        answers.append((now + random.randint(*self.latency), burst))
                        burst = []
                held = self._request("wreq", held)
                if held and ready:
                    (addr, length), held = held, None
                    self.writes.append((addr, length))
                    self.write_times.append(now)
                    queue.extend((addr + i * self.beat, i == length) for i in range(length + 1))
            now += 1
            await cycles(dut, 1)


class Image(Memory):
    """A memory whose words are those of an array of bytes; whole beats are written."""

    def __init__(self, dut, image, *args, **kwargs):
        self.image = image
        super().__init__(dut, *args, **kwargs)

    def word(self, addr):
        return int.from_bytes(self.image[addr : addr + self.beat].tobytes(), "little")

    def write(self, addr, data, strb):
        assert strb == (1 << self.beat) - 1
        self.image[addr : addr + self.beat] = np.frombuffer(data.to_bytes(self.beat, "little"), np.uint8)


class Part:
    """A client's part of a bus that several share; the others' parts may be unknown."""

    def __init__(self, bus, number, count, driven):
        self.bus, self.width, self.driven = bus, len(bus) // count, driven
        self.low = self.width * number

    @property
    def value(self) -> int:
        text = str(self.bus.value)
        return int(text[len(text) - self.low - self.width : len(text) - self.low], 2)

    @value.setter
    def value(self, value):
        others = self.driven.get(self.bus._name, 0) & ~((1 << self.width) - 1 << self.low)
        self.bus.value = self.driven[self.bus._name] = others | value << self.low


class Client:
    """Client `number` of `count` readers or writers of `dut` as if it were alone, for a `Memory` of its own. `driven`,
    a dictionary, keeps what the clients have written to the buses that they share."""

    BUSES: ClassVar = {"reader": ("m_rreq_", "s_rdat_"), "writer": ("m_wreq_", "m_wdat_", "s_wrsp_")}

    def __init__(self, dut, kind, number, count, driven):
        self.dut, self.prefixes, self.place = dut, self.BUSES[kind], (number, count, driven)

    def __getattr__(self, name):
        if name in ("clk", "rst"):
            return getattr(self.dut, name)
        if not name.startswith(self.prefixes):
            raise AttributeError(name)
        return Part(getattr(self.dut, name), *self.place)
