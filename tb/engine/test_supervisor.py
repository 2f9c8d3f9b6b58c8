# SPDX-License-Identifier: Apache-2.0
"""Codes, instruction numbers and addresses as doc/registers.md, "Errors", has them."""

import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.bits import pack
from tb.support.runner import parameter, run

LOAD, WLOAD, COMPUTE, STORE, UPDATE, FETCH = range(6)
MALFORMED, DEADLOCK, WATCHDOG, STOPPED, UNKNOWN = 3, 4, 5, 6, 1
CLIENTS = {False: (FETCH, LOAD, WLOAD, UPDATE, UPDATE), True: (STORE, UPDATE, UPDATE)}     # of reads and of writes (doc/architecture.md)


class Bench:
    """The inputs of a program at work: nothing wrong, memory busy. `index` are the numbers of the engines' instructions and the next one."""

    def __init__(self, dut):
        self.dut = dut
        self.index = [random.getrandbits(24) for _ in range(6)]

    async def begin(self, **inputs) -> None:
        quiet = dict(s_finished=0, s_stop=0, cfg_watchdog=0, s_progress=0, s_mismatch=0, s_refused=0, s_refused_code=0, s_active=0, s_waiting=0,
                     s_draining=0, s_fault=0, s_quiet=0, s_index=pack(self.index[:5], 24), s_next=self.index[5])  # fmt: skip
        self.set(**(quiet | inputs), start=1)
        await cycles(self.dut, 1)
        self.set(start=0)
        assert self.dut.sts_running.value and not self.dut.m_abort.value
        assert not (self.dut.sts_code.value or self.dut.sts_index.value or self.dut.sts_addr.value)

    def set(self, **inputs) -> None:
        for name, value in inputs.items():
            getattr(self.dut, name).value = value

    def fault(self, code: int, writes: bool, client: int, addr: int) -> int:
        return addr << 15 | 1 << client + 10 | writes << 9 | code << 1 | 1

    async def aborted(self, code: int, index: int, addr: int = 0) -> None:
        """The error is there one cycle on; its report, the end on a quiet bus and nothing before."""
        dut = self.dut
        await cycles(dut, 1)
        assert dut.m_abort.value and dut.sts_running.value
        assert (int(dut.sts_code.value), int(dut.sts_index.value), int(dut.sts_addr.value)) == (code, index, addr)
        # A second error changes nothing, nor does an end; the bus is still at work.
        self.set(s_stop=1, s_mismatch=31, s_finished=1, s_fault=self.fault(8, True, 0, 5), s_quiet=0)
        for _ in range(random.randint(0, 20)):
            await cycles(dut, 1)
            assert dut.m_abort.value and not dut.core_rst.value and not dut.m_failed.value and not dut.m_done.value
        self.set(s_stop=0, s_mismatch=0, s_finished=0, s_fault=0, s_quiet=1)
        for cycle in range(4):
            await cycles(dut, 1)
            assert dut.core_rst.value and dut.sts_running.value and bool(dut.m_failed.value) == (cycle == 3)
        await cycles(dut, 1)
        assert not (dut.core_rst.value or dut.m_abort.value or dut.m_failed.value or dut.sts_running.value)
        assert (int(dut.sts_code.value), int(dut.sts_index.value), int(dut.sts_addr.value)) == (code, index, addr)


async def bench(dut) -> Bench:
    await start(dut, start=0)
    return Bench(dut)


@cocotb.test()
async def each_error_names_its_instruction(dut):
    b = await bench(dut)
    for writes, engines in CLIENTS.items():
        for client, engine in enumerate(engines):
            addr = random.getrandbits(parameter("ADDR_W"))
            await b.begin(s_active=31, s_waiting=31)
            await cycles(dut, random.randint(0, 5))
            code = random.choice([7, 8, 18, 19, 34, 35])
            b.set(s_fault=b.fault(code, writes, client, addr), s_mismatch=31, s_refused=1, s_stop=1)
            await b.aborted(code, b.index[engine], addr)
    for _ in range(30):
        mismatch, active = random.randint(1, 31), random.getrandbits(5)
        await b.begin(s_active=active)
        b.set(s_mismatch=mismatch, s_refused=1, s_refused_code=UNKNOWN, s_stop=1)
        await b.aborted(MALFORMED, b.index[(mismatch & -mismatch).bit_length() - 1])
        await b.begin(s_active=active)
        b.set(s_refused=1, s_refused_code=(code := random.randint(1, 3)), s_stop=random.getrandbits(1))
        await b.aborted(code, b.index[FETCH])
        await b.begin(s_active=active)
        b.set(s_stop=1)
        await b.aborted(STOPPED, b.index[FETCH])


@cocotb.test()
async def a_deadlock_is_found_after_256_cycles_in_which_nothing_could_happen(dut):
    b = await bench(dut)
    for _ in range(3):
        waiting = random.randint(1, 31)
        await b.begin(s_waiting=waiting, s_quiet=1)
        await cycles(dut, random.randint(0, 250))
        b.set(s_progress=1)
        await cycles(dut, 1)
        b.set(s_progress=0)
        for _ in range(255):
            await cycles(dut, 1)
            assert not dut.m_abort.value
        b.set(s_quiet=1)
        await b.aborted(DEADLOCK, b.index[(waiting & -waiting).bit_length() - 1])
    for busy in (dict(s_active=4), dict(s_draining=1), dict(s_waiting=0), dict(s_quiet=0)):
        await b.begin(**(dict(s_waiting=3, s_quiet=1) | busy))
        await cycles(dut, 600)
        assert dut.sts_running.value and not dut.m_abort.value


@cocotb.test()
async def the_watchdog_counts_cycles_without_progress(dut):
    b = await bench(dut)
    for limit in (1, 2, random.randint(3, 700)):
        active, waiting = random.getrandbits(5), random.getrandbits(5)
        await b.begin(cfg_watchdog=limit, s_active=active, s_waiting=waiting)
        for _ in range(5):
            if limit > 1:
                await cycles(dut, limit - 1)
            b.set(s_progress=1)
            await cycles(dut, 1)
            b.set(s_progress=0)
        await cycles(dut, limit)
        assert not dut.m_abort.value
        lost = active or waiting
        await b.aborted(WATCHDOG, b.index[(lost & -lost).bit_length() - 1] if lost else b.index[FETCH])


@cocotb.test()
async def a_good_end(dut):
    b = await bench(dut)
    await cycles(dut, 3)
    b.set(s_finished=1, s_stop=1)           # nothing runs: nothing ends, nothing is stopped
    await cycles(dut, 3)
    assert not (dut.m_done.value or dut.m_abort.value)
    for _ in range(3):
        await b.begin()
        await cycles(dut, random.randint(1, 900))
        assert not dut.m_done.value
        b.set(s_finished=1)
        await cycles(dut, 1)
        assert not (dut.sts_running.value or dut.m_abort.value or dut.sts_code.value)
        await cycles(dut, 2)
        assert not dut.m_done.value         # a pulse
    await b.begin()
    b.set(s_finished=1, s_mismatch=4)       # an error in the cycle of the end is an error
    await b.aborted(MALFORMED, b.index[COMPUTE])


@cocotb.test()
async def a_reset_ends_an_error(dut):
    b = await bench(dut)
    await b.begin()
    b.set(s_stop=1)
    await cycles(dut, 3)
    dut.rst.value = 1
    await cycles(dut, 1)
    dut.rst.value = 0
    assert not (dut.m_abort.value or dut.sts_running.value or dut.core_rst.value or dut.sts_code.value)


@pytest.mark.parametrize("width", [32, 48])
def test_supervisor(width):
    run("engine", "gc_supervisor", {"ADDR_W": width})
