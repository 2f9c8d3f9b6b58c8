# SPDX-License-Identifier: Apache-2.0
"""The list of the core `vector`."""

import random

import numpy as np

from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import to_bytes
from gradcore.isa.instruction import LOAD_TABLE, encode
from gradcore.machine.machine import Machine
from gradcore.machine.vector import Vector
from tb.support import vectors

from .lists import List


def vector():
    """A VECTOR of each operation, the table first; the bench's memory holds a pattern."""
    found = List(dict(instruction=656), dict(addr=33, data=64))
    at = np.arange(1 << 16, dtype=np.uint16)
    beats = np.stack([~at, at ^ 0xC61E, at, at ^ 0x35A7], 1)
    image = np.where((at >> 9 & 1)[:, None], beats & 0x8383, beats).reshape(-1).view(np.uint8)
    machine = Machine(EngineConfig(4, 4, 8, 8), image, "program")
    machine.table[:], machine.seed = 0, 0x9D2C5680
    for operation in (LOAD_TABLE, *range(LOAD_TABLE)) * 4:
        drawn = vectors.random_vector(
            random, machine.config, 700, operation, 300
        )  # taps: the player does not wait long
        out = 8 * random.randrange(1 << 12)
        vectors.place(drawn, *(8 * random.randrange(1 << 12) for _ in range(2)), out)
        found.send(instruction=int.from_bytes(encode(drawn.instr)[:82], "little"))
        work = Vector(machine, drawn.instr)
        values = work.gather()
        if operation == LOAD_TABLE:
            work.drain(values)
            continue
        n_y, n_x, behind = (drawn.instr[name] for name in ("n_y", "n_x", "index_behind"))
        beats = to_bytes(values, 1).reshape(len(values), n_y * n_x, -1, 8)
        for pixel in range(n_y * n_x):  # of one part each, or one to a row
            for k, result in enumerate(beats[:, pixel]):
                for n, beat in enumerate(result):
                    at = out + k * behind + 8 * (pixel * len(result) + n)
                    found.expect(addr=at, data=int.from_bytes(beat.tobytes(), "little"))
    found.wait()
    return found
