# SPDX-License-Identifier: Apache-2.0
"""What a running program depends on cannot be changed under it; what cannot work is refused before it begins."""

from dataclasses import replace

import pytest

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.instruction import ENGINE, Opcode
from gradcore.sim.backend import IRQ
from tb.support.safety import changed
from tb.support.sim import SIZE

BASES = (reg.PROG_BASE, *reg.BASE)
LOCKED = (
    reg.SEED,
    reg.PROG_LENGTH,
    reg.WATCHDOG,
    *(base + part for base in BASES for part in (0, 4)),
    *range(reg.WINDOW, reg.WINDOW + 4 * reg.WINDOW_BYTES, 4),
)


def test_registers_written_under_a_running_program_change_nothing(bench):
    """Every locked register, at random moments; the step is good, and all keep their values."""
    wait, todo, cycles = bench.backend.wait_irq, [], bench.device.counters()["cycles"]

    def write_then_wait(timeout):
        bench.backend.wait_irq = wait  # the driver waits in several parts
        values = [bench.backend.read32(offset) for offset in LOCKED]
        assert not bench.backend.read32(reg.STATUS) & reg.LOCKED_WRITE
        for _n in range(len(LOCKED)):
            offset = int(bench.rng.choice(todo or todo.extend(LOCKED) or todo))
            todo.remove(offset)
            bench.backend.write32(offset, int(bench.rng.integers(1 << 32)))
            assert bench.backend.run(int(bench.rng.integers(1, cycles // 80))) != IRQ
        assert bench.backend.read32(reg.STATUS) == reg.BUSY | reg.LOCKED_WRITE
        assert values == [bench.backend.read32(offset) for offset in LOCKED]
        return wait(timeout)

    for _ in range(2):
        bench.backend.wait_irq = write_then_wait
        bench.good_step()
        assert bench.backend.read32(reg.STATUS) & ~reg.GRAD_OVERFLOW == reg.DONE | reg.LOCKED_WRITE
    bench.good_step()
    assert not bench.backend.read32(reg.STATUS) & reg.LOCKED_WRITE


def test_locked_windows_open_with_a_reset_alone(bench):
    backend = bench.backend
    values = {offset: backend.read32(offset) for offset in range(reg.WINDOW, reg.WINDOW + 4 * reg.WINDOW_BYTES, 4)}
    backend.write32(reg.LOCK, 0)
    assert backend.read32(reg.LOCK) == 0
    backend.write32(reg.LOCK, reg.LOCK_WINDOWS)
    backend.write32(reg.LOCK, 0)
    assert backend.read32(reg.LOCK) == reg.LOCK_WINDOWS
    for offset, value in values.items():
        backend.write32(offset, ~value)
        assert backend.read32(offset) == value
    assert backend.read32(reg.STATUS) & reg.LOCKED_WRITE
    bench.good_step()  # opens the same windows again: ignored
    backend.write32(reg.SEED, 5)  # the rest is not locked
    assert backend.read32(reg.SEED) == 5
    bench.stopped_step(300)
    assert backend.read32(reg.LOCK) == reg.LOCK_WINDOWS
    backend.reset()
    assert backend.read32(reg.LOCK) == 0 and not any(backend.read32(offset) for offset in LOCKED)
    backend.write32(reg.IRQ_ENABLE, reg.IRQ_DONE | reg.IRQ_FAILED)


@pytest.mark.parametrize("base", BASES, ids=("PROG_BASE", "BASE0", "BASE1", "BASE2", "BASE3"))
def test_misaligned_base(bench, base):
    bench.good_step()
    backend, beat = bench.backend, bench.backend.beat_bytes
    aligned, traffic = backend.read32(base), backend.traffic
    for low in (1, beat // 2, beat - 1):
        backend.write32(base, aligned + low)
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.write32(reg.CTRL, reg.START)
        assert backend.run(50) == IRQ and backend.read32(reg.STATUS) == reg.FAILED
        address = aligned + low | backend.read32(base + 4) << 32
        assert (backend.read32(reg.ERROR), backend.read32(reg.ERROR_ADDR), backend.read32(reg.ERROR_ADDR + 4)) == (
            9,
            address & 0xFFFFFFFF,
            address >> 32,
        )
    assert backend.traffic == traffic
    backend.write32(base, aligned)


def test_the_first_misaligned_address_is_told(bench):
    backend, high = bench.backend, 0x1234
    for number in reversed(range(5)):
        backend.write32(BASES[number], (number << 16) + 1)
        backend.write32(BASES[number] + 4, high + number)
        backend.write32(reg.CTRL, reg.START)
        backend.run(30)
        told = [backend.read32(offset) for offset in (reg.STATUS, reg.ERROR, reg.ERROR_ADDR, reg.ERROR_ADDR + 4)]
        assert told == [reg.FAILED, 9, (number << 16) + 1, high + number]


def test_token_overflow(bench):
    """4095 tokens that nobody takes are fine. One more ends the program while the LOADs behind it run; ERROR names the
    next one given out."""
    device, backend = bench.device, bench.backend
    memory, place = backend.memory, device._base + (1 << 20)
    load = next(instr for instr in bench.program.instructions if instr.opcode == Opcode.LOAD)
    small = changed(
        load,
        wait=0,
        signal=0,
        n_words=1,
        n_b=1,
        n_y=1,
        n_x=1,
        n_c=1,
        run_beats=-(-device.config.vector_bytes // backend.beat_bytes),
        n1=1,
        n2=1,
        base_sel=0,
        addr=0,
    )
    backend.tune(replace(memory, latency=1, stall=0, jitter=0))
    for tokens, status in ((4095, reg.DONE), (4096, reg.FAILED)):
        binary = isa.assemble(
            [*[changed(small, signal=1 << ENGINE[Opcode.UPDATE])] * tokens, *[small] * 40, isa.Instruction(Opcode.END)]
        )
        backend.mem_write(place, binary)
        for offset, value in (
            reg.window(0, 0, SIZE, reg.READ) | {reg.PROG_BASE: place, reg.PROG_LENGTH: tokens + 41}
        ).items():
            backend.write32(offset, value)
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.write32(reg.CTRL, reg.START)
        assert backend.wait_irq(600) and backend.read32(reg.STATUS) == status
        code, index = backend.read32(reg.ERROR) & 0xFF, backend.read32(reg.ERROR) >> 8
        assert (code == 10 and tokens <= index <= tokens + 20) if status == reg.FAILED else (code, index) == (0, 0)
    backend.tune(memory)


def test_done_counts_as_idle_for_the_locks(bench):
    """Busy alone locks: after the end, good or bad, everything can be written again."""
    for end in (bench.good_step, lambda: bench.stopped_step(200)):
        end()
        for offset in BASES:
            value = int(bench.rng.integers(1 << 32))
            bench.backend.write32(offset, value)
            assert bench.backend.read32(offset) == value
        assert not bench.backend.read32(reg.STATUS) & reg.LOCKED_WRITE
