# SPDX-License-Identifier: Apache-2.0
"""The published networks of examples/, scaled down to a 4x4 grid: maps and columns by four, the image's side by two."""

from contextlib import suppress
from dataclasses import replace

import pytest

from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import ceil_div
from gradcore.network.net_toml import load
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.support.cases import long
from tb.support.engines import WIDE

WIDER = EngineConfig(grid=4, cols=16, mem_bytes=16, act_depth=4096, wgt_depth=16384, grad_depth=16384)


def scaled(network, minibatch: int):
    """A quarter of the maps (not of the classes); images of half the side where the layers leave something of them."""
    layers = [
        replace(layer, maps=ceil_div(layer.maps, 4))
        if isinstance(layer, (Conv, Dense)) and layer is not network.layers[-1]
        else layer
        for layer in network.layers
    ]
    network, side = replace(network, layers=tuple(layers), minibatch=minibatch), network.shape[1] // 2
    with suppress(NetworkError):
        return replace(network, shape=(network.shape[0], side, side)) if side == 16 else network
    return network


@pytest.mark.parametrize(
    "name, minibatch, config",
    [
        ("cifar10-1x", 6, WIDE),
        long("cifar10-2x", 5, WIDE),
        long("cifar10-4x", 3, WIDER),
        ("fcte-mnist", 5, WIDE),
        ("lenet5", 18, WIDE),
        long("lenet5-tanh", 18, WIDE),
        ("fcte-cifar10", 5, WIDE),
        ("resnet8", 2, WIDE),
        long("darkfpga-vgg", 2, WIDER),
    ],
)
def test_trains_bit_exactly(name, minibatch, config):
    network = scaled(load(ROOT / "examples" / name / "net.toml"), minibatch)
    with SimBackend(build_engine(config)[0], Memory(size=1 << 26)) as backend:
        train(backend, network, config, seed=1)
