# SPDX-License-Identifier: Apache-2.0
"""Learning rates of single layers and frozen layers on the machine model: every bit as the reference trainer; what a
frozen layer does not need is not in the program."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BP, FP, WU, Opcode
from gradcore.network import Conv, Dense, Network, load
from tb.model.compiler.networks import (
    fitting_network,
    large_network,
    own_training,
    random_engine,
    train_on_machine,
)
from tb.support.engines import TINY

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


@pytest.mark.parametrize("seed", range(8))
def test_large_networks_in_the_smallest_buffers(seed):
    rng = np.random.default_rng(seed)
    config = replace(TINY, mem_bytes=64 if seed % 2 else 8)
    network = own_training(rng, large_network(rng, config.data_width, 100))
    print(config, network)
    train_on_machine(network, config, seed)


def steps(compiled) -> set:
    """(layer, opcode or pass) of the instructions of the training program."""
    return {
        (op.layer, NAMES[op.instr["mode"]] if op.instr.opcode == Opcode.COMPUTE else op.instr.opcode.name)
        for op in compiled.train.ops
    }


@cache
def free(config) -> tuple:
    """`cycles` of `CHAIN` when every layer is trained."""
    return cycles(compile_network(Network("t", (2, 6, 6), CHAIN, minibatch=3), config))


def cycles(compiled) -> tuple:
    """Expected cycles of the training program, and those in which its units work."""
    return compiled.train.cycles, sum(op.cycles for op in compiled.train.ops)


CHAIN = (Conv(4, 3, 1, name="a"), Conv(5, 3, 1, pool=2, name="b"), Conv(4, 3, 1, name="c"), Dense(3, name="d"))


CASES = [
    (frozen, EngineConfig(grid=4, cols=4)) for frozen in ("", "a", "ab", "abc", "b", "c", "d", "ac", "bd", "acd", "bcd")
]
CASES += [(frozen, TINY) for frozen in ("a", "b", "ad", "abc")]


@pytest.mark.parametrize("frozen, config", CASES, ids=[f"{frozen}-{config.wgt_depth}" for frozen, config in CASES])
def test_a_program_has_what_it_needs(frozen, config):
    layers = tuple(replace(layer, trainable=layer.name not in frozen) for layer in CHAIN)
    network = Network("t", (2, 6, 6), layers, minibatch=3)
    compiled = compile_network(network, config)
    found, first = steps(compiled), next(layer.name for layer in layers if layer.trainable)
    for layer in layers:
        has = {step for name, step in found if name == layer.name}
        assert ("WU" in has) == ("UPDATE" in has) == layer.trainable, layer.name
        assert ("BP" in has) == (layer.name > first), layer.name
        assert {"FP", "LOADW"} <= has
    gates = {op.layer for op in compiled.train.ops if op.instr.opcode == Opcode.COMPUTE and op.instr["gate_write"]}
    assert gates == {name for name in "abc" if name >= first}
    assert [delta is None for delta in compiled.memory.delta] == [layer.name < first for layer in layers]
    assert "a" not in frozen or compiled.memory.act[0] is compiled.memory.images  # unfolded for WU alone
    assert cycles(compiled)[0] <= free(config)[0]
    assert (cycles(compiled)[1] < free(config)[1]) == bool(frozen)
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
