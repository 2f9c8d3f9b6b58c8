# SPDX-License-Identifier: Apache-2.0
"""A program that grows instruction by instruction, with its memory and what must be in it afterwards."""

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.fold import ceil_div, to_bytes
from gradcore.isa.instruction import Opcode

SIZE = 1 << 20


class Program:
    """Instructions and the DRAM they work on. Neighbours with the same `tag` have no tokens between them, with tag 0
    only those of one engine; elsewhere all that follows waits."""

    def __init__(self, config):
        self.config, self.image, self.at = config, np.zeros(SIZE, np.uint8), 0
        self.instructions, self.expected = [], []  # expected: (address, bytes)
        self.seed = 0  # of the random numbers

    def room(self, size: int) -> int:
        """Address of so many bytes, whole beats."""
        start, self.at = self.at, self.at + -(-size // 64) * 64
        assert self.at <= SIZE
        return start

    def place(self, data) -> int:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        start = self.room(len(data))
        self.image[start : start + len(data)] = data
        return start

    def words(self, values) -> int:
        return self.place(to_bytes(values, self.config.word_bytes))

    def add(self, opcode, **fields):
        self.instructions.append(isa.instruction(opcode, **fields))

    def transfer(self, addr: int, n: tuple, fold: int, packed: bool = False) -> dict:
        """Fields of LOAD and STORE for n = (groups, block rows, block columns, channels) vectors side by side."""
        words = int(np.prod(n))
        size = self.config.gate_bytes if packed else self.config.vector_bytes
        return dict(
            zip(("n_b", "n_y", "n_x", "n_c"), n),
            addr=addr,
            run_beats=ceil_div(words * size, self.config.mem_bytes),
            n1=1,
            n2=1,
            n_words=words,
            packed=int(packed),
            fold=fold,
            stride_x=n[3],
            stride_y=n[3] * n[2],
            stride_b=n[3] * n[2] * n[1],
        )

    def rows(self, rows, base: int, n_inner: int):
        """LOADW of (rows, COLS) words."""
        self.add(
            Opcode.LOADW,
            addr=self.words(rows),
            run_beats=ceil_div(len(rows) * self.config.row_bytes, self.config.mem_bytes),
            n1=1,
            n2=1,
            n_words=len(rows),
            n_outer=len(rows) // n_inner,
            n_inner=n_inner,
            base=base,
        )

    def ordered(self) -> list:
        """The instructions with their tokens, and END."""
        result = [isa.Instruction(instr.opcode, dict(instr.fields)) for instr in self.instructions]
        groups = [result[:1]]
        for before, after in zip(result, result[1:]):
            if before["tag"] == after["tag"] and (before.opcode == after.opcode or before["tag"]):
                groups[-1].append(after)
            else:
                groups.append([after])
        for before, after in zip(groups, groups[1:]):
            givers = {instr.opcode: instr for instr in before}.values()
            takers = {instr.opcode: instr for instr in reversed(after)}.values()
            for giver in givers:
                for taker in takers:
                    giver["signal"] |= 1 << isa.ENGINE[taker.opcode]
                    taker["wait"] |= 1 << (0, 1, 3, 4, 5)[isa.ENGINE[giver.opcode]]
        return [*result, isa.instruction(Opcode.END)]

    def run(self, backend):
        """Run it on a back end and compare the DRAM."""
        words = isa.assemble(self.ordered())
        start = -(-self.at // 4096) * 4096
        backend.mem_write(0, self.image)
        backend.mem_write(start, words)
        values = reg.window(0, 0, SIZE, reg.READ | reg.WRITE) | {
            reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED,
            reg.PROG_BASE: start,
            reg.SEED: self.seed,
            reg.PROG_LENGTH: len(words) // isa.BYTES,
        }
        for offset, value in values.items():
            backend.write32(offset, value)
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.write32(reg.CTRL, reg.START)
        assert backend.wait_irq() and backend.read32(reg.STATUS) == reg.DONE, hex(backend.read32(reg.ERROR))
        for number, (address, wanted) in enumerate(self.expected):
            found = backend.mem_read(address, len(wanted))
            assert (found == wanted).all(), f"result {number}: {int((found != wanted).sum())} bytes differ"
