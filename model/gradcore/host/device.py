# SPDX-License-Identifier: Apache-2.0
"""The driver: it trains a network in the same way on the machine model, the simulated RTL and a board.

A back end has the five calls of gradcore.host.engine_port. `MachineBackend` is that of the machine model.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gradcore.compiler.compile import CompiledNetwork
from gradcore.host import control
from gradcore.host.engine_port import Backend
from gradcore.host.engine_setup import open_windows, require_engine
from gradcore.host.integrity import IntegrityError
from gradcore.host.placement import Place, Placement
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.machine.machine import Machine
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.reference.trainer import State, initial_weights

MISALIGNED = 9
VERIFY = ("step", "start", "never")


class MachineBackend:
    """The instruction-level model behind the five calls; a run takes place in the write to CTRL. It counts no
    cycles, only saturations."""

    name = "machine"

    def __init__(
        self,
        config: EngineConfig,
        size: int = 1 << 26,
        order: str = "program",
        seed: int = 1,
        after: Callable | None = None,
    ) -> None:
        self.dram = np.zeros(size, np.uint8)
        self.machine = Machine(config, self.dram, order, seed, after=after)
        self._registers: dict[int, int] = {}
        self._fixed = {
            reg.ID: reg.ID_VALUE,
            reg.VERSION: reg.VERSION_VALUE,
            **dict(zip((reg.CONFIG, reg.CONFIG2, reg.CONFIG3), config.config_registers)),
        }
        self._saturated = {
            reg.COUNTERS + 8 * n: name.partition(".")[2]
            for n, name in reg.COUNTER_NAMES.items()
            if name.startswith("saturated.")
        }
        self._status = self._error = self._irq = 0

    def read32(self, offset: int) -> int:
        if offset == reg.STATUS:
            return self._status
        if offset == reg.IRQ_STATUS:
            return self._irq
        if offset == reg.ERROR:
            return self._error
        if offset in (reg.LOSS, reg.LOSS + 4):
            return self.machine.loss >> 8 * (offset - reg.LOSS) & 0xFFFFFFFF
        if offset in self._saturated:
            return self.machine.saturated[self._saturated[offset]]
        return self._fixed.get(offset, self._registers.get(offset, 0))

    def write32(self, offset: int, value: int) -> None:
        value = int(value) & 0xFFFFFFFF
        if offset == reg.CTRL:
            if value & reg.START:  # the rest has nothing to stop, to forget or to wipe
                self._status, self._error = reg.FAILED, 0  # for a program that raises
                self._fixed[reg.ERROR_ADDR] = self._fixed[reg.ERROR_ADDR + 4] = 0
                try:
                    self._run()
                finally:
                    self._irq = self._status // reg.DONE & 3
        elif offset == reg.IRQ_STATUS:
            self._irq &= ~value
        elif offset == reg.LOCK:
            self._registers[offset] = self._registers.get(offset, 0) | value & reg.LOCK_WINDOWS
        elif offset >= reg.WINDOW and self._registers.get(reg.LOCK):
            self._status |= reg.LOCKED_WRITE
        else:
            self._registers[offset] = value

    def mem_read(self, address: int, size: int) -> np.ndarray:
        self._check(address, size)
        return self.dram[address : address + size].copy()

    def mem_write(self, address: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(address, data.size)
        self.dram[address : address + data.size] = data

    def wait_irq(self, timeout: float = 600.0) -> bool:
        return bool(self._irq & self._registers.get(reg.IRQ_ENABLE, 0))

    def close(self) -> None:
        """Nothing to free."""

    def _wide(self, offset: int) -> int:
        return self._registers.get(offset, 0) | self._registers.get(offset + 4, 0) << 32

    def _run(self) -> None:
        program, *bases = (self._wide(base) for base in (reg.PROG_BASE, *reg.BASE))
        odd = next((address for address in (program, *bases) if address % self.machine.config.mem_bytes), None)
        if odd is not None:
            self._error = MISALIGNED
            self._fixed[reg.ERROR_ADDR], self._fixed[reg.ERROR_ADDR + 4] = odd & 0xFFFFFFFF, odd >> 32
            return
        self.machine.run(program, bases, self._registers.get(reg.SEED, 0))
        self._status = reg.DONE | reg.GRAD_OVERFLOW * self.machine.grad_overflow

    def _check(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > len(self.dram):
            raise ValueError(f"{size} bytes at {address:#x} are not inside the DRAM of {len(self.dram)} bytes")


class Device(Placement):
    """An engine that trains one network: `with Device(backend, network, config, seed) as device`.

    Compiles the network, checks that the engine is the one compiled for, and places programs, weights and minibatches
    in the DRAM from `origin` on. step, outputs, weights and load work as those of `ReferenceTrainer`. Raises
    CompileError, EngineError; gradcore.host.recovery goes on after one. A program that runs is stopped whatever ends
    the wait for it: an error, `timeout` seconds, Ctrl-C.

    `verify` says when the CRC of a program in DRAM is compared: "step" before and after each run, "start" before the
    first one and after an error, "never". A program that has changed before a run is written again and `say` is told;
    one that has changed during it raises IntegrityError.
    """

    def __init__(
        self,
        backend: Backend,
        network: Network,
        config: EngineConfig = EngineConfig(),
        seed: int = 1,
        state: State | None = None,
        origin: int = 0,
        timeout: float = 600.0,
        keep: bool = False,
        watchdog: int = 1 << 20,
        verify: str = "step",
        say: Callable[[str], None] = warnings.warn,
    ) -> None:
        if verify not in VERIFY:
            raise ValueError(f"verify is {verify!r}, not one of {', '.join(VERIFY)}")
        require_engine(backend, config)
        control.require_quiet(backend)
        super().__init__(backend, network, config, origin, keep)
        self.seed, self.timeout, self.verify, self.say = seed, timeout, verify, say
        self.grad_overflow = self._closed = False
        self.late = control.LATE  # seconds for which `recover` waits for answers of the memory
        self._watchdog = watchdog
        self._proven: set[Place] = set()
        self._arm()
        self.load(initial_weights(network, seed) if state is None else state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs and close the back end. Only the first call does anything."""
        if not self._closed:
            self._closed = True
            with suppress(Exception):  # an engine that does not stop is told to whoever opens it next
                self.stop()
            getattr(self.backend, "close", lambda: None)()

    # After an error

    def stop(self) -> int:
        """Stop the program that runs, if one does; STATUS. Raises EngineHung (gradcore.host.control)."""
        return control.stop(self.backend)

    def recover(self, force: bool = False) -> list[str]:
        """Make the engine ready for the next run: gradcore.host.control.recover, and write again every program whose
        CRC in DRAM differs. Returns what had to be done, as texts. The state in DRAM may be half updated: `load` or
        `restore` it. Raises EngineHung, IntegrityError."""
        return control.recover(self.backend, force, self.late) + (self.mend() if self.verify != "never" else [])

    # Training and inference

    def step(self, x: ArrayLike, labels: ArrayLike, iteration: int) -> int:
        """One training iteration on integers `x` (N, C, H, W), labels (N,), N up to the minibatch; returns the
        integer LOSS."""
        x = self._checked(x)
        control.require_quiet(self.backend)  # before anything is written
        compiled = self._for(len(x))
        self.backend.mem_write(self._images, compiled.pack_images(x))
        self.backend.mem_write(self._targets, compiled.pack_targets(labels))
        return self.run(compiled, "train", self._images, self._targets, iteration)

    def outputs(self, x: ArrayLike, iteration: int = 0) -> np.ndarray:
        """Outputs (N, classes) as integers of any number of images, with the roundings of `iteration`."""
        x, size, result = self._checked(x), self.compiled.images, []
        control.require_quiet(self.backend)
        output = self.compiled.memory.act[-1]
        for at in range(0, len(x), size):
            part = x[at : at + size]
            padded = np.concatenate([part, np.zeros((size - len(part), *part.shape[1:]), part.dtype)])
            self.backend.mem_write(self._images, self.compiled.pack_images(padded))
            self.run(self.compiled, "infer", self._images, self._targets, iteration)
            data = self.backend.mem_read(self._base + output.addr, output.layout.size)
            result.append(output.layout.unpack(data)[: len(part), :, 0, 0])
        return np.concatenate(result)

    def run(self, compiled: CompiledNetwork, name: str, images: int, targets: int, iteration: int) -> int:
        """Run program `name` ("train" or "infer") on the minibatch at these addresses; returns the integer LOSS. Raises
        EngineError and its kinds in gradcore.host.control, IntegrityError; after an error the state in DRAM may be half
        updated."""
        place = compiled.images, name
        address, program = self._programs[place]
        control.require_quiet(self.backend)
        if self.backend.read32(reg.IRQ_ENABLE) != control.IRQS:  # there was a reset
            self._arm()
        self._prove(place)
        self._open_windows()
        control.write64(self.backend, reg.PROG_BASE, address)
        for offset, value in zip(reg.BASE, (self._base, images, targets, 0)):
            control.write64(self.backend, offset, value)
        self.backend.write32(reg.PROG_LENGTH, len(program.instructions))
        self.backend.write32(reg.SEED, iteration_seed(self.seed, iteration))
        status = control.execute(self.backend, self.timeout, f"program {name}")
        if status & reg.FAILED:
            self._proven.clear()
            raise control.failure(self.backend, status, program.describe)
        if self.verify == "step" and (changed := self.mend(place)):
            raise IntegrityError(f"while it ran {changed[0]}")
        self.grad_overflow |= bool(status & reg.GRAD_OVERFLOW)
        return control.read64(self.backend, reg.LOSS)

    def counters(self) -> dict[str, int]:
        """Counters of the last run by name (gradcore.isa.registers.COUNTER_NAMES)."""
        return control.counters(self.backend)

    def _arm(self) -> None:
        """Registers that keep their values until a reset."""
        self.backend.write32(reg.WATCHDOG, self._watchdog)
        self.backend.write32(reg.IRQ_ENABLE, control.IRQS)

    def _prove(self, place: Place) -> None:
        """Before a run: is the program in DRAM?"""
        if self.verify == "step" or (self.verify == "start" and place not in self._proven):
            for text in self.mend(place):
                self.say(text)
            self._proven.add(place)

    def _open_windows(self) -> None:
        """What belongs to the network may be read and written, programs and minibatches only read."""
        split = self._base + self._room
        open_windows(self.backend, (self._base, split, reg.READ | reg.WRITE), (split, self._free, reg.READ))
