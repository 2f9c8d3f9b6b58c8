# SPDX-License-Identifier: Apache-2.0
"""The weight update: stochastic gradient descent, with or without momentum, on integers."""

import numpy as np

from gradcore.numerics.fixed_point import GRAD_W, int64, requantize, round_shift, saturate


def scale_gradient(grad, shift_g: int, mode="half_even", rnd=None, clipped: list | None = None) -> np.ndarray:
    """g: the exact gradient without `shift_g` fraction bits, saturated to 24 bits. `clipped` as in `requantize`."""
    return requantize(grad, shift_g, GRAD_W, mode, rnd, clipped)


def update(
    w, v, grad, parameters, width: int, mode="half_even", rnd=(None, None, None), clipped: list | None = None
) -> tuple:
    """(new weights, new momentum) of weights `w`, momentum `v` (zeros for plain SGD) and exact gradients `grad`, all of
    one shape.

    `parameters` is an `UpdateParameters` of gradcore.network.description, `width` the data width, `rnd` the random
    numbers of the roundings of gradient, momentum and weight (stochastic rounding only). `clipped`: gets the numbers of
    saturated words of these three appended.
    """
    p = parameters
    g = scale_gradient(grad, p.shift_g, mode, rnd[0], clipped)
    v = requantize(p.beta_m * int64(v) - p.lr_m * g, p.shift_v, width, mode, rnd[1], clipped)
    return requantize((int64(w) << p.shift_w) + v, p.shift_w, width, mode, rnd[2], clipped), v


def saturates(w, v, grad, parameters, width: int, mode="half_even", rnd=(None, None, None)) -> np.ndarray:
    """Whether `update` of the same arguments saturates the gradient, the momentum or the weight of each element
    (bool)."""
    p = parameters
    exact = round_shift(grad, p.shift_g, mode, rnd[0])
    g = saturate(exact, GRAD_W)
    momentum = round_shift(p.beta_m * int64(v) - p.lr_m * g, p.shift_v, mode, rnd[1])
    new = saturate(momentum, width)
    weight = round_shift((int64(w) << p.shift_w) + new, p.shift_w, mode, rnd[2])
    return (g != exact) | (new != momentum) | (saturate(weight, width) != weight)
