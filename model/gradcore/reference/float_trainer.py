# SPDX-License-Identifier: Apache-2.0
"""The same network, initial weights and update rule in floating point, to compare accuracies with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gradcore.network.description import Network
from gradcore.network.graph import Node, Tensor
from gradcore.numerics.random_numbers import dropout_mask, iteration_seed
from gradcore.ops.loss import evaluate_real
from gradcore.ops.optimiser import RATE_ONE
from gradcore.reference.passes import backward, by_layer, forward
from gradcore.reference.trainer import State, initial_weights, real_of

DIVERGING = np.errstate(over="ignore", invalid="ignore")  # infinite and undefined losses are results, not accidents


class FloatTrainer:
    """Trains `network` in `dtype` (float32) from the quantised initial weights that `ReferenceTrainer` has for the same
    seed.

    state: per layer a dict of weight, bias, momentum, bias_momentum. last: tensors of the last step, keys as in
    `ReferenceTrainer`.
    """

    def __init__(self, network: Network, seed: int = 1, dtype: type[np.floating] = np.float32) -> None:
        self.network, self.seed, self.dtype = network, seed, dtype
        self._mask_seed: int | None = None
        self.last: dict[str, Any] = {}
        begun = real_of(network, initial_weights(network, seed))
        self.state: State = [{key: values.astype(dtype) for key, values in layer.items()} for layer in begun]

    @DIVERGING
    def step(self, x: np.ndarray, labels: ArrayLike, iteration: int = 0, rate: int = RATE_ONE) -> float:
        """Train on real images `x` (N, C, H, W) and `labels` (N,); returns the loss summed over them. `iteration`
        chooses what dropout drops: what `ReferenceTrainer` drops. `rate` as there."""
        loss = self.gradients(x, labels, iteration)
        network = self.network
        beta = self.dtype(network.momentum if network.has_momentum else 0)
        for state, grad, grad_bias, p in zip(self.state, self.last["grad"], self.last["grad_bias"], network.parameters):
            if not p.trainable:
                continue
            now = p.learning_rate * rate / RATE_ONE
            before, behind = (1.0, now) if network.rate_behind_momentum else (now, 1.0)
            factor, decay = self.dtype(before / len(x)), self.dtype(before * network.weight_decay)
            for weight, momentum, g in (("weight", "momentum", grad), ("bias", "bias_momentum", grad_bias))[
                : 1 + p.bias
            ]:
                state[momentum] = beta * state[momentum] - factor * g
                if network.weight_decay:
                    state[momentum] = state[momentum] - decay * state[weight]
                state[weight] = state[weight] + self.dtype(behind) * state[momentum]
        return loss

    def gradients(self, x: ArrayLike, labels: ArrayLike, iteration: int = 0) -> float:
        """Forward and backward pass without update: fills `last`, returns the loss summed over the images."""
        network, weights = self.network, self._weights()
        self._mask_seed = iteration_seed(self.seed, iteration)
        done = forward(network.graph, np.asarray(x, dtype=self.dtype), weights, self, keep=True)
        output = done.words[network.graph.output.name]
        delta, loss = evaluate_real(network.loss, output[:, :, 0, 0], labels)
        backward(network.graph, done, delta.reshape(output.shape), weights, self)
        self.last = by_layer(network, done) | {"words": done.words, "deltas": done.deltas}
        self._mask_seed = None
        return loss

    @DIVERGING
    def forward(self, x: ArrayLike) -> np.ndarray:
        """Outputs (N, classes) of real images `x`, computed minibatch by minibatch."""
        size, output, x = self.network.minibatch, self.network.graph.output.name, np.asarray(x, dtype=self.dtype)
        parts = (x[n : n + size] for n in range(0, len(x), size))
        found = (forward(self.network.graph, part, self._weights(), self, keep=False) for part in parts)
        return np.concatenate([done.words[output][:, :, 0, 0] for done in found])

    def predict(self, x: ArrayLike) -> np.ndarray:
        """Class (N,) of each image."""
        return self.forward(x).argmax(axis=1)

    def accuracy(self, x: ArrayLike, labels: ArrayLike) -> float:
        """Fraction of the images `x` that `predict` classifies as `labels`."""
        return float((self.predict(x) == np.asarray(labels)).mean())

    def _weights(self) -> dict[str, dict[str, np.ndarray]]:
        return {p.name: state for p, state in zip(self.network.parameters, self.state)}

    # The arithmetic of gradcore.reference.passes: nothing is rounded.

    def align(self, x: np.ndarray, shift: int) -> np.ndarray:
        return x

    def times(self, x: np.ndarray, value: float, bits: int) -> np.ndarray:
        return x * self.dtype(value)

    def kept(self, layer: int, shape: tuple[int, ...], p: float) -> np.ndarray | None:
        return None if self._mask_seed is None else dropout_mask(self._mask_seed, layer, shape, p)

    def activation(self, node: Node, sums: np.ndarray) -> np.ndarray:
        return sums

    def delta(self, tensor: Tensor, parts: list[tuple[Node, np.ndarray]]) -> np.ndarray:
        return sum((sums for _, sums in parts), np.zeros_like(parts[0][1]))

    def gradient(self, sums: Callable[..., np.ndarray], *factors: np.ndarray) -> np.ndarray:
        return sums(*factors)
