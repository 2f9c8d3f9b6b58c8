# SPDX-License-Identifier: Apache-2.0
"""A network being trained somewhere: on a simulated engine, on the machine model, or by the reference trainer
itself."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gradcore.compiler.compile import check_reductions, compile_network
from gradcore.compiler.operation import Op
from gradcore.host.boards import open_device
from gradcore.host.control import EngineError
from gradcore.host.device import Device
from gradcore.host.engine_port import NamedBackend, Recorder
from gradcore.host.placement import room_for_training
from gradcore.host.recovery import Trainer
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import ACC_W
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.trainer import ReferenceTrainer, State
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import FRONTS, build_engine

BACKENDS = (*FRONTS, "machine", "reference")
EVENTS = 1 << 16


class Session(Protocol):
    """What a training and an evaluation need of either session below."""

    name: str
    config: EngineConfig | None
    engine_sha256: str | None
    memory: Memory | None

    @property
    def recoveries(self) -> int: ...

    def step(self, x: np.ndarray, labels: np.ndarray, iteration: int, rate: int = RATE_ONE) -> int: ...

    def overflowed(self) -> bool: ...

    def outputs(self, x: np.ndarray) -> np.ndarray: ...

    def weights(self) -> State: ...

    def load(self, state: State) -> None: ...

    def counters(self) -> dict[str, int]: ...

    def close(self) -> None: ...


class ReferenceSession:
    """The reference trainer as a session: no engine, no cycles."""

    name, recoveries = "reference", 0
    config: EngineConfig | None = None
    engine_sha256: str | None = None
    memory: Memory | None = None

    def __init__(self, network: Network, seed: int, acc_width: int = ACC_W) -> None:
        self.trainer = ReferenceTrainer(network, seed, acc_width=acc_width)

    def step(self, x: np.ndarray, labels: np.ndarray, iteration: int, rate: int = RATE_ONE) -> int:
        """Train on integers `x` (N, C, H, W); returns the integer LOSS."""
        self.trainer.grad_overflow = False
        return self.trainer.step(x, labels, iteration, rate)

    def overflowed(self) -> bool:
        """Did a gradient of the last step overflow?"""
        return self.trainer.grad_overflow

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """Integer outputs (N, classes)."""
        return self.trainer.forward(x)

    def weights(self) -> State:
        """State as `ReferenceTrainer.weights`."""
        return self.trainer.weights()

    def load(self, state: State) -> None:
        """Take over a state."""
        self.trainer.load(state)

    def counters(self) -> dict[str, int]:
        """None are counted."""
        return {}

    def close(self) -> None:
        """Nothing to free."""


class EngineSession:
    """A `Device` on some back end, with a `Trainer` that goes on after engine errors and says so. Counters are those
    of the last program."""

    def __init__(
        self,
        backend: NamedBackend,
        network: Network,
        config: EngineConfig,
        seed: int,
        engine_sha256: str | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.name, self.engine_sha256 = backend.name, engine_sha256
        self.config: EngineConfig | None = config
        self.memory: Memory | None = getattr(backend, "memory", None)
        self._recorder = backend if isinstance(backend, Recorder) else None
        self.device = Device(
            backend,
            network,
            config,
            seed,
            origin=getattr(backend, "origin", 0),
            verify=getattr(backend, "verify", "step"),
            say=say,
        )
        self.trainer = Trainer(
            self.device, getattr(backend, "keep_every", 1), say=lambda event: say(f"recovered: {event}")
        )
        if isinstance(backend, SimBackend):
            # Long enough for a memory twenty times slower than expected; a hang is found in seconds.
            self.device.timeout = (1_000_000 + 20 * self.device.compiled.train.cycles) / backend.cycles_per_second
        self.outputs, self.weights, self.load = self.trainer.outputs, self.trainer.weights, self.trainer.load
        self.counters, self.close = self.device.counters, self.device.close

    @property
    def can_record(self) -> bool:
        """Does the back end record instructions?"""
        return self._recorder is not None

    @property
    def recoveries(self) -> int:
        """How often an error has been overcome."""
        return self.trainer.recoveries

    def step(self, x: np.ndarray, labels: np.ndarray, iteration: int, rate: int = RATE_ONE) -> int:
        """Train on integers `x` (N, C, H, W); returns the integer LOSS. Raises EngineError when several attempts
        have failed."""
        self.device.grad_overflow = False
        try:
            return self.trainer.step(x, labels, iteration, rate)
        except EngineError as error:
            error.args = (f"minibatch {iteration}: {error}",)
            raise

    def overflowed(self) -> bool:
        """Did a gradient of the last step overflow?"""
        return self.device.grad_overflow

    def record(self) -> None:
        """Record the instructions of the following program."""
        assert self._recorder is not None
        self._recorder.record(EVENTS)

    def recorded(self) -> tuple[np.ndarray, int, tuple[Op, ...]]:
        """Stop recording: events, how many older ones were lost, operations of the training program."""
        assert self._recorder is not None
        events, lost = self._recorder.events()
        self._recorder.record(0)
        return events, lost, self.operations

    @property
    def operations(self) -> tuple[Op, ...]:
        """Operations of the training program of a whole minibatch."""
        return self.device.compiled.train.ops


def open_session(
    backend: str,
    network: Network,
    config: EngineConfig,
    seed: int,
    memory: Memory = Memory(),
    say: Callable[[str], None] = print,
) -> Session:
    """Session of a back end name: one of `BACKENDS` or a board's (gradcore.host.boards). Raises CompileError when the
    network does not fit the engine, DeviceError when there is no such device."""
    if backend == "reference":
        check_reductions(network, config)
        return ReferenceSession(network, seed, config.acc_width)
    compiled = compile_network(network, config)  # refuse before building anything
    memory = memory.at_least(room_for_training(compiled))
    if backend == "machine":
        return EngineSession(MachineBackend(config, memory.size), network, config, seed, say=say)
    if backend not in FRONTS:
        return EngineSession(open_device(backend), network, config, seed, say=say)
    library, sha256 = build_engine(config, say, backend)
    return EngineSession(SimBackend(library, memory), network, config, seed, sha256, say)
