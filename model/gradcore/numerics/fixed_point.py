# SPDX-License-Identifier: Apache-2.0
"""Fixed-point arithmetic: rounding and saturation of doc/numerics.md, on int64 arrays of any shape."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

ACC_W = 48  # bits of an accumulator (default of the RTL)
GRAD_W = 24  # bits of the scaled gradient g
COEF_MAX = 32767  # largest lr_m and beta_m
FRAC_MIN, FRAC_MAX = -8, 31  # fraction widths a tensor may have
MODES = {"truncate": 0, "half_up": 1, "half_even": 2, "stochastic": 3}
_NAMES: dict[str | int, str] = {code: name for name, code in MODES.items()} | {name: name for name in MODES}


@dataclass(frozen=True)
class Format:
    """Signed fixed-point format: `width` bits (2..48), value = integer * 2^-frac (frac -8..31). Raises ValueError
    outside that."""

    width: int
    frac: int

    def __post_init__(self) -> None:
        if not 2 <= self.width <= ACC_W:
            raise ValueError(f"width {self.width} is outside 2..{ACC_W}")
        if not FRAC_MIN <= self.frac <= FRAC_MAX:
            raise ValueError(f"frac {self.frac} is outside {FRAC_MIN}..{FRAC_MAX}")

    @property
    def min(self) -> int:
        """Smallest integer."""
        return -(1 << (self.width - 1))

    @property
    def max(self) -> int:
        """Largest integer."""
        return (1 << (self.width - 1)) - 1


def mode_name(mode: str | int) -> str:
    """Name of a rounding mode given as name or code 0..3. Raises ValueError for any other."""
    name = _NAMES.get(mode)
    if name is None:
        raise ValueError(f"rounding mode {mode!r} is none of {', '.join(MODES)}")
    return name


def int64(x: ArrayLike) -> NDArray[np.int64]:
    """`x` as int64 array; raises TypeError for anything that is not integer or bool."""
    x = np.asarray(x)
    if x.dtype.kind not in "iub":
        raise TypeError(f"integers expected, got {x.dtype}")
    return x.astype(np.int64, copy=False)


def fits(x: ArrayLike, width: int) -> bool:
    """True when every element of the integers `x` fits `width` signed bits."""
    x = np.asarray(x)
    return x.size == 0 or (int(x.min()) >= -(1 << (width - 1)) and int(x.max()) < 1 << (width - 1))


def wrap(x: ArrayLike, width: int) -> np.ndarray:
    """The low `width` bits (1..63) of `x`, sign-extended: what a register of that width keeps of an overflowing sum."""
    shift = 64 - width
    return (int64(x) << shift) >> shift


def round_shift(x: ArrayLike, shift: int, mode: str | int = "half_even", rnd: ArrayLike | None = None) -> np.ndarray:
    """Drop `shift` (0..47) fraction bits of the integers `x` as doc/numerics.md `round_shift`.

    `rnd`: 16-bit random numbers of a shape that broadcasts to x, used by `stochastic` only.
    Raises ValueError for a bad shift or mode or missing `rnd`, OverflowError where int64 could overflow (|x| >= 2^62).
    """
    x, name = int64(x), mode_name(mode)
    if not 0 <= shift < ACC_W:
        raise ValueError(f"shift {shift} is outside 0..{ACC_W - 1}")
    if not fits(x, 63):
        raise OverflowError("an operand of round_shift needs more than 63 bits")
    if name == "stochastic" and rnd is None:
        raise ValueError("stochastic rounding needs rnd")
    if shift == 0:
        return x.copy()
    if name == "truncate":
        return x >> shift
    if name == "half_up":
        return (x + (1 << (shift - 1))) >> shift
    if name == "half_even":
        return (x + ((1 << (shift - 1)) - 1) + ((x >> shift) & 1)) >> shift
    assert rnd is not None
    rnd = int64(rnd)
    return (x + (rnd >> (16 - shift) if shift <= 16 else rnd << (shift - 16))) >> shift


def saturate(x: ArrayLike, width: int) -> np.ndarray:
    """Clip the integers `x` to `width` signed bits."""
    return np.clip(int64(x), -(1 << (width - 1)), (1 << (width - 1)) - 1)


def requantize(
    x: ArrayLike,
    shift: int,
    width: int,
    mode: str | int = "half_even",
    rnd: ArrayLike | None = None,
    clipped: list | None = None,
) -> np.ndarray:
    """`round_shift`, then `saturate`. `clipped`: gets the number of saturated words appended."""
    rounded = round_shift(x, shift, mode, rnd)
    if fits(rounded, width):
        result, count = rounded, 0
    else:
        result = saturate(rounded, width)
        count = int(np.count_nonzero(result != rounded))
    if clipped is not None:
        clipped.append(count)
    return result


def quantize(values: ArrayLike, fmt: Format, mode: str | int = "half_even", rnd: ArrayLike | None = None) -> np.ndarray:
    """Real `values` to integers of `fmt`, rounded by `mode` (`rnd` as in `round_shift`), then saturated; raises
    ValueError on NaN."""
    scaled, name = np.asarray(values, dtype=np.float64) * 2.0**fmt.frac, mode_name(mode)
    if np.isnan(scaled).any():
        raise ValueError("cannot quantize NaN")
    if name == "half_even":
        rounded = np.rint(scaled)
    elif name == "half_up":
        rounded = np.floor(scaled + 0.5)
    elif name == "truncate":
        rounded = np.floor(scaled)
    elif rnd is None:
        raise ValueError("stochastic rounding needs rnd")
    else:
        rounded = np.floor(scaled + int64(rnd) / 65536.0)
    return np.clip(rounded, fmt.min, fmt.max).astype(np.int64)


def dequantize(x: ArrayLike, fmt: Format) -> np.ndarray:
    """Integers of `fmt` to float64 values."""
    return int64(x) * 2.0**-fmt.frac
