# SPDX-License-Identifier: Apache-2.0
"""What the engine does in one instruction: a convolution, the ReLU, the maximum pooling and the dropout behind it, or a
leaky ReLU, the loss behind the last one. Behind that the stages that VECTOR does. Finds those runs in a network's graph
and refuses what is none of them."""

from gradcore.compiler.limits import CompileError, NotBuilt
from gradcore.compiler.unfold import can_unfold
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.graph import INPUT, Node
from gradcore.network.stage import KINDS, Stage
from gradcore.network.weighted_layer import Factor, LayerParameters
from gradcore.ops.activation import BITS, LeakyRelu, Relu
from gradcore.ops.addition import Addition
from gradcore.ops.layer import Operator, Parametric
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPooling

PLAIN = "convolutions, each with a ReLU, a table or a pooling behind it"
MOST_SHIFT = 15  # to the left, of a term of an addition
# What a layer that stands alone must stand behind.
NEAREST = {
    LeakyRelu: "a leaky ReLU directly behind a convolution",
    **dict.fromkeys(KINDS, "one behind a convolution"),
}


class NotOnEngine(CompileError):
    """A part of a network that the reference trainer computes and the engine cannot. Attributes: layer, quantity."""

    def __init__(self, layer: str, what: str, nearest: str):
        super().__init__(layer, what, "", "")
        self.args = (f"layer '{layer}': the engine cannot compute {what} yet; nearest supported: {nearest}",)


def check_groups(layer: str, node: Node, cols: int) -> None:
    """Refuse a grouped convolution whose groups are no whole column groups. Raises NotOnEngine."""
    operator = node.operator
    assert isinstance(operator, Parametric) and node.weights
    outputs, inputs, *_ = node.weights.shape
    what = f"a {operator.what} in {operator.groups} groups"
    maps = outputs // operator.groups, inputs
    if any(n % cols for n in maps):
        what += f" of {maps[0]} output and {maps[1]} input maps"
        raise NotOnEngine(layer, what, f"1 group, or groups of multiples of {cols} maps, the engine's columns")


def check_stride(p: LayerParameters, config: EngineConfig) -> None:
    """Refuse a stride before a 2x2 maximum pooling, which wants blocks of pixels, where the layer cannot be unfolded.
    Raises NotOnEngine."""
    if p.stride != (1, 1) and p.pool and not can_unfold(p, config):
        _, inputs, *_ = p.weight_shape
        what = (
            f"a convolution of stride {p.stride[0]}x{p.stride[1]} of {inputs} maps in {p.groups} groups, with a pooling"
        )
        raise NotOnEngine(p.name, what, "one without the other, 1 group of maps whose vectors are whole beats")


def check_stages(network: Network, p: LayerParameters) -> None:
    """Refuse stages behind a layer that VECTOR cannot do. Raises NotOnEngine."""
    for stage in p.stages:
        layer, operator = _layer(stage), stage.operator
        if stage.name == network.graph.output.name and network.loss != SOFTMAX:
            nearest = f"the loss {SOFTMAX}, or one before the last convolution"
            raise NotOnEngine(layer, f"{_a(operator)} before the loss {network.loss}", nearest)
        if INPUT in stage.inputs:
            raise NotOnEngine(layer, f"{_a(operator)} of the network's input", "one behind a convolution")
        if isinstance(operator, MaxPooling):
            area, most = operator.windows.area, (1 << network.data_width) - 1
            if area > most:
                raise NotOnEngine(layer, f"a window of {area} pixels", f"{most}, which words can number")
        elif isinstance(operator, Addition):
            _check_addition(layer, stage)
        elif not isinstance(operator, Relu) and any(shift is not None and shift < 0 for shift in stage.shifts_bp):
            (shift,) = stage.shifts_bp
            assert shift is not None
            what = f"{_a(operator)} whose input has a delta of {-shift} more fraction bits than its products"
            raise NotOnEngine(layer, what, "format.delta with fewer")


def check_parts(network: Network, config: EngineConfig) -> None:
    """Refuse what the engine has no part for. Raises NotBuilt."""
    for p in network.parameters:
        if p.stages and not config.has_vector:
            raise NotBuilt(_layer(p.stages[0]), _a(p.stages[0].operator), "has_vector")
        if p.factor and not config.has_factor:
            raise NotBuilt(network.graph.tensors[p.output].layer_name, _a(p.factor.operator), "has_factor")
    if network.loss == SOFTMAX and not config.has_softmax:
        raise NotBuilt(network.parameters[-1].name, f"the loss {SOFTMAX}", "has_softmax")


def check_leaky(layer: str, factor: Factor) -> None:
    """Refuse a leaky ReLU whose local gradient VECTOR cannot scale. Raises NotOnEngine."""
    what = f"a {factor.operator.what} that others than the next convolution read"
    assert factor.shift_bp is not None
    if factor.shift_fp > BITS:
        raise NotOnEngine(layer, f"{what} and that leaves fewer fraction bits than it reads", "format.act with as many")
    if factor.shift_bp < 1:
        more = f"whose input has a delta of {BITS - factor.shift_bp} more fraction bits"
        raise NotOnEngine(layer, f"{what}, {more}", f"{BITS - 1} more")


def _check_addition(layer: str, stage: Stage) -> None:
    """Refuse additions of more than two tensors or of very different formats."""
    if len(stage.inputs) > 2:
        raise NotOnEngine(layer, f"an addition of {len(stage.inputs)} tensors", "2, one addition behind the other")
    spread = max(stage.fractions) - min(stage.fractions)
    far = max([spread, *(-shift for shift in stage.shifts_bp if shift is not None)])
    if far > MOST_SHIFT:
        raise NotOnEngine(layer, f"an addition of formats that differ by {far} bits", f"{MOST_SHIFT} bits")


def _a(operator: Operator) -> str:
    """Its name with the article."""
    return f"{'an' if operator.what[0] in 'aeiou' else 'a'} {operator.what}"


def _layer(stage: Stage) -> str:
    return stage.name.partition(":")[0]


def check_network(network: Network, config: EngineConfig) -> None:
    """Refuse a network that is more than `network.parameters` and the stages between them, for an engine. Raises
    NotOnEngine, NotBuilt."""
    check_parts(network, config)
    graph, layers = network.graph, network.parameters
    fused = {name for p in layers for name in (*p.nodes, *(stage.name for stage in p.stages))}
    for node in graph.nodes:
        operator, layer = node.operator, graph.tensors[node.name].layer_name
        if not isinstance(operator, Parametric):
            if node.name not in fused:
                nearest = next((text for kind, text in NEAREST.items() if isinstance(operator, kind)), PLAIN)
                raise NotOnEngine(layer, operator.what, nearest)
        elif operator.groups > 1:
            check_groups(layer, node, config.cols)
    if layers[-1].factor and layers[-1].alone:
        what = layers[-1].factor.operator.what
        raise NotOnEngine(graph.output.layer_name, f"a {what} before the loss", "one before the last convolution")
    for p in layers:
        check_stages(network, p)
        check_stride(p, config)
        if p.index and p.input == INPUT:
            raise NotOnEngine(p.name, "a second convolution of the network's input", "one")
        if p.leaky:
            check_leaky(graph.tensors[p.output].layer_name, p.leaky)
