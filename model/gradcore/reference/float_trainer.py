# SPDX-License-Identifier: Apache-2.0
"""The same network, initial weights and update rule in floating point, to compare accuracies with."""

import numpy as np

from gradcore.network.description import Network
from gradcore.numerics.fixed_point import Format, dequantize
from gradcore.ops import layers
from gradcore.ops.loss import difference, targets
from gradcore.reference.trainer import initial_weights

DIVERGING = np.errstate(over="ignore", invalid="ignore")  # infinite and undefined losses are results, not accidents


class FloatTrainer:
    """Trains `network` in `dtype` (float32) from the quantised initial weights that `ReferenceTrainer` has for the same
    seed.

    state: per layer a dict of weight, bias, momentum, bias_momentum. last: tensors of the last step, keys as in
    `ReferenceTrainer`.
    """

    def __init__(self, network: Network, seed: int = 1, dtype=np.float32):
        self.network, self.dtype, self.last = network, dtype, {}
        self.state = []
        for p, layer in zip(network.parameters, initial_weights(network, seed)):
            fractions = {"weight": p.fw, "bias": p.fb, "momentum": 0, "bias_momentum": 0}
            self.state.append(
                {k: dequantize(v, Format(network.data_width, fractions[k])).astype(dtype) for k, v in layer.items()}
            )

    @DIVERGING
    def step(self, x, labels, iteration: int = 0) -> float:
        """Train on real images `x` (N, C, H, W) and `labels` (N,); returns the loss summed over them. `iteration` is
        not used."""
        loss = self.gradients(x, labels)
        network = self.network
        rate = self.dtype(network.learning_rate / len(x))
        beta = self.dtype(network.momentum if network.optimiser == "momentum" else 0)
        for state, grad, grad_bias, p in zip(self.state, self.last["grad"], self.last["grad_bias"], network.parameters):
            for weight, momentum, g in (("weight", "momentum", grad), ("bias", "bias_momentum", grad_bias))[
                : 1 + p.bias
            ]:
                state[momentum] = beta * state[momentum] - rate * g
                state[weight] = state[weight] + state[momentum]
        return loss

    def gradients(self, x, labels) -> float:
        """Forward and backward pass without update: fills `last`, returns the loss summed over the images."""
        network = self.network
        last = self.last = {key: [] for key in ("act", "z", "out", "gate", "delta", "error", "grad", "grad_bias")}
        output = self._forward(x, last)
        d = difference(network.loss, output[:, :, 0, 0], targets(labels, network.classes), self.dtype(1), self.dtype(0))
        last["d"] = d
        hinge = network.loss == "square_hinge"
        delta = (d * self.dtype(2 if hinge else 1)).reshape(output.shape)
        for p in reversed(network.parameters):
            last["delta"].insert(0, delta)
            last["grad"].insert(0, layers.conv_weights(delta, last["act"][p.index], p.weight_shape[2:], p.pad))
            last["grad_bias"].insert(0, layers.bias_gradient(delta))
            error = None
            if p.index:
                error = layers.conv_input(delta, self.state[p.index]["weight"], p.pad)
                gate = last["gate"][p.index - 1]
                delta = (layers.upsample(error, gate.shape) if network.parameters[p.index - 1].pool else error) * gate
            last["error"].insert(0, error)
        return float((d.astype(np.float64) ** 2).sum()) * (1.0 if hinge else 0.5)

    @DIVERGING
    def forward(self, x) -> np.ndarray:
        """Outputs (N, classes) of real images `x`, computed minibatch by minibatch."""
        size = self.network.minibatch
        return np.concatenate([self._forward(x[n : n + size])[:, :, 0, 0] for n in range(0, len(x), size)])

    def predict(self, x) -> np.ndarray:
        """Class (N,) of each image."""
        return self.forward(x).argmax(axis=1)

    def accuracy(self, x, labels) -> float:
        """Fraction of the images `x` that `predict` classifies as `labels`."""
        return float((self.predict(x) == np.asarray(labels)).mean())

    def _forward(self, x, keep=None) -> np.ndarray:
        a = np.asarray(x, dtype=self.dtype)
        for p, state in zip(self.network.parameters, self.state):
            z = layers.conv(a, state["weight"], p.pad) + state["bias"][:, None, None]
            out, gate = layers.activate(z, p.relu, p.pool)
            if keep is not None:
                for key, tensor in (("act", a), ("z", z), ("out", out), ("gate", gate)):
                    keep[key].append(tensor)
            a = out
        return a
