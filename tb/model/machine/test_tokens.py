# SPDX-License-Identifier: Apache-2.0
"""Token counters of the machine model against what the RTL answers (tb/system/test_locks.py)."""

import numpy as np

from gradcore.isa import registers as reg
from gradcore.isa.instruction import ENGINE, Instruction, Opcode, assemble, instruction
from gradcore.machine.backend import TOKENS, MachineBackend
from tb.support.engines import SMALL


def test_one_token_too_many_has_its_code():
    """4095 tokens and takes are fine; the next token ends the program, ERROR says how far it was given out."""
    few = dict(run_beats=2, n1=1, n2=1, n_words=1, n_b=1, n_y=1, n_x=1, n_c=1)
    give = instruction(Opcode.LOAD, signal=1 << ENGINE[Opcode.STORE], **few)
    take = instruction(Opcode.STORE, wait=1, addr=1024, **few, height=1, width=1, n_valid=1)
    for tokens, status in ((4095, reg.DONE), (4096, reg.FAILED)):
        # The model refuses a good program that leaves tokens; in the bad one nobody takes any.
        program = assemble([give] * tokens + [take] * tokens * (status == reg.DONE) + [Instruction(Opcode.END)])
        backend = MachineBackend(SMALL, 1 << 21, "random")
        backend.mem_write(1 << 12, np.frombuffer(program, np.uint8))
        backend.write32(reg.PROG_BASE, 1 << 12)
        backend.write32(reg.CTRL, reg.START)
        assert backend.read32(reg.STATUS) == status
        code, given = backend.read32(reg.ERROR) & 0xFF, backend.read32(reg.ERROR) >> 8
        assert (code, given >= tokens) == ((TOKENS, True) if status == reg.FAILED else (0, False))
