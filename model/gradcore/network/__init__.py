# SPDX-License-Identifier: Apache-2.0
"""Networks and their training: description, graph, numbers, net.toml. Knows no engine."""

from gradcore.network.description import Network
from gradcore.network.net_toml import load, parse
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.max_pooling import MaxPool

__all__ = [
    "Add",
    "AveragePool",
    "Conv",
    "Dense",
    "Dropout",
    "LeakyReluLayer",
    "MaxPool",
    "Network",
    "NetworkError",
    "ReluLayer",
    "Sigmoid",
    "Tanh",
    "load",
    "parse",
]
