# SPDX-License-Identifier: Apache-2.0
"""Random clients on both sides; the memory answers with a word that names the address, so a wrong owner shows."""

import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.dma.memory import Memory
from tb.support.bench import cycles, start
from tb.support.runner import parameter, run


class Clients:
    """Drives all clients of the arbiter, one cycle at a time, and keeps what each has asked for and got."""

    def __init__(self, dut):
        self.dut, self.beat = dut, parameter("MEM_W") // 8
        self.readers, self.writers = parameter("READERS"), parameter("WRITERS")
        self.asked = [[] for _ in range(self.readers)]      # addresses of beats still to come
        self.got = [[] for _ in range(self.readers)]
        self.ask = [None] * self.readers
        self.want = [None] * self.writers                   # (address, beats) being requested
        self.data = [[] for _ in range(self.writers)]       # beats of granted bursts: (word, last)
        self.open = [0] * self.writers
        self.written = []

    def request(self, client):
        beats = random.randint(1, 8)
        base = (random.randrange(64) * 4096) + self.beat * random.randrange(4096 // self.beat - beats)
        return base + (client << 24), beats

    def drive(self, busy):
        dut, b = self.dut, self.beat
        for i in range(self.readers):
            if self.ask[i] is None and busy and random.random() < 0.4:
                self.ask[i] = self.request(i)
        for i in range(self.writers):
            if self.want[i] is None and not self.data[i] and busy and random.random() < 0.4:
                self.want[i] = self.request(8 + i)
        offers = [bool(d) and random.random() < 0.7 for d in self.data]
        aw = parameter("ADDR_W")
        dut.s_rreq_valid.value = sum((a is not None) << i for i, a in enumerate(self.ask))
        dut.s_rreq_addr.value = sum(a[0] << aw * i for i, a in enumerate(self.ask) if a)
        dut.s_rreq_len.value = sum(a[1] - 1 << 8 * i for i, a in enumerate(self.ask) if a)
        dut.s_wreq_valid.value = sum((w is not None) << i for i, w in enumerate(self.want))
        dut.s_wreq_addr.value = sum(w[0] << aw * i for i, w in enumerate(self.want) if w)
        dut.s_wreq_len.value = sum(w[1] - 1 << 8 * i for i, w in enumerate(self.want) if w)
        # An offered word stays until it is taken.
        self.offered = [o or (bool(d) and was) for o, d, was in zip(offers, self.data, getattr(self, "held", offers))]
        dut.s_wdat_valid.value = sum(o << i for i, o in enumerate(self.offered))
        dut.s_wdat_data.value = sum(d[0][0] << 8 * b * i for i, (d, o) in enumerate(zip(self.data, self.offered)) if o)
        dut.s_wdat_last.value = sum(int(d[0][1]) << i for i, (d, o) in enumerate(zip(self.data, self.offered)) if o)
        dut.s_wdat_strb.value = (1 << b * self.writers) - 1

    def look(self):
        """After the inputs have settled: who was served."""
        dut = self.dut
        ready, back = int(dut.s_rreq_ready.value), int(dut.m_rdat_valid.value)
        assert back & (back - 1) == 0
        for i in range(self.readers):
            if back >> i & 1:
                self.got[i].append(int(dut.m_rdat_data.value))
            if self.ask[i] and ready >> i & 1:
                self.asked[i] += [self.ask[i][0] + k * self.beat for k in range(self.ask[i][1])]
                self.ask[i] = None
        taken, granted, answered = (int(x.value) for x in (dut.s_wdat_ready, dut.s_wreq_ready, dut.m_wrsp_valid))
        self.held = list(self.offered)
        for i in range(self.writers):
            if self.offered[i] and taken >> i & 1:
                self.data[i].pop(0)
                self.held[i] = False
            if answered >> i & 1:
                self.open[i] -= 1
                assert self.open[i] >= 0, "a response went to a writer that had nothing open"
            if self.want[i] and granted >> i & 1:
                addr, beats = self.want[i]
                words = [random.getrandbits(8 * self.beat) for _ in range(beats)]
                self.written += [(addr + k * self.beat, w) for k, w in enumerate(words)]
                self.data[i] = [(w, k == beats - 1) for k, w in enumerate(words)]
                self.open[i] += 1
                self.want[i] = None


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], latency=[1, 25])
async def every_answer_reaches_its_client(dut, stall, latency):
    await start(dut, s_rreq_valid=0, s_wreq_valid=0, s_wdat_valid=0, s_rdat_valid=0, s_rdat_last=0, s_wrsp_valid=0)
    memory, clients = Memory(dut, parameter("MEM_W") // 8, stall, latency), Clients(dut)
    for step in range(1500):
        clients.drive(step < 1000)
        await Timer(1, "ns")
        clients.look()
        await cycles(dut, 1)
    for asked, got in zip(clients.asked, clients.got):
        assert got == [memory.word(a) for a in asked]
    assert sum(map(len, clients.got)) > 100 and len(clients.written) > 100
    assert clients.open == [0] * clients.writers
    last = dict(clients.written)
    assert all(memory.data[a] == w for a, w in last.items())


@pytest.mark.parametrize("readers, writers", [(5, 3), (1, 1), (2, 4)])
def test_mem_arbiter(readers, writers):
    run("dma", "mem_arbiter", {"READERS": readers, "WRITERS": writers, "MEM_W": 64, "ADDR_W": 40})
