# SPDX-License-Identifier: Apache-2.0
"""What the engine does in one instruction: a convolution, the ReLU, the maximum pooling and the dropout behind it, or a
leaky ReLU, the loss behind the last one. Behind that the stages that VECTOR does. Finds those runs in a network's graph
and refuses what is none of them."""

from gradcore.compiler.limits import CompileError
from gradcore.network.graph import INPUT
from gradcore.network.stage import KINDS, Stage
from gradcore.ops.activation import LeakyRelu
from gradcore.ops.dropout import Dropping
from gradcore.ops.layer import Parametric
from gradcore.ops.max_pooling import MaxPooling

PLAIN = "convolutions, each with a ReLU, a table or a pooling behind it"
# What a layer that stands alone must stand behind.
NEAREST = {
    Dropping: "a dropout behind a convolution or its ReLU or 2x2 maximum pooling, with no other reader",
    LeakyRelu: "a leaky ReLU directly behind a convolution, without a pooling or a dropout behind it",
    **dict.fromkeys(KINDS, "one behind a convolution, its ReLU or another of its kind, without anything between"),
}


class NotOnEngine(CompileError):
    """A part of a network that the reference trainer computes and the engine cannot. Attributes: layer, quantity."""

    def __init__(self, layer: str, what: str, nearest: str):
        super().__init__(layer, what, "", "")
        self.args = (f"layer '{layer}': the engine cannot compute {what} yet; nearest supported: {nearest}",)


def check_groups(layer: str, node, cols: int) -> None:
    """Refuse a grouped convolution with a stride, or whose groups are no whole column groups. Raises NotOnEngine."""
    operator, (outputs, inputs, *_) = node.operator, node.weights.shape
    what = f"a {operator.what} in {operator.groups} groups"
    if operator.stride != (1, 1):
        raise NotOnEngine(layer, f"{what} with a stride", "1 group or stride 1x1")
    maps = outputs // operator.groups, inputs
    if any(n % cols for n in maps):
        what += f" of {maps[0]} output and {maps[1]} input maps"
        raise NotOnEngine(layer, what, f"1 group, or groups of multiples of {cols} maps, the engine's columns")


def check_stages(network, p):
    """Refuse stages behind a layer that VECTOR cannot do. Raises NotOnEngine."""
    for stage in p.stages:
        layer, operator = _layer(stage), stage.operator
        if p.end == network.graph.output.name:
            raise NotOnEngine(layer, f"a {operator.what} before the loss", "one before the last convolution")
        if isinstance(operator, MaxPooling):
            area, most = operator.windows.area, (1 << network.data_width) - 1
            if area > most:
                raise NotOnEngine(layer, f"a window of {area} pixels", f"{most}, which words can number")
            continue
        if stage.shift_bp is not None and stage.shift_bp < 0:
            what = (
                f"a {operator.what} whose input has a delta of {-stage.shift_bp} more fraction bits than its products"
            )
            raise NotOnEngine(layer, what, "format.delta with fewer")


def _layer(stage: Stage) -> str:
    return stage.name.partition(":")[0]


def check_chain(network, cols: int) -> None:
    """Refuse a network that is more than `network.parameters`, each layer reading what the one before it leaves, for an
    engine of `cols` columns. Raises NotOnEngine."""
    graph, layers = network.graph, network.parameters
    fused = {name for p in layers for name in (*p.nodes, *(stage.name for stage in p.stages))}
    for node in graph.nodes:
        operator, layer = node.operator, graph.tensors[node.name].layer_name
        if not isinstance(operator, Parametric):
            if node.name not in fused:
                nearest = next((text for kind, text in NEAREST.items() if isinstance(operator, kind)), PLAIN)
                raise NotOnEngine(layer, operator.what, nearest)
        elif operator.stride != (1, 1) and node.inputs != (INPUT,):
            what = f"a {operator.what} of stride {operator.stride[0]}x{operator.stride[1]} behind another layer"
            raise NotOnEngine(layer, what, "1x1; the first layer, whose input the host unfolds, may have any")
        elif operator.groups > 1:
            check_groups(layer, node, cols)
    if layers[-1].factor:
        what = layers[-1].factor.operator.what
        raise NotOnEngine(graph.output.layer_name, f"a {what} before the loss", "one before the last convolution")
    for before, p in zip((None, *layers), layers):
        check_stages(network, p)
        if p.input != (before.end if before else INPUT):
            raise NotOnEngine(p.name, "a branch", f"a layer that reads '{before.name}' alone" if before else "a chain")
