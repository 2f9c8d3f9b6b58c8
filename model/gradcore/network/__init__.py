# SPDX-License-Identifier: Apache-2.0
"""Networks and their training: description, graph, numbers, net.toml. Knows no engine."""

from gradcore.network.description import Network
from gradcore.network.net_toml import load, parse
from gradcore.ops.activation import ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.max_pooling import MaxPool

__all__ = [
    "Add",
    "AveragePool",
    "Conv",
    "Dense",
    "MaxPool",
    "Network",
    "NetworkError",
    "ReluLayer",
    "load",
    "parse",
]
