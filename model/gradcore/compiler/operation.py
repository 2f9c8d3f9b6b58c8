# SPDX-License-Identifier: Apache-2.0
"""One instruction with the memory that it reads and writes, and places in the buffers."""

from dataclasses import dataclass, field

from gradcore.compiler.limits import QUANTITIES, CompileError
from gradcore.compiler.memory_map import Tile
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import ENGINE, FIELDS, FP, GATE_BUFFER, WU, Instruction, instruction


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
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    late_reads: list = field(default_factory=list)

    @property
    def engine(self) -> int:
        return ENGINE[self.instr.opcode]


@dataclass(frozen=True)
class Place:
    """An image group in an operand buffer or (buffer 2) in the gate buffer: the address of its block (0, 0), channel 0,
    the strides of `tile`, and what an access touches."""

    buffer: int
    base: int
    tile: Tile
    ranges: tuple


def space(buffer: int) -> str:
    """Name of a buffer in ranges."""
    return "gate" if buffer == GATE_BUFFER else f"buf{buffer}"


@dataclass(frozen=True)
class Rows:
    """Rows of a layer in the weight or gradient buffer: those of the weights, those of the bias (none if it ends where
    it begins)."""

    base: int
    end: int
    bias_base: int = 0
    bias_end: int = 0

    def ranges(self, name: str) -> list:
        """What they touch of space `name`."""
        pairs = ((self.base, self.end), (self.bias_base, self.bias_end))
        return [(name, first, end) for first, end in pairs if first < end]


@dataclass(frozen=True)
class Part:
    """A part of a reduction: rows and columns of the kernel (first, number), channels (first, end) of what is summed,
    whether it begins or ends the reduction. Its rows of weights lie by tap, then channel (BP: output group, map)."""

    rows: tuple
    columns: tuple
    channels: tuple
    first: bool
    last: bool

    @property
    def taps(self) -> int:
        return self.rows[1] * self.columns[1]

    def fields(self, width: int, cols: int) -> dict:
        """Strides of the weights: in FP (`cols` negative) those of a tap's channels, in BP of its output groups of
        `width` maps."""
        count = self.channels[1] - self.channels[0]
        tap, group = (count, width) if cols < 0 else (ceil_div(count, cols) * width, width)
        return dict(n_c=count, wgt_stride_ky=self.columns[1] * tap, wgt_stride_kx=tap, wgt_stride_cg=group)


def make(opcode, layer: str, **fields) -> Instruction:
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


def compute_cycles(instr: Instruction, cols: int) -> tuple:
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
