# SPDX-License-Identifier: Apache-2.0
"""Learning rates of single layers and frozen layers on the machine model: every bit as the reference trainer; what a
frozen layer does not need is not in the program."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BP, FP, WU, Opcode
from gradcore.network import Conv, Dense, Network, load
from gradcore.sim.sources import ROOT
from tb.model.compiler.networks import (
    fitting_network,
    large_network,
    own_training,
    random_engine,
    train_on_machine,
)

TINY = dict(grid=4, cols=4, act_depth=64, wgt_depth=16, grad_depth=16, gate_depth=64)
NAMES = {FP: "FP", BP: "BP", WU: "WU"}


@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    config = random_engine(rng)
    while True:
        network = own_training(rng, fitting_network(rng, config, most_images=9 if seed % 2 else 40, largest=12))
        try:
            compile_network(network, config)
        except CompileError:
            continue
        break
    print(config, network)
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("seed", range(16))
def test_large_networks_in_the_smallest_buffers(seed):
    rng = np.random.default_rng(seed)
    config = EngineConfig(mem_bytes=64 if seed % 2 else 8, **TINY)
    network = own_training(rng, large_network(rng, config.data_width, 1000))
    print(config, network)
    train_on_machine(network, config, seed)


def steps(network, config) -> Counter:
    """Number of instructions of the training program by layer and opcode or pass."""
    ops = compile_network(network, config).train.ops
    return Counter(
        (op.layer, NAMES[op.instr["mode"]] if op.instr.opcode == Opcode.COMPUTE else op.instr.opcode.name) for op in ops
    )


CHAIN = (Conv(4, 3, 1, name="a"), Conv(5, 3, 1, pool=2, name="b"), Conv(4, 3, 1, name="c"), Dense(3, name="d"))


@pytest.mark.parametrize("config", [EngineConfig(grid=4, cols=4), EngineConfig(**TINY)], ids=["on-chip", "strips"])
@pytest.mark.parametrize("frozen", ["", "a", "ab", "abc", "b", "c", "d", "ac", "bd", "acd", "bcd"])
def test_a_program_has_what_it_needs(frozen, config):
    layers = tuple(replace(layer, trainable=layer.name not in frozen) for layer in CHAIN)
    network = Network("t", (2, 8, 8), layers, minibatch=4)
    found, first = steps(network, config), next(layer.name for layer in layers if layer.trainable)
    for layer in layers:
        has = {step for name, step in found if name == layer.name}
        assert ("WU" in has) == ("UPDATE" in has) == layer.trainable, layer.name
        assert ("BP" in has) == (layer.name > first), layer.name
        assert {"FP", "LOADW"} <= has
    compiled = compile_network(network, config)
    gates = {op.layer for op in compiled.train.ops if op.instr.opcode == Opcode.COMPUTE and op.instr["gate_write"]}
    assert gates == {name for name in "abc" if name >= first}
    assert [delta is None for delta in compiled.memory.delta] == [layer.name < first for layer in layers]
    free = compile_network(Network("t", (2, 8, 8), CHAIN, minibatch=4), config)
    assert compiled.train.cycles < free.train.cycles or not frozen
    assert all(op.instr.opcode != Opcode.UPDATE for op in compiled.infer.ops)
    train_on_machine(network, config, 1)


def test_every_layer_updates_with_its_own_rate():
    rates = {"a": 0.5, "b": None, "c": 0.004, "d": 0.1}
    layers = tuple(replace(layer, learning_rate=rates[layer.name]) for layer in CHAIN)
    network = Network("t", (2, 8, 8), layers, minibatch=4)
    compiled = compile_network(network, EngineConfig(grid=4, cols=4))
    for op in compiled.train.ops:
        if op.instr.opcode == Opcode.UPDATE:
            p = next(p for p in network.parameters if p.name == op.layer)
            numbers = p.weight_update if op.text == "weights" else p.bias_update
            assert (op.instr["lr_m"], op.instr["shift_v"]) == (numbers.lr_m, numbers.shift_v)
            real = op.instr["lr_m"] * 2.0 ** (numbers.frac_g - numbers.frac_v - op.instr["shift_v"])
            assert real == pytest.approx((rates[op.layer] or 0.01) / 4, rel=2**-7)


def test_a_frozen_half_spares_a_third_of_the_cycles():
    network = load(ROOT / "examples/cifar10-1x/net.toml")
    half = [replace(layer, trainable=number >= 3) for number, layer in enumerate(network.layers)]
    found = [compile_network(net, EngineConfig()).train.cycles for net in (network, replace(network, layers=half))]
    print(found)
    assert found[1] < 0.67 * found[0]
