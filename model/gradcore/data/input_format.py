# SPDX-License-Identifier: Apache-2.0
"""Images in the network's input format. Bytes go through a table, large arrays are converted piece by piece, values
outside the range are counted."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from gradcore.files.atomic import StrPath
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import Format, quantize

OUTSIDE_MAX = 0.01  # share of words outside the input format; beyond it the images were meant for another range
_PIECE = 1 << 18


class DataError(ValueError):
    """Data that cannot be used. Attributes: file, key (of the .npz file, or '')."""

    def __init__(self, file: StrPath, key: str, problem: str) -> None:
        self.file, self.key = str(file), key
        super().__init__(": ".join(part for part in (self.file, key, problem) if part))


def real(x: np.ndarray) -> np.ndarray:
    """Images as float64: bytes mean 0..1, all others themselves."""
    return x / 255.0 if x.dtype == np.uint8 else x.astype(np.float64)


def quantize_input(x: np.ndarray, network: Network) -> np.ndarray:
    """Images `x` (N, ..) as int16 of the network's input format, half-even, saturated; bytes mean 0..1."""
    x, form = np.asarray(x), Format(network.data_width, network.input_frac)
    table = quantize(real(np.arange(256, dtype=np.uint8)), form, "half_even").astype(np.int16)
    result = np.empty(x.shape, np.int16)
    for piece in _pieces(x):
        if x.dtype == np.uint8:
            np.take(table, x[piece], out=result[piece], mode="clip")
        else:
            result[piece] = quantize(x[piece], form, "half_even")
    return result


def outside(x: np.ndarray, network: Network) -> int:
    """Number of words of images `x` that saturation changes by more than one step of the input format."""
    return _outside(x, *_range(network))


def _outside(x: np.ndarray, low: float, high: float) -> int:
    if low <= _real(x.min()) and _real(x.max()) <= high:
        return 0
    return sum(
        int(np.count_nonzero((values < low) | (values > high))) for values in (real(x[piece]) for piece in _pieces(x))
    )


def check_range(
    source: StrPath, key: str, x: np.ndarray, network: Network, limits: tuple[float, float] | None = None
) -> list[str]:
    """Lines of warning about values outside the input format, or `limits` in its place. Raises DataError, naming file
    and array, for more than OUTSIDE_MAX of them."""
    low, high = limits or _range(network)
    count = _outside(x, low, high)
    if not count:
        return []
    least, most = _real(x.min()), _real(x.max())
    found = f"{count} of {x.size} words are outside the input format's range {low:g}..{high:g}"
    found += f", they reach from {least:g} to {most:g}"
    if count > OUTSIDE_MAX * x.size:
        bytes_ = least >= 0 and 1 < most <= 255
        raise DataError(
            source,
            key,
            f"{found}; "
            + (
                "divide them by 255, or save them as uint8"
                if bytes_
                else "scale them, or choose a smaller format.input"
            ),
        )
    return [f"{source}: {key}: {found} and are saturated"]


def _real(word: ArrayLike) -> float:
    return float(real(np.asarray(word)))


def _range(network: Network) -> tuple[float, float]:
    form = Format(network.data_width, network.input_frac)
    return form.min * 2.0**-form.frac, (form.max + 1) * 2.0**-form.frac


def _pieces(x: np.ndarray) -> Iterator[slice]:
    """Slices of the first axis with about _PIECE words each."""
    step = max(1, _PIECE // max(1, x[:1].size))
    return (slice(at, at + step) for at in range(0, len(x), step))
