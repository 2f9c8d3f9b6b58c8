# SPDX-License-Identifier: Apache-2.0
"""Random requests through random windows, error responses and aborts: nothing forbidden ever shows at the port,
everything allowed does, in order, and the report names code, client and address."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.runner import expect_elaboration_error, parameter, run

WINDOWS, CLIENTS, BEAT = 3, 5, 16
INPUTS = (
    "cfg_base",
    "cfg_end",
    "cfg_read",
    "cfg_write",
    "s_abort",
    "s_rreq_valid",
    "s_rreq_addr",
    "s_rreq_len",
    "s_rreq_client",
    "s_wreq_valid",
    "s_wreq_addr",
    "s_wreq_len",
    "s_wreq_client",
    "s_wdat_valid",
    "m_rreq_ready",
    "s_rdat_valid",
    "s_rdat_last",
    "s_rdat_resp",
    "m_wreq_ready",
    "m_wdat_ready",
    "s_wrsp_valid",
    "s_wrsp_resp",
)
CODES = {7, 8, *(16 + r for r in (1, 2, 3)), *(32 + r for r in (1, 2, 3)), "abort"}


class Side:
    """One side of the guard and the memory behind it, cycle by cycle. Requests are (address, beats, client)."""

    def __init__(self, dut, kind, allowed):
        self.dut, self.kind, self.allowed = dut, kind, allowed
        self.offered, self.inside, self.open, self.held = (
            None,
            deque(),
            deque(),
            None,
        )  # open: [address, client, beats left]

    def port(self, name):
        return getattr(self.dut, name.replace("?", self.kind))

    def drive(self, offer):
        """New values for the next cycle; `offer`: a request of the arbiter, or None."""
        self.offered = self.offered or offer
        addr, beats, client = self.offered or (random.getrandbits(parameter("ADDR_W")), 1, 0)
        self.port("s_?req_valid").value = int(self.offered is not None)
        self.port("s_?req_addr").value, self.port("s_?req_len").value, self.port("s_?req_client").value = (
            addr,
            beats - 1,
            1 << client,
        )
        self.ready = random.random() < 0.7
        self.port("m_?req_ready").value = int(self.ready)

    def sample(self):
        """After ReadOnly. Returns the refused request that is reported, if any."""
        if self.port("m_?req_valid").value:
            shown = int(self.port("m_?req_addr").value), int(self.port("m_?req_len").value) + 1
            assert shown == self.inside[0][:2], "another request than the oldest"
            assert self.allowed(shown[0]), f"{shown[0]:#x} shown, but in no window"
            assert self.held in (None, shown), "changed while stalled"
            self.held = shown
            if self.ready:
                addr, beats, client = self.inside.popleft()
                self.open.append([addr, client, beats])
                self.held = None
        else:
            assert self.held is None, "withdrawn"
        if self.offered and self.port("s_?req_ready").value:
            self.inside.append(self.offered)
            self.offered = None
        blocked = self.inside and not self.allowed(self.inside[0][0])
        return self.inside[0] if blocked else None


@cocotb.test()
async def nothing_forbidden_passes_and_the_first_fault_is_named(dut):
    await start(dut, **dict.fromkeys(INPUTS, 0))
    seen = set()
    for number in range(2000):
        await episode(dut, seen)
        if number >= 60 and len(seen) == len(CODES):
            break
    assert seen == CODES


async def episode(dut, seen):
    """Traffic until a fault or an abort, then the way to quiet, then a reset."""
    await reset(dut)
    page_w = parameter("ADDR_W") - 12
    low = random.choice(
        (0, random.getrandbits(page_w) % ((1 << page_w) - 200), (1 << page_w) - 200)
    )  # of 200 pages, the highest ones as well
    windows = [sorted(random.sample(range(low, low + 200), 2)) for _ in range(WINDOWS)]
    rights = [random.randrange(4) for _ in range(WINDOWS)]
    dut.cfg_base.value, dut.cfg_end.value = (pack([w[k] for w in windows], page_w) for k in (0, 1))
    dut.cfg_read.value, dut.cfg_write.value = (sum((r >> bit & 1) << n for n, r in enumerate(rights)) for bit in (0, 1))

    def allowed(bit):
        return lambda addr: any(r >> bit & 1 and base <= addr >> 12 < end for r, (base, end) in zip(rights, windows))

    reads, writes = Side(dut, "r", allowed(0)), Side(dut, "w", allowed(1))
    (daring, failing), limit = (
        random.choice([(0, 0), (0.05, 0), (0, 0.03), (0, 0.03), (0.02, 0.02)]),
        random.randint(30, 300),
    )
    aborted = fault = None
    for now in range(2000):
        for side, clients in ((reads, CLIENTS), (writes, 3)):
            first = random.randrange(256)
            offer = (
                low + random.randrange(200) << 12 | first * BEAT,
                random.randint(1, min(16, 256 - first)),
                random.randrange(clients),
            )
            good = random.random() < 0.5 and (side.allowed(offer[0]) or random.random() < daring)
            # mem_arbiter asks for a write burst when the beats of the one before have left; the writer then has all
            # beats of it.
            free = (
                len(side.open) + len(side.inside) < 30
                if side is reads
                else not side.inside and not any(burst[2] for burst in side.open)
            )
            side.drive(offer if good and free and aborted is None else None)
        dut.s_wdat_valid.value = 1
        take, answer = random.random() < 0.6, bool(writes.open) and not writes.open[0][2] and random.random() < 0.3
        send = bool(reads.open) and random.random() < 0.6
        responses = [random.randint(1, 3) if random.random() < failing else 0 for _ in range(2)]
        # Answers to what was asked before the reset, that nobody waits for.
        late_read, late_answer = (not side.open and random.random() < 0.2 for side in (reads, writes))
        dut.m_wdat_ready.value, dut.s_wrsp_valid.value, dut.s_rdat_valid.value = (
            int(take),
            int(answer or late_answer),
            int(send or late_read),
        )
        dut.s_rdat_last.value = int(reads.open[0][2] == 1 if send else random.getrandbits(1))
        if late_read or late_answer:
            responses = [
                random.randrange(4) if late else response for late, response in zip((late_read, late_answer), responses)
            ]
        dut.s_rdat_resp.value, dut.s_wrsp_resp.value = responses
        dut.s_abort.value = int(aborted is not None)
        await ReadOnly()
        told = (
            (int(dut.m_code.value), bool(dut.m_writes.value), int(dut.m_client.value), int(dut.m_addr.value))
            if dut.m_error.value
            else None
        )
        due = sum(burst[2] for burst in writes.open)
        assert bool(dut.m_wdat_valid.value) == (due > 0), "beats before their request or after their last"
        assert bool(dut.s_wdat_ready.value) == (take and due > 0)
        quiet = bool(dut.sts_quiet.value)
        assert (bool(dut.m_rdat_valid.value), bool(dut.m_wrsp_valid.value)) == (send, answer)
        taken = [
            bool(port("m_?req_valid").value) and side.ready
            for side, port in ((writes, writes.port), (reads, reads.port))
        ]
        assert int(dut.m_moves.value) == int(
            "".join(str(int(move)) for move in (answer, *taken, take and due > 0, send)), 2
        )
        expected = None
        if send and responses[0]:
            expected = 16 + responses[0], False, 1 << reads.open[0][1], reads.open[0][0]
        elif answer and responses[1]:
            expected = 32 + responses[1], True, 1 << writes.open[0][1], writes.open[0][0]
        if expected:
            assert told == expected
        open_before, shown = reads.open or writes.open, reads.held or writes.held
        if take and due:
            next(burst for burst in writes.open if burst[2])[2] -= 1
        if answer:
            writes.open.popleft()
        if send:
            reads.open[0][2] -= 1
            if not reads.open[0][2]:
                reads.open.popleft()
        read_refused, write_refused = reads.sample(), writes.sample()
        if told and not expected:
            assert told[0] in (7, 8)
            side, blocked = (writes, write_refused) if told[1] else (reads, read_refused)
            assert blocked and told == (8 if told[1] else 7, told[1], 1 << blocked[2], blocked[0])
        if quiet:
            assert not open_before and not shown, "quiet with bursts outstanding"
        if told and fault is None:
            fault = told[0]
        if aborted is not None and now > aborted + 2 and quiet:
            seen.add(fault or "abort")
            await cycles(dut, 1)
            return
        await cycles(dut, 1)
        if aborted is None and (fault or now >= limit):
            aborted = now
    raise AssertionError("not quiet after an abort")


@pytest.mark.parametrize("least, most", [(32, 32), (33, 64)])
def test_memory_guard(least, most):
    run("dma", "gc_memory_guard", {"ADDR_W": random.randint(least, most), "CLIENTS": CLIENTS, "WINDOWS": WINDOWS})


@pytest.mark.parametrize(
    "bad, reason", [({"ADDR_W": 31}, "ADDR_W_must_be_32_to_64"), ({"WINDOWS": 0}, "WINDOWS_or_CLIENTS_below_1")]
)
def test_refuses(bad, reason):
    expect_elaboration_error("dma", "gc_memory_guard", bad, reason)
