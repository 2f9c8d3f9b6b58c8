# SPDX-License-Identifier: Apache-2.0
"""Reductions in parts, derived gates and gates in DRAM on the compiled engine: the programs of tb.support.handmade
against NumPy."""

import numpy as np
import pytest

from gradcore.isa import registers as reg
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.machine.test_parts import ENGINES
from tb.support import handmade, program
from tb.support.cases import first


@pytest.fixture(params=first(3, ENGINES))
def config(request):
    return ENGINES[request.param]


def engine(config, rng) -> SimBackend:
    latency, stall = int(rng.integers(1, 60)), float(rng.choice([0, 0.3]))
    memory = Memory(2 * program.SIZE, latency=latency, stall=stall, seed=int(rng.integers(1 << 30)))
    return SimBackend(build_engine(config)[0], memory)


def test_reductions_in_parts(config):
    rng = np.random.default_rng(1)
    with engine(config, rng) as backend:
        for parts in (1, 2, 3, 4, 5) * 6:
            handmade.reductions(config, rng, parts, count=3, alone=bool(rng.integers(2))).run(backend)
            if config.split and parts < 4:
                handmade.reductions(config, rng, parts, split=True).run(backend)


def test_parts_are_as_long_as_their_steps(config):
    """A part that keeps its sums has no columns for which the next one would wait."""
    rng = np.random.default_rng(2)
    with engine(config, rng) as backend:
        for parts in (2, 5):
            program = handmade.reductions(config, rng, parts, count=1)
            program.run(backend)
            counters = {
                name: backend.read32(reg.COUNTERS + 8 * number)
                for number, name in reg.COUNTER_NAMES.items()
                if name in ("compute.mac_busy", "compute.padding")
            }
            steps = sum(
                instr["n_ky"] * instr["n_kx"] * instr["n_c"] + (instr["bias"] and instr["mode"] == 0)
                for instr in program.instructions
                if instr.opcode == handmade.Opcode.COMPUTE
            )
            assert counters == {"compute.mac_busy": steps, "compute.padding": 0}


def test_derived_gates_and_gates_in_dram(config):
    rng = np.random.default_rng(3)
    with engine(config, rng) as backend:
        for _ in range(40):
            handmade.gates(config, rng).run(backend)


def test_sums_that_nobody_kept_are_zero(config):
    """As tb.model.machine.test_parts has it; also in the program behind one that has left its sums in the array."""
    rng = np.random.default_rng(4)
    with engine(config, rng) as backend:
        for _ in range(5):
            for keep, seen in ((["keep_in"] * 3, (0, 1, 2)), (["keep_out", "n_valid", "keep_out"], (1,))):
                program = handmade.reductions(config, rng, 1, count=3)
                computes = [instr for instr in program.instructions if instr.opcode == handmade.Opcode.COMPUTE]
                for name, instr in zip(keep, computes):
                    instr[name] = instr[name] or 1
                program.expected = [program.expected[k] for k in seen]
                program.run(backend)
