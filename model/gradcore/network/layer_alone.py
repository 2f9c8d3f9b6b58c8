# SPDX-License-Identifier: Apache-2.0
"""A layer taken out of a network: the smallest network in which it has the passes that it has in the whole one.

Before it stands the layer that is before it in the whole one, 1x1 and of few input maps; behind it stand those that
make the maps smaller, of few maps, 1x1 where that leaves the size. All of them keep the activations, poolings and
dropouts behind them, because folds follow from those. What has weights keeps its name.
"""

from dataclasses import replace

from gradcore.network.description import Network
from gradcore.network.graph import INPUT
from gradcore.network.weighted_layer import LayerParameters
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.layer import Layer, Shape

FEW = 16  # maps of what stands around the layer


def layer_alone(network: Network, index: int, images: int) -> Network:
    """Layer `index` of those with weights alone, for minibatches of `images`. Raises NetworkError where the network is
    no chain."""
    _check_chain(network)
    parameters, parts = network.parameters, _parts(network)
    p = parameters[index]
    shape, layers = network.shape, [*parts[index]]
    if index:
        before, (own, *rest) = parameters[index - 1], parts[index - 1]
        shape = (FEW, *before.conv_shape[1:])
        assert isinstance(own, Conv | Dense)  # the latter is 1x1 in front of one pixel
        own = _one_by_one(own) if isinstance(own, Conv) else own
        layers = [replace(own, trainable=p.shift_bp is not None), *rest, *layers]
    behind = [_few(q, parts[q.index]) for q in parameters[index + 1 :] if not _keeps_size(network, q)]
    if index + 1 < len(parameters) and _keeps_size(network, parameters[-1]):
        behind.append(_few(parameters[-1], parts[-1]))
    layers += [layer for part in behind for layer in part]
    return replace(network, name=f"{network.name}-{p.name}", shape=shape, layers=tuple(layers), minibatch=images)


def nameless(network: Network) -> Network:
    """The same network without names: equal where two networks differ in names only."""
    return replace(network, name="network", layers=tuple(replace(layer, name="") for layer in network.layers))


def _check_chain(network: Network) -> None:
    """Refuse a network in which a layer reads another than the one before it, or the first one has no weights."""
    graph, before = network.graph, INPUT
    if not graph.nodes[0].operator.parametric:
        raise NetworkError("type", "the first layer has no weights", "a convolution", 0, graph.nodes[0].name)
    for node in graph.nodes:
        if node.inputs != (before,):
            what = f"reads {', '.join(node.inputs)}: only a chain of layers can be taken apart"
            raise NetworkError("inputs", what, before, node.layer, graph.tensors[node.name].layer_name)
        before = node.name


def _parts(network: Network) -> list[list[Layer]]:
    """For each layer with weights it and what follows up to the next one, with their names."""
    names = {node.layer: network.graph.tensors[node.name].layer_name for node in network.graph.nodes}
    named = [replace(layer, name=names[number], inputs=()) for number, layer in enumerate(network.layers)]
    starts = [*(p.layer for p in network.parameters), len(named)]
    return [named[start:end] for start, end in zip(starts, starts[1:])]


def _left(network: Network, p: LayerParameters) -> Shape:
    """Shape of what is left before the next layer with weights, or the loss."""
    last = p.index + 1 == len(network.parameters)
    return network.graph.output.shape if last else network.parameters[p.index + 1].in_shape


def _keeps_size(network: Network, p: LayerParameters) -> bool:
    """Has what is left as many rows and columns as the layer's input?"""
    return _left(network, p)[1:] == p.in_shape[1:]


def _few(p: LayerParameters, part: list[Layer]) -> list[Layer]:
    """A layer and what follows it with few maps, 1x1 where that leaves the size of its sums."""
    own, *rest = part
    assert isinstance(own, Conv | Dense)
    if isinstance(own, Conv):
        own = replace(_one_by_one(own) if p.conv_shape[1:] == p.in_shape[1:] else own, groups=1)
    return [replace(own, maps=FEW), *rest]


def _one_by_one(layer: Conv) -> Conv:
    """A convolution with a 1x1 kernel."""
    return replace(layer, kernel=(1, 1), pad=(0, 0), stride=(1, 1), groups=1)
