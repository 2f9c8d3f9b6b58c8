# SPDX-License-Identifier: Apache-2.0
"""A memory behind the native port (doc/streams.md) with random latency and stalls, and the bursts that a descriptor means."""

import random

import cocotb
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles


def runs(addr, run_beats, n1, stride1, n2, stride2):
    """(address, beats) of the contiguous runs."""
    return [(addr + i * stride1 + j * stride2, run_beats) for j in range(n2) for i in range(n1)] if run_beats else []


def words(descriptor):
    """A descriptor as the payload of its stream."""
    return dict(zip(("addr", "run_beats", "n1", "stride1", "n2", "stride2"), descriptor, strict=True))


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
    run_beats, n1, n2 = random.choice([0, 1, 1, random.randint(1, 20), random.randint(1, most)]), random.randint(1, 3), random.choice([0, 1, 2])
    stride1 = beat * (run_beats + random.randint(0, 100))
    return (beat * random.randrange(4096), run_beats, n1, stride1, n2, stride1 * n1 + beat * random.randint(0, 100))


class Memory:
    """Serves `dut`'s native port; `data` maps beat addresses to words. Checks the port's rules."""

    def __init__(self, dut, beat, stall=0.0, latency=20):
        self.dut, self.beat, self.stall, self.latency = dut, beat, stall, latency
        self.data, self.reads, self.writes = {}, [], []
        for name in ("s_rdat_valid", "s_wrsp_valid"):
            if hasattr(dut, name):
                getattr(dut, name).value = 0
        if hasattr(dut, "m_rreq_valid"):
            self.tasks = [cocotb.start_soon(self._read())]
        if hasattr(dut, "m_wreq_valid"):
            cocotb.start_soon(self._write())

    def word(self, addr):
        return self.data.setdefault(addr, random.getrandbits(8 * self.beat))

    def _check(self, addr, length):
        assert addr % self.beat == 0 and addr // 4096 == (addr + (length + 1) * self.beat - 1) // 4096, "burst crosses 4 KiB"

    async def _read(self):
        dut, queue, now = self.dut, [], 0
        while True:
            dut.m_rreq_ready.value = int(random.random() >= self.stall)
            send = bool(queue) and queue[0][0] <= now and random.random() >= self.stall
            dut.s_rdat_valid.value = int(send)
            if send:
                _, addr, last = queue[0]
                dut.s_rdat_data.value = self.word(addr)
                if hasattr(dut, "s_rdat_last"):
                    dut.s_rdat_last.value = int(last)
            await ReadOnly()
            if send:
                queue.pop(0)
            if dut.m_rreq_valid.value and dut.m_rreq_ready.value:
                addr, length = int(dut.m_rreq_addr.value), int(dut.m_rreq_len.value)
                self._check(addr, length)
                self.reads.append((addr, length))
                queue += [(now + self.latency, addr + i * self.beat, i == length) for i in range(length + 1)]
            now += 1
            await cycles(dut, 1)

    async def _write(self):
        dut, queue, answers, now = self.dut, [], [], 0
        while True:
            dut.m_wreq_ready.value = int(random.random() >= self.stall)
            dut.m_wdat_ready.value = int(bool(queue) and random.random() >= self.stall)
            answer = bool(answers) and answers[0] <= now
            dut.s_wrsp_valid.value = int(answer)
            if answer:
                answers.pop(0)
            await ReadOnly()
            if dut.m_wdat_valid.value and dut.m_wdat_ready.value:
                addr, last = queue.pop(0)
                assert int(dut.m_wdat_strb.value) == (1 << self.beat) - 1
                assert bool(dut.m_wdat_last.value) == last
                self.data[addr] = int(dut.m_wdat_data.value)
                if last:
                    answers.append(now + self.latency)
            if dut.m_wreq_valid.value and dut.m_wreq_ready.value:
                addr, length = int(dut.m_wreq_addr.value), int(dut.m_wreq_len.value)
                self._check(addr, length)
                self.writes.append((addr, length))
                queue += [(addr + i * self.beat, i == length) for i in range(length + 1)]
            now += 1
            await cycles(dut, 1)
