# SPDX-License-Identifier: Apache-2.0
"""Every kind of layer by its `type` in net.toml."""

from gradcore.ops.activation import ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.layer import Layer
from gradcore.ops.max_pooling import MaxPool

KINDS: dict[str, type[Layer]] = {
    "conv": Conv,
    "dense": Dense,
    "relu": ReluLayer,
    "max_pool": MaxPool,
    "average_pool": AveragePool,
    "add": Add,
}
