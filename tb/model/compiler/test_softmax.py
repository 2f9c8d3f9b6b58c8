# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy on the instruction-level model: training iterations of random networks, in every bit as
the reference trainer."""

import os

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.loss import SOFTMAX
from tb.model.compiler.networks import softmax_network, train_on_machine
from tb.support.engines import TINY

COUNT = int(os.environ.get("NETWORKS", "4"))
FIRST = int(os.environ.get("SEED", "1"))
SMALL = EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512)
NARROW = EngineConfig(grid=4, cols=8, data_width=8, mem_bytes=64, act_depth=512)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("config", [EngineConfig(), SMALL, NARROW, TINY], ids=["default", "small", "narrow", "tiny"])
def test_random_networks_train_bit_exactly(config, seed):
    network = softmax_network(np.random.default_rng(seed), config)
    print(f"seed {seed}: {network}")
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("classes, images", [(1, 3), (10, 150), (65, 70), (200, 1), (1000, 2)])
def test_classes_and_groups_of_images(classes, images):
    network = Network("t", (5, 2, 2), (Dense(classes),), SOFTMAX, "momentum", 0.5, 0.9, images)
    train_on_machine(network, EngineConfig(), 1)


def test_frozen_layers_below():
    layers = (Conv(4, (3, 3), (1, 1), trainable=False), Dense(7, trainable=False), Dense(5))
    train_on_machine(Network("t", (2, 4, 4), layers, SOFTMAX, "sgd", 0.5, 0.9, 20), SMALL, 1)


def test_each_group_goes_through_softmax_once():
    network = Network("t", (5, 2, 2), (Dense(9), Dense(10)), SOFTMAX, minibatch=200)
    compiled = compile_network(network, EngineConfig())
    found = [op for op in compiled.train.ops if op.instr.opcode == Opcode.LOAD and op.instr["softmax"]]
    assert [op.instr["n_valid"] for op in found] == [64, 64, 64, 8]
    assert not any(op.instr.fields.get("softmax") for op in compiled.infer.ops)
