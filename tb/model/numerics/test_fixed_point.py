# SPDX-License-Identifier: Apache-2.0
"""Fixed point against apytypes and against the words of doc/numerics.md in plain Python integers."""

import apytypes
import numpy as np
import pytest
from apytypes import APyFixedArray, OverflowMode, QuantizationMode

from gradcore.numerics import fixed_point as fixed
from gradcore.numerics import random_numbers
from gradcore.numerics.fixed_point import Format, round_shift, saturate
from tb.model.plain import plain_even, plain_mix32, plain_position_random

MODES = list(fixed.MODES)
WIDE = 120
OTHER = {
    "truncate": QuantizationMode.TRN,
    "half_up": QuantizationMode.RND,
    "half_even": QuantizationMode.RND_CONV,
    "stochastic": QuantizationMode.TRN,
}


def by_apytypes(x, shift, width, mode, rnd):
    """Rounding and saturation as apytypes casts; the random number enters as an exact fraction below the dropped
    bits."""
    exact = [(int(v) << 16) + (int(r) << shift if mode == "stochastic" and shift else 0) for v, r in zip(x, rnd)]
    wide = APyFixedArray([v % (1 << WIDE) for v in exact], bits=WIDE, frac_bits=16 + shift)
    cast = wide.cast(bits=width, frac_bits=0, quantization=OTHER[mode], overflow=OverflowMode.SAT)
    return [v - (1 << width) if v >> (width - 1) else v for v in cast.to_bits()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shift", range(11))
def test_round_shift_every_small_number(mode, shift):
    x = np.arange(-512, 512)
    for r in (0, 1, 0x7FFF, 0x8000, 0xFFFF):
        rnd = np.full_like(x, r)
        result = saturate(round_shift(x, shift, mode, rnd), 6)
        assert result.dtype == np.int64
        assert result.tolist() == by_apytypes(x, shift, 6, mode, rnd)


@pytest.mark.parametrize("mode", MODES)
def test_round_shift_any_shift_and_width(mode, rng):
    for shift in range(48):
        x = np.concatenate(
            [
                rng.integers(-(1 << 47), 1 << 47, 40),
                rng.integers(-(1 << 47), 1 << 47, 40) >> rng.integers(0, 46, 40),
                [-(1 << 47), (1 << 47) - 1, 0, -1, 1],
            ]
        )
        ties = (rng.integers(-99, 99, 20) << shift) + ((1 << shift) >> 1)
        x = np.concatenate([x, ties[np.abs(ties) < 1 << 47]])
        rnd = rng.integers(0, 1 << 16, x.size)
        width = int(rng.integers(2, 25))
        assert fixed.requantize(x, shift, width, mode, rnd).tolist() == by_apytypes(x, shift, width, mode, rnd)
        assert fixed.requantize(x, shift, width, fixed.MODES[mode], rnd).tolist() == by_apytypes(
            x, shift, width, mode, rnd
        )


def test_round_shift_refuses():
    with pytest.raises(ValueError, match="shift 48 is outside"):
        round_shift([1], 48)
    with pytest.raises(ValueError, match="needs rnd"):
        round_shift([1], 4, "stochastic")
    with pytest.raises(ValueError, match="rounding mode 'up'"):
        round_shift([1], 4, "up")
    with pytest.raises(TypeError, match="integers expected"):
        round_shift([1.0], 4)
    with pytest.raises(OverflowError):
        round_shift([1 << 62], 4)
    with pytest.raises(ValueError, match="frac 32"):
        Format(16, 32)


@pytest.mark.parametrize("mode", MODES)
def test_quantize_agrees_with_round_shift(mode, rng):
    fine = rng.integers(-(1 << 24), 1 << 24, 2000)
    rnd = rng.integers(0, 1 << 16, 2000)
    fmt = Format(12, 7)
    assert (fixed.quantize(fine / 2.0**15, fmt, mode, rnd) == fixed.requantize(fine, 8, 12, mode, rnd)).all()
    assert (fixed.quantize(fixed.dequantize(fine % 99, fmt), fmt, mode, rnd) == fine % 99).all()


def test_quantize_saturates_and_refuses_nan():
    assert fixed.quantize([np.inf, -np.inf, 1e30, -1e30], Format(8, 3)).tolist() == [127, -128, 127, -128]
    with pytest.raises(ValueError, match="NaN"):
        fixed.quantize([np.nan], Format(8, 3))


def test_wrap_and_fits():
    x = np.array([(1 << 47) - 1, 1 << 47, -(1 << 47) - 1])
    assert fixed.wrap(x, 48).tolist() == [(1 << 47) - 1, -(1 << 47), (1 << 47) - 1]
    assert [fixed.fits(x[:1], 48), fixed.fits(x[1:2], 48), fixed.fits(x[2:], 48)] == [True, False, False]


def test_random_numbers_are_those_of_the_definition(rng):
    for _ in range(300):
        seed, tag, k, i, j = (int(v) for v in rng.integers(0, 1 << 32, 5) >> np.array([0, 20, 8, 4, 4]))
        assert int(random_numbers.position_random(seed, tag, k, i, j)) == plain_position_random(seed, tag, k, i, j)
        assert int(random_numbers.mix32(seed)) == plain_mix32(seed)
    n = np.arange(1 << 16)
    assert random_numbers.even_bits(n).tolist() == [plain_even(v) for v in range(1 << 16)]
    assert random_numbers.odd_bits(n).tolist() == [plain_even(v >> 1) for v in range(1 << 16)]
    assert random_numbers.iteration_seed(0xFFFFFFFF, 3) == plain_mix32(2)


def test_random_numbers_by_place(rng):
    maps = random_numbers.map_random(77, random_numbers.random_tag(3, "delta"), (9, 5, 4, 3))
    weights = random_numbers.weight_random(77, random_numbers.random_tag(3, "param"), (4, 5, 3, 2), 2)
    biases = random_numbers.bias_random(77, random_numbers.random_tag(3, "param"), (4, 5, 3, 2), 1)
    for n, c, y, x in np.ndindex(maps.shape):
        assert maps[n, c, y, x] == plain_position_random(
            77, 13, c, (y << 8) | plain_even(n >> 1), (x << 8) | plain_even(n)
        )
    for o, c, ky, kx in np.ndindex(weights.shape):
        assert weights[o, c, ky, kx] == plain_position_random(77, 14, (ky * 2 + kx) * 5 + c, o, 2)
    assert biases.tolist() == [plain_position_random(77, 14, 30, o, 1) for o in range(4)]


def test_random_numbers_do_not_depend_on_the_order(rng):
    whole = random_numbers.map_random(5, 4, (64, 6, 8, 8))
    n, c, y, x = (rng.integers(0, size, 500) for size in whole.shape)
    some = random_numbers.position_random(
        5, 4, c, (y << 8) | random_numbers.odd_bits(n), (x << 8) | random_numbers.even_bits(n)
    )
    assert (some == whole[n, c, y, x]).all()


def test_random_numbers_are_uniform_and_hardly_correlated():
    r = (
        np.stack(
            [random_numbers.map_random(random_numbers.iteration_seed(1, it), 4, (32, 16, 8, 8)) for it in range(8)]
        )
        / 65536.0
    )
    count = r.size
    assert abs(r.mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    histogram = np.bincount((r.ravel() * 256).astype(int), minlength=256)
    chi2 = ((histogram - count / 256) ** 2 / (count / 256)).sum()
    assert chi2 < 255 + 6 * np.sqrt(2 * 255)
    for axis in range(5):  # two maps may be alike (their keys are a mere 32 bits apart), but not on the whole
        planes = np.corrcoef(np.moveaxis(r, axis, 0).reshape(r.shape[axis], -1))
        pairs = planes[np.triu_indices(len(planes), 1)]
        assert np.sqrt((pairs**2).mean()) < 0.2 and abs(pairs.mean()) < 0.1, f"axis {axis}"
    assert np.abs(r.mean(axis=(0, 1)) - 0.5).max() < 6 * np.sqrt(1 / 12 / 256)


@pytest.mark.parametrize("shift", [1, 3, 8, 16, 20])
def test_stochastic_rounding_is_unbiased(shift):
    rnd = random_numbers.map_random(11, 0, (64, 32, 8, 8)).ravel()
    for part in (1, 3, 5):
        x = np.full(rnd.shape, (7 << shift) + (part << shift) // 8)
        mean = round_shift(x, shift, "stochastic", rnd).mean()
        assert abs(mean - x[0] / 2.0**shift) < 5 * 0.5 / np.sqrt(rnd.size)


def test_apytypes_is_not_ours():
    assert "gradcore" not in apytypes.__file__
