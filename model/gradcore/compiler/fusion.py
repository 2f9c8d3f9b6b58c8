# SPDX-License-Identifier: Apache-2.0
"""What the engine does in one instruction: a convolution, the ReLU, the maximum pooling and the dropout behind it, or a
leaky ReLU, the loss behind the last one. Finds those runs in a network's graph and refuses what is none of them."""

from gradcore.compiler.limits import CompileError
from gradcore.network.graph import INPUT
from gradcore.ops.activation import LeakyRelu
from gradcore.ops.dropout import Dropping
from gradcore.ops.layer import Parametric
from gradcore.ops.loss import SOFTMAX

# What a layer that stands alone must stand behind.
NEAREST = {
    Dropping: "a dropout behind a convolution or its ReLU or 2x2 maximum pooling, with no other reader",
    LeakyRelu: "a leaky ReLU directly behind a convolution, without a pooling or a dropout behind it",
}


class NotOnEngine(CompileError):
    """A part of a network, or of its training (layer None), that the reference trainer computes and the engine cannot.
    Attributes: layer, quantity."""

    def __init__(self, layer: str | None, what: str, nearest: str):
        super().__init__(layer, what, "", "")
        where = f"layer '{layer}': " if layer else ""
        self.args = (f"{where}the engine cannot compute {what} yet; nearest supported: {nearest}",)


def check_optimiser(network) -> None:
    """Refuse an update that the engine has no numbers for. Raises NotOnEngine."""
    if network.rate_behind_momentum:
        raise NotOnEngine(None, "the optimiser pytorch_momentum", 'optimiser = "momentum"')
    if network.weight_decay:
        raise NotOnEngine(None, "weight decay", "weight_decay = 0")


def check_chain(network) -> None:
    """Refuse a network that is more than `network.parameters`, each layer reading what the one before it leaves. Raises
    NotOnEngine."""
    graph, layers = network.graph, network.parameters
    fused = {name for p in layers for name in p.nodes}
    for node in graph.nodes:
        operator, layer = node.operator, graph.tensors[node.name].layer_name
        if not isinstance(operator, Parametric):
            if node.name not in fused:
                nearest = NEAREST.get(
                    type(operator), "convolutions, each with a ReLU and a 2x2 maximum pooling behind it"
                )
                raise NotOnEngine(layer, operator.what, nearest)
        elif operator.stride != (1, 1):
            raise NotOnEngine(layer, f"a {operator.what} of stride {operator.stride[0]}x{operator.stride[1]}", "1x1")
        elif operator.groups > 1:
            raise NotOnEngine(layer, f"a {operator.what} in {operator.groups} groups", "1 group")
    if layers[-1].factor:
        what = layers[-1].factor.operator.what
        raise NotOnEngine(graph.output.layer_name, f"a {what} before the loss", "one before the last convolution")
    if network.loss == SOFTMAX:
        raise NotOnEngine(layers[-1].name, "softmax with cross-entropy", "loss euclidean or square_hinge")
    for before, p in zip((None, *layers), layers):
        if p.input != (before.output if before else INPUT):
            raise NotOnEngine(p.name, "a branch", f"a layer that reads '{before.name}' alone" if before else "a chain")
