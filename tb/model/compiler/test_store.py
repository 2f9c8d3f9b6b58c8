# SPDX-License-Identifier: Apache-2.0
"""STORE of a map on the instruction-level model: all its elements and nothing else, in every fold. The RTL is compared
with the model by tb/system/test_fuzz.py."""

import numpy as np
import pytest

from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import MapLayout
from gradcore.isa.instruction import Opcode, instruction
from gradcore.isa.rules import problem
from gradcore.machine.machine import Machine

PROGRAM = 0x40000


@pytest.mark.parametrize("word_bytes, beat", [(1, 64), (2, 16), (2, 64)])
@pytest.mark.parametrize("grid", [4, 8])
def test_store_writes_the_map_and_zeros(grid, word_bytes, beat):
    rng = np.random.default_rng(grid + word_bytes + beat)
    config = EngineConfig(grid=grid, cols=grid, data_width=8 * word_bytes, mem_bytes=beat, act_depth=1024)
    for fold in [fold for fold in range(grid.bit_length()) for _ in range(12)]:
        images, channels, height, width = (
            int(rng.integers(1, most + 1)) for most in (2 * (grid >> fold) ** 2, 4, 3 << fold, 2 << fold)
        )
        layout = MapLayout(grid, fold, images, channels, height, width, word_bytes, beat)
        # All groups by one instruction where they lie without a gap, else each by its own.
        together = layout.groups if layout.group_vectors * config.vector_bytes == layout.group_bytes else 1
        program = []
        for group in range(0, layout.groups, together):
            size, left = together * layout.group_bytes, layout.images - (group + together - 1) * layout.group_images
            program.append(
                instruction(
                    Opcode.STORE,
                    addr=group * layout.group_bytes,
                    run_beats=size // beat,
                    n1=1,
                    n2=1,
                    n_words=together * layout.group_vectors,
                    fold=fold,
                    n_b=together,
                    n_y=layout.rows,
                    n_x=layout.columns,
                    n_c=channels,
                    base=int(rng.integers(1 << 16)),
                    stride_b=layout.group_vectors,
                    stride_y=layout.columns * channels,
                    stride_x=channels,
                    height=height,
                    width=width,
                    n_valid=min(left, layout.group_images),
                )
            )
        dram = np.full(1 << 19, 0xA5, np.uint8)
        code = isa.assemble([*program, instruction(Opcode.END)])
        dram[PROGRAM : PROGRAM + len(code)] = code
        machine = Machine(config, dram)
        machine.buffers[0].words |= 1  # none is zero
        assert not any(problem(instr, config) for instr in program)
        machine.run(PROGRAM)
        found = dram[: layout.size]
        assert layout.unpack(found).all(), layout
        assert (layout.pack(layout.unpack(found)) == found).all(), layout
        assert (dram[layout.size : PROGRAM] == 0xA5).all()
