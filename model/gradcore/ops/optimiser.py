# SPDX-License-Identifier: Apache-2.0
"""The weight update: stochastic gradient descent on integers, with or without momentum of one of two forms and weight
decay (doc/numerics.md, "Weight update")."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gradcore.numerics.fixed_point import GRAD_W, int64, requantize, round_shift, saturate

RATE_W = 15
RATE_ONE = 1 << RATE_W  # of the register RATE: the learning rates as the program has them


@dataclass(frozen=True)
class UpdateParameters:
    """Numbers of one weight or bias tensor's update; frac_v and frac_g are the fraction widths of momentum and scaled
    gradient. Without weight decay decay_m is 0; rate_m is 1 unless the learning rate stands behind the momentum."""

    lr_m: int
    beta_m: int
    shift_g: int
    shift_v: int
    shift_w: int
    frac_v: int
    frac_g: int
    decay_m: int = 0
    shift_d: int = 0
    rate_m: int = 1

    def at_rate(self, rate: int) -> "UpdateParameters":
        """The numbers of a step whose register RATE is `rate`: the multipliers that hold the learning rate, times
        rate / RATE_ONE, half up."""

        def scaled(multiplier: int) -> int:
            return multiplier if rate >= RATE_ONE else (multiplier * rate + RATE_ONE // 2) >> RATE_W

        if self.rate_m > 1:
            return replace(self, rate_m=scaled(self.rate_m))
        return replace(self, lr_m=scaled(self.lr_m), decay_m=scaled(self.decay_m))


def scale_gradient(
    grad: ArrayLike,
    shift_g: int,
    mode: str | int = "half_even",
    rnd: ArrayLike | None = None,
    clipped: list | None = None,
) -> np.ndarray:
    """g: the exact gradient without `shift_g` fraction bits, saturated to 24 bits. `clipped` as in `requantize`."""
    return requantize(grad, shift_g, GRAD_W, mode, rnd, clipped)


def update(
    w: ArrayLike,
    v: ArrayLike,
    grad: ArrayLike,
    parameters: UpdateParameters,
    width: int,
    mode: str | int = "half_even",
    rnd: Sequence[ArrayLike | None] = (None, None, None),
    clipped: list | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(new weights, new momentum) of weights `w`, momentum `v` (zeros for plain SGD) and exact gradients `grad`, all of
    one shape.

    width: the data width; rnd: the random numbers of the roundings of gradient, momentum and weight (stochastic
    rounding only); clipped: gets the numbers of saturated words of these three appended.
    """
    p = parameters
    g = scale_gradient(grad, p.shift_g, mode, rnd[0], clipped)
    v = requantize(_change(p, w, v, g), p.shift_v + p.shift_d, width, mode, rnd[1], clipped)
    return requantize((int64(w) << p.shift_w) + p.rate_m * v, p.shift_w, width, mode, rnd[2], clipped), v


def _change(p: UpdateParameters, w: ArrayLike, v: ArrayLike, g: np.ndarray) -> np.ndarray:
    """The exact new momentum, of shift_v + shift_d more fraction bits."""
    return ((p.beta_m * int64(v) - p.lr_m * g) << p.shift_d) - p.decay_m * int64(w)


def saturates(
    w: ArrayLike,
    v: ArrayLike,
    grad: ArrayLike,
    parameters: UpdateParameters,
    width: int,
    mode: str | int = "half_even",
    rnd: Sequence[ArrayLike | None] = (None, None, None),
) -> np.ndarray:
    """Whether `update` of the same arguments saturates the gradient, the momentum or the weight of each element
    (bool)."""
    p = parameters
    exact = round_shift(grad, p.shift_g, mode, rnd[0])
    g = saturate(exact, GRAD_W)
    momentum = round_shift(_change(p, w, v, g), p.shift_v + p.shift_d, mode, rnd[1])
    new = saturate(momentum, width)
    weight = round_shift((int64(w) << p.shift_w) + p.rate_m * new, p.shift_w, mode, rnd[2])
    return (g != exact) | (new != momentum) | (saturate(weight, width) != weight)
