# SPDX-License-Identifier: Apache-2.0
"""Every kind of layer by its `type` in net.toml."""

from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.layer import Layer
from gradcore.ops.max_pooling import MaxPool

KINDS: dict[str, type[Layer]] = {
    "conv": Conv,
    "dense": Dense,
    "relu": ReluLayer,
    "leaky_relu": LeakyReluLayer,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "dropout": Dropout,
    "max_pool": MaxPool,
    "average_pool": AveragePool,
    "add": Add,
}
