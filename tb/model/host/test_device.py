# SPDX-License-Identifier: Apache-2.0
"""The driver on the instruction-level model: learning, state, uploads, errors."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.host.control import EngineError
from gradcore.host.device import Device
from gradcore.host.placement import PAGE, room, room_for_training
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.network.net_toml import load
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.compiler.networks import minibatch
from tb.model.compiler.test_compile import NET, SMALL, WIDE


def test_digits_example_on_the_default_engine():
    network = load("examples/digits/net.toml")
    rng = np.random.default_rng(5)
    trainer = ReferenceTrainer(network, 7)
    with Device(MachineBackend(EngineConfig()), network, EngineConfig(), 7) as device:
        for iteration in range(2):
            x, labels = minibatch(rng, network, network.minibatch)
            assert device.step(x, labels, iteration) == trainer.step(x, labels, iteration)
        for got, want in zip(device.weights(), trainer.weights()):
            assert all((got[key] == want[key]).all() for key in want)
        print(
            f"expected cycles of an iteration {device.compiled.train.cycles}, "
            f"of inference {device.compiled.infer.cycles}, images {network.minibatch}"
        )


def test_uploaded_minibatches_and_saved_state():
    rng = np.random.default_rng(6)
    x, labels = minibatch(rng, NET, 12)
    trainer = ReferenceTrainer(NET, 2)
    first = Device(MachineBackend(SMALL), NET, SMALL, 2)
    places = first.upload(x, labels)
    assert len(places) == 2  # 5 + 5 images; the rest is left out
    for iteration, (images, targets) in enumerate(places):
        part = slice(5 * iteration, 5 * iteration + 5)
        assert first.run(first.compiled, "train", images, targets, iteration) == trainer.step(
            x[part], labels[part], iteration
        )
    second = Device(MachineBackend(SMALL), NET, SMALL, 2, state=first.weights(), origin=1 << 20)
    assert second.step(x[:3], labels[:3], 2) == trainer.step(x[:3], labels[:3], 2)
    assert (second.outputs(x) == trainer.forward(x)).all()


def test_registers():
    backend = MachineBackend(SMALL)
    assert backend.read32(reg.ID) == 0x47524144
    assert backend.read32(reg.CONFIG) == 4 | 4 << 8 | 16 << 16 | 4 << 24
    assert backend.read32(reg.CONFIG2) == 8 | 8 << 8 | 8 << 16 | 10 << 24
    device = Device(backend, NET, SMALL, 3)
    x, labels = minibatch(np.random.default_rng(2), NET, 5)
    loss = device.step(x, labels, 4)
    assert backend.read32(reg.SEED) == iteration_seed(3, 4)
    assert backend.read32(reg.LOSS) | backend.read32(reg.LOSS + 4) << 32 == loss
    assert backend.read32(reg.PROG_LENGTH) == len(device.compiled.train.ops) + 1
    assert set(device.counters()) >= {"cycles", "load.busy", "compute.wait_load", "compute.mac_busy", "update.idle"}
    assert set(reg.COUNTER_NAMES) == {*range(6), *range(8, 52)}


def test_room_for_minibatches_never_shrinks():
    """A minibatch with larger images and fewer targets moves both; those before it still fit."""
    device = Device(MachineBackend(SMALL), NET, SMALL, 3)
    images, targets = device._batch_room
    memory = device.compiled.memory
    larger = replace(memory.act[0], addr=memory.act[0].addr + images)
    fewer = replace(memory.target, addr=-(memory.target.layout.size // 2))
    memory = replace(memory, act=(larger, *memory.act[1:]), target=fewer)
    device._prepare(replace(device.compiled, setting=replace(device.compiled.setting, images=1, memory=memory)))
    assert device._batch_room[0] >= larger.end and device._batch_room[1] >= targets


@pytest.mark.parametrize("sizes", [(5,), (5, 3), (5, 3, 1)], ids=str)
def test_room_is_enough_and_no_more(sizes):
    """Of a minibatch and of smaller ones behind it; of a page less the last program does not fit."""
    need = room(*(compile_network(NET, SMALL, images) for images in sizes))
    x, labels = minibatch(np.random.default_rng(2), NET, 5)

    def train(size):
        trainer = ReferenceTrainer(NET, 3)
        device = Device(MachineBackend(SMALL, size), NET, SMALL, 3)
        for iteration, images in enumerate(sizes):
            assert device.step(x[:images], labels[:images], iteration) == trainer.step(
                x[:images], labels[:images], iteration
            )

    train(need)
    with pytest.raises(ValueError, match="are not inside the DRAM"):
        train(need - PAGE)


def test_room_for_training_is_enough_for_any_rest():
    for network in (NET, WIDE):
        whole, *smaller = (compile_network(network, SMALL, images) for images in range(network.minibatch, 0, -1))
        assert all(room(whole, one) <= room_for_training(whole) for one in smaller)


def test_refuses_another_engine():
    with pytest.raises(EngineError, match="compiled for"):
        Device(MachineBackend(EngineConfig()), NET, SMALL)


class _Broken(MachineBackend):
    def _run(self):
        self._status, self._error = reg.FAILED, 1 | 3 << 8


def test_an_error_names_the_instruction():
    device = Device(_Broken(SMALL), NET, SMALL)
    x, labels = minibatch(np.random.default_rng(2), NET, 5)
    with pytest.raises(EngineError, match="unknown opcode at instruction 3: ") as caught:
        device.step(x, labels, 0)
    assert caught.value.index == 3
