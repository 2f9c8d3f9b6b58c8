# SPDX-License-Identifier: Apache-2.0
"""Weight decay and PyTorch's form of momentum on the machine model: every bit as the reference trainer; the numbers of
an UPDATE are the network's."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.network import Conv, Dense, Network
from tb.model.compiler.networks import (
    fitting_network,
    large_network,
    own_optimiser,
    own_training,
    random_engine,
    train_on_machine,
)
from tb.support.engines import TINY


@pytest.mark.parametrize("seed", range(30))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    config = random_engine(rng)
    while True:
        network = own_optimiser(rng, fitting_network(rng, config, most_images=9 if seed % 2 else 40, largest=12))
        network = own_training(rng, network) if seed % 3 == 0 else network
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
    network = own_optimiser(rng, large_network(rng, config.data_width, 100))
    print(config, network)
    train_on_machine(network, config, seed)


LAYERS = (Conv(4, 3, 1, pool=2), replace(Dense(6, relu=True), learning_rate=0.2), Dense(3))


@pytest.mark.parametrize("images", [4, 3])
@pytest.mark.parametrize("weight_decay", [0.0, 0.003])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "pytorch_momentum"])
def test_an_update_has_the_numbers_of_the_network(optimiser, weight_decay, images):
    network = Network("t", (2, 6, 6), LAYERS, minibatch=4, optimiser=optimiser, weight_decay=weight_decay)
    compiled, seen = compile_network(network, EngineConfig(grid=4, cols=4), images), 0
    parameters = {p.name: p for p in network.with_minibatch(images).parameters}
    for op in compiled.train.ops:
        if op.instr.opcode != Opcode.UPDATE:
            continue
        p, fields, seen = parameters[op.layer], op.instr, seen + 1
        numbers = p.weight_update if op.text == "weights" else p.bias_update
        assert fields["momentum"] == (optimiser != "sgd")
        for name in ("lr_m", "shift_g", "shift_v", "shift_w", "decay_m", "shift_d"):
            assert fields[name] == getattr(numbers, name), name
        assert (fields["rate_m"] or 1) == numbers.rate_m and (fields["rate_m"] > 1) == (optimiser[:2] == "py")
        assert (fields["decay_m"] > 0) == bool(weight_decay)
        rate = fields["rate_m"] * 2.0 ** (numbers.frac_v - (p.fw if op.text == "weights" else p.fb) - fields["shift_w"])
        assert not fields["rate_m"] or rate == pytest.approx(p.learning_rate, rel=2**-6)
    assert seen >= 6


def test_programs_of_the_old_forms_have_no_new_bits():
    """An engine without weight decay and PyTorch's form would run them."""
    for optimiser in ("sgd", "momentum"):
        compiled = compile_network(Network("t", (2, 6, 6), LAYERS, optimiser=optimiser), EngineConfig(grid=4, cols=4))
        for op in compiled.train.ops:
            if op.instr.opcode == Opcode.UPDATE:
                assert not any(op.instr[name] for name in ("decay_m", "rate_m", "shift_d"))
                assert op.instr["shift_w"] < 16
