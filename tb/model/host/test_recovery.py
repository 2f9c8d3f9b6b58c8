# SPDX-License-Identifier: Apache-2.0
"""The trainer that survives errors: same bits as without them, everything said, and an end when nothing helps.
Programs and weights by CRC."""

import numpy as np
import pytest

from gradcore.data.datasets import Dataset
from gradcore.host import training as run
from gradcore.host.backends import EngineSession
from gradcore.host.control import EngineError, EngineHung
from gradcore.host.device import VERIFY, Device
from gradcore.host.integrity import IntegrityError
from gradcore.host.recovery import Trainer
from gradcore.isa import registers as reg
from gradcore.isa.instruction import BYTES, FIELDS, Opcode
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.ops.convolution import Dense
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.compiler.networks import minibatch
from tb.support.sim import ENGINES, simulation

CONFIG = ENGINES["sim"]
NETWORK = Network("recovery", (3, 2, 2), (Dense(6, relu=True), Dense(3)), minibatch=4)


class Faulty(MachineBackend):
    """A model whose runs of the numbers in `bad` fail with code 34 and leave half-updated weights."""

    def __init__(self, bad=()):
        super().__init__(CONFIG, 1 << 20)
        self.bad, self.runs, self.lost = set(bad), 0, 0

    def _run(self):
        super()._run()
        if self.runs in self.bad:
            self.dram[0:64] ^= 0x5A
            self._status, self._error = reg.FAILED, 34 | 3 << 8
        self.runs += 1

    def mem_write(self, address, data):
        if self.lost:
            self.lost -= 1
        else:
            super().mem_write(address, data)


class Bench:
    def __init__(self, bad=(), verify="step", **options):
        self.backend, self.events, self.said = Faulty(bad), [], []
        self.device = Device(self.backend, NETWORK, CONFIG, 5, verify=verify, say=self.said.append)
        self.trainer = Trainer(self.device, say=self.events.append, **options)
        self.reference, self.rng, self.iteration = ReferenceTrainer(NETWORK, 5), np.random.default_rng(2), 0

    def steps(self, count, images=None):
        for _ in range(count):
            x, labels = minibatch(self.rng, NETWORK, images or int(self.rng.integers(1, 5)))
            more = self.iteration, RATE_ONE >> self.iteration % 3
            expected = self.reference.step(x, labels, *more)
            assert self.trainer.step(x, labels, *more) == expected
            self.iteration += 1

    def equal(self):
        return same(self.trainer.weights(), self.reference.weights())

    def flip(self, name="train"):
        """A bit of a program in DRAM: of the learning rate, so that no engine can see anything wrong."""
        address, program = self.device._programs[4, name]
        update = next((k for k, instr in enumerate(program.instructions) if instr.opcode == Opcode.UPDATE), 0)
        self.backend.dram[address + update * BYTES + 2 * FIELDS[Opcode.UPDATE]["lr_m"].half + 1] ^= 4


def same(ours, theirs):
    return all((mine[key] == other[key]).all() for mine, other in zip(ours, theirs, strict=True) for key in other)


@pytest.mark.parametrize("keep_every", [1, 2, 5])
@pytest.mark.parametrize("bad", [{0}, {3, 4}, {2, 5, 6, 9}, set(range(1, 40, 4))], ids=str)
def test_errors_change_no_bit(keep_every, bad):
    bench = Bench(bad, keep_every=keep_every, attempts=4)
    bench.steps(9)
    assert bench.equal() and len(bench.events) == bench.trainer.recoveries > 0
    assert all(event.error.code == 34 and event.repeat < keep_every for event in bench.events)
    text = str(bench.events[0])
    assert text.startswith("minibatch ") and "a write (SLVERR) at instruction 3" in text and text.endswith("; going on")


def test_only_errors_without_a_good_iteration_in_between_count():
    bench = Bench({4, 6, 8, 10}, keep_every=5, attempts=2)
    bench.steps(6)
    assert bench.equal() and bench.trainer.recoveries == 4


def test_it_gives_up_with_the_last_error_and_can_still_be_used():
    bench = Bench({2, 3, 4}, attempts=3)
    bench.steps(2)
    with pytest.raises(EngineError, match="SLVERR"):
        bench.trainer.step(*minibatch(np.random.default_rng(1), NETWORK, 4), 2)
    assert bench.trainer.recoveries == 2
    done, kept = bench.trainer.kept()
    assert done == 0 and same(kept, bench.reference.weights())  # what the host has, whatever the engine does
    assert not same(bench.device.weights(), bench.reference.weights()) and bench.equal()
    bench.steps(3)
    assert bench.equal()


def test_the_next_call_goes_back_after_ctrl_c():
    bench = Bench()
    bench.steps(2)
    run, bench.backend._run = bench.backend._run, lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.steps(1)
    bench.backend.dram[0:64] ^= 0xFF
    bench.backend._run, bench.reference = run, ReferenceTrainer(NETWORK, 5, bench.trainer.kept()[1])
    bench.steps(2)
    assert bench.equal() and "interrupted" in str(bench.events[0])


def test_another_state_by_either_load():
    for load in (lambda bench, state: bench.trainer.load(state), lambda bench, state: bench.device.load(state)):
        bench = Bench({3}, keep_every=3)
        bench.steps(2)
        state = ReferenceTrainer(NETWORK, 9).weights()
        load(bench, state)
        bench.reference.load(state)
        bench.steps(4)
        assert bench.equal() and bench.trainer.recoveries == 1


def test_a_repeat_that_differs_is_no_silent_difference():
    bench = Bench({2}, keep_every=5)
    bench.steps(2)
    (x, labels, iteration, rate, loss), last = bench.trainer._since
    bench.trainer._since = [(x, labels, iteration, rate, loss + 1), last]
    with pytest.raises(IntegrityError, match=f"LOSS of minibatch 0 was {loss + 1}, repeated it is {loss}: one of"):
        bench.steps(1)


def test_outputs_and_sessions_recover_too():
    said = []
    session = EngineSession(Faulty({1, 3}), NETWORK, CONFIG, 5, say=said.append)
    reference, (x, labels) = ReferenceTrainer(NETWORK, 5), minibatch(np.random.default_rng(3), NETWORK, 4)
    for iteration in range(2):
        assert session.step(x, labels, iteration) == reference.step(x, labels, iteration)
    assert (session.outputs(x) == reference.forward(x)).all() and same(session.weights(), reference.weights())
    assert session.recoveries == 2 == len(said)
    assert said[0].startswith("recovered: minibatch 1: ") and said[1].startswith("recovered: inference: ")


class Open(Faulty):
    """After the first run the memory owes answers, until force."""

    def _run(self):
        super()._run()
        if self.runs == 2:
            self._status, self._error = reg.FAILED | reg.BUS_OPEN, 5

    def write32(self, offset, value):
        if offset == reg.CTRL and value & reg.FORCE:
            self._status &= ~reg.BUS_OPEN
        elif not (offset == reg.CTRL and self._status & reg.BUS_OPEN):
            super().write32(offset, value)


def test_a_hung_engine_needs_somebody():
    device = Device(Open(), NETWORK, CONFIG, 5)
    trainer, reference = Trainer(device), ReferenceTrainer(NETWORK, 5)
    x, labels = minibatch(np.random.default_rng(3), NETWORK, 4)
    assert trainer.step(x, labels, 0) == reference.step(x, labels, 0)
    for _ in range(2):
        with pytest.raises(EngineHung, match="owes answers.*repair it, then recover"):
            trainer.step(x, labels, 1)
    with pytest.raises(EngineHung):
        device.step(x, labels, 1)
    with pytest.raises(EngineHung):
        Device(device.backend, NETWORK, CONFIG, 5)
    assert device.recover(force=True) == ["forgot the answers that the memory owes"]
    assert trainer.step(x, labels, 1) == reference.step(x, labels, 1) and same(trainer.weights(), reference.weights())


@pytest.mark.parametrize("verify", VERIFY)
def test_a_program_that_has_changed_before_a_run(verify):
    bench = Bench(verify=verify)
    bench.flip()
    bench.flip("infer")
    if verify != "never":
        bench.steps(1, images=4)
        address, _ = bench.device._programs[4, "train"]
        assert bench.said == [f"program train of 4 images had changed in memory at {address:#x}: written again"]
        assert bench.equal()
        bench.device.outputs(np.zeros((1, 3, 2, 2), int))
        assert len(bench.said) == 2
    else:
        bench.backend._run = lambda: setattr(bench.backend, "_status", reg.DONE)
        bench.device.step(*minibatch(bench.rng, NETWORK, 4), 0)
        assert bench.said == [] == bench.device.recover()


@pytest.mark.parametrize("keep_every", [1, 3])
@pytest.mark.parametrize("verify", ["step", "start"])
def test_a_program_that_changes_during_a_run(verify, keep_every):
    """Nothing that came from it is kept."""
    bench = Bench(verify=verify, keep_every=keep_every)
    run = bench.backend._run

    def changed():
        if bench.backend.runs == 1:
            bench.flip()
        run()

    bench.backend._run = changed
    bench.steps(3, images=4)
    assert bench.equal() and [type(event.error) for event in bench.events] == [IntegrityError]
    assert "had changed in memory" in str(bench.events[0])


def test_after_an_error_every_program_is_compared():
    bench = Bench({0}, verify="start")
    bench.device.mend()
    bench.flip("infer")
    bench.steps(1)
    assert bench.equal() and any("program infer of 4 images had changed" in text for text in bench.events[0].done)


def test_without_a_trainer_the_first_run_after_an_error_is_compared():
    bench = Bench({1}, verify="start")
    x, labels = minibatch(bench.rng, NETWORK, 4)
    bench.device.step(x, labels, 0)
    with pytest.raises(EngineError):
        bench.device.step(x, labels, 0)
    bench.flip()
    bench.device.step(x, labels, 0)
    assert len(bench.said) == 1 and "program train of 4 images had changed" in bench.said[0]


def test_weights_that_do_not_arrive():
    bench = Bench()
    state = bench.device.weights()
    for layer in state:
        layer["weight"] += 1
    bench.backend.lost = 1  # written once more
    bench.device.load(state)
    assert same(bench.device.weights(), state)
    for layer in state:
        layer["weight"] += 1
    bench.backend.lost = 100
    with pytest.raises(IntegrityError, match="fc0 weight|weight.*memory at 0x0 does not keep the"):
        bench.device.load(state)


def test_a_read_that_differs_and_a_spoilt_copy():
    bench = Bench()
    saved, read = bench.device.save(), bench.backend.mem_read
    bench.backend.mem_read = lambda address, size: read(address, size) + np.uint8(bench.rng.integers(0, 2) and 1)
    assert bench.device.weights() is not None
    with pytest.raises(IntegrityError, match="two reads of"):
        for _ in range(50):
            bench.device.weights(check=True)
    bench.backend.mem_read = read
    saved[1].data[5] ^= 1
    with pytest.raises(IntegrityError, match="the host's copy has changed"):
        bench.device.restore(saved)


def test_refuses_nonsense():
    with pytest.raises(ValueError, match="verify is 'always'"):
        Bench(verify="always")
    for wrong in ({"keep_every": 0}, {"attempts": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            Bench(**wrong)


def test_a_training_run_goes_on_and_says_so():
    """`gradcore train` uses a session: an error response in the second minibatch changes no word of the run."""
    rng, said, backend = np.random.default_rng(7), [], simulation()
    train, test = rng.random((12, 3, 2, 2)), rng.random((5, 3, 2, 2))
    data = Dataset(train, rng.integers(0, 3, 12), test, rng.integers(0, 3, 5), "random")
    session = EngineSession(backend, NETWORK, CONFIG, 1, say=said.append)
    step = session.step

    def disturbed(x, labels, iteration, rate):
        if iteration == 1:
            backend.fault("read", 9, 3)
        return step(x, labels, iteration, rate)

    session.step = disturbed
    kept = []
    found, _, _ = run.train(NETWORK, data, session, run.Options(epochs=1), save=kept.append)
    assert found["weights_equal"] and found["losses_compared"] == 3 and session.recoveries == 1
    assert len(said) == 1 and said[0].startswith("recovered: minibatch 1: error response to a read (DECERR) at ")
    session.close()

    # A session that goes on counts those before it.
    session = EngineSession(simulation(), NETWORK, CONFIG, 1)
    more, _, _ = run.train(NETWORK, data, session, run.Options(epochs=2), begin=kept[-1])
    session.close()
    assert more["recoveries"] == found["recoveries"] == 1 and session.recoveries == 0
