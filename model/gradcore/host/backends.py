# SPDX-License-Identifier: Apache-2.0
"""A network being trained somewhere: on a simulated engine, on the machine model, or by the reference trainer
itself."""

from gradcore.compiler.compile import check_reductions, compile_network
from gradcore.host.control import EngineError
from gradcore.host.device import Device, MachineBackend
from gradcore.host.linux import open_device
from gradcore.host.recovery import Trainer
from gradcore.numerics.fixed_point import ACC_W
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import FRONTS, build_engine

BACKENDS = (*FRONTS, "machine", "reference")
EVENTS = 1 << 16


class ReferenceSession:
    """The reference trainer as a session: no engine, no cycles."""

    name, engine_sha256, can_record, memory = "reference", None, False, None

    def __init__(self, network, seed, acc_width=ACC_W):
        self.trainer = ReferenceTrainer(network, seed, acc_width=acc_width)

    def step(self, x, labels, iteration):
        """Train on integers `x` (N, C, H, W); returns the integer LOSS."""
        self.trainer.grad_overflow = False
        return self.trainer.step(x, labels, iteration)

    def overflowed(self):
        """Did a gradient of the last step overflow?"""
        return self.trainer.grad_overflow

    def outputs(self, x):
        """Integer outputs (N, classes)."""
        return self.trainer.forward(x)

    def weights(self):
        """State as `ReferenceTrainer.weights`."""
        return self.trainer.weights()

    def load(self, state):
        """Take over a state."""
        self.trainer.load(state)

    def counters(self):
        """None are counted."""
        return {}

    def close(self):
        """Nothing to free."""


class EngineSession:
    """A `Device` on some back end, with a `Trainer` that goes on after engine errors and says so. Counters are those
    of the last program."""

    def __init__(self, backend, network, config, seed, engine_sha256=None, say=print):
        self.name, self.config, self.engine_sha256 = backend.name, config, engine_sha256
        self.can_record, self.memory = hasattr(backend, "record"), getattr(backend, "memory", None)
        self.device = Device(backend, network, config, seed, origin=getattr(backend, "origin", 0), say=say)
        self.trainer = Trainer(self.device, say=lambda event: say(f"recovered: {event}"))
        if backend.name in FRONTS:
            # Long enough for a memory twenty times slower than expected; a hang is found in seconds.
            self.device.timeout = (1_000_000 + 20 * self.device.compiled.train.cycles) / backend.cycles_per_second
        self.outputs, self.weights, self.load = self.trainer.outputs, self.trainer.weights, self.trainer.load
        self.counters, self.close = self.device.counters, self.device.close

    @property
    def recoveries(self):
        """How often an error has been overcome."""
        return self.trainer.recoveries

    def step(self, x, labels, iteration):
        """Train on integers `x` (N, C, H, W); returns the integer LOSS. Raises EngineError when several attempts
        have failed."""
        self.device.grad_overflow = False
        try:
            return self.trainer.step(x, labels, iteration)
        except EngineError as error:
            error.args = (f"minibatch {iteration}: {error}",)
            raise

    def overflowed(self):
        """Did a gradient of the last step overflow?"""
        return self.device.grad_overflow

    def record(self):
        """Record the instructions of the following program."""
        self.device.backend.record(EVENTS)

    def recorded(self):
        """Stop recording: events, how many older ones were lost, operations of the training program."""
        events, lost = self.device.backend.events()
        self.device.backend.record(0)
        return events, lost, self.operations

    @property
    def operations(self):
        """Operations of the training program of a whole minibatch."""
        return self.device.compiled.train.ops


def open_session(backend, network, config, seed, memory=Memory(), say=print):
    """Session of a back end name: one of `BACKENDS`, uio:N, xdma:N. Raises CompileError when the network does not
    fit the engine, DeviceError when there is no such device."""
    if backend == "reference":
        check_reductions(network, config)
        return ReferenceSession(network, seed, config.acc_width)
    compile_network(network, config)  # refuse before building anything
    if backend == "machine":
        return EngineSession(MachineBackend(config), network, config, seed, say=say)
    if backend not in FRONTS:
        return EngineSession(open_device(backend), network, config, seed, say=say)
    library, sha256 = build_engine(config, say, backend)
    return EngineSession(SimBackend(library, memory), network, config, seed, sha256, say)
