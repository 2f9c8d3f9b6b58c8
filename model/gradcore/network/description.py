# SPDX-License-Identifier: Apache-2.0
"""Description of a network and its training, and every number that follows from it.

A `Network` is checked when it is made: what cannot be computed raises `NetworkError`, which names layer and field and
the nearest form that is supported.
"""

import math
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

from gradcore.network.graph import INPUT, Graph, build
from gradcore.network.schedule import Schedule
from gradcore.network.weighted_layer import LayerParameters, weighted_layers
from gradcore.numerics.fixed_point import MODES
from gradcore.ops import checks as check
from gradcore.ops.checks import NAME_MAX, NetworkError
from gradcore.ops.layer import LAYER_FORMATS, Layer, Shape
from gradcore.ops.loss import LOSSES, SOFTMAX, LossParameters, loss_shift

OPTIMISERS = ("sgd", "momentum", "pytorch_momentum")
LAYERS_MAX, WORDS_MAX = 1000, 1 << 28  # layers; weights and biases of all
IMAGES_MAX = 65535


def default_fractions(data_width: int, optimiser: str = "momentum") -> dict[str, int]:
    """Default fraction widths of every kind of tensor for a data width 8..16.

    16 bits give input 12, act 10 (+-32), weight and bias 13 (+-4), delta 12 (+-8), momentum 18 (+-1/8); 8 bits give
    input 6, act 4 (+-8), weight and bias 6 (+-2), delta 4 (+-8), momentum 9 (+-1/4). The local gradient has the range
    of the loss's difference: where it saturated, training followed float32 visibly less well. A momentum that holds
    gradients (pytorch_momentum) has the range +-2.
    """
    lost = 16 - data_width
    weight = 13 - (7 * lost + 7) // 8
    return {
        "input": 12 - (6 * lost + 7) // 8,
        "act": 10 - (6 * lost + 7) // 8,
        "weight": weight,
        "bias": weight,
        "delta": data_width - 4,
        "momentum": data_width - 2 if optimiser == "pytorch_momentum" else 18 - (9 * lost + 7) // 8,
    }


@dataclass(frozen=True)
class Network:
    """A network and how it is trained.

    shape: input (maps, rows, columns); layers: those of gradcore.ops.kinds, each reading the one before it or those
    that its `inputs` name, the last one leaving one pixel per class; learning_rate belongs to the mean loss of a
    minibatch, and to every layer that has none of its own; momentum: beta; rounding: one mode or a dict of modes for
    act, delta and param; formats: fraction widths (keys input and LAYER_FORMATS) that replace those of
    `default_fractions`; weight_decay: of weights and biases, added to the gradient of the mean loss; schedule: of the
    learning rates. Raises NetworkError.
    """

    name: str
    shape: Shape
    layers: tuple[Layer, ...]
    loss: str = "euclidean"
    optimiser: str = "momentum"
    learning_rate: float = 0.01
    momentum: float = 0.9
    minibatch: int = 32
    data_width: int = 16
    rounding: str | dict[str, str] = "stochastic"
    formats: dict[str, int] = field(default_factory=dict)
    weight_decay: float = 0.0
    schedule: Schedule = Schedule()

    def __post_init__(self) -> None:
        check.text("name", self.name)
        if len(self.name) > NAME_MAX or not self.name.isprintable():
            raise NetworkError("name", f"{self.name!r} is not a line of text", f"up to {NAME_MAX} characters")
        check.choice("loss", self.loss, LOSSES)
        check.choice("optimiser", self.optimiser, OPTIMISERS)
        check.learning_rate(self.learning_rate)
        check.number("momentum", self.momentum, 0, 0.999, "0 to 0.999")
        check.number("weight_decay", self.weight_decay, 0, 1, "0 to 1")
        if not isinstance(self.schedule, Schedule):
            raise NetworkError("schedule", f"{self.schedule!r} is no schedule", "Schedule()")
        check.integer("minibatch", self.minibatch, 1, IMAGES_MAX)
        check.integer("data_width", self.data_width, 8, 16)
        modes = (
            self.rounding
            if isinstance(self.rounding, dict)
            else dict.fromkeys(("act", "delta", "param"), self.rounding)
        )
        for kind, mode in modes.items():
            check.choice("rounding", kind, ("act", "delta", "param"))
            check.choice(f"rounding.{kind}" if modes is self.rounding else "rounding", mode, MODES)
        check.fractions(self.formats, ("input", *LAYER_FORMATS))
        shape = check.triple("input", self.shape)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise NetworkError("layer", "the network has no layer", "one Dense layer")
        if len(self.layers) > LAYERS_MAX:
            raise NetworkError("layer", f"the network has {len(self.layers)} layers", LAYERS_MAX)
        words = sum(math.prod(p.weight_shape) + p.bias * p.weight_shape[0] for p in self.parameters)
        if words > WORDS_MAX:
            raise NetworkError("layer", f"the network has {words} weights", WORDS_MAX)
        if not self.parameters:
            raise NetworkError("layer", "no layer has weights", "one Dense layer")
        if not any(p.trainable for p in self.parameters):
            raise NetworkError("trainable", "all layers with weights are frozen", "one layer with trainable = true")
        _ = self.loss_parameters  # checks what depends on several fields

    @property
    def classes(self) -> int:
        """Number of outputs."""
        return self.graph.output.shape[0]

    @property
    def input_frac(self) -> int:
        """Fraction width of the input."""
        return self.graph.tensors[INPUT].frac

    @property
    def has_momentum(self) -> bool:
        """Is the momentum kept from step to step?"""
        return self.optimiser != "sgd"

    @property
    def rate_behind_momentum(self) -> bool:
        """Does the learning rate multiply the momentum, as in PyTorch, and not the gradient in it?"""
        return self.optimiser == "pytorch_momentum"

    def mode(self, kind: str) -> str:
        """Rounding mode of act, delta or param (weights, bias and momentum)."""
        return self.rounding.get(kind, "stochastic") if isinstance(self.rounding, dict) else self.rounding

    def with_learning_rate(self, learning_rate: float) -> "Network":
        """The same network with another learning rate; formats, and so weights and momentum, keep their meaning. The
        learning rates that layers have of their own keep their ratio to it. Raises NetworkError when no shifts
        represent one of them."""
        layers = []
        for layer in self.layers:
            own = getattr(layer, "learning_rate", None)
            scaled = {} if own is None else {"learning_rate": own * learning_rate / self.learning_rate}
            layers.append(replace(layer, **scaled))
        return replace(self, learning_rate=learning_rate, layers=tuple(layers))

    def with_minibatch(self, images: int) -> "Network":
        """The same network for minibatches of `images`, with the multipliers and shifts of learning rate / images;
        formats stay. Raises NetworkError when no shifts represent that."""
        return self if images == self.minibatch else replace(self, minibatch=images)

    def with_poolings_apart(self, names: Collection[str]) -> "Network":
        """The same network, whose `parameters` leave the 2x2 maximum poolings behind the layers `names` to stages of
        their own. No word that it computes changes."""
        if not names:
            return self
        other = copy(self)
        other.__dict__["parameters"] = self._weighted_layers(names)
        return other

    @cached_property
    def graph(self) -> Graph:
        """The network as operators and tensors."""
        return build(self.layers, self.shape, self._fractions, self.data_width)

    @cached_property
    def parameters(self) -> tuple[LayerParameters, ...]:
        """One `LayerParameters` per layer with weights."""
        return self._weighted_layers()

    def _weighted_layers(self, apart: Collection[str] = ()) -> tuple[LayerParameters, ...]:
        return weighted_layers(self, self.graph, lambda number: self._fractions | self.layers[number].formats, apart)

    @cached_property
    def loss_parameters(self) -> LossParameters:
        """`LossParameters`; refuses a last layer that does not end in one pixel of sums."""
        output, node = self.graph.output, self.graph.nodes[-1]
        try:
            if output.shape[1:] != (1, 1):
                raise NetworkError(
                    "type",
                    f"the last layer leaves {output.shape[1]}x{output.shape[2]} pixels per class",
                    "a Dense layer at the end",
                )
            if not node.operator.rounded:
                nearest = {"relu": "relu = false", "pool": "no pool"}
                field = node.name.rpartition(":")[2]
                field = field if field in nearest else "type"
                text = f"the loss needs the sums of the last layer, not its {node.operator.what}"
                raise NetworkError(field, text, nearest.get(field, "a Dense layer at the end"))
            if output.delta_frac is None:
                raise NetworkError("type", "no layer with weights is before the loss", "a Dense layer at the end")
            if self.loss != SOFTMAX:
                check.within(
                    "format.act", output.frac, 0, self.data_width - 2, "the target 1.0 does not fit the output"
                )
            shift = loss_shift(self.loss, output.frac, output.delta_frac)
            least = output.delta_frac + shift - 31
            text = f"the loss's shift {shift} is outside 0..31"
            check.within("format.delta", output.delta_frac, least, least + 31, text)
        except NetworkError as error:
            error.layer, error.name = output.layer, output.layer_name
            raise
        return LossParameters(self.loss, output.frac, 1 << max(output.frac, 0), 0, shift)

    @property
    def _fractions(self) -> dict[str, int]:
        return default_fractions(self.data_width, self.optimiser) | self.formats
