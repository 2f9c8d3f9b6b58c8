# SPDX-License-Identifier: Apache-2.0
"""A training step of a network with branches in plain Python integers, one loop per index of doc/numerics.md: written
from the text alone. Only the multipliers of the update, which the text leaves open, come from the network."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from gradcore.network.description import default_fractions
from tb.model.plain import pixels, plain_even, plain_kept, plain_position_random, plain_round, plain_update


@dataclass
class Words:
    """A tensor: values by (image, map, row, column), fractions, the layer that makes it, what its readers contribute to
    its local gradient as (fraction, values, already words) and how it goes on to its maker's inputs."""

    values: dict
    shape: tuple
    frac: int
    delta_frac: int | None = None
    layer: int = -1
    parts: list = field(default_factory=list)
    back: Any = None


class Step:
    """One step; `tensors` are the words by the name of the layer, `deltas` the local gradients at the layers'
    outputs."""

    def __init__(self, network, state, x, labels, seed):
        self.network, self.seed, self.images = network, seed, range(len(x))
        self.state = state
        self.new = [{key: plain_kept(values) for key, values in one.items()} for one in state]
        self.formats = default_fractions(network.data_width, network.optimiser) | network.formats
        whole = {(n, c, y, i): int(x[n][c][y][i]) for n in self.images for c, y, i in places(network.shape)}
        self.tensors, order, weighted = {"input": Words(whole, network.shape, self.formats["input"])}, [], 0
        for number, layer in enumerate(network.layers):
            kind = type(layer).__name__
            sources = [self.tensors[name] for name in layer.inputs] or [list(self.tensors.values())[-1]]
            own = self.formats | layer.formats
            if kind in ("Conv", "Dense"):
                made = self.convolution(layer, number, weighted, sources[0], own)
                weighted += 1
                order.append(made)
                if layer.relu:
                    order.append(made := self.relu(made))
                if getattr(layer, "pool", None):
                    order.append(made := self.maximum(made))
            else:
                make = {"ReluLayer": self.relu, "MaxPool": self.maximum}.get(kind)
                if make:
                    made = make(sources[0])
                    made.layer = number
                elif kind == "AveragePool":
                    made = self.average(layer, number, sources[0], own)
                else:
                    made = self.addition(number, sources, own)
                order.append(made)
            self.tensors[layer.name] = made
        self.loss = self.output_delta(order[-1], labels)
        self.deltas = {}
        for made in reversed(order):
            if made.delta_frac is not None:
                delta = self.delta(made)
                self.deltas |= {name: delta for name, words in self.tensors.items() if words is made}
                made.back(delta)

    def random(self, number, kind, n, c, y, i):
        row, column = y * 256 | plain_even(n >> 1), i * 256 | plain_even(n)
        return plain_position_random(self.seed, 4 * number + kind, c, row, column)

    def rounded(self, sums, number, kind, shift):
        mode, width = self.network.mode(("act", "delta")[kind]), self.network.data_width
        return {k: plain_round(v, shift, width, mode, self.random(number, kind, *k)) for k, v in sums.items()}

    def delta(self, made):
        if len(made.parts) == 1 and made.parts[0][2]:
            return made.parts[0][1]
        finest = max(made.delta_frac, *(frac for frac, *_ in made.parts))
        sums = {
            (n, *place): sum(part.get((n, *place), 0) << finest - frac for frac, part, _ in made.parts)
            for n in self.images
            for place in places(made.shape)
        }
        return self.rounded(sums, made.layer, 1, finest - made.delta_frac)

    def convolution(self, layer, number, index, source, own):
        p, s = self.network.parameters[index], self.state[index]
        (o_maps, c_maps, ky_n, kx_n), (up, left) = p.weight_shape, p.pad
        rows, columns = source.shape[1] + 2 * up - ky_n + 1, source.shape[2] + 2 * left - kx_n + 1
        frac = source.frac + own["weight"]
        taps = list(product(range(c_maps), range(ky_n), range(kx_n)))
        sums = {}
        for n, o, (y, i) in product(self.images, range(o_maps), pixels((rows, columns))):
            acc = int(s["bias"][o]) << frac - own["bias"] if layer.bias else 0
            for c, ky, kx in taps:
                acc += source.values.get((n, c, y + ky - up, i + kx - left), 0) * int(s["weight"][o, c, ky, kx])
            sums[n, o, y, i] = acc
        values = self.rounded(sums, number, 0, frac - own["act"])
        needed = layer.trainable or source.delta_frac is not None
        made = Words(values, (o_maps, rows, columns), own["act"], own["delta"] if needed else None, number)

        def back(delta):
            if layer.trainable:
                update(delta)
            if source.delta_frac is None:
                return
            part = {
                (n, c, y, i): sum(
                    delta.get((n, o, y + up - ky, i + left - kx), 0) * int(s["weight"][o, c, ky, kx])
                    for o in range(o_maps)
                    for ky, kx in pixels((ky_n, kx_n))
                )
                for n in self.images
                for c, y, i in places(source.shape)
            }
            source.parts.append((own["delta"] + own["weight"], part, False))

        def update(delta):
            grad = {
                (o, c, ky, kx): sum(
                    delta[n, o, y, i] * source.values.get((n, c, y + ky - up, i + kx - left), 0)
                    for n in self.images
                    for y, i in pixels((rows, columns))
                )
                for o in range(o_maps)
                for c, ky, kx in taps
            }
            grad_bias = {(o,): sum(v for k, v in delta.items() if k[1] == o) for o in range(o_maps)}
            key, bias_key = lambda k: (k[2] * kx_n + k[3]) * c_maps + k[1], lambda k: ky_n * kx_n * c_maps
            names, bias_names, tag = ("weight", "momentum"), ("bias", "bias_momentum"), 4 * number + 2
            self.new[index] = plain_update(
                self.network, p.weight_update, s["weight"], s["momentum"], grad, *names, self.seed, tag, key
            ) | plain_update(
                self.network,
                p.bias_update,
                s["bias"],
                s["bias_momentum"],
                grad_bias,
                *bias_names,
                self.seed,
                tag,
                bias_key,
            )

        made.back = back
        return made

    def relu(self, source):
        values = {k: max(v, 0) for k, v in source.values.items()}
        made = Words(values, source.shape, source.frac, source.delta_frac, source.layer)

        def back(delta):
            part = {k: d if source.values[k] > 0 else 0 for k, d in delta.items()}
            source.parts.append((source.delta_frac, part, True))

        made.back = back
        return made

    def maximum(self, source):
        maps, rows, columns = source.shape
        made = Words({}, (maps, rows // 2, columns // 2), source.frac, source.delta_frac, source.layer)
        first = {}
        for n, (c, y, i) in product(self.images, list(places(made.shape))):
            window = [(n, c, 2 * y + dy, 2 * i + dx) for dy in (0, 1) for dx in (0, 1)]
            first[n, c, y, i] = max(window, key=lambda k: source.values[k])
            made.values[n, c, y, i] = source.values[first[n, c, y, i]]

        def back(delta):
            part = dict.fromkeys(source.values, 0) | {first[k]: d for k, d in delta.items()}
            source.parts.append((source.delta_frac, part, True))

        made.back = back
        return made

    def average(self, layer, number, source, own):
        high, wide = layer.window if isinstance(layer.window, tuple) else (layer.window, layer.window)
        m = (2 * 2**15 + high * wide) // (2 * high * wide)
        shape = (source.shape[0], source.shape[1] // high, source.shape[2] // wide)
        sums = {
            (n, c, y, i): m * sum(source.values[n, c, y * high + dy, i * wide + dx] for dy, dx in pixels((high, wide)))
            for n in self.images
            for c, y, i in places(shape)
        }
        values = self.rounded(sums, number, 0, source.frac + 15 - own["act"])
        delta_frac = None if source.delta_frac is None else own["delta"]
        made = Words(values, shape, own["act"], delta_frac, number)

        def back(delta):
            part = {
                (n, c, y * high + dy, i * wide + dx): d * m
                for (n, c, y, i), d in delta.items()
                for dy, dx in pixels((high, wide))
            }
            source.parts.append((own["delta"] + 15, part, False))

        made.back = back
        return made

    def addition(self, number, sources, own):
        finest = max(source.frac for source in sources)
        sums = {k: sum(source.values[k] << finest - source.frac for source in sources) for k in sources[0].values}
        values = self.rounded(sums, number, 0, finest - own["act"])
        needed = any(source.delta_frac is not None for source in sources)
        made = Words(values, sources[0].shape, own["act"], own["delta"] if needed else None, number)

        def back(delta):
            for source in sources:
                if source.delta_frac is not None:
                    source.parts.append((own["delta"], delta, False))

        made.back = back
        return made

    def output_delta(self, last, labels):
        one, total, width = 1 << last.frac, 0, self.network.data_width
        delta = {}
        for (n, o, y, i), a in last.values.items():
            hit = labels[n] == o
            if self.network.loss == "euclidean":
                d, factor = a - (one if hit else 0), 1
            else:
                d, factor = (-max(0, one - a) if hit else max(0, one + a)), 2
            total += d * d
            delta[n, o, y, i] = plain_round(d * factor << 16, 16 + last.frac - last.delta_frac, width, "half_up")
        last.parts.append((last.delta_frac, delta, True))
        return total


def places(shape):
    """Map, row and column of every element of an image."""
    return product(*map(range, shape))
