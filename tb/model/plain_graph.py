# SPDX-License-Identifier: Apache-2.0
"""A training step of a network with branches in plain Python integers, one loop per index of doc/numerics.md: written
from the text alone. Only the multipliers of the update, which the text leaves open, come from the network."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from gradcore.network.description import default_fractions
from tb.model.plain import pixels, plain_even, plain_kept, plain_position_random, plain_round, plain_update
from tb.model.plain_elements import element


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
                    order.append(made := self.maximum(made, (2, 2), (2, 2), (0, 0), False))
            else:
                if kind == "ReluLayer":
                    made = self.relu(sources[0])
                    made.layer = number
                elif kind == "MaxPool":
                    made = self.maximum(sources[0], *window_of(layer), layer.ceil_mode)
                    made.layer = number
                elif kind == "AveragePool":
                    made = self.average(layer, number, sources[0], own)
                elif kind == "Add":
                    made = self.addition(number, sources, own)
                else:
                    made = self.elements(layer, number, sources[0], own)
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
        half, total = 1 << self.network.data_width - 1, None
        for frac, part, words in made.parts:  # from the last reader to the first
            finest = max(made.delta_frac, frac)
            whole = {(n, *place): part.get((n, *place), 0) for n in self.images for place in places(made.shape)}
            if not words:
                aligned = {place: value << finest - frac for place, value in whole.items()}
                whole = self.rounded(aligned, made.layer, 1, finest - made.delta_frac)
            if total is not None:
                whole = {place: min(max(total[place] + value, -half), half - 1) for place, value in whole.items()}
            total = whole
        return total

    def convolution(self, layer, number, index, source, own):
        p, s = self.network.parameters[index], self.state[index]
        (o_maps, c_maps, ky_n, kx_n), (up, left) = p.weight_shape, p.pad
        down, right = two(getattr(layer, "stride", 1))
        rows = (source.shape[1] + 2 * up - ky_n) // down + 1
        columns = (source.shape[2] + 2 * left - kx_n) // right + 1
        o_group = o_maps // getattr(layer, "groups", 1)

        def read(n, o, y, i, c, ky, kx):
            place = n, o // o_group * c_maps + c, y * down + ky - up, i * right + kx - left
            return source.values.get(place, 0)

        frac = source.frac + own["weight"]
        taps = list(product(range(c_maps), range(ky_n), range(kx_n)))
        sums = {}
        for n, o, (y, i) in product(self.images, range(o_maps), pixels((rows, columns))):
            acc = int(s["bias"][o]) << frac - own["bias"] if layer.bias else 0
            for c, ky, kx in taps:
                acc += read(n, o, y, i, c, ky, kx) * int(s["weight"][o, c, ky, kx])
            sums[n, o, y, i] = acc
        values = self.rounded(sums, number, 0, frac - own["act"])
        needed = layer.trainable or source.delta_frac is not None
        made = Words(values, (o_maps, rows, columns), own["act"], own["delta"] if needed else None, number)

        def back(delta):
            if layer.trainable:
                update(delta)
            if source.delta_frac is None:
                return
            part = {(n, *place): 0 for n in self.images for place in places(source.shape)}
            for (n, o, y, i), d in delta.items():
                for c, ky, kx in taps:
                    place = n, o // o_group * c_maps + c, y * down + ky - up, i * right + kx - left
                    if place in part:
                        part[place] += d * int(s["weight"][o, c, ky, kx])
            source.parts.append((own["delta"] + own["weight"], part, False))

        def update(delta):
            grad = {
                (o, c, ky, kx): sum(
                    delta[n, o, y, i] * read(n, o, y, i, c, ky, kx)
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

    def elements(self, layer, number, source, own):
        function, frac, factor_frac = element(layer, source.frac, lambda k: self.random(number, 3, *k))
        found = {k: function(k, v) for k, v in source.values.items()}
        values = self.rounded({k: s for k, (s, _) in found.items()}, number, 0, frac - own["act"])
        delta_frac = None if source.delta_frac is None else own["delta"]
        made = Words(values, source.shape, own["act"], delta_frac, number)

        def back(delta):
            part = {k: d * found[k][1] for k, d in delta.items()}
            source.parts.append((own["delta"] + factor_frac, part, False))

        made.back = back
        return made

    def maximum(self, source, window, stride, pad, ceil_mode):
        counts = [
            windows(size, *axis, ceil_mode) for size, *axis in zip(source.shape[1:], window, stride, pad, strict=True)
        ]
        made = Words({}, (source.shape[0], *counts), source.frac, source.delta_frac, source.layer)
        first = {}
        for n, (c, y, i) in product(self.images, list(places(made.shape))):
            pixels_of = self.window(source, n, c, y, i, window, stride, pad)
            first[n, c, y, i] = max(pixels_of, key=lambda k: source.values[k])
            made.values[n, c, y, i] = source.values[first[n, c, y, i]]
        overlap = any(size > step for size, step in zip(window, stride))

        def back(delta):
            part = dict.fromkeys(source.values, 0)
            for k, d in delta.items():
                part[first[k]] += d
            source.parts.append((source.delta_frac, part, not overlap))

        made.back = back
        return made

    def window(self, source, n, c, y, i, window, stride, pad):
        """The pixels of a window that are on the map, in raster order."""
        corner = y * stride[0] - pad[0], i * stride[1] - pad[1]
        found = [(n, c, corner[0] + dy, corner[1] + dx) for dy in range(window[0]) for dx in range(window[1])]
        return [k for k in found if k in source.values]

    def average(self, layer, number, source, own):
        window, stride, pad = window_of(layer)
        area = window[0] * window[1]
        m = (2 * 2**15 + area) // (2 * area)
        counts = [windows(size, *axis, False) for size, *axis in zip(source.shape[1:], window, stride, pad)]
        shape = (source.shape[0], *counts)
        sums = {
            (n, *at): m * sum(source.values[k] for k in self.window(source, n, *at, window, stride, pad))
            for n in self.images
            for at in places(shape)
        }
        values = self.rounded(sums, number, 0, source.frac + 15 - own["act"])
        delta_frac = None if source.delta_frac is None else own["delta"]
        made = Words(values, shape, own["act"], delta_frac, number)

        def back(delta):
            part = dict.fromkeys(source.values, 0)
            for at, d in delta.items():
                for k in self.window(source, *at, window, stride, pad):
                    part[k] += d * m
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
        if self.network.loss == "softmax_cross_entropy":
            return self.softmax_delta(last, labels)
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

    def softmax_delta(self, last, labels):
        total, delta = 0, {}
        for n in self.images:
            z = [last.values[n, k, 0, 0] for k in range(last.shape[0])]
            d, loss = plain_softmax(z, labels[n], last.frac)
            total += loss
            for k, one in enumerate(d):
                delta[n, k, 0, 0] = plain_round(one << 16, 31 - last.delta_frac, self.network.data_width, "half_up")
        last.parts.append((last.delta_frac, delta, True))
        return total


def plain_softmax(z, label, fo):
    """(d of each class, what LOSS gets) of the outputs `z` of one image."""
    u = [math.floor((max(z) - one) * 23637 * Fraction(4) / Fraction(2) ** fo) for one in z]
    e = [plain_exponential(one) for one in u]
    s = sum(e)
    length = len(f"{s:b}")
    log2 = (length - 25) * 65536 + round(65536 * math.log2(1 + ((s >> length - 11) % 1024 + 0.5) / 1024))
    p = [(one * (2 ** (24 + length) // s) // 2**length + 256) // 512 for one in e]
    return [one - (32768 if k == label else 0) for k, one in enumerate(p)], log2 + u[label]


def plain_exponential(u):
    """2^-(u / 2^16), fraction 24."""
    whole, rest = divmod(u, 65536)
    coarse, fine = (round(2 ** (17 - x)) for x in (rest // 256 / 256, rest % 256 / 65536))
    return coarse * fine >> 10 + whole


def two(value):
    """One number or two as (rows, columns)."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def window_of(layer):
    """(window, stride, pad) of a pooling layer."""
    window = two(layer.window)
    return window, window if layer.stride is None else two(layer.stride), two(layer.pad)


def windows(size, window, stride, pad, ceil_mode):
    """Number of windows along an axis: those that begin at -pad, stride - pad, .. and end on the padded map; with
    ceil_mode the next one, too, if it begins before the map's end and some of the padded map would be left."""
    begins = [begin for begin in range(-pad, size + pad, stride) if begin + window <= size + pad]
    if ceil_mode and begins[-1] + window < size + pad and begins[-1] + stride < size:
        begins.append(begins[-1] + stride)
    return len(begins)


def places(shape):
    """Map, row and column of every element of an image."""
    return product(*map(range, shape))
