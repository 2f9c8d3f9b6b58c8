# SPDX-License-Identifier: Apache-2.0
"""Windows of blocks that the same taps of a kernel reach: taps that find nothing but padding are left out.

A run of one axis is (first block, blocks, first tap, taps). Each product of a run of rows and a run of columns is one
COMPUTE, so runs are only worth having where they save more steps than a COMPUTE costs.
"""

from gradcore.compiler.tuples import Count, Run
from gradcore.isa.fold import block_size, ceil_div, tap_windows


def forward_runs(fold: int, size: int, source: int, kernel: int, pad: int, pool: bool) -> list[Run]:
    """Runs of one axis of FP: `size` pixels computed from `source` pixels. With pooling they have an even number of
    blocks, as far as the map goes."""
    # Tap k of pixel y takes pixel y + k - pad: the mirror image of BP.
    step = 1 + pool
    runs = tap_windows(step * block_size(fold), size, source, kernel, kernel - 1 - pad)
    blocks = ceil_div(size, block_size(fold))
    return [(step * at, min(step * n, blocks - step * at), kernel - first - taps, taps) for at, n, first, taps in runs]


def gradient_runs(fold: int, size: int, source: int, kernel: int, pad: int) -> list[Run]:
    """Runs of one axis of WU: the blocks of a delta of `size` pixels that find an activation of `source` pixels, for
    each tap; taps with equal blocks together. A tap that finds none keeps a block, which gives zeros."""
    block = block_size(fold)
    runs: list[Run] = []
    last = ceil_div(size, block) - 1
    for tap in range(kernel):
        first = min(max(0, pad - tap) // block, last)
        end = min(max(source - 1 + pad - tap, 0) // block, last)
        found = first, max(end - first + 1, 1)
        if runs and runs[-1][:2] == found:
            runs[-1] = (*found, runs[-1][2], runs[-1][3] + 1)
        else:
            runs.append((*found, tap, 1))
    return runs


def within(runs: list[Run], first: int, end: int) -> list[Run]:
    """The runs of blocks first..end-1."""
    cut = [(max(at, first), min(at + n, end) - max(at, first), tap, taps) for at, n, tap, taps in runs]
    return [run for run in cut if run[1] > 0]


def only_taps(runs: list[Run], first: int, count: int) -> list[Run]:
    """The runs of taps first..first+count-1."""
    cut = [(at, n, max(tap, first), min(tap + taps, first + count) - max(tap, first)) for at, n, tap, taps in runs]
    return [run for run in cut if run[3] > 0]


def whole(blocks: Count, taps: Count) -> list[Run]:
    """One run: (first, number) of blocks and of taps."""
    return [(*blocks, *taps)]
