# SPDX-License-Identifier: Apache-2.0
"""Loss functions on the last layer's output; integers are exact, floats give the same formulas in real numbers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gradcore.numerics.fixed_point import int64, requantize
from gradcore.ops import softmax

SOFTMAX = "softmax_cross_entropy"
LOSSES = {"euclidean": 1, "square_hinge": 2, SOFTMAX: 3}  # codes of the instruction field


@dataclass(frozen=True)
class LossParameters:
    """Numbers of the loss: its name, the fraction of the outputs, the targets in that format, the shift to the local
    gradient."""

    loss: str
    fo: int
    t_pos: int
    t_neg: int
    shift: int


def targets(labels: ArrayLike, classes: int) -> np.ndarray:
    """Target bits (N, classes) of integer labels (N,); raises ValueError for a label outside 0..classes-1."""
    labels = int64(labels)
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(f"labels {labels.min()}..{labels.max()} do not fit {classes} outputs")
    return labels[:, None] == np.arange(classes)


def difference(loss: str, a: np.ndarray, bits: np.ndarray, t_pos: Any, t_neg: Any = 0) -> np.ndarray:
    """d of doc/numerics.md: outputs `a` (N, classes), target bits of the same shape, targets in the format of `a` (frac
    fo)."""
    if loss == "euclidean":
        return a - np.where(bits, t_pos, t_neg).astype(a.dtype)
    if loss == "square_hinge":
        return np.where(bits, -np.maximum(0, t_pos - a), np.maximum(0, t_pos + a)).astype(a.dtype)
    raise ValueError(f"loss {loss!r} is none of {', '.join(LOSSES)}")


def loss_shift(loss: str, fo: int, fd: int) -> int:
    """Shift from d << 16 (frac fo + 16, of softmax 15 + 16) to the local gradient (frac fd); the square hinge's factor
    2 is one shift less."""
    return 16 + (softmax.P_FRAC if loss == SOFTMAX else fo) - fd - (loss == "square_hinge")


def loss_delta(d: ArrayLike, shift: int, width: int, clipped: list | None = None) -> np.ndarray:
    """Local gradient of `width` bits: d << 16 shifted by `shift`, always rounded half-up. `clipped` as in
    `requantize`."""
    return requantize(int64(d) << 16, shift, width, "half_up", None, clipped)


def loss_sum(d: ArrayLike) -> int:
    """LOSS: exact sum of d^2 over the minibatch (frac 2 fo)."""
    return int((int64(d) ** 2).sum())


def loss_value(loss: str, total: int, fo: int) -> float:
    """Value of the summed loss from the integer LOSS, for outputs of fraction width `fo`."""
    if loss == SOFTMAX:
        return total * 2.0**-softmax.BITS_FRAC * math.log(2)
    return total * 2.0 ** (-2 * fo) * (0.5 if loss == "euclidean" else 1.0)


def evaluate(
    p: LossParameters, a: np.ndarray, labels: ArrayLike, width: int, clipped: list | None = None
) -> tuple[np.ndarray, int]:
    """(local gradients, LOSS) of outputs `a` (N, classes) as integers; `clipped` as in `requantize`."""
    bits = targets(labels, a.shape[1])
    if p.loss == SOFTMAX:
        d, total = softmax.difference(a, bits, p.fo)
    else:
        d = difference(p.loss, a, bits, p.t_pos, p.t_neg)
        total = loss_sum(d)
    return loss_delta(d, p.shift, width, clipped), total


def evaluate_real(loss: str, a: np.ndarray, labels: ArrayLike) -> tuple[np.ndarray, float]:
    """(local gradients, summed loss) of real outputs `a` (N, classes)."""
    bits = targets(labels, a.shape[1])
    if loss == SOFTMAX:
        return softmax.real_difference(a, bits)
    d, factor = difference(loss, a, bits, a.dtype.type(1), a.dtype.type(0)), 2 if loss == "square_hinge" else 1
    return d * a.dtype.type(factor), float((d.astype(np.float64) ** 2).sum()) * factor / 2
