# SPDX-License-Identifier: Apache-2.0
"""One instruction with the memory that it reads and writes, and places in the buffers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradcore.compiler.limits import QUANTITIES, CompileError
from gradcore.compiler.memory_map import Tile
from gradcore.compiler.tuples import Access, Count, Span
from gradcore.isa.instruction import ENGINE, ENGINES, FIELDS, FP, GATE_BUFFER, WU, Instruction, Opcode, instruction
from gradcore.network.weighted_layer import LayerParameters


@dataclass
class Op:
    """An instruction and its accesses: (space, start, end). Spaces: buf0, buf1, gate (vectors), wgt, grad (rows),
    dram0..dram3 (bytes).

    beats: what it moves in DRAM; late_reads are finished when the results are written, reads when the operands have
    been read.
    """

    instr: Instruction
    layer: str
    text: str
    cycles: int
    beats: int = 0
    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)
    late_reads: list[Access] = field(default_factory=list)

    @property
    def engine(self) -> int:
        return ENGINE[self.instr.opcode]

    def queue(self, apart: bool) -> int:
        """The number of its engine; with `apart` VECTORs have one of their own, as long as their places between the
        STOREs are open."""
        return len(ENGINES) if apart and self.instr.opcode == Opcode.VECTOR else self.engine


@dataclass(frozen=True)
class Place:
    """An image group in an operand buffer or (buffer 2) in the gate buffer: the address of its block (0, 0), channel 0,
    the strides of `tile`, and what an access touches."""

    buffer: int
    base: int
    tile: Tile
    ranges: tuple[Access, ...]


def space(buffer: int) -> str:
    """Name of a buffer in ranges."""
    return "gate" if buffer == GATE_BUFFER else f"buf{buffer}"


@dataclass(frozen=True)
class Rows:
    """Rows of a layer in the weight or gradient buffer: first row, first bias row, end."""

    base: int
    bias_base: int
    end: int

    def __bool__(self) -> bool:
        return self.end > self.base


@dataclass(frozen=True)
class Part:
    """A part of the weights of a layer: rows and columns of the kernel (first, number), channels (first, end).

    In FP and BP it is a part of a reduction: channels of what is summed; `first`, `last`: whether it begins or ends it;
    `step`: from one of its rows and columns to the next, where BP has a stride.
    In WU channels are input maps; the gradients lie by output group, tap, input map."""

    rows: Count
    columns: Count
    channels: Span
    first: bool = True
    last: bool = True
    step: tuple[int, int] = (1, 1)

    @property
    def taps(self) -> int:
        return self.rows[1] * self.columns[1]

    @property
    def count(self) -> int:
        """Rows of one output group."""
        return self.taps * (self.channels[1] - self.channels[0])

    @property
    def starts(self) -> bool:
        """Has it the first tap of the first channel?"""
        return self.rows[0] == self.columns[0] == self.channels[0] == 0

    def places(self) -> list[tuple[int, int]]:
        """Taps as (row, column) of the kernel."""
        rows, columns = ([k + i * step for i in range(n)] for (k, n), step in zip((self.rows, self.columns), self.step))
        return [(y, x) for y in rows for x in columns]


def row_part(p: LayerParameters, rows: Count) -> Part:
    """The weights of some rows (first, number) of the kernel of a layer."""
    return Part(rows, (0, p.weight_shape[3]), (0, p.weight_shape[1]))


def part_row(p: LayerParameters, part: Part) -> int:
    """The first row of such a part in an output group."""
    return part.rows[0] * p.weight_shape[3] * p.weight_shape[1]


def make(opcode: Opcode, layer: str, **fields: int) -> Instruction:
    """An instruction. Raises CompileError where a number is too large for it."""
    try:
        return instruction(opcode, **fields)
    except ValueError:
        name, high = next(
            (name, FIELDS[opcode][name].range[1])
            for name, value in fields.items()
            if not FIELDS[opcode][name].range[0] <= int(value) <= FIELDS[opcode][name].range[1]
        )
        raise CompileError(layer, QUANTITIES.get(name, "a number of an instruction"), fields[name], high) from None


def compute_cycles(instr: Instruction | Mapping[str, int], cols: int) -> tuple[int, int]:
    """(cycles, array steps) of a COMPUTE: the sum over its passes of max(steps, drained columns)."""
    blocks, taps = instr["n_by"] * instr["n_bx"], instr["n_ky"] * instr["n_kx"]
    if instr["mode"] == WU:
        each = blocks * cols
        total = instr["n_rg"] * taps * instr["n_g"]
        # A pass has at least COLS steps, so only the one with the sum column can be padded.
        return total * each + instr["n_rg"] * instr["bias"] * (each == cols), total * each
    steps = taps * instr["n_c"] + (instr["bias"] if instr["mode"] == FP else 0)
    columns = [cols] * (instr["n_g"] - 1) + [1 if instr["keep_out"] else instr["n_last"]]
    return blocks * sum(max(steps, n) for n in columns), blocks * steps * instr["n_g"]
