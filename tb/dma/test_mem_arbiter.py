# SPDX-License-Identifier: Apache-2.0
"""Several clients on one memory: priority, held grants, order of data and responses, nothing lost."""

import random
from collections import deque

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from tb.dma.memory import Memory
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.runner import expect_elaboration_error, parameter, run


class Client:
    """One read or write client: bursts still to ask for, the one shown, and what has come back."""

    def __init__(self, bursts, beat, early=False):
        self.todo, self.shown, self.beat, self.early = deque(bursts), False, beat, early
        self.data = deque((addr + i * beat, i == n - 1) for addr, n in bursts for i in range(n))
        self.open, self.answers, self.word = 0, 0, None  # beats granted but not sent; responses; (data, strb) shown

    def offer(self, pause):
        self.shown = bool(self.todo) and (self.shown or random.random() >= pause)
        return self.shown


class Port:
    """One side of the arbiter: shows that a free port goes to the lowest client and that a stalled choice stays."""

    def __init__(self, dut, kind, clients):
        self.dut, self.kind, self.clients, self.held, self.order = dut, kind, clients, None, []

    def drive(self, pause):
        addr_w = parameter("ADDR_W")
        valid = [c.offer(pause) for c in self.clients]
        heads = [
            c.todo[0] if v else (random.getrandbits(addr_w), random.randint(1, 256))
            for c, v in zip(self.clients, valid)
        ]
        getattr(self.dut, f"s_{self.kind}_valid").value = pack(valid, 1)
        getattr(self.dut, f"s_{self.kind}_addr").value = pack(np.array([a for a, _ in heads], object), addr_w)
        getattr(self.dut, f"s_{self.kind}_len").value = pack([n - 1 for _, n in heads], 8)
        self.waiting = [i for i, v in enumerate(valid) if v]

    def sample(self, blocked):
        """After ReadOnly; `blocked`: no request may be shown. Returns the client that was granted, else None."""
        shown = bool(getattr(self.dut, f"m_{self.kind}_valid").value)
        ready = int(getattr(self.dut, f"s_{self.kind}_ready").value)
        assert shown == (bool(self.waiting) and not blocked)
        if not shown:
            assert not any(ready >> i & 1 for i in self.waiting)
            return None
        pick = self.waiting[0] if self.held is None else self.held
        addr, beats = self.clients[pick].todo[0]
        assert int(getattr(self.dut, f"m_{self.kind}_addr").value) == addr
        assert int(getattr(self.dut, f"m_{self.kind}_len").value) == beats - 1
        assert int(getattr(self.dut, f"m_{self.kind}_client").value) == 1 << pick
        taken = bool(getattr(self.dut, f"m_{self.kind}_ready").value)
        assert [client for client in self.waiting if ready >> client & 1] == ([pick] if taken else [])
        self.held = None if taken else pick
        if not taken:
            return None
        self.clients[pick].todo.popleft()
        self.clients[pick].shown = False
        self.order.append((pick, beats))
        return pick


def bursts(count, beat, region):
    """Legal bursts (address, beats) in a region of their own."""
    page, result = 4096 // beat, []
    for _ in range(count):
        first = random.randrange(page)
        result.append(
            (
                (region << 24) + random.randrange(64) * 4096 + first * beat,
                random.randint(1, min(page - first, random.choice([1, 4, 16]))),
            )
        )
    return result


class Bench:
    """All clients, cycle by cycle."""

    def __init__(self, dut, count, memory, pause=0.0):
        self.dut, self.memory, self.pause, self.beat = dut, memory, pause, parameter("MEM_W") // 8
        self.readers = [Client(bursts(count, self.beat, i), self.beat) for i in range(parameter("READERS"))]
        self.writers = [Client(bursts(count, self.beat, 64 + i), self.beat) for i in range(parameter("WRITERS"))]
        self.reads, self.writes = Port(dut, "rreq", self.readers), Port(dut, "wreq", self.writers)
        self.reading, self.answering, self.writing = deque(), deque(), None
        self.expected = {}

    async def cycle(self):
        dut, width, depth = self.dut, parameter("MEM_W"), parameter("DEPTH")
        self.reads.drive(self.pause)
        self.writes.drive(self.pause)
        for c in self.writers:
            # A client may show its data before its request has been granted; they wait.
            if c.word is None and c.data and (c.open or random.random() < 0.3) and random.random() >= self.pause:
                c.word = random.getrandbits(width), random.getrandbits(width // 8)
        words = [c.word or (random.getrandbits(width), random.getrandbits(width // 8)) for c in self.writers]
        dut.s_wdat_valid.value = pack([c.word is not None for c in self.writers], 1)
        dut.s_wdat_data.value = pack(np.array([w for w, _ in words], object), width)
        dut.s_wdat_strb.value = pack(np.array([b for _, b in words], object), width // 8)
        dut.s_wdat_last.value = pack([bool(c.data) and c.data[0][1] for c in self.writers], 1)
        await ReadOnly()

        full = len(self.reading) == depth, len(self.answering) == depth
        assert int(dut.m_rdat_valid.value) == (1 << self.reading[0] if dut.s_rdat_valid.value else 0)
        if dut.s_rdat_valid.value:
            c = self.readers[self.reading[0]]
            addr, last = c.data.popleft()
            assert int(dut.m_rdat_data.value) == self.memory.word(addr) and bool(dut.m_rdat_last.value) == last
            if last:
                self.reading.popleft()
        assert int(dut.m_wrsp_valid.value) == (1 << self.answering[0] if dut.s_wrsp_valid.value else 0)
        if dut.s_wrsp_valid.value:
            self.writers[self.answering.popleft()].answers += 1

        owner = self.writing
        valid = owner is not None and self.writers[owner].word is not None
        assert bool(dut.m_wdat_valid.value) == valid
        assert int(dut.s_wdat_ready.value) == (1 << owner if owner is not None and dut.m_wdat_ready.value else 0)
        if valid and dut.m_wdat_ready.value:
            c = self.writers[owner]
            (addr, last), (data, strb) = c.data.popleft(), c.word
            assert (int(dut.m_wdat_data.value), int(dut.m_wdat_strb.value), bool(dut.m_wdat_last.value)) == (
                data,
                strb,
                last,
            )
            mask = sum(0xFF << 8 * i for i in range(self.beat) if strb >> i & 1)
            self.expected[addr] = self.expected.get(addr, self.memory.word(addr)) & ~mask | data & mask
            c.word, c.open = None, c.open - 1
            if last:
                self.writing = None

        pick = self.reads.sample(full[0])
        if pick is not None:
            self.reading.append(pick)
        pick = self.writes.sample(full[1] or owner is not None)
        if pick is not None:
            self.answering.append(pick)
            self.writing, self.writers[pick].open = pick, self.writes.order[-1][1]
        await cycles(dut, 1)

    def left(self):
        return any(c.data for c in self.readers + self.writers) or self.answering

    async def finish(self, limit=20_000):
        for _ in range(limit):
            if not self.left():
                break
            await self.cycle()
        assert not self.left(), "bursts are missing"
        assert all(c.answers for c in self.writers)
        assert {a: self.memory.word(a) for a in self.expected} == self.expected


def memory_of(dut, **options):
    return Memory(dut, parameter("MEM_W") // 8, **{"latency": 1, "gap": 0.0} | options)


async def begin(dut):
    await start(dut, s_rreq_valid=0, s_wreq_valid=0, s_wdat_valid=0, s_wrsp_valid=0, s_rdat_valid=0, s_rdat_last=0)


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.7], memory=[(1, 1, 0.0, 0.0), (1, 40, 0.5, 0.3), (30, 30, 0.1, 0.0)])
async def every_client_gets_its_own_in_order(dut, pause, memory):
    least, most, stall, gap = memory
    await begin(dut)
    await Bench(dut, 12, memory_of(dut, latency=(least, most), stall=stall, gap=gap), pause).finish()


@cocotb.test()
async def a_full_queue_of_owners_stops_requests(dut):
    """With a slow memory exactly DEPTH bursts wait; every cycle is checked by the bench."""
    await begin(dut)
    bench = Bench(dut, 2 * parameter("DEPTH"), memory_of(dut, latency=(300, 300)))
    for _ in range(250):
        await bench.cycle()
    assert len(bench.reading) == parameter("DEPTH")
    await bench.finish()


@cocotb.test()
async def one_read_request_and_one_beat_per_cycle(dut):
    await begin(dut)
    memory = memory_of(dut)
    bench = Bench(dut, 8, memory)
    await bench.finish()
    asked = min(4, parameter("DEPTH"))
    assert memory.read_times[:asked] == list(range(asked))
    gaps = [(b - a, length + 1) for a, b, (_, length) in zip(memory.write_times, memory.write_times[1:], memory.writes)]
    assert all(gap >= beats + 1 for gap, beats in gaps) and any(gap == beats + 1 for gap, beats in gaps)
    owners = [i for i, _ in bench.reads.order]
    assert owners == sorted(owners)  # all wait from the start: the lowest first


@cocotb.test()
async def reset_forgets_owners_and_grants(dut):
    await begin(dut)
    memory = memory_of(dut, latency=(5, 30), stall=0.5)
    for _ in range(4):
        bench = Bench(dut, 10, memory, 0.2)
        for _ in range(random.randint(2, 50)):
            await bench.cycle()
        dut.s_rreq_valid.value = dut.s_wreq_valid.value = dut.s_wdat_valid.value = 0
        await reset(dut, 2)
        assert not dut.m_rreq_valid.value and not dut.m_wreq_valid.value and not dut.m_wdat_valid.value
    await Bench(dut, 10, memory, 0.2).finish()


@pytest.mark.parametrize(
    "readers, writers, mem_w, depth", [(5, 3, 64, 32), (1, 1, 128, 2), (2, 4, 64, 4), (4, 2, 512, 16)]
)
def test_mem_arbiter(readers, writers, mem_w, depth):
    run(
        "dma",
        "gc_mem_arbiter",
        {"READERS": readers, "WRITERS": writers, "ADDR_W": random.choice([32, 48]), "MEM_W": mem_w, "DEPTH": depth},
    )


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"READERS": 0}, "READERS_"),
        ({"WRITERS": 0}, "READERS_"),
        ({"DEPTH": 3}, "DEPTH_"),
        ({"DEPTH": 1}, "DEPTH_"),
        ({"MEM_W": 48}, "MEM_W_"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("dma", "gc_mem_arbiter", bad, reason)
