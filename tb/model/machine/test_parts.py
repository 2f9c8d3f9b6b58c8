# SPDX-License-Identifier: Apache-2.0
"""Reductions in parts, derived gates and gates in DRAM on the machine model: hand-made programs against NumPy."""

import numpy as np
import pytest

from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from tb.support import handmade, program
from tb.support.engines import NARROW, SMALL

ENGINES = {
    "4x4x4": SMALL,
    "4x4x8-11bit": NARROW,
    "8x8x16": EngineConfig(),
    "8x8x64-8bit": EngineConfig(cols=64, data_width=8, mem_bytes=8),
}


@pytest.fixture(params=ENGINES)
def config(request):
    return ENGINES[request.param]


def machine(config, rng) -> MachineBackend:
    return MachineBackend(config, 2 * program.SIZE, str(rng.choice(["program", "random"])), int(rng.integers(1 << 30)))


@pytest.mark.parametrize("parts", range(1, 6))
def test_a_reduction_in_parts_is_the_whole(config, parts, rng):
    for _ in range(6):
        alone = bool(rng.integers(2))
        handmade.reductions(config, rng, parts, alone=alone).run(machine(config, rng))


@pytest.mark.parametrize("parts", range(1, 4))
@pytest.mark.parametrize("engine", [name for name, config in ENGINES.items() if config.split])
def test_groups_of_lanes_in_parts(engine, parts, rng):
    config = ENGINES[engine]
    for _ in range(4):
        handmade.reductions(config, rng, parts, split=True).run(machine(config, rng))


def test_derived_gates_are_those_of_the_forward_pass_and_come_back_from_dram(config, rng):
    for _ in range(8):
        handmade.gates(config, rng).run(machine(config, rng))


def test_sums_that_nobody_kept_are_zero(config, rng):
    """keep_in alone, and behind a COMPUTE that has drained its sums; sums that nobody takes are gone, also at the end
    of a program."""
    backend = machine(config, rng)
    for _ in range(3):
        program = handmade.reductions(config, rng, 1, count=3)
        for instr in program.instructions:
            if instr.opcode == handmade.Opcode.COMPUTE:
                instr["keep_in"] = 1
        program.run(backend)
        program = handmade.reductions(config, rng, 1, count=3)
        computes = [instr for instr in program.instructions if instr.opcode == handmade.Opcode.COMPUTE]
        computes[0]["keep_out"] = computes[2]["keep_out"] = 1
        program.expected = program.expected[1:2]
        program.run(backend)
        assert backend.machine.kept is not None and np.any(backend.machine.kept)
