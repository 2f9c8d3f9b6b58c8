# SPDX-License-Identifier: Apache-2.0
"""A network being trained somewhere: on a simulated engine, on the machine model, or by the reference trainer itself.

A session has `name`, `step`, `outputs`, `weights`, `close`; those of an engine also `counters` of the last program.
"""

from gradcore.reference import ReferenceTrainer

BACKENDS = ("sim", "machine", "reference")


class ReferenceSession:
    """The reference trainer as a session: no engine, no cycles."""

    name, engine_sha256, cycles = "reference", None, None

    def __init__(self, network, seed):
        self.trainer = ReferenceTrainer(network, seed)

    def step(self, x, labels, iteration):
        """Train on integers `x` (N, C, H, W); returns the integer LOSS."""
        return self.trainer.step(x, labels, iteration)

    def outputs(self, x):
        """Integer outputs (N, classes)."""
        return self.trainer.forward(x)

    def weights(self):
        """State as `ReferenceTrainer.weights`."""
        return self.trainer.weights()

    def close(self):
        """Nothing to free."""


def open_session(backend, network, config, seed, say=print):
    """Session of a back end name. Raises CompileError when the network does not fit the engine."""
    if backend == "reference":
        return ReferenceSession(network, seed)
    raise NotImplementedError
