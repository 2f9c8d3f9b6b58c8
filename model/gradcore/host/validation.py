# SPDX-License-Identifier: Apache-2.0
"""Images that are set aside from training to see when it has learnt enough: the best epoch, and when to stop."""

from collections.abc import Sequence
from typing import Any

LOSS = "validation_loss"  # of an entry of the history


def best_epoch(history: Sequence[dict[str, Any]]) -> int | None:
    """Number (from 1) of the epoch with the smallest validation loss, the first of several; None without validation."""
    losses = [entry[LOSS] for entry in history if LOSS in entry]
    return losses.index(min(losses)) + 1 if losses else None


def stops(history: Sequence[dict[str, Any]], patience: int) -> bool:
    """Have `patience` epochs passed since the best one? Never with a patience of 0."""
    best = best_epoch(history)
    return bool(patience and best and len(history) - best >= patience)
