# SPDX-License-Identifier: Apache-2.0
"""Every kind of layer by its `type` in net.toml."""

from gradcore.ops.activation import ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.max_pooling import MaxPool

KINDS = {
    "conv": Conv,
    "dense": Dense,
    "relu": ReluLayer,
    "max_pool": MaxPool,
    "average_pool": AveragePool,
    "add": Add,
}
