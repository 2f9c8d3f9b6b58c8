# SPDX-License-Identifier: Apache-2.0
"""The driver: it trains a network in the same way on the machine model, the simulated RTL and a board.

A back end has the five calls of gradcore.host.engine_port.
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
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.trainer import State, initial_weights

VERIFY = ("step", "start", "never")


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

    def step(self, x: ArrayLike, labels: ArrayLike, iteration: int, rate: int = RATE_ONE) -> int:
        """One training iteration on integers `x` (N, C, H, W), labels (N,), N up to the minibatch; returns the
        integer LOSS. `rate`: the register RATE, all learning rates times rate / 32768."""
        x = self._checked(x)
        control.require_quiet(self.backend)  # before anything is written
        compiled = self._for(len(x))
        self.backend.mem_write(self._images, compiled.pack_images(x))
        self.backend.mem_write(self._targets, compiled.pack_targets(labels))
        return self.run(compiled, "train", self._images, self._targets, iteration, rate)

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

    def run(
        self, compiled: CompiledNetwork, name: str, images: int, targets: int, iteration: int, rate: int = RATE_ONE
    ) -> int:
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
        self.backend.write32(reg.RATE, rate)
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
