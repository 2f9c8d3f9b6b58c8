# SPDX-License-Identifier: Apache-2.0
"""The reference trainer: one training iteration as integers, bit by bit what the engine computes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gradcore.network.description import Network
from gradcore.network.graph import Node, Tensor
from gradcore.network.weighted_layer import LayerParameters
from gradcore.numerics.fixed_point import ACC_W, Format, dequantize, fits, int64, quantize, requantize, wrap
from gradcore.numerics.random_numbers import (
    GRADIENT,
    MOMENTUM,
    WEIGHT,
    bias_random,
    dropout_mask,
    iteration_seed,
    map_random,
    random_tag,
    weight_random,
)
from gradcore.ops.activation import Relu
from gradcore.ops.loss import evaluate
from gradcore.ops.optimiser import RATE_ONE, update
from gradcore.reference.passes import backward, by_layer, forward
from gradcore.reference.saturation import Saturations

STATE = ("weight", "bias", "momentum", "bias_momentum")
State = list[dict[str, np.ndarray]]  # per layer with weights an array for each key of STATE


def initial_weights(network: Network, seed: int) -> State:
    """Per layer a dict of int64 arrays: weight (O, C, KY, KX) in fw, bias (O,) in fb, momentum and bias_momentum of the
    same shapes.

    Weights are normal with variance 2 / inputs directly before a ReLU and 1 / inputs otherwise (He), from NumPy's PCG64
    seeded with (seed, layer); all else is zero. The bias stays zero in a layer without one.
    """
    result = []
    for p in network.parameters:
        rng = np.random.Generator(np.random.PCG64([seed, p.layer]))
        relu = [node.operator for node in network.graph.readers[p.name]] == [Relu()]
        scale = np.sqrt((2 if relu else 1) / np.prod(p.weight_shape[1:]))
        weight = quantize(rng.standard_normal(p.weight_shape) * scale, Format(network.data_width, p.fw))
        bias = np.zeros(p.weight_shape[0], dtype=np.int64)
        result.append({"weight": weight, "bias": bias, "momentum": np.zeros_like(weight), "bias_momentum": bias.copy()})
    return result


def state_of(network: Network, real: State) -> State:
    """Real weights, biases and momenta in the formats of a network: rounded to the nearest, saturated."""
    return _convert(quantize, network, real)


def real_of(network: Network, state: State) -> State:
    """Integer weights, biases and momenta as real numbers."""
    return _convert(dequantize, network, state)


def _convert(function: Callable[[np.ndarray, Format], np.ndarray], network: Network, state: State) -> State:
    width, result = network.data_width, []
    for p, layer in zip(network.parameters, state, strict=True):
        fractions = dict(zip(STATE, (p.fw, p.fb, p.fv, p.fvb)))
        result.append({key: function(layer[key], Format(width, frac)) for key, frac in fractions.items()})
    return result


class ReferenceTrainer:
    """Trains `network` in the integers of an engine whose sums have `acc_width` bits; `seed` (0..2^32-1) sets the
    initial weights and the random roundings.

    state: what `initial_weights` returns, changed by every step. last: tensors of the last step, each a list with one
    entry per layer - act (its input), z, out, gate (bool), delta (at z), error (of its input), grad, grad_bias - and
    d, the loss's difference. Local gradients that nobody needs and gradients of a frozen layer are None. bool
    `grad_overflow` is sticky: a gradient did not fit `acc_width` bits and was wrapped. saturations: `Saturations` of
    all steps since they were taken.
    """

    def __init__(self, network: Network, seed: int = 1, state: State | None = None, acc_width: int = ACC_W) -> None:
        self.network, self.seed, self.acc_width = network, seed, acc_width
        self.last: dict[str, Any] = {}
        self.grad_overflow, self._overflows = False, (False, False)
        self.saturations, self._numbers = Saturations(), {network.minibatch: network.parameters}
        self.state = initial_weights(network, seed)
        if state is not None:
            self.load(state)

    def weights(self) -> State:
        """A copy of the state: per layer a dict of weight, bias, momentum, bias_momentum."""
        return [{key: layer[key].copy() for key in STATE} for layer in self.state]

    def load(self, state: State) -> None:
        """Take over a state as `weights` returns it; raises ValueError for a wrong shape or a number outside the data
        width."""
        for index, (own, new) in enumerate(zip(self.state, state, strict=True)):
            for key in STATE:
                if np.shape(new[key]) != own[key].shape or not fits(new[key], self.network.data_width):
                    raise ValueError(
                        f"layer {index}: {key} does not fit shape {own[key].shape} and {self.network.data_width} bits"
                    )
        self.state = [{key: int64(new[key]).copy() for key in STATE} for new in state]

    def step(self, x: ArrayLike, labels: ArrayLike, iteration: int, rate: int = RATE_ONE) -> int:
        """Train on one minibatch: `x` (N, C, H, W) integers in the input format, `labels` (N,), N up to the minibatch
        size.

        Returns the integer LOSS (frac 2 fo). The update is that of a minibatch of N images. `iteration` counts from 0
        and only chooses the random numbers. `rate`: what the engine's register RATE holds.
        """
        x, labels = self._checked(x), np.asarray(labels)
        if not 1 <= len(x) <= self.network.minibatch or labels.shape != (len(x),):
            raise ValueError(
                f"{len(x)} images and labels of shape {labels.shape} are no minibatch of up to {self.network.minibatch}"
            )
        if len(x) not in self._numbers:
            self._numbers[len(x)] = self.network.with_minibatch(len(x)).parameters
        network, arithmetic = self.network, self._arithmetic(iteration)
        self._overflows = False, False
        done = forward(network.graph, x, self._weights(), arithmetic, keep=True)
        output, clipped = done.words[network.graph.output.name], list[int]()
        delta, loss = evaluate(network.loss_parameters, output[:, :, 0, 0], labels, network.data_width, clipped)
        arithmetic.count(network.graph.output, "delta", clipped, delta)
        backward(network.graph, done, delta.reshape(output.shape), self._weights(), arithmetic)
        self.last = by_layer(network, done) | {"words": done.words, "deltas": done.deltas}
        self._update(arithmetic.seed, self._numbers[len(x)], rate)
        return loss

    def overflow_agrees(self, flag: bool) -> bool:
        """Can an engine's overflow bit of the last step be `flag`? It must be set when a gradient was wrapped, and must
        not when no order of the additions can leave `acc_width` bits. In between, large terms cancel and the order
        decides."""
        must, may = self._overflows
        return must <= bool(flag) <= may

    def forward(self, x: np.ndarray, iteration: int = 0) -> np.ndarray:
        """Outputs (N, classes) as integers in the last layer's format, computed minibatch by minibatch with the
        roundings of `iteration`."""
        size, output, arithmetic = (
            self.network.minibatch,
            self.network.graph.output.name,
            self._arithmetic(iteration, False),
        )
        parts = (self._checked(x[n : n + size]) for n in range(0, len(x), size))
        found = (forward(self.network.graph, part, self._weights(), arithmetic, keep=False) for part in parts)
        return np.concatenate([done.words[output][:, :, 0, 0] for done in found])

    def predict(self, x: np.ndarray, iteration: int = 0) -> np.ndarray:
        """Class (N,) of each image: the first largest output."""
        return self.forward(x, iteration).argmax(axis=1)

    def accuracy(self, x: np.ndarray, labels: ArrayLike, iteration: int = 0) -> float:
        """Fraction of the images `x` that `predict` classifies as `labels`."""
        return float((self.predict(x, iteration) == np.asarray(labels)).mean())

    def _checked(self, x: ArrayLike) -> np.ndarray:
        x = int64(x)
        if x.ndim != 4 or x.shape[1:] != self.network.shape:
            raise ValueError(f"images of shape {x.shape[1:]} where the network reads {self.network.shape}")
        if not fits(x, self.network.data_width):
            raise OverflowError(f"input outside {self.network.data_width} bits")
        return x

    def _count(self, p: LayerParameters, kinds: tuple[str, ...], clipped: list[int], tensor: np.ndarray) -> None:
        for kind, count in zip(kinds, clipped, strict=True):
            self.saturations.add(p.name, kind, count, tensor.size)

    def _weights(self) -> dict[str, dict[str, np.ndarray]]:
        return {p.name: state for p, state in zip(self.network.parameters, self.state)}

    def _arithmetic(self, iteration: int, training: bool = True) -> "_Integers":
        saturations = self.saturations if training else Saturations()
        return _Integers(self.network, iteration_seed(self.seed, iteration), saturations, self._gradient, training)

    def _gradient(self, sums: Callable[..., np.ndarray], *factors: np.ndarray) -> np.ndarray:
        """`sums` of the factors modulo 2^acc_width; notes whether they fit, and whether each partial sum does in any
        order."""
        grad = sums(*factors)
        must, may = self._overflows
        must |= not fits(grad, self.acc_width)
        limit = 1 << (self.acc_width - 1)
        # Most tensors are far from the limit: the coarse bound spares the exact one.
        if (
            not may
            and not must
            and math.prod(max(1, int(np.abs(x).max())) for x in factors) * (factors[0].size // len(grad)) >= limit
        ):
            may = int(sums(*map(np.abs, factors)).max()) >= limit
        self._overflows = must, may or must
        self.grad_overflow |= must
        return wrap(grad, self.acc_width)

    def _update(self, seed: int, parameters: tuple[LayerParameters, ...], rate: int) -> None:
        network, roundings = self.network, (GRADIENT, MOMENTUM, WEIGHT)
        stochastic = network.mode("param") == "stochastic"
        for p, state, grad, grad_bias in zip(parameters, self.state, self.last["grad"], self.last["grad_bias"]):
            for key, gradient, random, numbers in (
                ("", grad, weight_random, p.weight_update),
                ("bias", grad_bias, bias_random, p.bias_update),
            ):
                if numbers is None:
                    continue
                rnd = [
                    random(seed, random_tag(p.layer, "param"), p.weight_shape, j) if stochastic else None
                    for j in roundings
                ]
                weight, momentum = key or "weight", "bias_momentum" if key else "momentum"
                previous = state[momentum] if network.has_momentum else np.zeros_like(state[momentum])
                clipped: list[int] = []
                state[weight], v = update(
                    state[weight],
                    previous,
                    gradient,
                    numbers.at_rate(rate),
                    network.data_width,
                    network.mode("param"),
                    rnd,
                    clipped,
                )
                self._count(
                    p, ("bias_grad", "bias_momentum", "bias") if key else ("grad", "momentum", "weight"), clipped, v
                )
                if network.has_momentum:
                    state[momentum] = v


class _Integers:
    """The arithmetic of one step: exact sums, rounded with the random numbers of `seed`; saturated words are counted.
    gradient: `ReferenceTrainer._gradient`; training: whether dropout drops."""

    def __init__(
        self,
        network: Network,
        seed: int,
        saturations: Saturations,
        gradient: Callable[..., np.ndarray],
        training: bool,
    ) -> None:
        self.network, self.seed, self.saturations = network, seed, saturations
        self.gradient, self.training = gradient, training

    def align(self, x: np.ndarray, shift: int) -> np.ndarray:
        return x << shift

    def times(self, x: np.ndarray, value: float, bits: int) -> np.ndarray:
        return x * round(value * 2**bits)

    def kept(self, layer: int, shape: tuple[int, ...], p: float) -> np.ndarray | None:
        return dropout_mask(self.seed, layer, shape, p) if self.training else None

    def activation(self, node: Node, sums: np.ndarray) -> np.ndarray:
        """Words of a rounded operator's output."""
        return self._rounded(self.network.graph.tensors[node.name], "act", sums, node.shift)

    def delta(self, tensor: Tensor, parts: list[tuple[Node, np.ndarray]]) -> np.ndarray:
        """The local gradient of a tensor: each contribution is rounded to words, then one after the other is added."""
        first, *others = (self._contribution(tensor, *part) for part in parts)
        for words in others:
            first = self._rounded(tensor, "delta", first + words, 0)
        return first

    def _contribution(self, tensor: Tensor, node: Node, sums: np.ndarray) -> np.ndarray:
        """What a reader contributes to the local gradient of a tensor, as words."""
        if not node.operator.sums_back:
            return sums  # words already
        frac, own = self.network.graph.contribution_frac(node), tensor.known_delta_frac
        finest = max(own, frac)
        return self._rounded(tensor, "delta", sums << finest - frac, finest - own)

    def count(self, tensor: Tensor, kind: str, clipped: list[int], words: np.ndarray) -> None:
        """Count the saturated words of a tensor by its layer's name."""
        (count,) = clipped
        self.saturations.add(tensor.layer_name, kind, count, words.size)

    def _rounded(self, tensor: Tensor, kind: str, sums: np.ndarray, shift: int) -> np.ndarray:
        assert tensor.layer is not None  # the input is not rounded
        mode = self.network.mode(kind)
        clipped: list[int] = []
        rnd = map_random(self.seed, random_tag(tensor.layer, kind), sums.shape) if mode == "stochastic" else None
        words = requantize(sums, shift, self.network.data_width, mode, rnd, clipped)
        self.count(tensor, kind, clipped, words)
        return words
