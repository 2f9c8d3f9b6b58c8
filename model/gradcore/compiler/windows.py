# SPDX-License-Identifier: Apache-2.0
"""Windows of blocks that the same taps of a kernel reach: taps that find nothing but padding are left out.

A run of one axis is (first block, blocks, first tap, taps). Each product of a run of rows and a run of columns is one
COMPUTE, so runs are only worth having where they save more steps than a COMPUTE costs.
"""

from dataclasses import dataclass

from gradcore.compiler.tuples import Count, Run, Span
from gradcore.isa.fold import block_size, ceil_div, tap_windows


def forward_runs(fold: int, size: int, source: int, kernel: int, pad: int, pool: bool, stride: int = 1) -> list[Run]:
    """Runs of one axis of FP: `size` pixels computed from `source` pixels, in fold 0 with a `stride`. With pooling they
    have an even number of blocks, as far as the map goes."""
    runs: list[Run] = []
    step, blocks = 1 + pool, ceil_div(size, block_size(fold))
    for at in range(0, blocks, step):
        # Tap k of pixel y takes pixel y*stride + k - pad. A run that no tap reaches keeps one, which gives zeros.
        n = min(step, blocks - at)
        low, high = at * block_size(fold), min((at + n) * block_size(fold), size) - 1
        first = min(max(0, pad - high * stride), kernel - 1)
        taps = max(min(kernel, source + pad - low * stride) - first, 1)
        if runs and runs[-1][2:] == (first, taps):
            runs[-1] = (runs[-1][0], runs[-1][1] + n, first, taps)
        else:
            runs.append((at, n, first, taps))
    return runs


def gradient_runs(
    fold: int, size: int, source: int, kernel: int, pad: int, stride: int = 1, together: int = 1
) -> list[Run]:
    """Runs of one axis of WU: the blocks of a delta of `size` pixels that find an activation of `source` pixels, for
    each tap; taps with equal blocks together. A tap that finds none keeps a block, which gives zeros. With the taps of
    `together` rows as input maps (`tap_groups`) a run has the rows that are one tap."""
    block = block_size(fold)
    runs: list[Run] = []
    last = ceil_div(size, block) - 1
    for tap, taps in tap_groups(0, kernel, together) if together > 1 else [(tap, 1) for tap in range(kernel)]:
        first = min(max(0, ceil_div(pad - tap, stride)) // block, last)
        end = min(max((source - 1 + pad - tap) // stride, 0) // block, last)
        found = first, max(end - first + 1, 1)
        if runs and runs[-1][:2] == found and together == 1:
            runs[-1] = (*found, runs[-1][2], runs[-1][3] + 1)
        else:
            runs.append((*found, tap, taps))
    return runs


def tap_groups(first: int, count: int, together: int) -> list[Count]:
    """(first, number) of the rows of a kernel that one COMPUTE of WU takes: all, or with the taps of `together` rows as
    input maps those that are one tap."""
    if together == 1:
        return [(first, count)]
    ends = [first, *range((first // together + 1) * together, first + count, together), first + count]
    return [(at, end - at) for at, end in zip(ends, ends[1:])]


@dataclass(frozen=True)
class Phase:
    """Pixels `first`, first + stride, .. of one axis of BP, to which a stride brings the same taps: pixel
    first + stride*j takes delta[j + offset - t] through tap `tap` + stride*t, t < taps. Without a stride all pixels of
    the axis."""

    stride: int
    first: int
    tap: int
    taps: int
    offset: int

    def runs(self, fold: int, size: int, source: int, blocks: Span) -> list[Run]:
        """Runs among its own pixels, of the `blocks` (first, end) of a map of `size` pixels; `source`: pixels of the
        local gradient. Taps are counted from `tap` on; a run without taps gives zeros."""
        first, end = (ceil_div(at - self.first, self.stride) for at in blocks)
        own = ceil_div(size - self.first, self.stride)
        if not self.taps:
            return [(first, end - first, 0, 0)] if end > first else []
        return within(tap_windows(block_size(fold), own, source, self.taps, self.offset), first, end) if own > 0 else []

    def run(self, block: int, tap: int, taps: int) -> Run:
        """Of one of its blocks, with `taps` from `tap` of the kernel on."""
        return block // self.stride, 1, (tap - self.tap) // self.stride, taps


def backward_phases(kernel: int, pad: int, stride: int) -> list[Phase]:
    """Of one axis of BP."""
    found = []
    for first in range(stride):
        tap = (first + pad) % stride
        found.append(Phase(stride, first, tap, max(ceil_div(kernel - tap, stride), 0), (first + pad) // stride))
    return found


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
