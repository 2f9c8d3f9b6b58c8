# SPDX-License-Identifier: Apache-2.0
"""A device that trains on one of the simulated fronts, with a reference trainer beside it, for tests in which something
goes wrong."""

import numpy as np
import pytest

from gradcore.host.control import EngineError
from gradcore.host.device import Device
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import IRQ
from tb.support.sim import ENGINES, simulation

NETWORK = Network("safe", (2, 8, 8), (Conv(5, 3, 1, pool=2), Conv(6, 3, 1), Dense(3)), minibatch=4)


class Bench:
    """A device and a reference trainer that has done the same steps; `snapshot` is the state after the last good
    one."""

    def __init__(self, name: str, seed: int):
        self.rng, self.iteration = np.random.default_rng(seed), 0
        stall, jitter = (float(self.rng.choice([0, 0.3])), 0) if name == "sim" else (0.3, 50)
        self.backend = simulation(name, latency=int(self.rng.integers(1, 80)), stall=stall, jitter=jitter, seed=seed)
        self.device, self.trainer = (
            Device(self.backend, NETWORK, ENGINES[name], seed, timeout=5, watchdog=20_000, verify="never"),
            ReferenceTrainer(NETWORK, seed),
        )
        self.snapshot = self.device.weights()

    def minibatch(self):
        return self.rng.integers(-4096, 4096, (NETWORK.minibatch, *NETWORK.shape)), self.rng.integers(
            0, NETWORK.classes, NETWORK.minibatch
        )

    def good_step(self):
        """One iteration, equal to the reference's."""
        x, labels = self.minibatch()
        assert self.device.step(x, labels, self.iteration) == self.trainer.step(x, labels, self.iteration)
        self.snapshot = self.device.weights()
        for mine, theirs in zip(self.snapshot, self.trainer.weights(), strict=True):
            assert all((mine[key] == theirs[key]).all() for key in mine)
        self.iteration += 1

    def bad_step(self, status=reg.FAILED) -> EngineError:
        """One iteration that fails and leaves STATUS like this; returns the error. The weights are put back. Without
        BUS_OPEN the memory has nothing left to answer."""
        with pytest.raises(EngineError) as caught:
            self.device.step(*self.minibatch(), self.iteration)
        assert [self.backend.read32(offset) for offset in (reg.STATUS, reg.LOSS, reg.LOSS + 4)] == [status, 0, 0]
        assert status & reg.BUS_OPEN or self.backend.outstanding == 0
        before = self.backend.traffic
        self.backend.run(500)
        assert self.backend.traffic == before, "traffic after the end"
        self.device.load(self.snapshot)
        return caught.value

    def stopped_step(self, moment: int, status=reg.FAILED) -> EngineError:
        """One iteration that is stopped after so many cycles."""
        wait = self.backend.wait_irq

        def stop_then_wait(timeout):
            self.backend.run(moment)
            self.backend.write32(reg.CTRL, reg.STOP)
            return wait(timeout)

        self.backend.wait_irq = stop_then_wait
        try:
            return self.bad_step(status)
        finally:
            self.backend.wait_irq = wait

    def closes(self, cycles: int) -> bool:
        """Does BUS_OPEN fall within so many cycles, without another interrupt? The last failure stays told."""
        self.backend.write32(reg.IRQ_STATUS, reg.IRQ_FAILED)
        told = [self.backend.read32(offset) for offset in (reg.ERROR, reg.ERROR_ADDR)]
        assert self.backend.run(cycles) != IRQ and self.backend.read32(reg.IRQ_STATUS) == 0
        assert told == [self.backend.read32(offset) for offset in (reg.ERROR, reg.ERROR_ADDR)] and told[0]
        return self.backend.read32(reg.STATUS) == reg.FAILED

    @property
    def program(self):
        return self.device.compiled.train

    def patched(self, index: int, instr) -> None:
        """Replace an instruction of the training program in DRAM."""
        address, _ = self.device._programs[NETWORK.minibatch, "train"]
        self.backend.mem_write(
            address + index * isa.BYTES, isa.assemble([instr]) if isinstance(instr, isa.Instruction) else instr
        )

    def repaired(self, index: int) -> None:
        self.patched(index, self.program.instructions[index])

    def somewhere(self, *opcodes) -> int:
        """Index of a random instruction of these opcodes."""
        return int(self.rng.choice([k for k, instr in enumerate(self.program.instructions) if instr.opcode in opcodes]))


def changed(instr, **fields):
    return isa.Instruction(instr.opcode, instr.fields | fields)
