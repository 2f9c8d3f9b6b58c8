# SPDX-License-Identifier: Apache-2.0
"""Multipliers and shifts of a weight update (doc/numerics.md, "Weight update")."""

import math
from typing import TYPE_CHECKING

from gradcore.numerics.fixed_point import ACC_W, COEF_MAX, FRAC_MAX, FRAC_MIN
from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.optimiser import UpdateParameters

if TYPE_CHECKING:
    from gradcore.network.description import Network

LR_MIN = 64  # smallest lr_m: below it the learning rate would be wrong by more than 1 %
GUARD = 4  # bits by which the scaled gradient is wanted to be finer than the momentum's last bit


def update_parameters(
    network: "Network", learning_rate: float, where: str, fw: int, fv: int, grad_frac: int
) -> UpdateParameters:
    """The numbers of one tensor of fraction `fw` with momentum of `fv` and gradients of `grad_frac`, for the learning
    rate of its layer. Raises NetworkError, which names the field `where` or learning_rate.

    One rounding of g is lr_m * 2^-shift_v of the momentum's last bit, and lr_m has a relative error of about 1 / lr_m.
    Wanted, in this order: g finer by GUARD bits than the momentum, yet never so fine that its 24 bits saturate before
    the momentum does; lr_m of many bits, up to 15; beta_m of many bits.
    """
    check.within(where, fv, fw, fw + 15, f"shift_w = {fv - fw} is outside 0..15")
    check.within(where, fv, FRAC_MIN, FRAC_MAX, f"{fv} is outside {FRAC_MIN}..{FRAC_MAX}")
    rate = learning_rate / network.minibatch
    beta = network.momentum if network.optimiser == "momentum" else 0.0
    shifts = [s for s in range(32) if _represents(beta, s)]
    best = None
    for shift_v in shifts:
        for shift_g in range(ACC_W):
            frac_g = grad_frac - shift_g
            lr_m = math.floor(rate * 2.0 ** (fv + shift_v - frac_g) + 0.5)
            if not LR_MIN <= lr_m <= COEF_MAX:
                continue
            guard = shift_v - lr_m.bit_length() + 1
            key = (guard <= network.data_width // 2, min(guard, GUARD), lr_m.bit_length(), shift_v, -shift_g)
            if best is None or key > best[0]:
                beta_m = round(beta * 2**shift_v)
                best = key, UpdateParameters(lr_m, beta_m, shift_g, shift_v, fv - fw, fv, frac_g)
    if best is None:
        low, high = (
            m * 2.0 ** (grad_frac - g - fv - s)
            for m, g, s in ((LR_MIN, ACC_W - 1, shifts[-1]), (COEF_MAX, 0, shifts[0]))
        )
        raise NetworkError(
            "learning_rate",
            f"no shifts represent {learning_rate:g} with a momentum of {fv} and a gradient of "
            f"{grad_frac} fraction bits",
            f"{network.minibatch * min(max(rate, low), high):g}",
        )
    return best[1]


def _represents(beta: float, shift: int) -> bool:
    beta_m: int = round(beta * 2**shift)
    return beta_m <= COEF_MAX and abs(beta_m * 2.0**-shift - beta) < 2**-8
