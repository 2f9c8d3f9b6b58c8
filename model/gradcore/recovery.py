# SPDX-License-Identifier: Apache-2.0
"""Training that goes on after an engine error: back to the state after a good minibatch, and again from there, with the same bits.

SEED follows from an iteration's number, so a repeated iteration gives the same weights, whatever ran in between.
"""

from dataclasses import dataclass

from gradcore.control import EngineBusy, EngineError, EngineHung
from gradcore.integrity import IntegrityError


@dataclass(frozen=True)
class Recovered:
    """What a `Trainer` tells once it has gone back: the error, during what, the how-many-th in a row, how many iterations were repeated, what else
    had to be done, and {iteration: (LOSS before, LOSS now)} of repeated ones that differ: one of the two was wrong without an error."""

    error: EngineError
    what: str
    attempt: int
    repeated: int
    done: tuple
    changed: dict

    def __str__(self):
        parts = [f"{self.what}: {self.error}", *self.done, "weights put back"]
        if self.repeated:
            parts.append(f"{self.repeated} minibatches repeated")
        parts += [f"LOSS of minibatch {iteration} was {was}, is {now}" for iteration, (was, now) in self.changed.items()]
        return "; ".join([*parts, "going on"])


class Trainer:
    """Trains with a `Device` and survives its errors: `trainer.step(x, labels, iteration)` for one iteration after the other.

    The state is kept after every `keep_every` good iterations. After an error the engine is recovered, the kept state written back, the iterations
    since then repeated, and the failed one tried again; after `attempts` errors in a row the last one is raised. `say` is called with a `Recovered`
    each time; `recoveries` counts them.

    EngineBusy and EngineHung are raised at once: somebody must act first. After any exception, also Ctrl-C, the next call goes back before it does
    anything else. `x` and `labels` must not change for `keep_every` iterations.
    """

    def __init__(self, device, keep_every: int = 1, attempts: int = 3, say=lambda event: None):
        if keep_every < 1 or attempts < 1:
            raise ValueError(f"keep_every {keep_every} and attempts {attempts} must be at least 1")
        self.device, self.keep_every, self.attempts, self.say, self.recoveries = device, keep_every, attempts, say, 0
        self._keep()

    def step(self, x, labels, iteration: int) -> int:
        """One iteration as `Device.step`; returns the integer LOSS. Raises the error that no attempt got past."""
        loss = self._attempt(lambda: self._step(x, labels, iteration), f"minibatch {iteration}")
        self._since.append([x, labels, iteration, loss])
        if len(self._since) == self.keep_every:
            self._keep()
        return loss

    def outputs(self, x, iteration: int = 0):
        """Outputs as `Device.outputs`."""
        return self._attempt(lambda: self.device.outputs(x, iteration), "inference")

    def weights(self) -> list:
        """The state after the last good iteration, as `Device.weights`."""
        return self._attempt(lambda: self.device.weights(check=True), "reading the weights")

    def kept(self) -> tuple:
        """(iterations done since, state): what the host keeps, without a word to the engine."""
        pieces = {piece.address: piece.data for piece in self._kept}
        compiled, base = self.device.compiled, self.device.base
        return len(self._since), compiled.unpack_state(lambda tensor: pieces[base + tensor.addr])

    def load(self, state: list):
        """Another state, as `weights` returns it."""
        self.device.load(state)
        self._keep()

    def _keep(self):
        self._kept, self._since, self._error = self.device.save(), [], None
        self._loads = self.device.loads

    def _step(self, x, labels, iteration) -> int:
        loss = self.device.step(x, labels, iteration)
        # What is kept must have come from the right program.
        if self.device.verify == "start" and len(self._since) + 1 == self.keep_every and (changed := self.device.mend()):
            raise IntegrityError(f"in the last {self.keep_every} minibatches {changed[0]}")
        return loss

    def _attempt(self, action, what: str):
        if self._loads != self.device.loads:
            self._keep()        # somebody has called Device.load
        failures = 0
        while True:
            try:
                if self._error is not None:
                    self._go_back(what, failures)
                self._error = _UNFINISHED
                result = action()
                self._error = None
                return result
            except EngineError as error:
                self._error, failures = error, failures + 1
                if failures == self.attempts or isinstance(error, (EngineBusy, EngineHung)):
                    raise

    def _go_back(self, what: str, attempt: int):
        error, changed = self._error, {}
        done = self.device.recover()
        try:
            self.device.restore(self._kept)
        finally:
            self._loads = self.device.loads
        for entry in self._since:
            x, labels, iteration, before = entry
            entry[3] = self.device.step(x, labels, iteration)
            if entry[3] != before:
                changed[iteration] = before, entry[3]
        self.recoveries += 1
        self.say(Recovered(error, what, attempt, len(self._since), tuple(done), changed))


_UNFINISHED = EngineError("interrupted")
