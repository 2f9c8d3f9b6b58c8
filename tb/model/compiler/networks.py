# SPDX-License-Identifier: Apache-2.0
"""Random small networks and engines, and the comparison of a whole training step with the reference trainer."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.compiler.unfold import unfold_images
from gradcore.host.device import Device
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network, default_fractions
from gradcore.network.layer_table import ideal_macs
from gradcore.network.schedule import Cosine, Schedule, Step
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.activation import LeakyReluLayer
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.reference.trainer import ReferenceTrainer
from tb.support.evidence import note


def random_engine(rng) -> EngineConfig:
    grid = int(rng.choice([4, 8]))
    cols = int(rng.choice([c for c in (4, 8, 16, 32, 64) if grid <= c <= grid * grid]))
    return EngineConfig(
        grid=grid,
        cols=cols,
        data_width=int(rng.integers(8, 17)),
        mem_bytes=int(rng.choice([8, 16, 32, 64])),
        act_depth=int(rng.choice([1024, 4096, 16384])),
        wgt_depth=int(rng.choice([2048, 16384])),
        grad_depth=16384,
        gate_depth=65536,
    )


def random_network(rng, data_width: int, most_images: int = 40, largest: int = 20) -> Network:
    """A network of up to four convolutions and two Dense layers, of every kind that network.py takes."""
    while True:
        shape = (int(rng.integers(1, 7)), int(rng.integers(1, largest + 1)), int(rng.integers(1, largest + 1)))
        layers, (rows, columns) = [], shape[1:]
        for _ in range(int(rng.integers(0, 5))):
            kernel = tuple(
                int(rng.integers(1, min(11, size + 3) + 1)) if rng.random() < 0.2 else int(rng.integers(1, 4))
                for size in (rows, columns)
            )
            pad = tuple(int(rng.integers(0, k)) for k in kernel)
            size = tuple(s + 2 * p - k + 1 for s, p, k in zip((rows, columns), pad, kernel))
            if min(size) < 1:
                continue
            pool = 2 if min(size) > 1 and rng.random() < 0.4 else None
            layers.append(
                Conv(int(rng.integers(1, 21)), kernel, pad, bool(rng.random() < 0.7), bool(rng.random() < 0.7), pool)
            )
            rows, columns = (s // 2 for s in size) if pool else size
            layers += random_factor(rng, data_width, layers[-1])
        if rng.random() < 0.3:
            layers.append(Dense(int(rng.integers(1, 40)), bool(rng.random() < 0.5), bool(rng.random() < 0.5)))
            layers += random_factor(rng, data_width, layers[-1])
        layers.append(Dense(int(rng.integers(2, 20)), bool(rng.random() < 0.5)))
        modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
        try:
            return Network(
                "random",
                shape,
                tuple(layers),
                str(rng.choice(["euclidean", "square_hinge", SOFTMAX])),
                str(rng.choice(["sgd", "momentum"])),
                float(rng.choice([0.5, 0.05])),
                0.9,
                int(rng.integers(1, most_images + 1)),
                data_width,
                modes,
            )
        except NetworkError:
            continue


def random_factor(rng, data_width: int, before) -> list:
    """Now and then a dropout, or a leaky ReLU, behind a layer, half of them in formats of their own."""
    usual = default_fractions(data_width)
    formats = {kind: usual[kind] + int(rng.integers(-2, 3)) for kind in ("act", "delta") if rng.random() < 0.5}
    kind = rng.random()
    if kind < 0.15:
        return [Dropout(p=float(rng.choice([0, 0.5, 0.9, rng.uniform(0, 0.9)])), formats=formats)]
    if kind < 0.4 and not before.relu and not getattr(before, "pool", None):
        return [LeakyReluLayer(slope=float(rng.choice([0, 0.01, 1, rng.uniform(0, 1)])), formats=formats)]
    return []


def large_network(rng, data_width: int, most_work: int = 3000, size=None, maps=None, images=None) -> Network:
    """A network of one to four weighted layers of all sizes, up to maps of 40x40, 70 channels and minibatches of 40,
    but not all at once: of at most `most_work` blocks of 4x4 pixels, taps and 4x4 pairs of maps. `size` (rows, columns)
    and `maps` of its input and `images` are drawn unless they are given."""
    while True:
        minibatch = images or 1 + _up_to(rng, 39)
        shape = (maps or 1 + _up_to(rng, 69), *(size or (1 + _up_to(rng, 39), 1 + _up_to(rng, 39))))
        layers, (inputs, *pixels), work = [], shape, 0
        for _ in range(int(rng.integers(0, 4))):
            most = 11 if rng.random() < 0.1 else 5
            kernel = tuple(int(rng.integers(1, min(most, n + 2) + 1)) for n in pixels)
            pad = tuple(int(rng.integers(0, k)) for k in kernel)
            after = [n + 2 * p - k + 1 for n, p, k in zip(pixels, pad, kernel)]
            if min(after) < 1:
                continue
            pool = 2 if min(after) > 1 and rng.random() < 0.4 else None
            outputs = 1 + _up_to(rng, 69)
            layers.append(Conv(outputs, kernel, pad, bool(rng.random() < 0.7), bool(rng.random() < 0.7), pool))
            blocks = -(-after[0] // 4) * -(-after[1] // 4)
            work += kernel[0] * kernel[1] * -(-inputs // 4) * -(-outputs // 4) * blocks
            inputs, pixels = outputs, [n // 2 for n in after] if pool else after
        classes = 2 + _up_to(rng, 38)
        layers.append(Dense(classes, bool(rng.random() < 0.5)))
        work += pixels[0] * pixels[1] * -(-inputs // 4) * -(-classes // 4)
        if work * minibatch > most_work:
            continue
        modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
        losses, optimisers = ["euclidean", "square_hinge", SOFTMAX], ["sgd", "momentum"]
        loss, optimiser, rate = str(rng.choice(losses)), str(rng.choice(optimisers)), float(rng.choice([0.5, 0.05]))
        try:
            return Network("large", shape, tuple(layers), loss, optimiser, rate, 0.9, minibatch, data_width, modes)
        except NetworkError:
            continue


def _up_to(rng, most: int) -> int:
    """0..most: often the most, small numbers more often than large ones."""
    return most if rng.random() < 0.15 else int(most * rng.random() ** 3)


def splitting_network(rng, config: EngineConfig) -> Network:
    """A network of few images whose small maps have a multiple of LANES channels: groups of lanes share them."""
    while True:
        shape = tuple(int(rng.integers(1, limit)) for limit in (4, 5, 7))
        kernel = tuple(int(rng.integers(1, min(3, size) + 1)) for size in shape[1:])
        pool = 2 if min(s - k + 1 for s, k in zip(shape[1:], kernel)) > 1 and rng.random() < 0.5 else None
        layers = [
            Conv(config.lanes * int(rng.integers(1, 3)), (1, 1), (0, 0)),
            Conv(config.lanes - int(rng.choice([0, 3])), kernel, (0, 0), pool=pool),
            Dense(config.lanes),
        ]
        layers.append(Dense(int(rng.integers(2, 2 * config.cols))))
        images, rounding = int(rng.integers(1, 4)), str(rng.choice(list(MODES)))
        try:
            network = Network(
                "shared", shape, tuple(layers), minibatch=images, data_width=config.data_width, rounding=rounding
            )
            if any(op.instr.fields.get("split") for op in compile_network(network, config).train.ops):
                return network
        except (CompileError, NetworkError):
            continue


def fitting_network(rng, config: EngineConfig, **limits) -> Network:
    """A random network that the engine has room for."""
    while True:
        network = random_network(rng, config.data_width, **limits)
        try:
            compile_network(network, config)
            return network
        except CompileError:
            continue


def softmax_network(rng, config: EngineConfig, most_images: int = 40, most_classes: int = 90) -> Network:
    """A small one that ends in softmax with cross-entropy, of any number of classes."""
    while True:
        network = random_network(rng, config.data_width, most_images, 6)
        last = replace(network.layers[-1], maps=int(rng.integers(1, 1 + rng.choice([4, 20, most_classes]))))
        try:
            network = replace(network, loss=SOFTMAX, layers=(*network.layers[:-1], last))
            if ideal_macs(network) * network.minibatch > 3000 * config.lanes * config.cols:
                continue
            compile_network(network, config)
            return network
        except (CompileError, NetworkError):
            continue


def own_training(rng, network: Network) -> Network:
    """The same network; about half of its layers are frozen, about half have a learning rate of their own; three of
    eight networks have a schedule."""
    schedules = [Schedule(), Schedule(2.0), Step(0.0, 1, 0.3), Cosine(0.5, 2, 0.01)]
    network = replace(network, schedule=schedules[int(rng.integers(0, 4)) if rng.random() < 0.5 else 0])
    layers = list(network.layers)
    while True:
        for number in (p.layer for p in network.parameters):
            own = float(network.learning_rate * 2 ** rng.uniform(-4, 2)) if rng.random() < 0.5 else None
            layers[number] = replace(layers[number], learning_rate=own, trainable=bool(rng.random() < 0.5))
        with suppress(NetworkError):
            return replace(network, layers=tuple(layers))


def own_optimiser(rng, network: Network) -> Network:
    """The same network with PyTorch's form of momentum or weight decay or both."""
    while True:
        optimiser = str(rng.choice(["sgd", "momentum", "pytorch_momentum"]))
        decay = float(10 ** rng.uniform(-4, -0.5)) if optimiser != "pytorch_momentum" or rng.random() < 0.5 else 0.0
        coefficient = float(rng.choice([0, 0.5, 0.9, 0.99]))
        with suppress(NetworkError):
            return replace(network, optimiser=optimiser, weight_decay=decay, momentum=coefficient)


def minibatch(rng, network, images: int) -> tuple:
    limit = 1 << (network.data_width - 1)
    x = rng.integers(-limit, limit, (images, *network.shape)) >> int(rng.integers(0, 5))
    return x, rng.integers(0, network.classes, images)


class Watch:
    """Collects the exact gradients in the gradient buffer of a machine just before each UPDATE reads them."""

    def __init__(self):
        self.rows = {}

    def __call__(self, machine, index, instr):
        if instr.opcode.name == "UPDATE":
            base, words = instr["base"], instr["n_words"]
            self.rows[instr["rnd_tag"], instr["map0"], instr["key"]] = machine.gradients[base : base + words].copy()

    def collect(self, device, compiled):
        """Nothing to do: all has been collected."""


class Probe:
    """Reads the exact gradients from the RTL's gradient buffer after the program; those that later layers have
    overwritten are left out."""

    def __init__(self):
        self.rows = {}

    def collect(self, device, compiled):
        self.rows = {}
        updates = [op.instr for op in compiled.train.ops if op.instr.opcode.name == "UPDATE"]
        for at, instr in enumerate(updates):
            span = range(instr["base"], instr["base"] + instr["n_words"])
            if not any(
                max(span.start, later["base"]) < min(span.stop, later["base"] + later["n_words"])
                for later in updates[at + 1 :]
            ):
                rows = device.backend.gradients(span.start, len(span), device.config.cols, device.config.acc_width)
                self.rows[instr["rnd_tag"], instr["map0"], instr["key"]] = rows


def same(what: str, got, want):
    bad = np.argwhere(np.asarray(got) != np.asarray(want))
    assert not len(bad), f"{what}: {len(bad)} of {np.size(want)} differ, first at {bad[0].tolist()}"


def same_map(what: str, device: Device, tensor, want, padded: bool = False):
    """All bytes; of a tensor with vectors that only fill up its blocks, or lanes that do (`padded`), the elements."""
    layout, got = tensor.layout, device.tensor(tensor)
    if layout.pitch == layout.channels and not padded:
        same(what, got, layout.pack(want))
    else:
        same(what, layout.unpack(got), want)


def stored(compiled, tensor) -> bool:
    """Does the training program write the tensor? What is used where it was made stays in its buffer."""
    return any((f"dram{tensor.base_sel}", tensor.addr) == at[:2] for op in compiled.train.ops for at in op.writes)


def compare(device: Device, trainer: ReferenceTrainer, images: int, watch) -> int:
    """Everything that a step leaves: activations, deltas, momentum, weights with the zeros between them, gradients;
    returns the number of gradients compared."""
    compiled, last, gradients = device._compiled[images], trainer.last, 0
    watch.collect(device, compiled)
    memory, layers = compiled.memory, compiled.network.parameters
    stages = {stage.name for p in layers for stage in p.stages}
    for p in layers:
        for place in (place for place in memory.stages[p.index] if place.step.stage):
            name = place.step.stage.name
            same_map(f"{name} output", device, place.result, last["words"][name], padded=True)
            if place.error:
                same_map(f"{name} delta", device, place.error, last["deltas"][name])
        read = memory.act[p.index]
        if p.index and stored(compiled, read) and p.input not in stages:
            plain, found = read is memory.plain[p.index], last["act"][p.index]
            want = found if plain else unfold_images(found, p, p.weight_shape[2])
            same_map(f"{p.name} input", device, read, want, not plain)
        delta = memory.delta[p.index]
        want = last["deltas"].get(p.nodes[-2 if p.factor else -1] if p.pool else p.name)
        assert (delta is None) == (want is None)
        if delta and stored(compiled, delta):
            same_map(f"{p.name} delta", device, delta, want)
        gradients += _compare_gradients(watch.rows, memory.weight[p.index].layout, p, last)
    for p, own, ref in zip(layers, device.weights(), trainer.weights()):
        for key in own:
            same(f"{p.name} {key}", own[key], ref[key])
    for tensor, data in compiled.pack_state(trainer.weights()):
        same(tensor.name, device.tensor(tensor), data)
    return gradients


def _compare_gradients(found: dict, layout, p, last: dict) -> int:
    """The gradients of a layer that have been found; returns their number."""
    if last["grad"][p.index] is None:
        assert not any(tag == random_tag(p.layer, "param") for tag, *_ in found)
        return 0
    count, wanted = 0, layout.row_order(last["grad"][p.index])
    maps = np.arange(layout.groups * layout.cols).reshape(layout.groups, layout.cols) < layout.outputs
    valid = maps.repeat(layout.inner, axis=0)
    bias = np.zeros(maps.size, np.int64)
    bias[: layout.outputs] = last["grad_bias"][p.index]
    for (tag, map0, key), rows in found.items():
        if tag != random_tag(p.layer, "param"):
            continue
        group, what = map0 // layout.cols, (wanted, valid)
        at = group * layout.inner + key
        if key == layout.inner:
            at, what = group, (bias.reshape(maps.shape), maps)
        want, mask = (part[at : at + len(rows)] for part in what)
        same(f"{p.name} gradients of map {map0}.., row {key}..", rows[mask], want[mask])
        count += int(mask.sum())
    return count


def train_on_machine(network: Network, config: EngineConfig, seed: int, iterations=2, order="random") -> Device:
    """`train` on the instruction-level model."""
    watch = Watch()
    return train(MachineBackend(config, 1 << 26, order, seed, watch), network, config, seed, iterations, watch)


def train(backend, network: Network, config: EngineConfig, seed: int, iterations: int = 2, watch=None) -> Device:
    """Some iterations, the last of them with a smaller minibatch, on a back end and on the reference; then
    inference."""
    rng, trainer = np.random.default_rng(seed), ReferenceTrainer(network, seed, acc_width=config.acc_width)
    device = Device(backend, network, config, seed, keep=bool(rng.random() < 0.5))
    for iteration in range(iterations):
        images = network.minibatch if iteration + 1 < iterations else int(rng.integers(1, network.minibatch + 1))
        x, labels = minibatch(rng, network, images)
        device.grad_overflow = False
        if watch:
            watch.rows.clear()  # a smaller minibatch can take the gradients in other parts
        rate = network.schedule.rate(iteration, 1)
        assert device.step(x, labels, iteration, rate) == trainer.step(x, labels, iteration, rate), "LOSS"
        assert trainer.overflow_agrees(device.grad_overflow)
        assert bool(compare(device, trainer, images, watch or Probe())) == getattr(watch, "looks", True)
    x, _ = minibatch(rng, network, network.minibatch + 3)
    same("outputs", device.outputs(x, 5), trainer.forward(x, 5))
    note("machine" if backend.name == "machine" else "rtl", network)
    return device
