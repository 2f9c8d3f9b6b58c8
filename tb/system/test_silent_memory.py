# SPDX-License-Identifier: Apache-2.0
"""A memory that falls silent: every program still ends, with its code and an interrupt, and there is a way back that
trains on bit-exactly."""

import pytest

from gradcore.isa import registers as reg
from gradcore.sim.backend import IRQ

OPEN = reg.FAILED | reg.BUS_OPEN
BURSTS = {"read": 40, "write": 8}  # that every program has
WATCHDOG = 700  # more than the slowest answer takes


def silence(bench, kind, fault):
    bench.backend.fault(kind, int(bench.rng.integers(0, BURSTS[kind])), fault)


def start_is_ignored(bench):
    told = [bench.backend.read32(offset) for offset in (reg.STATUS, reg.ERROR, reg.IRQ_STATUS)]
    traffic = bench.backend.traffic
    bench.backend.write32(reg.CTRL, reg.START)
    bench.backend.run(50)
    assert told == [bench.backend.read32(offset) for offset in (reg.STATUS, reg.ERROR, reg.IRQ_STATUS)]
    assert bench.backend.traffic == traffic


def forced(bench, memory_first):
    """The way back by force: memory reset and forced reset in either order. Nothing of the old writes comes any
    more."""
    dram = bench.backend.dram.copy()
    calls = [bench.backend.forget, lambda: bench.backend.write32(reg.CTRL, reg.FORCE)]
    for call in calls if memory_first else reversed(calls):
        call()
    assert bench.closes(20) and bench.backend.outstanding == 0
    bench.backend.run(1000)
    assert (bench.backend.dram == dram).all()


@pytest.mark.parametrize("fault", ["silent", "deaf"])
@pytest.mark.parametrize("kind", BURSTS)
def test_watchdog_ends_it_and_there_are_two_ways_back(bench, kind, fault):
    bench.backend.write32(reg.WATCHDOG, WATCHDOG)
    for back in ("force", "reset, force", "revive"):
        silence(bench, kind, fault)
        error = bench.bad_step(OPEN)
        assert error.code == 5 and error.index <= len(bench.program.ops)
        start_is_ignored(bench)
        assert not bench.closes(5000)
        if back == "revive":
            bench.backend.revive()
            assert bench.closes(2000) and bench.backend.outstanding == 0
            bench.device.load(bench.snapshot)  # the late writes
        else:
            forced(bench, back != "force")
        bench.good_step()
    bench.backend.write32(reg.WATCHDOG, 20_000)


@pytest.mark.parametrize("watchdog", [0, WATCHDOG])
def test_stop_ends_a_program_on_a_dead_memory(bench, watchdog):
    """Without a watchdog after 65536 cycles of silence."""
    bench.backend.write32(reg.WATCHDOG, watchdog)
    for kind in BURSTS:
        bench.backend.fault(kind, 0, "silent" if kind == "read" else "deaf")
        before = bench.backend.cycles
        error = bench.stopped_step(600 if kind == "read" else 4000, OPEN)
        assert error.code == 6 or (error.code == 5 and kind == "write" and watchdog)
        assert (bench.backend.cycles - before > 65536) == (watchdog == 0)
        forced(bench, False)
        bench.good_step()
    bench.backend.write32(reg.WATCHDOG, 20_000)


def test_the_first_error_stays_told_when_the_memory_falls_silent_after_it(bench):
    bench.backend.write32(reg.WATCHDOG, WATCHDOG)
    bench.backend.fault("read", 0, "silent")
    error = bench.stopped_step(300, OPEN)
    assert (error.code, error.index) == (6, 0)
    bench.backend.revive()
    assert bench.closes(2000)
    bench.device.load(bench.snapshot)
    bench.backend.write32(reg.WATCHDOG, 20_000)


def test_force_does_nothing_without_bus_open(bench):
    bench.backend.write32(reg.CTRL, reg.FORCE)
    wait = bench.backend.wait_irq

    def force_then_wait(timeout):
        while bench.backend.run(int(bench.rng.integers(1, 300))) != IRQ:
            bench.backend.write32(reg.CTRL, reg.FORCE)
        return wait(timeout)

    bench.backend.wait_irq = force_then_wait
    bench.good_step()
    bench.backend.wait_irq = wait


def test_late_answers_after_a_force_reach_nobody(bench):
    """The memory was not reset: it answers what nobody waits for any more. While no program runs that does no harm."""
    bench.backend.write32(reg.WATCHDOG, WATCHDOG)
    for kind in BURSTS:
        silence(bench, kind, "silent")
        bench.bad_step(OPEN)
        bench.backend.write32(reg.CTRL, reg.FORCE)
        assert bench.closes(20)
        owed = bench.backend.outstanding
        bench.backend.revive()
        bench.backend.run(3000)
        assert owed and bench.backend.outstanding == 0 and bench.backend.read32(reg.STATUS) == reg.FAILED
        bench.device.load(bench.snapshot)
        bench.good_step()
    bench.backend.write32(reg.WATCHDOG, 20_000)
