# SPDX-License-Identifier: Apache-2.0
"""Training that survives engine errors: it goes back to the state after a good minibatch and repeats what followed,
with the same bits.

SEED follows from an iteration's number, so a repeated iteration gives the same weights, whatever ran in between.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gradcore.host.control import EngineBusy, EngineError, EngineHung
from gradcore.host.device import Device
from gradcore.host.integrity import IntegrityError
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.trainer import State

T = TypeVar("T")
Step = tuple[np.ndarray, np.ndarray, int, int, int]  # images, labels, iteration, RATE, LOSS
_UNFINISHED = EngineError("interrupted")


@dataclass(frozen=True)
class Recovered:
    """What a `Trainer` reports once the kept state is back in memory: the error, what was being done, how many
    iterations will be repeated, and what else had to be done."""

    error: EngineError
    what: str
    repeat: int
    done: tuple[str, ...]

    def __str__(self) -> str:
        again = [f"{self.repeat} minibatches are repeated"] if self.repeat else []
        return "; ".join([f"{self.what}: {self.error}", *self.done, "weights put back", *again, "going on"])


class Trainer:
    """Trains with a `Device` and survives its errors: `trainer.step(x, labels, iteration)` for one iteration after the
    other.

    The state is kept after every `keep_every` good iterations. After an error the engine is recovered, the kept state
    written back, the iterations since then are repeated, the state being kept after each of them, and the failed one is
    tried again. After `attempts` errors without a good iteration in between the last one is raised. `say` is called
    with a `Recovered` each time; `recoveries` counts them.

    EngineBusy and EngineHung are raised at once: somebody must act first. After any exception, also Ctrl-C, the next
    call goes back before it does anything else. `x` and `labels` must not change for `keep_every` iterations.
    """

    def __init__(
        self,
        device: Device,
        keep_every: int = 1,
        attempts: int = 3,
        say: Callable[[Recovered], None] = lambda event: None,
    ) -> None:
        if keep_every < 1 or attempts < 1:
            raise ValueError(f"keep_every {keep_every} and attempts {attempts} must be at least 1")
        self.device, self.keep_every, self.attempts, self.say, self.recoveries = device, keep_every, attempts, say, 0
        self._error: EngineError | None = None  # the reason to go back before anything else
        self._failures = 0  # errors in a row
        self._keep([])

    def step(self, x: np.ndarray, labels: np.ndarray, iteration: int, rate: int = RATE_ONE) -> int:
        """One iteration as `Device.step`; returns the integer LOSS. Raises the error that no attempt got past."""
        return self._attempt(lambda: self._step(x, labels, iteration, rate), f"minibatch {iteration}")

    def outputs(self, x: np.ndarray, iteration: int = 0) -> np.ndarray:
        """Outputs as `Device.outputs`."""
        return self._attempt(lambda: self.device.outputs(x, iteration), "inference")

    def weights(self) -> State:
        """The state after the last good iteration, as `Device.weights`, read twice and compared."""
        return self._attempt(lambda: self.device.weights(check=True), "reading the weights")

    def kept(self) -> tuple[int, State]:
        """(good iterations since then, the state that the host keeps), without a word to the engine."""
        pieces = {piece.address: piece.data for piece in self._kept}
        compiled, base = self.device.compiled, self.device.base
        return len(self._since), compiled.unpack_state(lambda tensor: pieces[base + tensor.addr])

    def load(self, state: State) -> None:
        """Another state, as `weights` returns it."""
        self.device.load(state)
        self._error = None
        self._keep([])

    def _keep(self, since: list[Step]) -> None:
        """Keep the state in the memory; `since`: the iterations that come after it."""
        self._kept, self._loads, self._since = self.device.save(), self.device.loads, since

    def _prove(self, *sizes: int) -> None:
        """Before a state is kept: are the programs that made it intact? With "step" every run has shown that."""
        if self.device.verify == "start" and (changed := self.device.mend(*{(size, "train") for size in sizes})):
            raise IntegrityError(f"in the last {len(sizes)} minibatches {changed[0]}")

    def _step(self, x: np.ndarray, labels: np.ndarray, iteration: int, rate: int) -> int:
        loss = self.device.step(x, labels, iteration, rate)
        since = [*self._since, (x, labels, iteration, rate, loss)]
        if len(since) < self.keep_every:
            self._since = since
        else:
            self._prove(*(len(images) for images, *_ in since))
            self._keep([])
        return loss

    def _attempt(self, action: Callable[[], T], what: str) -> T:
        if self._loads != self.device.loads:  # somebody has called Device.load
            self._error = None
            self._keep([])
        self._failures = 0
        while True:
            try:
                if self._error is not None:
                    self._go_back(what, self._error)
                self._error = _UNFINISHED
                result = action()
                self._error = None
                return result
            except EngineError as error:
                refused = isinstance(error, (EngineBusy, EngineHung))
                if not refused or self._error is _UNFINISHED:  # else the reason to go back stays what it was
                    self._error = error
                self._failures += 1
                if refused or self._failures == self.attempts:
                    raise

    def _go_back(self, what: str, error: EngineError) -> None:
        done = self.device.recover()
        try:
            self.device.restore(self._kept)
        finally:
            self._loads = self.device.loads
        self.recoveries += 1
        self.say(Recovered(error, what, len(self._since), tuple(done)))
        while self._since:
            x, labels, iteration, rate, before = self._since[0]
            loss = self.device.step(x, labels, iteration, rate)
            if loss != before:
                raise IntegrityError(
                    f"LOSS of minibatch {iteration} was {before}, repeated it is {loss}: one of the two was wrong "
                    "without an error"
                )
            self._prove(len(x))
            self._keep(self._since[1:])
            self._failures = 0
