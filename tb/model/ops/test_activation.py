# SPDX-License-Identifier: Apache-2.0
"""Activations by table and dropout: stated error bounds, what is kept, inference."""

import numpy as np
import pytest

from gradcore.network import Conv, Dense, Dropout, Network, NetworkError, Tanh
from gradcore.numerics.random_numbers import dropout_mask, map_random
from gradcore.ops.activation import HyperbolicTangent, LogisticFunction, Table
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer


@pytest.mark.parametrize("operator", [LogisticFunction(), HyperbolicTangent()], ids=lambda operator: operator.what)
@pytest.mark.parametrize("frac", [0, 6, 10, 12, 15])
def test_errors_of_tables_are_bounded(operator, frac):
    z = np.arange(-32768, 32768)
    for f, units in ((operator.f, 2), (operator.derivative, 3)):
        error = np.abs(Table(f)(z, frac) * 2.0**-15 - f(z * 2.0**-frac))
        # Bits of z that the table does not take: up to 2^-12 times the steepest slope.
        dropped = 2.0**-12 if frac > 12 else 0
        outside = np.abs(z * 2.0**-frac) > 8
        assert error[~outside].max() < units * 2**-15 + dropped
        assert outside.sum() == 0 or error[outside].max() < 12 * 2**-15


def with_dropout(p):
    return Network("t", (2, 6, 6), (Conv(4, 3, 1), Dropout(p), Dense(3)), minibatch=8, rounding="half_even")


@pytest.mark.parametrize("p", [0, 0.1, 0.5, 0.9])
def test_dropout_keeps_its_part_and_the_mean(p, rng):
    network, x = with_dropout(p), rng.integers(-4096, 4096, (8, 2, 6, 6))
    trainer, masks = ReferenceTrainer(network, 5), []
    for iteration in range(40):
        trainer.step(x, rng.integers(0, 3, 8), iteration)
        before, after = (trainer.last["words"][name] for name in ("conv0:relu", "dropout1"))
        kept = after != 0
        assert (after[kept] == np.clip(np.floor(before[kept] * round(4096 / (1 - p)) / 4096 + 0.5), 0, 32767)).all()
        masks.append(kept[before > 2])
    found = np.concatenate(masks)
    assert abs(found.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / found.size) + 1e-9


def test_the_random_number_of_the_mask(rng):
    seed, layer, shape = int(rng.integers(1 << 32)), int(rng.integers(1000)), (5, 3, 4, 6)
    drawn = map_random(seed, 4 * layer + 3, shape)
    for least in drawn.ravel()[::17].tolist():
        assert (dropout_mask(seed, layer, shape, least / 65536) == (drawn >= least)).all()


def test_dropout_is_off_in_inference_and_drops_alike_in_floats(rng):
    network, plain = with_dropout(0.5), with_dropout(0.0)
    x, labels = rng.integers(-4096, 4096, (8, 2, 6, 6)), rng.integers(0, 3, 8)
    trainer, real = ReferenceTrainer(network, 5), FloatTrainer(network, 5, np.float64)
    assert (trainer.forward(x) == ReferenceTrainer(plain, 5).forward(x)).all()
    assert np.allclose(real.forward(x), FloatTrainer(plain, 5, np.float64).forward(x))
    trainer.step(x, labels, 7)
    real.step(x * 2.0**-12, labels, 7)
    ours, theirs = trainer.last["words"]["dropout1"], real.last["words"]["dropout1"]
    assert ((theirs == 0) >= (np.abs(ours) > 1)).any() and np.abs(ours * 2.0**-10 - theirs).max() < 0.01


@pytest.mark.parametrize(
    "layer, message",
    [(Dropout(0.95), "p: 0.95 is not supported; nearest supported: 0 to 0.9"), (Dropout("x"), "p: 'x' is not supp")],
)
def test_refusals(layer, message):
    with pytest.raises(NetworkError, match=message):
        Network("t", (2, 6, 6), (Tanh(), layer, Dense(3)))
