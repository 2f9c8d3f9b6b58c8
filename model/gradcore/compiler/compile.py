# SPDX-License-Identifier: Apache-2.0
"""The compiler: a network and an engine in, memory map, programs and memory image out."""

from collections import deque

from gradcore.compiler.compiled import CompiledNetwork, CompiledProgram
from gradcore.compiler.fusion import check_network
from gradcore.compiler.limits import CompileError
from gradcore.compiler.search import search
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network

__all__ = ["CompileError", "CompiledNetwork", "CompiledProgram", "compile_network"]

# The last few (arguments, result): whoever asks whether a network fits compiles it soon afterwards.
recent: deque[tuple[tuple[Network, EngineConfig, int, bool], CompiledNetwork]] = deque(maxlen=4)


def compile_network(
    network: Network, config: EngineConfig = EngineConfig(), images: int | None = None, keep: bool = False
) -> CompiledNetwork:
    """Compile `network` for minibatches of `images` (default: the network's). Raises CompileError, naming layer,
    quantity and limit, when it does not fit the engine. `keep`: deltas that nobody loads are stored too, for whoever
    wants to look at them. The last few results are kept: nobody may change them."""
    images = network.minibatch if images is None else images
    if config.data_width != network.data_width:
        raise CompileError(None, "data width of the network", network.data_width, f"{config.data_width} (the engine's)")
    if not 1 <= images <= network.minibatch:
        raise CompileError(None, "minibatch", images, f"1..{network.minibatch} (the network's)")
    asked = network, config, images, keep
    for known, compiled in recent:
        if known == asked:
            return compiled
    check_network(network, config)
    check_reductions(network, config)
    compiled = search(network.with_minibatch(images), config, images, keep)
    recent.append((asked, compiled))
    return compiled


def check_reductions(network: Network, config: EngineConfig) -> None:
    """The exact sums of FP and BP must fit the engine's accumulators (network.py checks them for 48 bits). Raises
    CompileError."""
    room, width = (1 << (config.acc_width - 1)) - 1, network.data_width
    for p in network.parameters:
        taps = p.weight_shape[2] * p.weight_shape[3]
        forward = (p.weight_shape[1] * taps << 2 * width - 2) + p.bias * (1 << width - 1 + p.bias_exp)
        # No pixel meets more taps than the sums have rows and columns.
        reached = min(p.weight_shape[2], p.conv_shape[1]) * min(p.weight_shape[3], p.conv_shape[2])
        backward = (p.weight_shape[0] // p.groups * reached << 2 * width - 2) * (p.shift_bp is not None)
        if max(forward, backward) > room:
            raise CompileError(
                p.name, "bits of its largest sum", max(forward, backward).bit_length() + 1, config.acc_width
            )
        for shift in (p.shift_fp, p.shift_bp or 0):
            if shift >= config.acc_width:
                raise CompileError(p.name, "shift", shift, config.acc_width - 1)
