# SPDX-License-Identifier: Apache-2.0
"""How far a training has come: all that a checkpoint must hold to continue it bit by bit."""

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from gradcore.network.description import Network
from gradcore.reference.trainer import STATE, State, real_of


@dataclass
class Comparison:
    """Words compared with the reference trainer, and where the differing ones are."""

    words: int = 0
    differing: int = 0
    losses: int = 0
    differing_losses: int = 0
    differing_overflows: int = 0
    first: str = ""
    places: dict[str, int] = field(default_factory=dict)

    def weights(self, network: Network, ours: State, theirs: State, when: str) -> None:
        """Compare every weight, bias and momentum word."""
        for p, mine, reference in zip(network.parameters, ours, theirs, strict=True):
            for key in STATE:
                wrong = int(np.count_nonzero(mine[key] != reference[key]))
                self.words += reference[key].size
                self.differing += wrong
                if wrong:
                    place = f"{p.name}.{key}"
                    self.places[place] = self.places.get(place, 0) + wrong
                    self.first = self.first or f"{place} after {when}"

    def loss(self, ours: int, theirs: int | None, when: str) -> None:
        """Compare one minibatch's LOSS."""
        self.losses += 1
        if ours != theirs:
            self.differing_losses += 1
            self.first = self.first or f"LOSS of {when}: {ours}, reference {theirs}"

    def overflow(self, flag: bool, agrees: bool, when: str) -> None:
        """Note whether the engine's overflow bit of a minibatch agrees with the reference's gradients."""
        if not agrees:
            self.differing_overflows += 1
            self.first = self.first or f"overflow bit of {when}: {int(flag)}"

    @property
    def equal(self) -> bool:
        """True when something was compared and nothing differed."""
        return self.words > 0 and self.differing == self.differing_losses == self.differing_overflows == 0


@dataclass
class Progress:
    """Counts and sums of a training, and after `kept` its states.

    epoch: whole epochs, each with an entry in `history`; minibatch, images, loss (integer), float32_loss: of the epoch
    that has begun; overflows, first_overflow: minibatches in which a gradient overflowed, number of the first (from 0);
    saturated, epoch_saturated: `counts` of `Saturations`, of all epochs and of the one that has begun or just ended.
    iteration: minibatches in all; trained: images in all; recoveries: engine errors that were overcome; counters: sums
    over all minibatches. state, reference, float32: per layer a dict as `ReferenceTrainer.weights` has it, of the
    session and of the two trainers beside it (None without them); best: that of the session after the epoch with the
    smallest validation loss; events: the recorded minibatch.
    """

    epoch: int = 0
    minibatch: int = 0
    images: int = 0
    loss: int = 0
    float32_loss: float = 0.0
    iteration: int = 0
    trained: int = 0
    recoveries: int = 0
    seconds: float = 0.0
    overflows: int = 0
    first_overflow: int | None = None
    saturated: dict[str, list[int]] = field(default_factory=dict)
    epoch_saturated: dict[str, list[int]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    comparison: Comparison = field(default_factory=Comparison)
    history: list[dict[str, Any]] = field(default_factory=list)
    lost_events: int = 0
    state: State | None = None
    reference: State | None = None
    float32: State | None = None
    best: State | None = None
    events: np.ndarray | None = None

    def kept(self, **now: Any) -> "Progress":
        """A copy that further training does not change, with the fields `now`."""
        compared = replace(self.comparison, places=dict(self.comparison.places))
        own: dict[str, Any] = {"counters": dict(self.counters), "comparison": compared, "history": list(self.history)}
        return replace(self, **own | now)

    def plain(self) -> dict:
        """Everything but the arrays, for JSON."""
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in ARRAYS}
        return found | {"comparison": asdict(self.comparison)}

    @classmethod
    def from_plain(cls, plain: dict, **arrays: Any) -> "Progress":
        """The opposite of `plain`. Raises TypeError for anything else."""
        loss = math.nan if plain["float32_loss"] is None else plain["float32_loss"]  # JSON has no NaN
        return cls(**plain | {"comparison": Comparison(**plain["comparison"]), "float32_loss": loss}, **arrays)


def beginning(network: Network, state: State) -> Progress:
    """That of a training that begins with `state`."""
    real = [{key: values.astype(np.float32) for key, values in layer.items()} for layer in real_of(network, state)]
    return Progress(state=state, reference=state, float32=real)


ARRAYS = ("state", "reference", "float32", "best", "events")
