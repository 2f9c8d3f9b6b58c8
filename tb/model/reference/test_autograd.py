# SPDX-License-Identifier: Apache-2.0
"""The float trainer in float64 against PyTorch: words, losses and gradients of every operator and of random networks
against autograd, optimisers against torch.optim.SGD, schedules against torch.optim.lr_scheduler."""

import math

import numpy as np
import pytest

from gradcore.network import AveragePool, Conv, Dense, Dropout, LeakyReluLayer, MaxPool, Network, Sigmoid, Tanh
from gradcore.network.schedule import Cosine, Piecewise, Schedule, Step
from gradcore.numerics.random_numbers import dropout_mask, iteration_seed
from gradcore.ops.activation import HyperbolicTangent, LeakyRelu, LogisticFunction, Relu
from gradcore.ops.addition import Addition
from gradcore.ops.average_pooling import AveragePooling
from gradcore.ops.convolution import Convolution
from gradcore.ops.dropout import Dropping
from gradcore.ops.layer import Operator
from gradcore.ops.loss import LOSSES
from gradcore.ops.max_pooling import MaxPooling
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.float_trainer import FloatTrainer
from tb.model.reference.test_graphs import BRANCHES, random_network
from tb.support.evidence import note

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")
functional = torch.nn.functional
torch.set_num_threads(1)

BOUND = 1e-12  # of a tensor's largest element: sums are added in another order
SEED, ITERATION = 11, 3

FUNCTIONS = {
    Convolution: lambda op, x, weight, bias: functional.conv2d(x, weight, bias, op.stride, op.pad, groups=op.groups),
    Relu: lambda op, x: functional.relu(x),
    LeakyRelu: lambda op, x: functional.leaky_relu(x, op.slope),
    LogisticFunction: lambda op, x: torch.sigmoid(x),
    HyperbolicTangent: lambda op, x: torch.tanh(x),
    MaxPooling: lambda op, x: functional.max_pool2d(
        x, op.windows.size, op.windows.stride, op.windows.pad, ceil_mode=op.windows.ceil_mode
    ),
    AveragePooling: lambda op, x: functional.avg_pool2d(x, op.windows.size, op.windows.stride, op.windows.pad),
    Addition: lambda op, *inputs: sum(inputs),
    Dropping: lambda op, x, kept: x * kept / (1 - op.p),
}

OPERATORS = {
    "convolution": Conv(4, (3, 2), (1, 0), relu=False),
    "strided convolution": Conv(4, (5, 4), (2, 3), stride=(3, 2), relu=False, bias=False),
    "grouped convolution": Conv(6, 3, 1, groups=2, stride=(2, 1), relu=False),
    "fully connected": Dense(5, relu=True),
    "relu and 2x2 pooling": Conv(4, 3, pool=2),
    "leaky relu": LeakyReluLayer(0.2),
    "sigmoid": Sigmoid(),
    "tanh": Tanh(),
    "dropout": Dropout(0.4),
    "overlapping maximum pooling": MaxPool(3, stride=2, pad=1),
    "maximum pooling, ceil mode": MaxPool(3, stride=2, ceil_mode=True),
    "average pooling": AveragePool(2),
    "overlapping average pooling": AveragePool((3, 5), stride=(2, 1), pad=(1, 2)),
}


class Torch:
    """The same network in PyTorch, from the same weights. state: weight and bias of each parametric operator by name;
    tensors: those of the last forward pass, by name."""

    def __init__(self, network, trainer):
        self.network, self.tensors = network, {}
        self.state = {
            p.name: {key: torch.tensor(state[key], requires_grad=True) for key in ("weight", "bias")[: 1 + p.bias]}
            for p, state in zip(network.parameters, trainer.state)
        }

    def parameters(self):
        """All tensors, layer by layer."""
        return [tensor for state in self.state.values() for tensor in state.values()]

    def loss(self, x, labels):
        """Summed over the images."""
        self.tensors, graph = {"input": torch.tensor(x)}, self.network.graph
        for node in graph.nodes:
            inputs, operator = [self.tensors[name] for name in node.inputs], node.operator
            if operator.parametric:
                state = self.state[node.name]
                inputs += [state["weight"], state.get("bias")]
            if isinstance(operator, Dropping):
                seed = iteration_seed(SEED, ITERATION)
                inputs.append(torch.tensor(dropout_mask(seed, node.layer, tuple(inputs[0].shape), operator.p)))
            self.tensors[node.name] = FUNCTIONS[type(operator)](operator, *inputs)
            if self.tensors[node.name].requires_grad:
                self.tensors[node.name].retain_grad()
        a = self.tensors[graph.output.name][:, :, 0, 0]
        return TORCH_LOSSES[self.network.loss](a, torch.tensor(labels))


def square_hinge(a, labels):
    signs = 2 * functional.one_hot(labels, a.shape[1]) - 1
    return (functional.relu(1 - signs * a) ** 2).sum()


TORCH_LOSSES = {
    "euclidean": lambda a, labels: ((a - functional.one_hot(labels, a.shape[1])) ** 2).sum() / 2,
    "square_hinge": square_hinge,
    "softmax_cross_entropy": lambda a, labels: functional.cross_entropy(a, labels, reduction="sum"),
}


def same(ours, theirs, what, bound=BOUND):
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape, what
    assert np.abs(ours - theirs).max() <= bound * max(1, np.abs(theirs).max()), what


def compare(network, rng):
    """Words, loss, local gradients and gradients of one minibatch."""
    trainer = FloatTrainer(network, SEED, np.float64)
    for state in trainer.state:
        state["bias"] += rng.normal(0, 0.3, state["bias"].shape)
    x, labels = rng.normal(size=(4, *network.shape)), rng.integers(0, network.classes, 4)
    loss, other = trainer.gradients(x, labels, ITERATION), Torch(network, trainer)
    total = other.loss(x, labels)
    total.backward()
    assert loss == pytest.approx(total.item(), rel=BOUND, abs=BOUND)
    for name, words in trainer.last["words"].items():
        same(words, other.tensors[name], name)
    for name, delta in trainer.last["deltas"].items():
        same(delta, other.tensors[name].grad, f"local gradient of {name}")
    for p, grad, grad_bias in zip(network.parameters, trainer.last["grad"], trainer.last["grad_bias"]):
        same(grad, other.state[p.name]["weight"].grad, f"weight gradient of {p.name}")
        if p.bias:
            same(grad_bias, other.state[p.name]["bias"].grad, f"bias gradient of {p.name}")
    note("autograd", network)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, loss, rng):
    """Behind a convolution, so that its own backward pass is one of those compared."""
    layers = (Conv(4, 3, 1, relu=False), OPERATORS[name], Dense(3))
    compare(Network("t", (2, 9, 8), layers, loss), rng)


def test_branches(rng):
    compare(Network("t", (2, 4, 5), BRANCHES), rng)


@pytest.mark.parametrize("number", range(100))
def test_random_networks(number, rng):
    compare(random_network(rng, loss=list(LOSSES)[number % 3]), rng)


def test_every_operator_is_compared():
    def kinds(base):
        return {sub for kind in base.__subclasses__() for sub in (kind, *kinds(kind))}

    assert {kind for kind in kinds(Operator) if kind.__module__.startswith("gradcore.") and kind.what} == set(FUNCTIONS)


@pytest.mark.parametrize("weight_decay", [0.0, 0.03])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "pytorch_momentum"])
def test_optimisers(optimiser, weight_decay, rng):
    """Ten steps of torch.optim.SGD with a layer that has a rate of its own. Rates that change along a schedule are the
    same thing only for sgd and for what is called after PyTorch: the heavy ball has them inside its momentum."""
    layers = (Conv(3, 3, 1, pool=2, learning_rate=0.1), Conv(4, 3, stride=2), Dense(3))
    more = dict(learning_rate=0.02, optimiser=optimiser, weight_decay=weight_decay, minibatch=4)
    network = Network("t", (2, 9, 8), layers, "softmax_cross_entropy", **more)
    trainer = FloatTrainer(network, SEED, np.float64)
    other, schedule = Torch(network, trainer), Schedule() if optimiser == "momentum" else Cosine(2.0, epochs=3)
    rates = [p.learning_rate for p in network.parameters]
    groups = [{"params": list(state.values()), "lr": rate} for state, rate in zip(other.state.values(), rates)]
    beta = 0.0 if optimiser == "sgd" else network.momentum
    torch_optimiser = torch.optim.SGD(groups, momentum=beta, weight_decay=weight_decay)
    for minibatch in range(10):
        x, labels, rate = rng.normal(size=(4, 2, 9, 8)), rng.integers(0, 3, 4), schedule.rate(minibatch, 3)
        trainer.step(x, labels, ITERATION, rate)
        for group, base in zip(torch_optimiser.param_groups, rates):
            group["lr"] = base * rate / RATE_ONE
        torch_optimiser.zero_grad()
        (other.loss(x, labels) / 4).backward()
        torch_optimiser.step()
        for p, state in zip(network.parameters, trainer.state):
            for key, tensor in other.state[p.name].items():
                same(state[key], tensor, f"{key} of {p.name} after minibatch {minibatch}", 1e-11)


SCHEDULES = {
    "step": (Step(every=2, factor=0.3), lambda schedulers, one: schedulers.StepLR(one, 2 * 7, 0.3)),
    "piecewise": (
        Piecewise(epochs=(1, 3), factors=(0.25, 0.0625)),
        lambda schedulers, one: schedulers.MultiStepLR(one, [7, 3 * 7], 0.25),
    ),
    "cosine": (
        Cosine(epochs=4, last=0.01),
        lambda schedulers, one: schedulers.CosineAnnealingLR(one, 4 * 7, eta_min=0.01),
    ),
    "warm-up": (
        Schedule(warm_up=1.5),
        lambda schedulers, one: schedulers.LinearLR(one, 1 / 10, 1.0, total_iters=9),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    """Minibatch by minibatch, seven in an epoch, within half a step of the register RATE."""
    schedule, make = SCHEDULES[name]
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = make(torch.optim.lr_scheduler, optimiser)
    for minibatch in range(4 * 7):
        want = optimiser.param_groups[0]["lr"]
        assert math.isclose(schedule.rate(minibatch, 7) / RATE_ONE, want, abs_tol=0.5001 / RATE_ONE), minibatch
        optimiser.step()
        scheduler.step()
