# SPDX-License-Identifier: Apache-2.0
"""Multipliers and shifts of a weight update (doc/numerics.md, "Weight update")."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcore.network.schedule import Schedule
from gradcore.numerics.fixed_point import ACC_W, COEF_MAX, FRAC_MAX, FRAC_MIN
from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.optimiser import UpdateParameters

if TYPE_CHECKING:
    from gradcore.network.description import Network

LR_MIN = 64  # smallest lr_m: below it the learning rate would be wrong by more than 1 %
# Bits by which the scaled gradient is wanted to be finer than the momentum's last bit; fewer with a schedule, which
# takes bits of lr_m away.
GUARD, GUARD_SCHEDULED = 4, 1
SHIFT_D_MAX, SHIFT_W_MAX = 15, 31


def update_parameters(
    network: "Network", learning_rate: float, where: str, fw: int, fv: int, grad_frac: int
) -> UpdateParameters:
    """The numbers of one tensor of fraction `fw` with momentum of `fv` and gradients of `grad_frac`, for the learning
    rate of its layer. Raises NetworkError, which names the field `where`, learning_rate or weight_decay.

    One rounding of g is lr_m * 2^-shift_v of the momentum's last bit, and lr_m has a relative error of about 1 / lr_m.
    Wanted, in this order: g finer by GUARD (GUARD_SCHEDULED) bits than the momentum, yet never so fine that its 24 bits
    saturate before the momentum does; lr_m of many bits, up to 15; beta_m of many bits. The multipliers of weight decay
    and of a learning rate behind the momentum have as many bits as possible.
    """
    behind = network.rate_behind_momentum
    if not behind:
        check.within(where, fv, fw, fw + 15, f"shift_w = {fv - fw} is outside 0..15")
    check.within(where, fv, FRAC_MIN, FRAC_MAX, f"{fv} is outside {FRAC_MIN}..{FRAC_MAX}")
    rate = (1.0 if behind else learning_rate) / network.minibatch
    beta = network.momentum if network.has_momentum else 0.0
    shifts = [s for s in range(32) if _represents(beta, s)]
    factor = 1.0 if behind else learning_rate
    if network.weight_decay:
        decay, all_shifts = network.weight_decay, shifts
        shifts = [s for s in shifts if _multipliers(decay, factor, fv + s - fw, SHIFT_D_MAX)]
        if not shifts:
            low, high = _ends(factor, (fv + all_shifts[-1] - fw + SHIFT_D_MAX, fv + all_shifts[0] - fw))
            problem = f"no shifts represent {decay:g} with a momentum of {fv} fraction bits"
            raise NetworkError("weight_decay", problem, f"{min(max(decay, low), high):g}")
    best, wanted = None, GUARD if network.schedule == Schedule() else GUARD_SCHEDULED
    for shift_v in shifts:
        for shift_g in range(ACC_W):
            frac_g = grad_frac - shift_g
            lr_m = math.floor(rate * 2.0 ** (fv + shift_v - frac_g) + 0.5)
            if not LR_MIN <= lr_m <= COEF_MAX:
                continue
            guard = shift_v - lr_m.bit_length() + 1
            key = (guard <= network.data_width // 2, min(guard, wanted), lr_m.bit_length(), shift_v, -shift_g)
            if best is None or key > best[0]:
                beta_m = round(beta * 2**shift_v)
                best = key, UpdateParameters(lr_m, beta_m, shift_g, shift_v, fv - fw, fv, frac_g)
    if best is None:
        low, high = (
            m * 2.0 ** (grad_frac - g - fv - s)
            for m, g, s in ((LR_MIN, ACC_W - 1, shifts[-1]), (COEF_MAX, 0, shifts[0]))
        )
        field, shown = ("minibatch", f"1 / {network.minibatch}") if behind else ("learning_rate", f"{learning_rate:g}")
        raise NetworkError(
            field,
            f"no shifts represent {shown} with a momentum of {fv} and a gradient of {grad_frac} fraction bits",
            "" if behind else f"{network.minibatch * min(max(rate, low), high):g}",
        )
    found = best[1]
    if network.weight_decay:
        shift_d, decay_m = _multipliers(network.weight_decay, factor, fv + found.shift_v - fw, SHIFT_D_MAX)[-1]
        found = replace(found, decay_m=decay_m, shift_d=shift_d)
    if behind:
        rates = _multipliers(learning_rate, 1.0, fw - fv, SHIFT_W_MAX)
        if not rates:
            low, high = _ends(1.0, (fw - fv + SHIFT_W_MAX, fw - fv))
            problem = f"no shift represents {learning_rate:g}"
            raise NetworkError("learning_rate", problem, f"{min(max(learning_rate, low), high):g}")
        shift_w, rate_m = rates[-1]
        found = replace(found, rate_m=rate_m, shift_w=shift_w)
    return found


def _multipliers(value: float, factor: float, frac: int, most: int) -> list[tuple[int, int]]:
    """(shift, multiplier) of value * factor for the shifts 0..most that represent it: a multiplier has frac + shift
    fraction bits, the last one the most bits."""
    scaled = ((shift, round(value * factor * 2.0 ** (frac + shift))) for shift in range(most + 1))
    return [(shift, multiplier) for shift, multiplier in scaled if LR_MIN <= multiplier <= COEF_MAX]


def _ends(factor: float, fracs: tuple[int, int]) -> tuple[float, float]:
    """The smallest and the largest value that has a multiplier, of the most and the fewest fraction bits."""
    return LR_MIN * 2.0 ** -fracs[0] / factor, COEF_MAX * 2.0 ** -fracs[1] / factor


def _represents(beta: float, shift: int) -> bool:
    beta_m: int = round(beta * 2**shift)
    return beta_m <= COEF_MAX and abs(beta_m * 2.0**-shift - beta) < 2**-8
