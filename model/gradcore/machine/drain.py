# SPDX-License-Identifier: Apache-2.0
"""What the engine's datapath does with one COMPUTE, on arrays whose last axis is the lane: drain of FP and BP
(doc/numerics.md, doc/instructions.md)."""

import numpy as np

from gradcore.isa.instruction import FACTOR_KEEP, FACTOR_SIGN, Instruction
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
    place = (channel, y << 8 | odd_bits(n), x << 8 | even_bits(n))
    return _rounded(acc, instr, instr["shift"], instr["rnd_tag"], place, width, seed)


def factor(
    words: np.ndarray,
    instr: Instruction,
    bits: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    n: np.ndarray,
    channel: np.ndarray,
    width: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(words times their factor, whether each was saturated); `bits`: gate bits, which one of the choices reads; y, x,
    n, channel: places of the results."""
    place = (channel, y << 8 | odd_bits(n), x << 8 | even_bits(n))
    if instr["factor"] == FACTOR_SIGN:
        first = words > 0
    elif instr["factor"] == FACTOR_KEEP:
        first = position_random(seed, instr["keep_tag"], *place) >= instr["keep_threshold"]
    else:
        first = bits != 0
    products = int64(words) * np.where(first, instr["factor_1"], instr["factor_0"])
    return _rounded(products, instr, instr["factor_shift"], instr["factor_tag"], place, width, seed)


def _rounded(
    sums: np.ndarray, instr: Instruction, shift: int, tag: int, place: tuple, width: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    rnd = position_random(seed, tag, *place) if instr["rounding"] == STOCHASTIC else None
    rounded = round_shift(sums, shift, instr["rounding"], rnd)
    found = saturate(rounded, width)
    return found, found != rounded


def loss(
    z: np.ndarray, instr: Instruction, bits: np.ndarray, enable: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """(delta, whether each was saturated, sum of d^2) of outputs `z`; lanes that are not enabled have d = 0."""
    name = _LOSS[instr["loss"]]
    d = np.where(enable, difference(name, z, bits != 0, instr["t_pos"], instr["t_neg"]), 0)
    return *loss_gradient(d, instr["loss_shift"], width), int((d.astype(object) ** 2).sum()) if d.size else 0


def loss_gradient(d: np.ndarray, shift: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(delta, whether each was saturated) of differences to the targets."""
    delta = loss_delta(d, shift, width)
    return delta, delta != round_shift(int64(d) << 16, shift, "half_up")


def pool(a: np.ndarray, gate: np.ndarray, inside: np.ndarray, grid: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """(pooled, gate): 2x2 maximum over the lanes of the last axis; results sit at pixel (y/2, x/2) of their block, the
    gate keeps only the first maximum of each window that lies inside the map."""
    windows = _windows(a, grid)
    whole = np.asarray(_windows(inside, grid).all(axis=-1))
    first = np.arange(4) == windows.argmax(axis=-1)[..., None]
    first &= whole[..., None]
    spread = np.moveaxis(first.reshape(*a.shape[:-1], grid // 2, grid // 2, 2, 2), -2, -3).reshape(a.shape)
    return _placed(windows.max(axis=-1), grid, fold), gate & spread


def pooled_lanes(inside: np.ndarray, grid: int, fold: int) -> np.ndarray:
    """The lanes where the results of complete windows are."""
    return _placed(np.asarray(_windows(inside, grid).all(axis=-1)), grid, fold)


def _windows(lanes: np.ndarray, grid: int) -> np.ndarray:
    """(rows, columns, 4) of windows."""
    shape = (*lanes.shape[:-1], grid // 2, 2, grid // 2, 2)
    return np.moveaxis(lanes.reshape(shape), -3, -2).reshape(*lanes.shape[:-1], grid // 2, grid // 2, 4)


def _placed(values: np.ndarray, grid: int, fold: int) -> np.ndarray:
    """Results of windows (rows, columns) in their lanes."""
    py = 1 << fold
    half = np.arange(grid // 2)
    place = 2 * half // py * py + 2 * half % py // 2  # lane row (or column) of the result of a window
    out = np.zeros((*values.shape[:-2], grid, grid), values.dtype)
    out[..., place[:, None], place[None, :]] = values
    return out.reshape(*values.shape[:-2], grid * grid)
