# SPDX-License-Identifier: Apache-2.0
"""A small simulated engine for every front; each has a beat width of its own, so that one build per front is enough."""

from gradcore.isa.config import EngineConfig
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.support.engines import DEEPER, SMALL

SIZE = 1 << 22
ENGINES = {
    "sim": SMALL,
    "sim-axi": EngineConfig(grid=4, cols=4, mem_bytes=64, **DEEPER),
    "sim-avalon": EngineConfig(grid=4, cols=4, mem_bytes=32, **DEEPER),
}


def simulation(backend="sim", size=SIZE, **memory) -> SimBackend:
    """The back end of that name with `ENGINES[backend]`; `memory`: as for `Memory`."""
    config = ENGINES[backend]
    return SimBackend(build_engine(config, backend=backend)[0], Memory(size, config.mem_bytes, **memory))
