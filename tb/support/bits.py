# SPDX-License-Identifier: Apache-2.0
"""Wide buses as lists of integers: lane i at [i*width +: width], lane 0 lowest."""

import numpy as np


def pack(values, width: int) -> int:
    """Integers (signed or not) to one bus value; each is taken modulo 2^width."""
    array = np.asarray(values)
    if width in (8, 16, 32, 64) and array.dtype.kind in "biu":
        return int.from_bytes(array.astype(f"<u{width // 8}").tobytes(), "little")
    # Not through a NumPy number: a list with values of 2^63 and more would become a list of floats.
    exact = array if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    mask = (1 << width) - 1
    bus = 0
    for value in reversed([int(v) for v in exact.ravel()]):
        bus = bus << width | (value & mask)
    return bus


def unpack(bus: int, width: int, lanes: int, signed: bool = True) -> list[int]:
    """One bus value (int or cocotb handle value) to `lanes` integers."""
    bus = int(bus)
    mask, sign = (1 << width) - 1, 1 << (width - 1)
    words = [(bus >> (i * width)) & mask for i in range(lanes)]
    return [w - ((w & sign) << 1) for w in words] if signed else words
