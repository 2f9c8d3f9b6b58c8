# SPDX-License-Identifier: Apache-2.0
"""Random networks of all operators at once: graphs of convolutions with strides and groups, every pooling, activation,
dropout, addition, loss, optimiser and schedule, some layers frozen."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.layer_table import ideal_macs
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import LOSSES, SOFTMAX
from tb.model.compiler.networks import own_optimiser, own_training
from tb.model.compiler.test_branches import formats
from tb.model.compiler.test_vector import ends_in_stages, random_stage

MOST_WORK = 600  # multiply-accumulates of a minibatch, by the lanes times the columns
MOST_WORDS = 400_000  # of all tensors between layers


class Graph:
    """Layers that read any earlier ones; those that nobody has read yet are `unread`."""

    def __init__(self, rng, shape: tuple, config: EngineConfig, plain: bool) -> None:
        self.rng, self.config, self.plain = rng, config, plain
        self.layers, self.shapes, self.unread = [], {"": shape}, []

    def add(self, layer, *inputs: str) -> str:
        """Adds a layer behind `inputs`; its name."""
        name = f"l{len(self.layers)}"
        shape = self.shapes[inputs[0] if inputs else ""]
        for _, operator in layer.operators([shape] * max(len(inputs), 1)):
            shape = operator.shape([shape])
        self.shapes[name] = shape
        self.layers.append(replace(layer, name=name, inputs=inputs))
        self.unread = [other for other in self.unread if other not in inputs] + [name]
        return name

    def formats(self, *kinds: str) -> dict:
        """Formats of its own for every second layer, unless all are plain."""
        return formats(self.rng, self.plain, *kinds)

    def maps(self) -> int:
        """Any number, or one that strides and groups can have."""
        rng, config = self.rng, self.config
        whole = config.cols if rng.random() < 0.4 else max(1, config.mem_bytes // config.vector_bytes)
        return int(rng.integers(1, 11)) if rng.random() < 0.4 else whole * int(rng.integers(1, 3))

    def convolution(self, source: str) -> Conv:
        """Behind `source`, with all that a convolution can have."""
        rng, (channels, *size) = self.rng, self.shapes[source]
        large = 11 if rng.random() < 0.1 else 3
        while True:
            kernel = tuple(int(rng.integers(1, min(large, n + 2) + 1)) for n in size)
            pad = tuple(int(rng.integers(0, k)) if rng.random() < 0.3 else k // 2 for k in kernel)
            stride = tuple(int(n) for n in rng.integers(1, large + 1, 2)) if rng.random() < 0.3 else (1, 1)
            after = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(size, pad, kernel, stride)]
            if min(after) > 0:
                break
        groups, maps = 1, self.maps() if rng.random() < 0.5 else channels
        if channels % (2 * self.config.cols) == 0 and rng.random() < 0.7:
            groups, maps = 2, 2 * self.config.cols
        pool = 2 if min(after) > 1 and rng.random() < 0.2 else None
        flags, more = rng.random(2) < 0.6, dict(stride=stride, groups=groups, formats=self.formats("act", "delta"))
        return Conv(maps, kernel, pad, *map(bool, flags), pool, **more)

    def element(self):
        """What treats each element by itself."""
        kind, own = self.rng.random(), self.formats("act", "delta")
        if kind < 0.4:
            return ReluLayer()
        if kind < 0.7:
            return LeakyReluLayer(float(self.rng.choice([0, 0.01, 1, self.rng.random()])), formats=own)
        return Dropout(float(self.rng.choice([0, 0.5, self.rng.uniform(0, 0.9)])), formats=own)

    def grow(self) -> None:
        """Adds a layer behind one of the last four, most often behind the last."""
        names = list(self.shapes)[1:]
        source = names[-1] if self.rng.random() < 0.7 else str(self.rng.choice(names[-4:]))
        alike = [name for name in names if self.shapes[name] == self.shapes[source]]
        kind = self.rng.random()
        if kind < 0.4:
            self.add(self.convolution(source), source)
        elif kind < 0.55 and len(alike) > 1:
            self.add(Add(formats=self.formats("act", "delta")), source, str(self.rng.choice(alike)))
        elif kind < 0.8:
            self.add(self.element(), source)
        else:
            self.add(random_stage(self.rng, self.shapes[source][1:]), source)

    def end(self, loss: str) -> None:
        """Joins all that is unread; a fully connected layer is the last, or before softmax a stage."""
        for name in self.unread[:-1]:
            self.add(Dense(3, bool(self.rng.random() < 0.5)), name)
        if len(self.unread) > 1:
            self.add(Dense(3), self.unread[0])
        while len(self.unread) > 1:
            self.add(Add(), *self.unread[:2])
        last = [Dense(int(self.rng.integers(2, 8)), bool(self.rng.random() < 0.5))]
        if loss == SOFTMAX and self.rng.random() < 0.3:
            last = ends_in_stages(self.rng, self.shapes[self.unread[0]][1:], last[0])
        for layer in last:
            self.add(layer, *self.unread)


def random_graph(rng, config: EngineConfig) -> Network:
    """Anything; raises NetworkError where its formats do not fit each other."""
    shape = int(rng.integers(1, 5)), int(rng.integers(2, 11)), int(rng.integers(2, 11))
    graph, loss = Graph(rng, shape, config, config.data_width != 16), str(rng.choice(list(LOSSES)))
    graph.add(graph.convolution(""))
    for _ in range(int(rng.integers(2, 8))):
        graph.grow()
    graph.end(loss)
    modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
    images, rate = int(rng.choice([1, 3, 17, 70])), float(rng.choice([0.5, 0.05]))
    more = loss, "momentum", rate, 0.9, images, config.data_width, modes
    network = Network("mixed", shape, tuple(graph.layers), *more)
    network = own_training(rng, network) if rng.random() < 0.4 else network
    return own_optimiser(rng, network) if rng.random() < 0.4 else network


def mixed_network(rng, config: EngineConfig, refused: Counter | None = None) -> Network:
    """A `random_graph` that the engine takes; `refused` counts what it does not take."""
    while True:
        with suppress(NetworkError):
            network = random_graph(rng, config)
            words = sum(int(np.prod(tensor.shape)) for tensor in network.graph.tensors.values())
            if ideal_macs(network) * network.minibatch > MOST_WORK * config.lanes * config.cols:
                continue
            if words * network.minibatch > MOST_WORDS:
                continue
            try:
                compile_network(network, config)
                return network
            except CompileError as error:
                if refused is not None:
                    refused[error.quantity] += 1
