# SPDX-License-Identifier: Apache-2.0
"""Layers on integers and floats: adjoint identities, ties, exactness, refusals. Values themselves:
test_reference.py."""

import numpy as np
import pytest

from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense, conv, conv_input, conv_weights
from gradcore.ops.loss import loss_delta, loss_shift, targets
from gradcore.ops.max_pooling import MaxPooling, max_pool, upsample
from gradcore.ops.windows import checked
from gradcore.reference.float_trainer import FloatTrainer


def shapes(rng):
    """Random (a, w, delta) shapes and pad of a legal convolution."""
    kernel = rng.integers(1, 12, 2)
    pad = [int(rng.integers(0, k)) for k in kernel]
    size = [int(rng.integers(max(1, k - 2 * p), 14)) for k, p in zip(kernel, pad)]
    n, c, o = (int(v) for v in rng.integers(1, 5, 3))
    out = [s + 2 * p - k + 1 for s, p, k in zip(size, pad, kernel)]
    return (n, c, *size), (o, c, *(int(k) for k in kernel)), (n, o, *out), pad


def test_three_passes_are_adjoint(rng):
    for _ in range(40):
        a_shape, w_shape, d_shape, pad = shapes(rng)
        a, w, d = (rng.integers(-(1 << 15), 1 << 15, shape) for shape in (a_shape, w_shape, d_shape))
        sums = conv(a, w, pad)
        assert sums.shape == d_shape and sums.dtype == np.int64
        total = (sums.astype(object) * d).sum()
        assert (conv_input(d, w, pad).astype(object) * a).sum() == total
        assert (conv_weights(d, a, w_shape[2:], pad).astype(object) * w).sum() == total


def test_three_passes_are_adjoint_over_all_strides_and_groups(rng):
    for _ in range(60):
        (n, c, *size), (o, _, *kernel), _, pad = shapes(rng)
        stride, groups = tuple(int(v) for v in rng.integers(1, 12, 2)), int(rng.integers(1, 5))
        a = rng.integers(-(1 << 15), 1 << 15, (n, c * groups, *size))
        w = rng.integers(-(1 << 15), 1 << 15, (o * groups, c, *kernel))
        sums = conv(a, w, pad, stride, groups)
        dense = [conv(a[:, g * c : (g + 1) * c], w[g * o : (g + 1) * o], pad) for g in range(groups)]
        assert (sums == np.concatenate(dense, axis=1)[:, :, :: stride[0], :: stride[1]]).all()
        d = rng.integers(-(1 << 15), 1 << 15, sums.shape)
        total = (sums.astype(object) * d).sum()
        assert (conv_input(d, w, pad, stride, groups, tuple(size)).astype(object) * a).sum() == total
        assert (conv_weights(d, a, kernel, pad, stride, groups).astype(object) * w).sum() == total


@pytest.mark.parametrize("most", [16, 128])
def test_windows_are_adjoint_over_their_whole_range(most, rng):
    """What `split` takes apart, `join` puts together, for windows and strides of any size up to the largest."""
    for ceil_mode in (False, True) * 15:
        window, stride = (tuple(int(v) for v in rng.choice([1, 2, most - 1, most, 7], 2)) for _ in range(2))
        pad = tuple(int(rng.integers(0, n // 2 + 1)) for n in window)
        size = [int(rng.integers(max(1, n - 2 * p), n + 20)) for n, p in zip(window, pad)]
        windows = checked((2, *size), most, window, stride, pad, ceil_mode)
        a = rng.integers(-99, 99, (1, 2, *size))
        parts = windows.split(a, 0)
        assert parts.shape[2:] == windows.shape((2, *size)) and len(parts) == windows.area
        other = rng.integers(-99, 99, parts.shape)
        assert (parts * other).sum() == (windows.join(other, a.shape) * a).sum()
        assert windows.join(np.ones_like(parts), a.shape).max() <= windows.meeting


def test_integers_beyond_the_mantissa_stay_exact(rng):
    a = rng.integers(-(1 << 30), 1 << 30, (2, 3, 5, 5))
    w = rng.integers(-(1 << 27), 1 << 27, (2, 3, 3, 3))
    expected = sum(
        a[:, None, :, ky : ky + 3, kx : kx + 3].astype(object) * w[None, :, :, ky, kx, None, None]
        for ky in range(3)
        for kx in range(3)
    )
    assert (conv(a, w, (0, 0)) == expected.sum(axis=2)).all()
    with pytest.raises(OverflowError, match="27 products could need more than 64 bits"):
        conv(a << 3, w, (0, 0))


@pytest.mark.parametrize("relu", [False, True])
def test_first_of_equal_values_is_the_maximum(relu):
    every = np.array(np.meshgrid(*[[-2, 0, 1, 3]] * 4)).reshape(4, -1).T.reshape(-1, 1, 2, 2)
    out, chosen = max_pool(np.maximum(every, 0) if relu else every)
    gate = MaxPooling().gate(chosen, every.shape, np.array(True))
    gate = gate & (every > 0) if relu else gate
    for z, a, g in zip(every[:, 0], out[:, 0, 0, 0], gate[:, 0]):
        flat = [max(v, 0) if relu else v for v in z.ravel().tolist()]
        assert a == max(flat)
        place = [k == flat.index(max(flat)) for k in range(4)]
        assert g.ravel().tolist() == [p and (not relu or v > 0) for p, v in zip(place, z.ravel())]


def test_odd_rows_and_columns_are_dropped(rng):
    z = rng.integers(-9, 9, (2, 3, 5, 7))
    out, chosen = max_pool(z)
    gate = MaxPooling().gate(chosen, z.shape, np.array(True))
    assert (
        out.shape == (2, 3, 2, 3) and not gate[:, :, 4].any() and not gate[:, :, :, 6].any() and gate.sum() == out.size
    )
    up = upsample(out, z.shape)
    assert (
        (up[:, :, :4, :6] == np.kron(out, np.ones((2, 2), dtype=int))).all()
        and not up[:, :, 4].any()
        and not up[:, :, :, 6].any()
    )
    assert (up[gate] == z[gate]).all()


@pytest.mark.parametrize("loss", ["euclidean", "square_hinge"])
@pytest.mark.parametrize(
    "layer",
    [Conv(3, (3, 2), (1, 1), pool=2), Conv(3, (2, 5), (1, 0), relu=False, pool=2), Conv(2, 1, relu=False, bias=False)],
)
def test_float_gradients_by_finite_differences(loss, layer, rng):
    network = Network("t", (2, 7, 6), (layer, Conv(4, 3, 1), Dense(3)), loss=loss)
    trainer = FloatTrainer(network, 3, np.float64)
    x, labels = rng.normal(size=(4, 2, 7, 6)), rng.integers(0, 3, 4)
    trainer.gradients(x, labels)
    exact = [dict(weight=g, bias=b) for g, b in zip(trainer.last["grad"], trainer.last["grad_bias"])]
    for p, state, gradients in zip(network.parameters, trainer.state, exact):
        for key in ("weight", "bias")[: 1 + p.bias]:
            for index in list(np.ndindex(state[key].shape))[::5]:
                kept, values = state[key][index], []
                for change in (1e-7, -1e-7):
                    state[key][index] = kept + change
                    values.append(trainer.gradients(x, labels))
                state[key][index] = kept
                assert (values[0] - values[1]) / 2e-7 == pytest.approx(gradients[key][index], rel=1e-4, abs=1e-3)


def test_loss_shift_and_targets(rng):
    d = rng.integers(-(1 << 16), 1 << 16, 500)
    for loss, factor in (("euclidean", 1), ("square_hinge", 2)):
        for fo, fd in ((10, 12), (10, 3), (4, 12)):
            expected = np.clip(np.floor(factor * d * 2.0 ** (fd - fo) + 0.5), -32768, 32767)
            assert (loss_delta(d, loss_shift(loss, fo, fd), 16) == expected).all()
    assert targets([2, 0], 3).tolist() == [[False, False, True], [True, False, False]]
    with pytest.raises(ValueError, match="labels 0..3 do not fit 3 outputs"):
        targets([0, 3], 3)
