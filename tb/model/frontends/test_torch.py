# SPDX-License-Identifier: Apache-2.0
"""Models of PyTorch that are imported: outputs and one step of training against PyTorch, in floats and in integers; the
weights back again; the files."""

import math

import numpy as np
import pytest

from gradcore.files.atomic import FileError
from gradcore.frontends.errors import ModelError
from gradcore.host import model_file
from gradcore.network import load
from gradcore.numerics.fixed_point import Format, quantize
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.calibration import ImagesError
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")

from gradcore import from_torch, to_torch  # noqa: E402
from tb.model.frontends.models import MODELS, random_model  # noqa: E402

nn, schedulers = torch.nn, torch.optim.lr_scheduler
torch.set_num_threads(1)

BOUND = 1e-5  # of the largest value: float32 sums in another order
INTEGERS = 0.02  # of an output in 16 bits: 10 fraction bits of the words, 13 of the weights, a few layers
STEP = 0.01  # of a weight after a step: of nearly equal words, a maximum pooling may choose another


def imported(model, shape, **options):
    sgd = torch.optim.SGD(model.parameters(), **{"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01} | options)
    return from_torch(model, shape, nn.CrossEntropyLoss(), sgd, minibatch=4), sgd


def near(ours, theirs, bound, what):
    theirs = theirs.detach().numpy().reshape(ours.shape)
    assert np.abs(ours - theirs).max() <= bound * max(1, np.abs(theirs).max()), what


def float_trainer(found, dtype=np.float32):
    trainer = FloatTrainer(found.network, 1, dtype)
    trainer.state = [{key: x.astype(dtype) for key, x in layer.items()} for layer in found.real]
    return trainer


def compare(model, shape, rng):
    """Two steps from the same weights: in PyTorch, in floats, in integers, which begin with rounded weights."""
    found, sgd = imported(model, shape)
    network = found.network
    floats, integers = float_trainer(found), ReferenceTrainer(network, 1, found.state)
    modules, width = dict(model.named_modules()), network.data_width
    for iteration in range(2):
        x, labels = rng.uniform(-1, 1, (4, *shape)).astype(np.float32), rng.integers(0, network.classes, 4)
        outputs, words = model(torch.tensor(x)), quantize(x, Format(width, network.input_frac))
        near(floats.forward(x), outputs, BOUND, "outputs of the float trainer")
        last = network.graph.output.frac
        near(integers.forward(words) * 2.0**-last, outputs, INTEGERS, "outputs of the reference trainer")
        loss = nn.CrossEntropyLoss()(outputs, torch.tensor(labels))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        assert floats.step(x, labels, iteration) == pytest.approx(4 * loss.item(), rel=1e-4)
        integers.step(words, labels, iteration)
        for p, ours, rounded in zip(network.parameters, floats.state, integers.state):
            for key, frac in (("weight", p.fw), ("bias", p.fb))[: 1 + p.bias]:
                theirs = getattr(modules[p.name], key)
                near(ours[key], theirs, BOUND, f"{key} of {p.name}")
                near(rounded[key] * 2.0**-frac, theirs, STEP, f"{key} of {p.name} in integers")


@pytest.mark.parametrize("name", MODELS)
def test_models(name, rng):
    torch.manual_seed(int(rng.integers(1 << 30)))
    make, shape = MODELS[name]
    compare(make(), shape, rng)


@pytest.mark.parametrize("number", range(20))
def test_random_models(number, rng):
    torch.manual_seed(int(rng.integers(1 << 30)))
    compare(*random_model(rng), rng)


@pytest.mark.parametrize("name", MODELS)
def test_there_and_back(name):
    """Every weight within half a unit of its format; nothing else of the model changes."""
    make, shape = MODELS[name]
    model = make()
    before = {key: x.clone() for key, x in model.state_dict().items()}
    found, _ = imported(model, shape)
    assert found.to_torch() is model
    after = model.state_dict()
    assert list(after) == list(before)
    seen = set()
    for p in found.network.parameters:
        for key, frac in (("weight", p.fw), ("bias", p.fb))[: 1 + p.bias]:
            name = f"{p.name}.{key}"
            seen.add(name)
            assert (after[name] - before[name]).abs().max() <= 2.0**-frac / 2 + 1e-9, name
    assert seen == set(before)


def small():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Dropout(0.25), nn.Flatten(), nn.Linear(8, 3))


def test_files(tmp_path, rng):
    """What is saved is what was imported, and comes back into another model of the same kind."""
    model = small()
    found, _ = imported(model, (1, 4, 4))
    found.save(tmp_path)
    network, kept = load(tmp_path / "net.toml"), model_file.read(tmp_path / "weights.npz")
    assert network.parameters == found.network.parameters and network.graph == found.network.graph
    for ours, theirs in zip(found.state, kept.state, strict=True):
        assert all((ours[key] == theirs[key]).all() for key in ours)
    other = small()
    to_torch(tmp_path / "weights.npz", other)
    found.to_torch()
    assert all((a == b).all() for a, b in zip(model.state_dict().values(), other.state_dict().values()))
    with pytest.raises(ModelError, match=r"module '4'.*weight of shape"):
        to_torch(tmp_path / "weights.npz", nn.Sequential(*list(small())[:4], nn.Linear(9, 3)))
    with pytest.raises(FileError):
        to_torch(tmp_path / "net.toml", other)


def test_trained_weights_come_back():
    """What the reference has trained predicts the same in PyTorch."""
    rng, model = np.random.default_rng(5), small()
    found, _ = imported(model, (1, 4, 4))
    trainer, x = ReferenceTrainer(found.network, 1, found.state), rng.uniform(-1, 1, (4, 1, 4, 4))
    words = quantize(x, Format(16, found.network.input_frac))
    for iteration in range(3):
        trainer.step(words, [0, 1, 2, 0], iteration)
    found.to_torch(trainer.weights()).eval()
    near(trainer.forward(words) * 2.0**-found.network.graph.output.frac, model(torch.tensor(x).float()), INTEGERS, "")


def test_dropout_in_training_drops_what_gradcore_drops():
    found, _ = imported(small(), (1, 4, 4))
    assert [type(layer).__name__ for layer in found.network.layers] == ["Conv", "ReluLayer", "Dropout", "Dense"]
    assert found.network.layers[2].p == 0.25


def test_weights_that_do_not_fit_get_a_format():
    model = small()
    with torch.no_grad():
        model[0].weight[0, 0, 0, 0], model[4].bias[1] = 5.0, -20.0
    found, _ = imported(model, (1, 4, 4))
    assert [(p.fw, p.fb) for p in found.network.parameters] == [(12, 13), (13, 10)]
    assert [note.partition(":")[0] for note in found.notes] == ["layer '0'", "layer '4'"]
    assert "1 of 18 words of weight are outside +-4: 12 instead of 13" in found.notes[0]
    assert found.state[0]["weight"][0, 0, 0, 0] == 5 << 12 and found.state[1]["bias"][1] == -20 << 10
    found.to_torch()
    assert model[0].weight[0, 0, 0, 0] == 5 and model[4].bias[1] == -20


def test_points_from_images(rng):
    """With a calibration integers stay near PyTorch for four steps, whatever the range of weights and images."""
    torch.manual_seed(int(rng.integers(1 << 31)))
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    with torch.no_grad():
        for values in model.parameters():
            values.mul_(4.0)
    sgd = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    x, labels = 50 * rng.standard_normal((32, 1, 6, 6)), rng.integers(0, 3, 32)
    more = dict(minibatch=8, calibration=(x, labels))
    found = from_torch(model, (1, 6, 6), nn.CrossEntropyLoss(), sgd, formats={"weight": 12}, **more)
    assert found.notes == () and {p.fw for p in found.network.parameters} == {12}
    assert found.network.input_frac < 10 and found.network.parameters[0].fo < 9
    trainer, begun = (
        ReferenceTrainer(found.network, 1, found.state),
        [v.detach().numpy().copy() for v in model.parameters()],
    )
    for iteration in range(4):
        part = slice(8 * iteration, 8 * iteration + 8)
        sgd.zero_grad()
        nn.CrossEntropyLoss()(model(torch.tensor(x[part]).float()), torch.tensor(labels[part])).backward()
        sgd.step()
        trainer.step(quantize(x[part], Format(16, found.network.input_frac)), labels[part], iteration)
    theirs = [values.detach().numpy().copy() for values in model.parameters()]
    found.to_torch(trainer.weights())
    mine = [values.detach().numpy() for values in model.parameters()]
    ours, there, before = (np.concatenate([x.ravel() for x in part]) for part in (mine, theirs, begun))
    off = np.linalg.norm(ours - there)
    assert off <= 0.01 * np.linalg.norm(there) and off < 0.5 * np.linalg.norm(there - before)
    with pytest.raises(ImagesError, match="images of shape"):
        from_torch(model, (1, 6, 6), nn.CrossEntropyLoss(), sgd, calibration=(x[:, :, 1:], labels))


def test_momenta_come_along(rng):
    model = small()
    _, sgd = imported(model, (1, 4, 4))
    (model(torch.ones(2, 1, 4, 4)).sum() / 10).backward()
    sgd.step()
    found = from_torch(model, (1, 4, 4), nn.CrossEntropyLoss(), sgd)
    assert (found.real[1]["bias_momentum"] == -sgd.state[model[4].bias]["momentum_buffer"].numpy()).all()
    assert found.state[1]["bias_momentum"].any()


def test_frozen_layers_and_groups():
    model = small()
    model[0].requires_grad_(False)
    sgd = torch.optim.SGD([{"params": model[4].parameters(), "lr": 0.5}, {"params": []}], lr=0.1)
    network = from_torch(model, (1, 4, 4), nn.CrossEntropyLoss(), sgd).network
    assert [(p.trainable, p.learning_rate) for p in network.parameters] == [(False, 0.5), (True, 0.5)]
    assert network.optimiser == "sgd"
    model[0].requires_grad_(True)
    sgd = torch.optim.SGD([{"params": model[4].parameters(), "lr": 0.5}, {"params": model[0].parameters()}], lr=0.1)
    network = from_torch(model, (1, 4, 4), nn.CrossEntropyLoss(), sgd).network
    assert [p.learning_rate for p in network.parameters] == [0.1, 0.5]


def test_two_classes_and_the_mean_of_squares(rng):
    """The mean over two outputs of the squares is the euclidean loss."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    found = from_torch(model, (1, 2, 2), nn.MSELoss(), sgd, minibatch=4)
    x, labels = rng.normal(size=(4, 1, 2, 2)).astype(np.float32), rng.integers(0, 2, 4)
    trainer, targets = float_trainer(found), nn.functional.one_hot(torch.tensor(labels), 2).float()
    loss = nn.MSELoss()(model(torch.tensor(x)), targets)
    loss.backward()
    sgd.step()
    assert trainer.step(x, labels) == pytest.approx(4 * loss.item(), rel=1e-5)
    near(trainer.state[0]["weight"], model[1].weight, BOUND, "weight")


SCHEDULES = {
    "step": (lambda one: schedulers.StepLR(one, 2, 0.3), None),
    "multi step": (lambda one: schedulers.MultiStepLR(one, [1, 3, 3], 0.5), None),
    "cosine": (lambda one: schedulers.CosineAnnealingLR(one, 4, 0.01), None),
    "step by minibatch": (lambda one: schedulers.StepLR(one, 14, 0.3), 7),
    "multi step by minibatch": (lambda one: schedulers.MultiStepLR(one, [7, 21], 0.5), 7),
    "cosine by minibatch": (lambda one: schedulers.CosineAnnealingLR(one, 28, 0.01), 7),
    "warm-up": (lambda one: schedulers.LinearLR(one, 1 / 10, 1.0, 9), 7),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    """Minibatch by minibatch, seven in an epoch, up to the first of the fifth, within half a step of the register
    RATE."""
    model, (make, per_epoch) = small(), SCHEDULES[name]
    sgd = torch.optim.SGD(model.parameters(), lr=0.125)
    scheduler = make(sgd)
    network = from_torch(
        model, (1, 4, 4), nn.CrossEntropyLoss(), sgd, scheduler, minibatches_per_epoch=per_epoch
    ).network
    assert network.learning_rate == 0.125
    for minibatch in range(29):
        want = sgd.param_groups[0]["lr"] / 0.125
        rate = network.schedule.rate(minibatch, 7) / RATE_ONE
        assert math.isclose(rate, want, abs_tol=0.5001 / RATE_ONE), minibatch
        sgd.step()
        if per_epoch or minibatch % 7 == 6:
            scheduler.step()


def test_the_model_stays_as_it_was():
    model = small()
    model[2].eval()
    before = [module.training for module in model.modules()]
    imported(model, (1, 4, 4))
    assert [module.training for module in model.modules()] == before
