# SPDX-License-Identifier: Apache-2.0
"""Programs of VECTORs, with LOADs and STOREs between them, on the compiled engine: the machine model, byte for byte."""

import random

import numpy as np
import pytest

from gradcore.isa.instruction import LOAD_TABLE, Opcode, assemble
from gradcore.machine.machine import Machine
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.support.fuzz import ENGINES
from tb.support.program import SIZE, Program
from tb.support.vectors import place, random_vector

ROOM = 1 << 15


def vectors(config, rng, count: int) -> Program:
    """A table, then VECTORs of all operations; each may read what another one has made. Every third result goes through
    a buffer."""
    program, made = Program(config), []
    noise = np.random.default_rng(rng.getrandbits(32))
    for k in range(count):
        drawn = random_vector(rng, config, ROOM, LOAD_TABLE if k == 0 else None)
        while k == 0 and drawn.instr["n_beats"] * config.mem_bytes < 2050:  # all of its points
            drawn = random_vector(rng, config, ROOM, LOAD_TABLE)
        old = [start for start, size in made if size >= drawn.sources]
        a, b = (
            rng.choice(old)
            if old and rng.random() < 0.5
            else program.place(noise.integers(0, 256, max(drawn.sources, 1), np.uint8))
            for _ in range(2)
        )
        out = program.room(max(drawn.results, 1))
        place(drawn, a, b, out)
        program.instructions.append(drawn.instr)
        made.append((out, drawn.results))
        n = min(drawn.results // config.vector_bytes, config.act_depth)
        if k % 3 == 2 and n:
            shape = dict(height=16, width=16, n_valid=config.lanes)
            program.add(Opcode.LOAD, **program.transfer(out, (1, 1, 1, n), 0))
            program.add(
                Opcode.STORE, **program.transfer(program.room(n * config.vector_bytes), (1, 1, 1, n), 0), **shape
            )
    return program


@pytest.mark.parametrize("name", ["small", "narrow"])
def test_vectors_equal_the_machine_model(name):
    config, rng = ENGINES[name], random.Random(1)
    memory = Memory(2 * SIZE, latency=rng.randint(1, 60), stall=0.2, seed=1)
    with SimBackend(build_engine(config)[0], memory) as backend:
        for _ in range(12):
            program = vectors(config, rng, 9)
            image = np.zeros(2 * SIZE, np.uint8)
            image[:SIZE] = program.image
            words = assemble(program.ordered())
            image[SIZE : SIZE + len(words)] = words
            program.seed = rng.getrandbits(32)
            Machine(config, image).run(SIZE, seed=program.seed)
            program.expected = [(0, image[: program.at])]
            program.run(backend)
