# SPDX-License-Identifier: Apache-2.0
"""Pooling of folded vectors, by way of the maps they hold."""


def pool(data: list[int], valid: list[int], fold: int, grid: int) -> tuple[list[int], list[int], list[int]]:
    """Results and write enables in pooled lanes, and the one-hot index in the lanes of `data`."""
    py, half = 1 << fold, 1 << (fold - 1)
    out, enable, index = [0] * len(data), [0] * len(data), [0] * len(data)
    for ih in range(grid // py):
        for ix in range(grid // py):
            for y in range(half):
                for x in range(half):
                    lanes = [(ih * py + 2 * y + dy) * grid + ix * py + 2 * x + dx for dy in (0, 1) for dx in (0, 1)]
                    if not valid[lanes[3]]:
                        continue
                    best = max(lanes, key=lambda lane: data[lane])  # the first of equals
                    to = (ih * py + y) * grid + ix * py + x         # pixel (y, x) of the block, its image unchanged
                    out[to], enable[to], index[best] = data[best], 1, 1
    return out, enable, index
