# SPDX-License-Identifier: Apache-2.0
"""Networks larger than the buffers on the compiled RTL, in every bit as the reference trainer: strips that begin in the
middle of a map, tiles that begin with another than the first output map, up-sampled image groups one at a time, gates
in DRAM, operands in both operand buffers with gradients in halves."""

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.isa.instruction import Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.model.compiler.test_large_dense import BOTH, ENGINE
from tb.model.compiler.test_strips import fields
from tb.support.engines import SMALL

STRIPS = Network(
    "strips",
    (2, 12, 9),
    (Conv(15, (2, 3), (0, 1), pool=2), Conv(5, (3, 2), (0, 1), relu=False), Dense(3)),
    minibatch=11,
)
TILES = Network(
    "tiles",
    (2, 4, 13),
    (Conv(17, (1, 1), pool=2), Conv(12, (2, 3), (0, 1)), Dense(7)),
    optimiser="momentum",
    minibatch=12,
)
SINGLE = Network(
    "single", (2, 8, 8), (Conv(4, (3, 3), (1, 1)), Conv(8, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=13
)
GATES = Network(
    "gates",
    (2, 8, 8),
    (Conv(4, (3, 3), (1, 1)), Conv(5, (3, 3), (1, 1), pool=2), Conv(3, (3, 3), (1, 1)), Dense(3)),
    minibatch=30,
)
# Engine, network, and fields of which the program must have several values.
USED = {
    "strips": (SMALL, STRIPS, [(Opcode.LOAD, "rot_y"), (Opcode.STORE, "rot_y")]),
    "tiles": (SMALL, TILES, [(Opcode.LOAD, "rot_x"), (Opcode.COMPUTE, "map0"), (Opcode.UPDATE, "map0")]),
    "single": (SMALL, SINGLE, [(Opcode.LOAD, "stride_qy"), (Opcode.LOAD, "stride_qx")]),
    "gates": (SMALL, GATES, [(Opcode.LOAD, "packed"), (Opcode.STORE, "packed")]),
    "both": (ENGINE, BOTH, [(Opcode.COMPUTE, "keep_in"), (Opcode.COMPUTE, "col_channels")]),
}


@pytest.mark.parametrize("name", USED)
def test_rtl_trains_as_the_reference(name):
    config, network, used = USED[name]
    compiled = compile_network(network, config)
    assert all(len(fields(compiled, opcode, field)) > 1 for opcode, field in used)
    rng = np.random.default_rng(5)
    memory = Memory(1 << 24, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=5)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, 5)
