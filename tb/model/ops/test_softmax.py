# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy on integers against float64: stated bounds for up to 1000 classes."""

import numpy as np
import pytest

from gradcore.ops.loss import SOFTMAX, loss_value
from gradcore.ops.softmax import difference, real_difference
from tb.model.plain_graph import plain_softmax


def outputs(rng, classes, fo):
    """Images of every temper: even, one class far ahead, two ahead, all words."""
    spread = np.array([0, 0.1, 1, 3, 8])[:, None, None] * rng.normal(size=(5, 40, classes))
    z = np.round(spread.reshape(-1, classes) * 2.0**fo).astype(np.int64)
    z[::7, 0] += round(12 * 2.0**fo)
    z[::11, -1] += round(12 * 2.0**fo)
    return np.concatenate([np.clip(z, -32768, 32767), rng.integers(-32768, 32768, (20, classes))])


@pytest.mark.parametrize("fo", [0, 1, 2, 3, 8, 10, 15])
@pytest.mark.parametrize("classes", [1, 2, 10, 100, 1000])
def test_errors_are_bounded(classes, fo, rng):
    z = outputs(rng, classes, fo)
    bits = rng.integers(0, classes, len(z))[:, None] == np.arange(classes)
    d, total = difference(z, bits, fo)
    real, value = real_difference(z * 2.0**-fo, bits)
    assert np.abs(d * 2.0**-15 - real).max() < 2 * 2**-15
    assert (d >= -(1 << 15)).all() and (d <= 1 << 15).all()
    assert abs(loss_value(SOFTMAX, total, fo) - value) < len(z) * 0.0006 + 2e-5 * value


@pytest.mark.parametrize("fo", range(-8, 32, 3))
def test_it_is_the_definition(fo, rng):
    classes = int(rng.integers(1, 40))
    z = outputs(rng, classes, min(fo, 15))
    labels = rng.integers(0, classes, len(z))
    d, total = difference(z, labels[:, None] == np.arange(classes), fo)
    plain = [plain_softmax(one, label, fo) for one, label in zip(z.tolist(), labels.tolist())]
    assert d.tolist() == [one for one, _ in plain] and total == sum(loss for _, loss in plain)


def test_equal_outputs_share(rng):
    bits = np.eye(4, dtype=bool)
    d, total = difference(np.full((4, 4), -77), bits, 10)
    assert (d == np.where(bits, 8192 - 32768, 8192)).all()
    assert total == pytest.approx(4 * 2 * 65536, abs=4 * 47)
