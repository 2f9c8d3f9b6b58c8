# SPDX-License-Identifier: Apache-2.0
"""Schedules: the factor of all learning rates by minibatch (doc/numerics.md, "Schedules"). Counted in epochs, as in
net.toml; an epoch's last minibatch may be a smaller one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.optimiser import RATE_ONE

EPOCHS_MAX, STEPS_MAX = 1_000_000, 100


@dataclass(frozen=True)
class Schedule:
    """The same rates throughout, but for the warm-up.

    warm_up: epochs, whole or not, in which the factor rises from zero by equal steps; it multiplies what follows,
    which counts from the first minibatch on. Raises NetworkError.
    """

    warm_up: float = field(default=0.0, metadata={"range": (0, EPOCHS_MAX)})

    def __post_init__(self) -> None:
        _number("warm_up", self.warm_up, 0, EPOCHS_MAX)

    def rate(self, minibatch: int, per_epoch: int) -> int:
        """The register RATE for a minibatch, counted from 0 over all epochs of `per_epoch` minibatches: 32768 is 1."""
        rising = round(self.warm_up * per_epoch)
        warm = (minibatch + 1) / rising if minibatch < rising else 1.0
        return round(RATE_ONE * warm * self._factor(minibatch, per_epoch))

    def _factor(self, minibatch: int, per_epoch: int) -> float:
        return 1.0


@dataclass(frozen=True)
class Step(Schedule):
    """The rates are multiplied by `factor` after each `every` epochs."""

    every: int = field(default=1, metadata={"range": (1, EPOCHS_MAX)})
    factor: float = field(default=0.1, metadata={"range": (0, 1)})

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer(_PREFIX + "every", self.every, 1, EPOCHS_MAX)
        _number("factor", self.factor, 0, 1)

    def _factor(self, minibatch: int, per_epoch: int) -> float:
        return float(self.factor ** (minibatch // (per_epoch * self.every)))


@dataclass(frozen=True)
class Piecewise(Schedule):
    """The learning rates times `factors[k]` from epoch `epochs[k]` on, epochs counted from 0."""

    epochs: tuple = field(default=(), metadata={"range": (1, EPOCHS_MAX)})
    factors: tuple = field(default=(), metadata={"range": (0, 1)})

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "factors"):
            value = getattr(self, name)
            if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= STEPS_MAX:
                raise NetworkError(_PREFIX + name, f"{value!r} is no list of numbers", f"1 to {STEPS_MAX} numbers")
            object.__setattr__(self, name, tuple(value))
        for epoch in self.epochs:
            check.integer(_PREFIX + "epochs", epoch, 1, EPOCHS_MAX)
        for factor in self.factors:
            _number("factors", factor, 0, 1)
        if any(a >= b for a, b in zip(self.epochs, self.epochs[1:])):
            raise NetworkError(_PREFIX + "epochs", f"{list(self.epochs)} do not rise", f"{sorted(set(self.epochs))}")
        if len(self.factors) != len(self.epochs):
            raise NetworkError(
                _PREFIX + "factors",
                f"{len(self.factors)} factors for {len(self.epochs)} epochs",
                f"{len(self.epochs)} factors",
            )

    def _factor(self, minibatch: int, per_epoch: int) -> float:
        past = sum(minibatch >= per_epoch * epoch for epoch in self.epochs)
        return float(self.factors[past - 1]) if past else 1.0


@dataclass(frozen=True)
class Cosine(Schedule):
    """The factor falls from 1 to `last` along half a cosine, minibatch by minibatch, in `epochs` epochs, and stays
    there."""

    epochs: int = field(default=1, metadata={"range": (1, EPOCHS_MAX)})
    last: float = field(default=0.0, metadata={"range": (0, 1)})

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer(_PREFIX + "epochs", self.epochs, 1, EPOCHS_MAX)
        _number("last", self.last, 0, 1)

    def _factor(self, minibatch: int, per_epoch: int) -> float:
        done = min(minibatch / (per_epoch * self.epochs), 1.0)
        return self.last + (1.0 - self.last) * (1.0 + math.cos(math.pi * done)) / 2


SCHEDULES = {"constant": Schedule, "step": Step, "piecewise": Piecewise, "cosine": Cosine}
_PREFIX = "train.schedule."


def schedule_of(value: Any) -> Schedule:
    """The schedule of the table [train.schedule] of a net.toml. Raises NetworkError."""
    entry = check.table("train.schedule", value)
    kind = entry.pop("type", None)
    check.choice(_PREFIX + "type", kind, SCHEDULES)
    known: Mapping[str, Any] = SCHEDULES[kind].__dataclass_fields__
    check.known(_PREFIX, entry, known)
    return SCHEDULES[kind](**entry)


def _number(name: str, value: Any, least: float, most: float) -> None:
    check.number(_PREFIX + name, value, least, most, f"{least} to {most}")
