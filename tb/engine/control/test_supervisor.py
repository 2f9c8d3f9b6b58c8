# SPDX-License-Identifier: Apache-2.0
"""Codes, instruction numbers and addresses as doc/registers.md, "Errors", has them."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly, Timer

from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.cases import first
from tb.support.runner import parameter, run

LOAD, WLOAD, COMPUTE, STORE, UPDATE, FETCH = range(6)
MALFORMED, DEADLOCK, WATCHDOG, STOPPED, MISALIGNED, OVERFLOW, UNKNOWN = 3, 4, 5, 6, 9, 10, 1
ENDLESS = 65536  # cycles that a program without a watchdog waits for the bus after an error
CLIENTS = {
    False: (FETCH, LOAD, WLOAD, UPDATE, UPDATE, STORE),
    True: (STORE, STORE, UPDATE, UPDATE),
}  # of reads and of writes (doc/architecture.md)


class Bench:
    """The inputs of a program at work: nothing wrong, memory busy. `index` are the numbers of the engines' instructions
    and the next one."""

    def __init__(self, dut):
        self.dut = dut
        self.index = [random.getrandbits(24) for _ in range(6)]
        self.asked = random.getrandbits(parameter("ADDR_W")) | 1

    async def begin(self, **inputs) -> None:
        quiet = dict(
            s_misaligned=0,
            s_force=0,
            s_moved=0,
            s_overflow=0,
            s_finished=0,
            s_stop=0,
            cfg_watchdog=0,
            s_progress=0,
            s_mismatch=0,
            s_refused=0,
            s_refused_code=0,
            s_active=0,
            s_waiting=0,
            s_draining=0,
            s_fault=0,
            s_quiet=0,
            s_index=pack(self.index[:5], 24),
            s_next=self.index[5],
        )
        self.set(**(quiet | inputs), s_asked=1, s_asked_addr=self.asked, start=0)
        await cycles(self.dut, 1)
        self.set(s_asked=0, s_asked_addr=random.getrandbits(parameter("ADDR_W")), start=1)
        await cycles(self.dut, 1)
        self.set(start=0)
        assert self.dut.sts_running.value and not self.dut.m_abort.value
        assert not (self.dut.sts_code.value or self.dut.sts_index.value)
        assert self.dut.sts_addr.value == (self.asked if inputs.get("s_misaligned") else 0)

    def set(self, **inputs) -> None:
        for name, value in inputs.items():
            getattr(self.dut, name).value = value

    def fault(self, code: int, writes: bool, client: int, addr: int) -> int:
        return addr << 16 | 1 << client + 10 | writes << 9 | code << 1 | 1

    def told(self):
        dut = self.dut
        return int(dut.sts_code.value), int(dut.sts_index.value), int(dut.sts_addr.value)

    async def aborted(self, code: int, index: int, addr: int = 0) -> None:
        """The error is there one cycle on, the number of its instruction one more; the end on a quiet bus and nothing
        before."""
        dut = self.dut
        await cycles(dut, 1)
        assert dut.m_abort.value and dut.sts_running.value
        assert self.told()[::2] == (code, addr)
        # A second error changes nothing, nor do an end and other numbers; the bus is still at work.
        self.set(
            s_index=random.getrandbits(120),
            s_next=random.getrandbits(24),
            s_stop=1,
            s_force=1,
            s_overflow=1,
            s_mismatch=31,
            s_finished=1,
            s_fault=self.fault(8, True, 0, 5),
            s_quiet=0,
            s_moved=1,
        )
        for _ in range(random.randint(0, 20)):
            await cycles(dut, 1)
            assert dut.m_abort.value and not dut.core_rst.value and not dut.m_failed.value and not dut.m_done.value
        self.set(s_stop=0, s_force=0, s_mismatch=0, s_finished=0, s_fault=0, s_quiet=1)
        await self.clears(True)
        assert self.told() == (code, index, addr)

    async def clears(self, running: bool, forced: bool = False) -> None:
        """Four cycles of core_rst; a running program fails with the last of them, another one has failed before."""
        dut = self.dut
        for cycle in range(4):
            await cycles(dut, 1)
            assert (
                dut.core_rst.value
                and dut.m_abort.value
                and dut.sts_running.value == running
                and dut.sts_open.value == (not running)
            )
            assert bool(dut.m_failed.value) == (running and cycle == 3) and bool(dut.m_forget.value) == (
                forced and cycle == 0
            )
        await cycles(dut, 1)
        assert not (
            dut.core_rst.value
            or dut.m_abort.value
            or dut.m_failed.value
            or dut.m_forget.value
            or dut.sts_running.value
            or dut.sts_open.value
        )

    async def gives_up(self, limit: int) -> None:
        """After `limit` cycles in which the bus does not move, counted anew from the error and from each move on, the
        program fails."""
        dut = self.dut
        await cycles(dut, 1)
        assert dut.m_abort.value
        self.set(s_progress=1)  # whatever still goes on inside
        for _ in range(random.randint(0, 3)):
            await cycles(dut, random.randint(1, limit))
            self.set(s_moved=1, s_quiet=0)
            await cycles(dut, 1)
            self.set(s_moved=0)
        await Timer(10 * limit, "ns")  # cycles; that it fails would stay
        told = self.told()
        assert dut.sts_running.value and not (dut.m_failed.value or dut.sts_open.value or dut.core_rst.value)
        if not dut.m_failed.value:  # of the cycle in which the error was seen
            await cycles(dut, 1)
        assert dut.m_failed.value and dut.sts_running.value
        await cycles(dut, 1)
        for _ in range(random.randint(1, 2 * min(limit, 500))):
            self.set(
                s_stop=random.getrandbits(1),
                s_mismatch=random.getrandbits(5),
                s_finished=random.getrandbits(1),
                s_moved=random.getrandbits(1),
            )
            assert dut.m_abort.value and dut.sts_open.value and self.told() == told
            assert not (
                dut.m_failed.value
                or dut.m_done.value
                or dut.sts_running.value
                or dut.core_rst.value
                or dut.m_forget.value
            )
            await cycles(dut, 1)
        self.set(s_stop=0, s_mismatch=0, s_finished=0)


async def bench(dut) -> Bench:
    await start(dut, start=0, s_asked=0, cfg_watchdog=0)
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
        await b.begin(s_active=active)
        b.set(s_overflow=1, s_stop=random.getrandbits(1))
        await b.aborted(OVERFLOW, b.index[FETCH])


@cocotb.test()
async def a_misaligned_address_ends_the_program_at_once(dut):
    b = await bench(dut)
    for _ in range(3):
        await b.begin(s_misaligned=1, s_finished=1, s_stop=random.getrandbits(1))
        await b.aborted(MISALIGNED, b.index[FETCH], b.asked)
        b.set(s_misaligned=0)
        await cycles(dut, 3)
        assert b.told() == (MISALIGNED, b.index[FETCH], b.asked)


@cocotb.test()
async def a_bus_that_stays_still_is_not_waited_for(dut):
    """Then its answers come, or they are given up."""
    b = await bench(dut)
    for limit in (1, 2, 700, 40):
        for forced in (False, True):
            await b.begin(cfg_watchdog=limit, s_progress=1)
            await cycles(dut, random.randint(0, 2 * limit))
            b.set(s_stop=1, s_progress=0)
            await b.gives_up(limit)
            b.set(**({"s_force": 1} if forced else {"s_quiet": 1}))
            await b.clears(False, forced)
            b.set(s_force=0)


@cocotb.test()
async def a_bus_that_becomes_quiet_in_time_is_clean_at_the_end(dut):
    b = await bench(dut)
    for delay in range(1, 12):
        await b.begin(cfg_watchdog=6)
        b.set(s_stop=1)
        await cycles(dut, delay)
        b.set(s_quiet=1, s_stop=0)
        failed = opened = False
        for _ in range(12):
            await ReadOnly()
            opened |= bool(dut.sts_open.value)
            assert not dut.m_failed.value or not failed
            failed |= bool(dut.m_failed.value)
            await cycles(dut, 1)
        assert opened == (delay > 8) and (failed or opened) and not dut.m_abort.value


@cocotb.test()
async def without_a_watchdog_the_wait_is_long(dut):
    b = await bench(dut)
    await b.begin()
    await Timer(10 * (ENDLESS + 100), "ns")
    assert dut.sts_running.value and not dut.m_abort.value
    b.set(s_mismatch=1)
    await b.gives_up(ENDLESS)
    b.set(s_force=1)
    await b.clears(False, True)


@cocotb.test()
async def force_means_nothing_to_a_running_program_and_to_none(dut):
    b = await bench(dut)
    b.set(s_force=1)
    await cycles(dut, 10)
    assert not (dut.core_rst.value or dut.m_forget.value)
    await b.begin(s_force=1)
    await cycles(dut, 10)
    assert not (dut.core_rst.value or dut.m_forget.value) and dut.sts_running.value
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
        for _ in range(256):
            await cycles(dut, 1)
            assert not dut.m_abort.value
        b.set(s_quiet=1)
        await b.aborted(DEADLOCK, b.index[(waiting & -waiting).bit_length() - 1])
    for busy in (dict(s_active=4), dict(s_draining=1), dict(s_waiting=0), dict(s_quiet=0)):
        await b.begin(**(dict(s_waiting=3, s_quiet=1) | busy))
        await cycles(dut, 600)
        assert dut.sts_running.value and not dut.m_abort.value
    b.set(s_quiet=1)  # the last of them
    await b.aborted(DEADLOCK, b.index[LOAD])


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
        await cycles(dut, limit + 1)
        assert not dut.m_abort.value
        lost = active or waiting
        await b.aborted(WATCHDOG, b.index[(lost & -lost).bit_length() - 1] if lost else b.index[FETCH])


@cocotb.test()
async def a_good_end(dut):
    b = await bench(dut)
    await cycles(dut, 3)
    b.set(s_finished=1, s_stop=1)  # nothing runs: nothing ends, nothing is stopped
    await cycles(dut, 3)
    assert not (dut.m_done.value or dut.m_abort.value)
    for _ in range(3):
        await b.begin()
        await cycles(dut, random.randint(1, 900))
        assert not dut.m_done.value
        b.set(s_finished=1)
        await cycles(dut, 1)
        assert dut.m_done.value and dut.sts_running.value
        b.set(s_stop=1, s_mismatch=31)  # too late
        await cycles(dut, 1)
        assert not (dut.sts_running.value or dut.m_abort.value or dut.sts_code.value)
        b.set(s_stop=0, s_mismatch=0)
        await cycles(dut, 2)
        assert not dut.m_done.value  # a pulse
    await b.begin()
    b.set(s_finished=1, s_mismatch=4)  # an error in the cycle of the end is an error
    await b.aborted(MALFORMED, b.index[COMPUTE])


@cocotb.test()
async def a_reset_ends_an_error(dut):
    b = await bench(dut)
    await b.begin()
    b.set(s_stop=1)
    await cycles(dut, 3)
    await reset(dut, 1)
    assert not (
        dut.m_abort.value or dut.sts_running.value or dut.core_rst.value or dut.sts_code.value or dut.sts_open.value
    )
    await b.begin(cfg_watchdog=2)
    b.set(s_stop=1)
    await b.gives_up(2)
    await reset(dut, 1)
    assert not (dut.m_abort.value or dut.sts_open.value or dut.core_rst.value or dut.m_forget.value)


@pytest.mark.parametrize("width", first(1, [48, 32]))
def test_supervisor(width):
    run("engine", "gc_supervisor", {"ADDR_W": width})
