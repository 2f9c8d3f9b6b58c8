# SPDX-License-Identifier: Apache-2.0
"""Engines with narrow sums: gradients that overflow give the reference's bits, the sums of FP and BP and those inside
the array never do."""

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, check_reductions, compile_network
from gradcore.host.device import Device
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import Probe, Watch, compare, same

DEPTHS = dict(act_depth=1024, wgt_depth=1024, grad_depth=1024, gate_depth=4096, mem_bytes=16)
NARROW = EngineConfig(grid=4, cols=4, acc_width=36, **DEPTHS)  # room for 31 products of 16 bits


def narrow_network(rng, config: EngineConfig) -> Network:
    """A random network with few products per sum, so that FP and BP fit, on maps large enough for gradients that do
    not."""
    while True:
        shape = (int(rng.integers(1, 3)), int(rng.integers(4, 12)), int(rng.integers(4, 12)))
        kernel = tuple(int(k) for k in rng.integers(1, 4, 2))
        pad, maps = tuple(int(rng.integers(0, k)) for k in kernel), int(rng.integers(1, 4))
        layers = (
            Conv(maps, kernel, pad, bool(rng.random() < 0.5), bool(rng.random() < 0.5), 2),
            Conv(2, 1, relu=False, pool=2),
            Dense(3, bool(rng.random() < 0.5)),
        )
        try:
            network = Network(
                "narrow",
                shape,
                layers,
                data_width=config.data_width,
                minibatch=int(rng.integers(20, 65)),
                learning_rate=0.01,
            )
            check_reductions(network, config)
            return network
        except (CompileError, NetworkError):
            continue


def large(rng, network) -> tuple:
    """(state, [(images, labels)]): weights and images mostly at one limit, so that local gradients are, too; the last
    minibatch is smaller."""
    half = 1 << (network.data_width - 1)
    state = ReferenceTrainer(network).weights()
    for p, layer in zip(network.parameters, state):
        layer["weight"] = rng.choice([-half, half - 1, half // 2], layer["weight"].shape, p=[0.1, 0.6, 0.3])
        layer["bias"] = rng.choice([0, half - 1], layer["bias"].shape) * p.bias
    sizes = (network.minibatch, network.minibatch, network.minibatch // 2)
    return state, [
        (rng.choice([-half, half - 1], (n, *network.shape), p=[0.1, 0.9]), rng.integers(0, network.classes, n))
        for n in sizes
    ]


def overflowing(seed: int, config: EngineConfig) -> tuple:
    """A network, a state and minibatches with which a gradient of the reference overflows in the first minibatch."""
    rng = np.random.default_rng(seed)
    for _ in range(500):
        network = narrow_network(rng, config)
        state, batches = large(rng, network)
        trainer = ReferenceTrainer(network, seed, state, config.acc_width)
        trainer.step(*batches[0], 0)
        if trainer.grad_overflow:
            return network, state, batches
    raise AssertionError("no gradient overflows")


def as_the_reference(backend, config: EngineConfig, seed: int, watch):
    network, state, batches = overflowing(seed, config)
    print(f"seed {seed}: {config} {network}")
    trainer, device = (
        ReferenceTrainer(network, seed, state, config.acc_width),
        Device(backend, network, config, seed, state, keep=True),
    )
    for iteration, (x, labels) in enumerate(batches):
        device.grad_overflow = False
        assert device.step(x, labels, iteration) == trainer.step(x, labels, iteration), "LOSS"
        compare(device, trainer, len(x), watch)
        assert trainer.overflow_agrees(device.grad_overflow) and (device.grad_overflow or iteration)
    same("outputs", device.outputs(batches[0][0]), trainer.forward(batches[0][0]))


@pytest.mark.parametrize("seed", range(6))
def test_overflowing_gradients_wrap_as_in_the_reference(seed):
    rng, watch = np.random.default_rng(seed), Watch()
    width = int(rng.integers(8, 17))
    config = EngineConfig(
        grid=4,
        cols=int(rng.choice([4, 8, 16])),
        data_width=width,
        acc_width=2 * width + 4 + int(rng.integers(0, 3)),
        **DEPTHS,
    )
    as_the_reference(MachineBackend(config, 1 << 22, "random", seed, watch), config, seed, watch)


@pytest.mark.parametrize("seed", range(4))
def test_overflowing_gradients_wrap_on_the_rtl(seed):
    with SimBackend(build_engine(NARROW)[0], Memory(size=1 << 22, seed=seed)) as backend:
        as_the_reference(backend, NARROW, seed, Probe())


@pytest.mark.parametrize("sign, flags", [(1, [True]), (-1, [False, True])])
def test_overflow_of_a_part_of_a_gradient(sign, flags):
    """The same large local gradient everywhere: the second half of the images doubles the first half's gradient or
    cancels it. Then the engine's bit tells of the overflow on the way, and the result is exact. RTL and machine model
    agree."""
    network = Network(
        "part", (1, 4, 4), (Conv(1, 1, bias=False, relu=False), Dense(1)), minibatch=16, learning_rate=0.01
    )
    state = ReferenceTrainer(network).weights()
    state[0]["weight"][:], state[1]["weight"][:], state[1]["bias"][:] = 0, 1 << 14, 32767
    x, labels, found = np.full((16, 1, 4, 4), 32767), np.zeros(16, dtype=int), []
    x[8:] *= sign
    trainer = ReferenceTrainer(network, 1, state, NARROW.acc_width)
    trainer.step(x, labels, 0)
    assert (trainer.last["grad"][0] == 0).all() == (sign < 0)
    with SimBackend(build_engine(NARROW)[0], Memory(size=1 << 22)) as rtl:
        for backend in (rtl, MachineBackend(NARROW, 1 << 22)):
            device = Device(backend, network, NARROW, 1, state)
            device.step(x, labels, 0)
            same("weight", device.weights()[0]["weight"], trainer.weights()[0]["weight"])
            found.append(device.grad_overflow)
    assert found == [True, True] and trainer.grad_overflow == (sign > 0)
    assert [flag for flag in (False, True) if trainer.overflow_agrees(flag)] == flags


@pytest.mark.parametrize("acc_width, width", [(36, 16), (39, 16), (24, 10), (28, 12), (24, 8)])
def test_forward_and_backward_sums_at_the_limit(acc_width, width):
    """The largest sum that the compiler takes, of nothing but minimum times minimum, fits (the model would say
    otherwise); one more is refused."""
    config = EngineConfig(grid=4, cols=4, data_width=width, acc_width=acc_width, **DEPTHS)
    half, most = 1 << (width - 1), (1 << acc_width - 1) - 1 >> 2 * width - 2

    def dense(inputs, outputs):
        return Network(
            "limit",
            (inputs, 1, 1),
            (Dense(outputs, bias=False, relu=True), Dense(2, bias=False)),
            data_width=width,
            minibatch=2,
        )

    for network in (
        dense(most + 1, 2),
        Network("limit", (1, 1, 1), (Dense(1), Dense(most + 1, bias=False)), data_width=width, minibatch=2),
    ):
        with pytest.raises(CompileError, match=f"bits of its largest sum is {acc_width + 1}, limit {acc_width}"):
            compile_network(network, config)
    network = dense(most, 2)
    state = ReferenceTrainer(network).weights()
    for layer in state:
        layer["weight"][:] = -half
    x, labels = np.full((2, most, 1, 1), -half), np.array([0, 1])
    device, trainer = (
        Device(MachineBackend(config, 1 << 22), network, config, 1, state),
        ReferenceTrainer(network, 1, state, acc_width),
    )
    assert device.step(x, labels, 0) == trainer.step(x, labels, 0)
    same("outputs", device.outputs(x), trainer.forward(x))


def test_gradient_sums_are_split_so_that_the_array_cannot_overflow():
    """31 products of 16 bits fit 36 bits: 7 blocks of 4 steps. A block of an array of 32 columns takes 32 steps."""
    network = Network(
        "parts", (1, 20, 9), (Conv(1, (2, 1), pool=2), Conv(1, (2, 2), pool=2), Dense(2)), data_width=16, minibatch=1
    )
    ops = [
        op.instr
        for op in compile_network(network, NARROW).train.ops
        if op.layer == "conv0" and op.text.startswith("WU")
    ]
    blocks = [(op["by0"] + y, op["bx0"] + x) for op in ops for y in range(op["n_by"]) for x in range(op["n_bx"])]
    assert sorted(blocks) == [(y, x) for y in range(5) for x in range(2)] and [op["grad_first"] for op in ops] == [1, 0]
    assert all(op["n_by"] * op["n_bx"] * NARROW.cols <= 31 for op in ops)
    with pytest.raises(CompileError, match="steps of a sum of a weight gradient is 32, limit 31"):
        compile_network(network, EngineConfig(grid=8, cols=32, acc_width=36, **DEPTHS))
    assert (
        sum(
            op.text.startswith("WU")
            for op in compile_network(network, EngineConfig(grid=4, cols=4, **DEPTHS)).train.ops
        )
        == 3
    )
