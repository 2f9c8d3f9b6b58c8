# SPDX-License-Identifier: Apache-2.0
"""Starting, waiting, stopping: a busy engine is refused, no wait ends with a running engine, an old DONE is nobody's
result."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.host import control
from gradcore.host.control import EngineBusy, EngineError, EngineHung, EngineReset, EngineTimeout
from gradcore.host.device import Device
from gradcore.isa import registers as reg
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.compiler.networks import minibatch
from tb.support.sim import ENGINES, simulation

NETWORK = Network("control", (3, 6, 6), (Conv(5, 3, 1), Dense(3)), minibatch=4)


class Bench:
    """A device and a reference that has done the same steps."""

    def __init__(self, name="sim", **options):
        self.backend = simulation(name, seed=3)
        self.device = Device(self.backend, NETWORK, ENGINES[name], 1, **options)
        self.trainer = ReferenceTrainer(NETWORK, 1)
        self.rng = np.random.default_rng(4)

    def minibatch(self):
        return minibatch(self.rng, NETWORK, NETWORK.minibatch)

    def good_step(self, iteration):
        x, labels = self.minibatch()
        assert self.device.step(x, labels, iteration) == self.trainer.step(x, labels, iteration)
        for mine, theirs in zip(self.device.weights(), self.trainer.weights(), strict=True):
            assert all((mine[key] == theirs[key]).all() for key in mine)


@pytest.fixture(params=ENGINES)
def bench(request):
    bench = Bench(request.param)
    bench.good_step(0)
    yield bench
    bench.device.close()


def quiet(backend):
    """Nothing runs and nothing comes any more."""
    before = backend.traffic
    backend.run(2000)
    ended = not backend.read32(reg.STATUS) & (reg.BUSY | reg.BUS_OPEN)
    return ended and backend.outstanding == 0 and backend.traffic == before


def test_a_time_out_stops_the_engine_and_the_retry_is_right(bench):
    """Each moment of a program: what the retry writes must not meet what the program before still does."""
    cycles, seconds = bench.device.counters()["cycles"], bench.device.timeout
    for iteration, part in enumerate((0.02, 0.2, 0.4, 0.6), 1):
        saved = bench.device.save()
        bench.device.timeout = part * cycles / bench.backend.cycles_per_second
        text = "did not end in .* s, .*stopped, the engine is quiet .failed, code 6 .stopped by the host. at instr"
        with pytest.raises(EngineTimeout, match=text) as caught:
            bench.device.step(*bench.minibatch(), iteration)
        assert caught.value.code == 6 and quiet(bench.backend)
        bench.device.timeout = seconds
        bench.device.restore(saved)
        bench.good_step(iteration)


@pytest.mark.parametrize("way", ["revive", "force"])
@pytest.mark.parametrize("name", ENGINES)
def test_a_time_out_on_a_dead_memory_refuses_until_somebody_acts(name, way):
    bench = Bench(name, watchdog=5000)
    bench.good_step(0)
    saved, bench.device.timeout, bench.device.late = bench.device.save(), 0.01, 0.02
    bench.backend.fault("read", 3, "silent")
    text = "0.01 s.*stopped, but the engine is NOT quiet .failed, memory owes answers, code 6.*before recover"
    with pytest.raises(EngineTimeout, match=text) as caught:
        bench.device.step(*bench.minibatch(), 1)
    assert caught.value.code == 6
    for refused in (
        lambda: bench.device.step(*bench.minibatch(), 1),
        bench.device.recover,
        lambda: Device(bench.backend, NETWORK, ENGINES[name]),
    ):
        with pytest.raises(EngineHung, match="owes answers .*code 6.*repair it, then recover..; or reset it"):
            refused()
    if way == "revive":
        bench.backend.revive()
        assert bench.device.recover() == ["late answers of the memory have come"]
    else:
        bench.backend.forget()
        assert bench.device.recover(force=True) == ["forgot the answers that the memory owes"]
    bench.device.timeout = 10.0
    bench.device.restore(saved)
    bench.good_step(1)
    bench.device.close()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_whatever_ends_the_wait_stops_the_engine(bench, kind):
    wait = bench.backend.wait_irq

    def interrupted(timeout):
        bench.backend.run(200)
        bench.backend.wait_irq = wait
        raise kind("here")

    saved, bench.backend.wait_irq = bench.device.save(), interrupted
    with pytest.raises(kind) as caught:
        bench.device.step(*bench.minibatch(), 1)
    assert "stopped, the engine is quiet" in caught.value.__notes__[0] and quiet(bench.backend)
    bench.device.restore(saved)
    bench.good_step(1)


def left_running(bench):
    """Start the training program as somebody who then goes away."""
    bench.backend.write32(reg.CTRL, reg.START)
    bench.backend.run(100)
    assert bench.backend.read32(reg.STATUS) & reg.BUSY


def test_a_busy_engine_is_refused_until_it_is_stopped():
    bench = Bench(verify="never")
    bench.good_step(0)
    saved = bench.device.save()
    bench.backend.tune(simulation(latency=5_000).memory)
    left_running(bench)
    before, bench.backend.mem_write = bench.backend.mem_write, None  # nothing is written
    x, labels = bench.minibatch()
    for refused in (
        lambda: bench.device.step(x, labels, 1),
        lambda: bench.device.step(x[:1], labels[:1], 1),
        lambda: bench.device.outputs(x),
        lambda: bench.device.restore(saved),
        lambda: bench.device.load(bench.trainer.weights()),
        lambda: bench.device.run(bench.device.compiled, "train", 0, 0, 1),
        lambda: Device(bench.backend, NETWORK, ENGINES["sim"], 1, origin=1 << 20),
    ):
        with pytest.raises(EngineBusy, match="busy .STATUS 0x1. .*gradcore.host.control.stop"):
            refused()
    bench.backend.mem_write = before
    assert bench.device.stop() & reg.FAILED and quiet(bench.backend)
    second = Device(bench.backend, NETWORK, ENGINES["sim"], 1, origin=1 << 20)
    second.restore([replace(piece, address=piece.address + second.base - bench.device.base) for piece in saved])
    bench.device = second
    bench.good_step(1)
    left_running(bench)
    second.close()


def test_close_stops_what_runs(bench):
    left_running(bench)
    closed, bench.backend.close = bench.backend.close, lambda: None
    bench.device.close()
    assert control.error_registers(bench.backend)[0] == 6 and quiet(bench.backend)
    closed()


def test_a_start_that_is_ignored_is_not_taken_for_done(bench):
    write32 = bench.backend.write32
    bench.backend.write32 = lambda offset, value: None if (offset, value) == (reg.CTRL, 1) else write32(offset, value)
    assert bench.backend.read32(reg.STATUS) == reg.DONE
    with pytest.raises(EngineError, match="ignored the start"):
        bench.device.step(*bench.minibatch(), 1)
    bench.backend.write32 = write32
    bench.good_step(1)


def test_a_reset_in_mid_program_is_noticed_at_once(bench):
    wait = bench.backend.wait_irq

    def reset(timeout):
        bench.backend.run(300)
        bench.backend.reset()
        bench.backend.wait_irq = wait
        return wait(timeout)

    saved, before, bench.backend.wait_irq = bench.device.save(), bench.backend.cycles, reset
    with pytest.raises(EngineReset, match="was reset while program train ran"):
        bench.device.step(*bench.minibatch(), 1)
    assert bench.backend.cycles - before < 10_000, "not only at the time-out"
    bench.device.restore(saved)
    bench.good_step(1)


def test_a_reset_between_two_programs_changes_nothing(bench):
    bench.backend.reset()
    bench.good_step(1)
    assert bench.backend.read32(reg.WATCHDOG) == 1 << 20


def test_windows_are_written_only_when_they_change(bench):
    written, write32 = [], bench.backend.write32
    bench.backend.write32 = lambda offset, value: (written.append(offset), write32(offset, value))
    bench.good_step(1)
    assert written and not [offset for offset in written if offset >= reg.WINDOW]
    write32(reg.WINDOW + 8, 1 << 30)
    bench.good_step(2)
    assert len([offset for offset in written if offset >= reg.WINDOW]) == 16


def test_windows_of_somebody_else_are_closed(bench):
    """A window that the driver does not use would let a corrupted program at memory of others."""
    for offset, value in reg.window(3, 0, 1 << 40, reg.READ | reg.WRITE).items():
        bench.backend.write32(offset, value)
    bench.good_step(1)
    assert not any(bench.backend.read32(offset) for offset in reg.window(3, 0, 0, 0))


def test_locked_windows_that_do_not_fit_are_named():
    backend = MachineBackend(ENGINES["sim"])
    backend.write32(reg.LOCK, reg.LOCK_WINDOWS)
    device = Device(backend, NETWORK, ENGINES["sim"])
    with pytest.raises(EngineError, match="does not take the windows of this network, first at 0x80: are they locked"):
        device.step(*minibatch(np.random.default_rng(1), NETWORK, 4), 0)
    assert backend.read32(reg.STATUS) & reg.LOCKED_WRITE


def test_the_model_has_the_errors_and_registers_of_the_engine():
    backend = MachineBackend(ENGINES["sim"])
    device = Device(backend, NETWORK, ENGINES["sim"])
    device.step(*minibatch(np.random.default_rng(1), NETWORK, 4), 0)
    assert backend.read32(reg.IRQ_STATUS) == reg.IRQ_DONE and control.stop(backend) == reg.DONE
    assert device.recover() == []
    assert backend.read32(reg.IRQ_STATUS) == 0
    backend.write32(reg.BASE[2], 0x1008)
    backend.write32(reg.CTRL, reg.START)
    assert backend.read32(reg.STATUS) == reg.FAILED and control.error_registers(backend) == (9, 0, 0x1008)
    assert control.state_text(backend) == f"failed, code 9 ({reg.ERRORS[9]}) at instruction 0"
