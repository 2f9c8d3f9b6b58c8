# SPDX-License-Identifier: Apache-2.0
"""Schedules of the learning rates: the factor of every minibatch against formulas of our own, what a step makes of it,
and what is refused."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gradcore.network import Conv, Dense, Network, parse
from gradcore.network.schedule import Cosine, Piecewise, Schedule, Step
from gradcore.ops.checks import NetworkError
from gradcore.ops.optimiser import RATE_ONE, UpdateParameters
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer

TRAIN = 'input = [1, 4, 4]\n[[layer]]\ntype = "dense"\nmaps = 3\n[train]\nlearning_rate = 0.02\n[train.schedule]\n'


def factors(schedule: Schedule, minibatches: int, per_epoch: int) -> list[float]:
    return [schedule.rate(i, per_epoch) / RATE_ONE for i in range(minibatches)]


def test_types():
    near = dict(abs=2.0**-15)
    assert factors(Schedule(), 4, 2) == [1, 1, 1, 1]
    assert factors(Step(every=2, factor=0.5), 14, 3) == [1] * 6 + [0.5] * 6 + [0.25] * 2
    assert factors(Piecewise(epochs=[1, 3], factors=[0.5, 0.125]), 9, 2) == [1, 1] + [0.5] * 4 + [0.125] * 3
    wanted = [0.1 + 0.9 * (1 + math.cos(math.pi * min(i / 8, 1))) / 2 for i in range(12)]
    assert factors(Cosine(epochs=2, last=0.1), 12, 4) == pytest.approx(wanted, **near)


def test_warm_up_multiplies_what_follows():
    assert factors(Schedule(warm_up=1.5), 8, 4) == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1, 1, 1], abs=2e-5)
    step = Step(warm_up=2, every=1, factor=0.5)
    assert factors(step, 5, 2) == [1 / 4, 2 / 4, 0.5 * 3 / 4, 0.5, 0.25]
    assert factors(Schedule(warm_up=0.1), 2, 2) == [1, 1]  # less than half a minibatch


def test_read_from_a_description():
    read = {
        'type = "cosine"\nepochs = 3\nlast = 0.25\nwarm_up = 0.5': Cosine(0.5, 3, 0.25),
        'type = "piecewise"\nepochs = [2, 5]\nfactors = [0.5, 0]': Piecewise(0.0, (2, 5), (0.5, 0)),
        'type = "step"': Step(),
        'type = "constant"': Schedule(),
    }
    for text, schedule in read.items():
        assert parse(TRAIN + text).schedule == schedule


@pytest.mark.parametrize(
    "text, field",
    [
        ("epochs = 3", "train.schedule.type"),
        ('type = "cosin"', "train.schedule.type"),
        ('type = "cosine"\nepoch = 3', "train.schedule.epoch"),
        ('type = "cosine"\nepochs = 0', "train.schedule.epochs"),
        ('type = "cosine"\nlast = nan', "train.schedule.last"),
        ('type = "step"\nfactor = 1.5', "train.schedule.factor"),
        ('type = "step"\nevery = 0.5', "train.schedule.every"),
        ('type = "constant"\nwarm_up = -1', "train.schedule.warm_up"),
        ('type = "piecewise"', "train.schedule.epochs"),
        ('type = "piecewise"\nepochs = [2, 2]\nfactors = [0.5, 0.5]', "train.schedule.epochs"),
        ('type = "piecewise"\nepochs = [1, 2]\nfactors = [0.5]', "train.schedule.factors"),
        ('type = "piecewise"\nepochs = [1]\nfactors = [2]', "train.schedule.factors"),
    ],
)
def test_refused(text, field):
    with pytest.raises(NetworkError) as found:
        parse(TRAIN + text)
    assert found.value.field == field


def test_multipliers_at_a_rate():
    """lr_m and decay_m, in PyTorch's form rate_m alone, rounded half up."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        lr_m, decay_m, rate_m, rate = (int(n) for n in rng.integers(1, 1 << 15, 4))
        heavy = UpdateParameters(lr_m, 5, 1, 2, 3, 4, 6, decay_m)
        torch = replace(heavy, rate_m=rate_m + 1)

        def scaled(number, rate=rate):
            return math.floor(Fraction(number * rate, 1 << 15) + Fraction(1, 2))

        assert heavy.at_rate(rate) == replace(heavy, lr_m=scaled(lr_m), decay_m=scaled(decay_m))
        assert torch.at_rate(rate) == replace(torch, rate_m=scaled(rate_m + 1))
        for one in (RATE_ONE, RATE_ONE + 1, 65535):
            assert (heavy.at_rate(one), torch.at_rate(one)) == (heavy, torch)


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "pytorch_momentum"])
def test_the_trainers_agree(optimiser):
    """With a factor of 1/100 the integers still follow float64: the change of the weights within 5 %."""
    network = Network(
        "schedule",
        (1, 6, 6),
        (Conv(4, 3, 1, pool=2), Dense(3)),
        minibatch=8,
        learning_rate=0.5,
        optimiser=optimiser,
        weight_decay=0.01,
        rounding="stochastic",
        formats={"momentum": 12} if optimiser == "pytorch_momentum" else {},
        schedule=Piecewise(0.0, (1,), (0.01,)),
    )
    rng, rate = np.random.default_rng(3), network.schedule.rate(1, 1)
    trainer, real = ReferenceTrainer(network, 1), FloatTrainer(network, 1, np.float64)
    x, labels = rng.integers(0, 1 << network.input_frac, (8, *network.shape)), rng.integers(0, 3, 8)
    before = [layer["weight"].astype(float) for layer in trainer.weights()]
    first = [layer["weight"].copy() for layer in real.state]
    for iteration in range(30):
        trainer.step(x, labels, iteration, rate)
        real.step(x * 2.0**-network.input_frac, labels, iteration, rate)
    for p, now, was, layer, old in zip(network.parameters, trainer.weights(), before, real.state, first):
        moved, wanted = (now["weight"] - was) * 2.0**-p.fw, layer["weight"] - old
        assert np.linalg.norm(moved - wanted) < 0.05 * np.linalg.norm(wanted) + 2.0**-p.fw * wanted.size**0.5
