# SPDX-License-Identifier: Apache-2.0
"""Folds: every image has one place, coarse groups are parts of fine ones, packing is reversible."""

import numpy as np
import pytest

from gradcore.isa.fold import MapLayout, RowLayout, block_images, from_bytes, image_place, lane_images, to_bytes


@pytest.mark.parametrize("grid", [4, 8])
def test_image_places(grid):
    folds = range(grid.bit_length())
    for fold in folds:
        n = np.arange(256)
        group, ih, ix = image_place(grid, fold, n)
        assert len({*zip(group.tolist(), ih.tolist(), ix.tolist())}) == 256
        assert group.tolist() == (n // block_images(grid, fold)).tolist()
        for finer in range(fold):
            fine, fine_ih, fine_ix = image_place(grid, finer, n)
            assert ((group[:, None] != group) | (fine[:, None] == fine)).all()
            # The image bits of the coarse lane are the highest bits of the fine one.
            assert (fine_ih >> (fold - finer) == ih).all() and (fine_ix >> (fold - finer) == ix).all()


def test_places_by_hand():
    """Grid 8, fold 1: 16 images, ix = {n[0], n[2]}, ih = {n[1], n[3]}."""
    assert [tuple(int(v) for v in image_place(8, 1, n)) for n in (0, 1, 2, 4, 8, 15, 16)] == [
        (0, 0, 0),
        (0, 0, 2),
        (0, 2, 0),
        (0, 0, 1),
        (0, 1, 0),
        (0, 3, 3),
        (1, 0, 0),
    ]
    assert lane_images(8, 2, 3).reshape(8, 8)[[0, 0, 4, 4], [0, 4, 0, 4]].tolist() == [12, 13, 14, 15]


@pytest.mark.parametrize("grid", [4, 8])
@pytest.mark.parametrize("word_bytes", [1, 2])
def test_map_packing(grid, word_bytes):
    rng = np.random.default_rng(grid)
    for fold in range(grid.bit_length()):
        for images, channels, height, width in ((1, 1, 1, 1), (5, 3, 7, 9), (17, 2, 8, 4), (70, 1, 3, 1)):
            layout = MapLayout(grid, fold, images, channels, height, width, word_bytes)
            maps = rng.integers(-128, 128, (images, channels, height, width))
            data = layout.pack(maps)
            assert data.size == layout.size and layout.group_bytes % 64 == 0
            assert (layout.unpack(data) == maps).all()
            # One element by hand.
            n, c, y, x = images - 1, channels - 1, height - 1, width - 1
            group, ih, ix = image_place(grid, fold, n)
            py = 1 << fold
            vector = ((y // py) * layout.columns + x // py) * channels + c
            lane = grid * (py * int(ih) + y % py) + py * int(ix) + x % py
            at = int(group) * layout.group_bytes + (vector * grid**2 + lane) * word_bytes
            assert data[at : at + word_bytes].tolist() == to_bytes(maps[n, c, y, x], word_bytes).tolist()
    with pytest.raises(ValueError, match="shape"):
        layout.pack(maps[:, :, :0])


@pytest.mark.parametrize("bias", [False, True])
def test_row_packing(bias):
    rng = np.random.default_rng(3)
    layout = RowLayout(8, 11, 3, (2, 5), bias)
    weights, b = rng.integers(-99, 99, (11, 3, 2, 5)), rng.integers(-99, 99, 11)
    data = layout.pack(weights, b if bias else None)
    got, got_bias = layout.unpack(data)
    assert (got == weights).all() and ((got_bias == b).all() if bias else got_bias is None)
    # Output map 9 is word 1 of group 1; ky 1, kx 3, input map 2.
    row = 30 + (1 * 5 + 3) * 3 + 2
    assert data[(row * 8 + 1) * 2 :][:2].tolist() == to_bytes(weights[9, 2, 1, 3], 2).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_rows_in_pieces_begin_at_a_beat(seed):
    """Each COLS input maps of a tap and each row of bias; nothing else is there."""
    rng = np.random.default_rng(seed)
    cols, beat = int(rng.choice([4, 8, 16])), int(rng.choice([8, 16, 32, 64]))
    outputs, inputs, ky, kx = (int(rng.integers(1, most)) for most in (40, 40, 4, 4))
    layout = RowLayout(cols, outputs, inputs, (ky, kx), True, int(rng.choice([1, 2])), beat, pieces=True)
    weights, bias = rng.integers(1, 99, (outputs, inputs, ky, kx)), rng.integers(1, 99, outputs)
    data = layout.pack(weights, bias)
    got, got_bias = layout.unpack(data)
    assert (got == weights).all() and (got_bias == bias).all()
    assert np.count_nonzero(data) == weights.size + bias.size and len(data) == layout.size
    rows, found = layout.row_order(weights), 0
    words = from_bytes(data, layout.word_bytes).reshape(-1, cols)
    for group in range(layout.groups):
        assert layout.bias_place(group) % beat == 0
        for tap in range(ky * kx):
            for first in range(0, inputs, cols):
                end = min(first + cols, inputs)
                ((row, channel, number),) = layout.runs(tap, (first, end))
                at = group * layout.outer + row
                assert at * layout.row_bytes % beat == 0 and (channel, number) == (first, end - first)
                want = rows[group * layout.inner + tap * inputs + first :][:number]
                assert (words[at : at + number] == want).all()
                found += number
    assert found == layout.rows
