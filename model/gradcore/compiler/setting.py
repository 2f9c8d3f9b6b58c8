# SPDX-License-Identifier: Apache-2.0
"""What every step of the compiler reads."""

from dataclasses import dataclass
from functools import cached_property

from gradcore.compiler.choices import Choices
from gradcore.compiler.folds import LayerFolds
from gradcore.compiler.memory_map import MapTensor, MemoryMap
from gradcore.compiler.tuples import Layers
from gradcore.compiler.unfold import backward_layers
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.ops.loss import SOFTMAX


@dataclass(frozen=True)
class Setting:
    """A network on an engine for minibatches of `images`; `forward` and `layers` are its layers as FP and as WU compute
    them. `keep`: tensors that nobody loads are stored too."""

    network: Network
    forward: Layers
    layers: Layers
    config: EngineConfig
    images: int
    memory: MemoryMap
    choices: Choices = Choices()
    keep: bool = False

    @cached_property
    def errors(self) -> Layers:
        """The layers as BP computes them."""
        return backward_layers(self.network, self.config.grid, self.images, self.choices.floors)

    @property
    def last(self) -> int:
        """Index of the last layer."""
        return len(self.layers) - 1

    @property
    def first(self) -> int:
        """Index of the lowest trained layer: the backward pass ends with its WU, and those before it have FP alone."""
        return next(index for index, p in enumerate(self.layers) if p.trainable)

    @property
    def softmax(self) -> bool:
        """Does LOAD make the last layer's local gradient, of what COMPUTE has left in DRAM?"""
        return self.network.loss == SOFTMAX

    def has_errors(self, index: int) -> bool:
        """Has a layer BP? A trained layer is before it."""
        return self.layers[index].shift_bp is not None

    def folds(self, index: int) -> LayerFolds:
        return self.memory.folds[index]

    def fold_images(self, fold: int) -> int:
        """Images of a group in a fold."""
        return (self.config.grid >> fold) ** 2

    def group_images(self, index: int) -> int:
        """Images of a group of a layer's sums."""
        return self.fold_images(self.folds(index).fp)

    def completes(self, image: int, fold: int, other: int) -> bool:
        """Does the group with `image` in a fold end one of another fold, or the minibatch?"""
        after = image // self.fold_images(fold) * self.fold_images(fold) + self.fold_images(fold)
        return after >= self.images or after % self.fold_images(other) == 0

    def input(self, index: int) -> MapTensor:
        """What the forward pass of a layer reads."""
        return self.memory.act[index] if index else self.memory.images

    def output(self, index: int, train: bool) -> MapTensor:
        """What the COMPUTEs of the forward pass of a layer write: its activations, after the loss the delta."""
        return self.delta(index) if train and index == self.last else self.memory.out[index]

    def delta(self, index: int) -> MapTensor:
        """The stored local gradient at the output of a layer where somebody needs it."""
        delta = self.memory.delta[index]
        assert delta is not None
        return delta

    def error(self, index: int) -> MapTensor:
        """What BP of a layer leaves."""
        error = self.memory.error[index]
        assert error is not None
        return error
