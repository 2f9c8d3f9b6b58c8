# SPDX-License-Identifier: Apache-2.0
"""doc/numerics.md in plain integers, for the benches between array and buffers."""

M32 = 0xFFFFFFFF


def round_shift(x: int, shift: int, mode: int, rnd: int = 0) -> int:
    if shift == 0 or mode == 0:
        return x >> shift
    if mode == 1:
        return (x + (1 << (shift - 1))) >> shift
    if mode == 2:
        return (x + (1 << (shift - 1)) - 1 + ((x >> shift) & 1)) >> shift
    return (x + (rnd >> (16 - shift) if shift <= 16 else rnd << (shift - 16))) >> shift


def saturate(x: int, width: int) -> int:
    return max(-(1 << (width - 1)), min((1 << (width - 1)) - 1, x))


def mix32(x: int) -> int:
    x = (x + (x << 10)) & M32
    x ^= x >> 6
    x = (x + (x << 3)) & M32
    x ^= x >> 11
    return (x + (x << 15)) & M32


def random_by_position(seed: int, tag: int, k: int, i: int, j: int) -> int:
    key = mix32((mix32(seed ^ (tag << 16)) + k) & M32)
    row = mix32((i + 0x9E3779B9) & M32) & 0xFFFF
    col = mix32((j + 0x7F4A7C15) & M32) & 0xFFFF
    t = (((key & 0xFFFF) ^ row) + ((key >> 16) ^ col)) & 0xFFFF
    u = (t + (t << 5)) & 0xFFFF
    return u ^ (u >> 8)


def even(n: int) -> int:
    return sum(((n >> (2 * b)) & 1) << b for b in range(8))


def odd(n: int) -> int:
    return even(n >> 1)


def image_of_lane(row: int, col: int, fold: int, grid: int) -> int:
    """Number within its group of the image in a lane: the lowest bit goes to the highest place of ix."""
    bits = grid.bit_length() - 1 - fold
    ih, ix = row >> fold, col >> fold
    n = 0
    for b in range(bits):
        n |= ((ix >> (bits - 1 - b)) & 1) << (2 * b)
        n |= ((ih >> (bits - 1 - b)) & 1) << (2 * b + 1)
    return n


def loss_difference(a: int, kind: int, t_pos: int, t_neg: int, bit: int) -> int:
    if kind == 1:
        return a - (t_pos if bit else t_neg)
    return -max(0, t_pos - a) if bit else max(0, t_pos + a)


def loss_delta(d: int, shift: int, dw: int) -> int:
    return saturate(round_shift(d << 16, shift, 1), dw)
