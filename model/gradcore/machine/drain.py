# SPDX-License-Identifier: Apache-2.0
"""What the engine's datapath does with one COMPUTE, on arrays whose last axis is the lane: drain of FP and BP
(doc/numerics.md)."""

import numpy as np

from gradcore.isa.instruction import Instruction
from gradcore.numerics.fixed_point import int64, round_shift, saturate
from gradcore.numerics.random_numbers import even_bits, odd_bits, position_random
from gradcore.ops.loss import LOSSES, difference, loss_delta

_LOSS = {code: name for name, code in LOSSES.items()}
STOCHASTIC = 3


def exact_matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer matrix product; floats carry it while they are exact."""
    bound = a.shape[-1] * max(1, int(np.abs(a).max(initial=0))) * max(1, int(np.abs(b).max(initial=0)))
    if bound < 1 << 53:
        product: np.ndarray = np.rint(a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    else:
        product = a @ b
    return product


def requantise(
    acc: np.ndarray,
    instr: Instruction,
    y: np.ndarray,
    x: np.ndarray,
    n: np.ndarray,
    channel: np.ndarray,
    width: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of `width` bits, whether each was saturated) of sums; y, x, n, channel (broadcast) give each element's
    place for stochastic rounding."""
    rnd = None
    if instr["rounding"] == STOCHASTIC:
        rnd = position_random(seed, instr["rnd_tag"], channel, (y << 8 | odd_bits(n)), (x << 8 | even_bits(n)))
    rounded = round_shift(acc, instr["shift"], instr["rounding"], rnd)
    found = saturate(rounded, width)
    return found, found != rounded


def loss(
    z: np.ndarray, instr: Instruction, bits: np.ndarray, enable: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """(delta, whether each was saturated, sum of d^2) of outputs `z`; lanes that are not enabled have d = 0."""
    name = _LOSS[instr["loss"]]
    d = np.where(enable, difference(name, z, bits != 0, instr["t_pos"], instr["t_neg"]), 0)
    delta = loss_delta(d, instr["loss_shift"], width)
    return (
        delta,
        delta != round_shift(int64(d) << 16, instr["loss_shift"], "half_up"),
        int((d.astype(object) ** 2).sum()) if d.size else 0,
    )


def pool(a: np.ndarray, gate: np.ndarray, inside: np.ndarray, grid: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """(pooled, gate): 2x2 maximum over the lanes of the last axis; results sit at pixel (y/2, x/2) of their block, the
    gate keeps only the first maximum of each window that lies inside the map."""
    shape = (*a.shape[:-1], grid // 2, 2, grid // 2, 2)
    windows = np.moveaxis(a.reshape(shape), -3, -2).reshape(*a.shape[:-1], grid // 2, grid // 2, 4)
    whole = np.asarray(np.moveaxis(inside.reshape(shape), -3, -2).reshape(windows.shape).all(axis=-1))
    first = np.arange(4) == windows.argmax(axis=-1)[..., None]
    first &= whole[..., None]
    spread = np.moveaxis(first.reshape(*a.shape[:-1], grid // 2, grid // 2, 2, 2), -2, -3).reshape(a.shape)
    py = 1 << fold
    half = np.arange(grid // 2)
    place = 2 * half // py * py + 2 * half % py // 2  # lane row (or column) of the result of a window
    out = np.zeros((*a.shape[:-1], grid, grid), a.dtype)
    out[..., place[:, None], place[None, :]] = windows.max(axis=-1)
    return out.reshape(a.shape), gate & spread
