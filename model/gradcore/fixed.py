# SPDX-License-Identifier: Apache-2.0
"""Fixed-point arithmetic: rounding, saturation and the random numbers of doc/numerics.md, on int64 arrays of any shape."""

from dataclasses import dataclass

import numpy as np

ACC_W = 48                    # bits of an accumulator (default of the RTL)
GRAD_W = 24                   # bits of the scaled gradient g
COEF_MAX = 32767              # largest lr_m and beta_m
FRAC_MIN, FRAC_MAX = -8, 31   # fraction widths a tensor may have
MODES = {"truncate": 0, "half_up": 1, "half_even": 2, "stochastic": 3}
_NAMES = {code: name for name, code in MODES.items()}
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Format:
    """Signed fixed-point format: `width` bits (2..48), value = integer * 2^-frac (frac -8..31). Raises ValueError outside that."""

    width: int
    frac: int

    def __post_init__(self):
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


def mode_name(mode) -> str:
    """Name of a rounding mode given as name or code 0..3. Raises ValueError for any other."""
    name = _NAMES.get(mode, mode)
    if name not in MODES:
        raise ValueError(f"rounding mode {mode!r} is none of {', '.join(MODES)}")
    return name


def int64(x) -> np.ndarray:
    """`x` as int64 array; raises TypeError for anything that is not integer or bool."""
    x = np.asarray(x)
    if x.dtype.kind not in "iub":
        raise TypeError(f"integers expected, got {x.dtype}")
    return x.astype(np.int64, copy=False)


def fits(x, width: int) -> bool:
    """True when every element of the integers `x` fits `width` signed bits."""
    x = np.asarray(x)
    return x.size == 0 or (int(x.min()) >= -(1 << (width - 1)) and int(x.max()) < 1 << (width - 1))


def wrap(x, width: int) -> np.ndarray:
    """The low `width` bits (1..63) of `x`, sign-extended: what a register of that width keeps of an overflowing sum."""
    shift = 64 - width
    return (int64(x) << shift) >> shift


def round_shift(x, shift: int, mode="half_even", rnd=None) -> np.ndarray:
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
    rnd = int64(rnd)
    return (x + (rnd >> (16 - shift) if shift <= 16 else rnd << (shift - 16))) >> shift


def saturate(x, width: int) -> np.ndarray:
    """Clip the integers `x` to `width` signed bits."""
    return np.clip(int64(x), -(1 << (width - 1)), (1 << (width - 1)) - 1)


def requantize(x, shift: int, width: int, mode="half_even", rnd=None, clipped: list | None = None) -> np.ndarray:
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


def quantize(values, fmt: Format, mode="half_even", rnd=None) -> np.ndarray:
    """Real `values` to integers of `fmt`, rounded by `mode` (`rnd` as in `round_shift`), then saturated; raises ValueError on NaN."""
    scaled, name = np.asarray(values, dtype=np.float64) * 2.0 ** fmt.frac, mode_name(mode)
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


def dequantize(x, fmt: Format) -> np.ndarray:
    """Integers of `fmt` to float64 values."""
    return int64(x) * 2.0 ** -fmt.frac


def mix32(x) -> np.ndarray:
    """Hash of 32-bit numbers (any integers, taken modulo 2^32), as int64 in 0..2^32-1."""
    x = int64(x) & _MASK
    x = (x + (x << 10)) & _MASK
    x = x ^ (x >> 6)
    x = (x + (x << 3)) & _MASK
    x = x ^ (x >> 11)
    return (x + (x << 15)) & _MASK


def position_random(seed: int, tag: int, k, i, j) -> np.ndarray:
    """16-bit random numbers (int64, 0..65535) of the elements at (k, i, j), integer arrays that broadcast together."""
    key = mix32(mix32((seed & _MASK) ^ (tag << 16)) + int64(k))
    low, high = (key & 0xFFFF).astype(np.uint16), (key >> 16).astype(np.uint16)
    row = (mix32(int64(i) + 0x9E3779B9) & 0xFFFF).astype(np.uint16)
    column = (mix32(int64(j) + 0x7F4A7C15) & 0xFFFF).astype(np.uint16)
    with np.errstate(over="ignore"):
        t = (low ^ row) + (high ^ column)
        u = t + (t << np.uint16(5))
        return (u ^ (u >> np.uint16(8))).astype(np.int64)


def even_bits(n) -> np.ndarray:
    """Bits 0, 2, 4, .. 14 of n (0..65535), packed."""
    n = int64(n)
    return sum(((n >> (2 * bit)) & 1) << bit for bit in range(8))


def odd_bits(n) -> np.ndarray:
    """Bits 1, 3, 5, .. 15 of n (0..65535), packed."""
    return even_bits(int64(n) >> 1)


KINDS = {"act": 0, "delta": 1, "param": 2}
GRADIENT, MOMENTUM, WEIGHT = 0, 1, 2     # j of the three roundings of an update


def random_tag(layer: int, kind: str) -> int:
    """Tag of a tensor: `layer` counts from 0; `kind` is act or delta (both of the layer's output) or param."""
    return layer * 4 + KINDS[kind]


def map_random(seed: int, tag: int, shape: tuple) -> np.ndarray:
    """Random numbers of a whole activation or delta tensor of shape (images, maps, rows, columns), image 0 first."""
    n, c, y, x = np.ogrid[tuple(slice(size) for size in shape)]
    return position_random(seed, tag, c, (y << 8) | odd_bits(n), (x << 8) | even_bits(n))


def weight_random(seed: int, tag: int, shape: tuple, j: int) -> np.ndarray:
    """Random numbers of the weights of shape (output maps, input maps, KY, KX); j is GRADIENT, MOMENTUM or WEIGHT."""
    o, c, ky, kx = np.ogrid[tuple(slice(size) for size in shape)]
    return position_random(seed, tag, (ky * shape[3] + kx) * shape[1] + c, o, j)


def bias_random(seed: int, tag: int, shape: tuple, j: int) -> np.ndarray:
    """Random numbers of the biases of a layer whose weights have `shape`, as (output maps,); j as in `weight_random`."""
    return position_random(seed, tag, shape[1] * shape[2] * shape[3], np.arange(shape[0]), j)


def iteration_seed(seed: int, iteration: int) -> int:
    """Value of the register SEED for a training iteration (counted from 0)."""
    return int(mix32((seed + iteration) & _MASK))
