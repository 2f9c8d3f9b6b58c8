# SPDX-License-Identifier: Apache-2.0
"""The networks of examples/: weights and multiply-accumulates as their sources count them, a minibatch of the reference
trainer, and what the compiler says."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS
from gradcore.network import load
from gradcore.reference.trainer import ReferenceTrainer
from tb.support.cases import long

EXAMPLES = {path.parent.name: load(path) for path in sorted(ROOT.glob("examples/*/net.toml"))}

# Weights and biases; multiply-accumulates of a forward pass, taps in the padding included.
COUNTS = {
    "alexnet": (62_378_344, 1_135_256_096),  # Reis
    "alexnet-two-towers": (60_965_224, 724_406_816),  # "60 million": Krizhevsky et al., section 1
    "darkfpga-vgg": (
        9 * (3 * 128 + 128 * 128 + 128 * 256 + 256 * 256 + 256 * 512 + 512 * 512) + 8192 * 1024 + 1024 * 10 + 2826,
        9 * (32**2 * (3 * 128 + 128**2) + 16**2 * (128 * 256 + 256**2) + 8**2 * (256 * 512 + 512**2))
        + 8192 * 1024
        + 1024 * 10,
    ),
    "fcte-cifar10": (
        25 * (3 * 32 + 32 * 32 + 32 * 64) + 1024 * 10 + 138,
        25 * (32**2 * 3 * 32 + 16**2 * 32 * 32 + 8**2 * 32 * 64) + 1024 * 10,
    ),
    "lenet5": (431_080, 2_293_000),  # of weights and biases of Caffe's LeNet
    "lenet5-tanh": (431_080, 2_293_000),
    "resnet8": (77_706, 12_501_632),
    "vgg16": (138_357_544, 15_470_264_320),  # "138 million": Simonyan and Zisserman, table 2
}
SLOW = ("lenet5-tanh", "resnet8", "fcte-mnist")  # to compile; lenet5, fcte-cifar10 and tb/system do it, too
LARGE = 5_000_000  # weights: an image takes the reference trainer half a minute to two, and up to 8 GiB


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    parameters = EXAMPLES[name].parameters
    sizes = [math.prod(p.weight_shape) for p in parameters]
    macs = sum(size * math.prod(p.conv_shape[1:]) for size, p in zip(sizes, parameters))
    assert (sum(sizes) + sum(p.bias * p.weight_shape[0] for p in parameters), macs) == COUNTS[name]


def test_shapes_of_alexnet():
    """The maps of figure 2 of Krizhevsky et al."""
    for name in ("alexnet", "alexnet-two-towers"):
        graph = EXAMPLES[name].graph
        found = [graph.tensors[node.name].shape for node in graph.nodes if node.operator.what != "ReLU"]
        assert found[:8] == [
            (96, 55, 55),
            (96, 27, 27),
            (256, 27, 27),
            (256, 13, 13),
            (384, 13, 13),
            (384, 13, 13),
            (256, 13, 13),
            (256, 6, 6),
        ]


def weights(network):
    return sum(math.prod(p.weight_shape) for p in network.parameters)


def narrow(network, factor):
    """The same layers with fewer maps and classes; pixels, kernels, strides and groups as they are."""
    layers = [
        replace(layer, maps=max(2, layer.maps // factor)) if hasattr(layer, "maps") else layer
        for layer in network.layers
    ]
    return replace(network, layers=tuple(layers))


@pytest.mark.parametrize("name", EXAMPLES)
def test_trains(name, rng):
    """One minibatch of one image on the reference trainer, the large networks with a sixteenth of the maps: every layer
    gets gradients."""
    network = EXAMPLES[name].with_minibatch(1)
    if weights(network) > LARGE:
        network = narrow(network, 16)
    trainer = ReferenceTrainer(network, 1)
    x = rng.integers(0, 1 << network.input_frac, (1, *network.shape))
    assert trainer.step(x, rng.integers(0, network.classes, 1), 0) > 0
    for p, state in zip(network.parameters, trainer.weights()):
        assert np.count_nonzero(state["momentum"]), f"{p.name} learns nothing"


@pytest.mark.parametrize(
    "name",
    [long(n) if weights(network) > LARGE or n in SLOW else n for n, network in EXAMPLES.items()],
)
def test_compiles(name):
    """For the preset of 64x16, vgg16 with two images, because that takes a quarter of the time."""
    network = EXAMPLES[name].with_minibatch(2) if name == "vgg16" else EXAMPLES[name]
    compiled = compile_network(network, PRESETS["64x16"])
    assert compiled.train.binary.size


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_document_lists_it(name):
    """doc/networks.md has its name, or what differs from the one before it, and its weights and biases."""
    rows = [line for line in (ROOT / "doc/networks.md").read_text().splitlines() if line.startswith("| `")]
    count = sum(math.prod(p.weight_shape) + p.bias * p.weight_shape[0] for p in EXAMPLES[name].parameters)
    short = name.removeprefix("cifar10") if name in ("cifar10-2x", "cifar10-4x") else name
    assert any(f"`{short}`" in row and f"{count:,}" in row for row in rows), f"{name}: {count:,}"
