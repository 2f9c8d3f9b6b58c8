# SPDX-License-Identifier: Apache-2.0
"""Instruction encoding: the only place in Python that knows where a field is. The document is doc/instructions.md."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

HALF_WORDS = 64
BYTES = 2 * HALF_WORDS


class Opcode(IntEnum):
    END = 0
    LOAD = 1
    LOADW = 2
    COMPUTE = 3
    STORE = 4
    UPDATE = 5
    VECTOR = 6


ENGINES = ("load", "wload", "compute", "store", "update")  # in the order of the bits of `signal` and of the counters
ENGINE = {Opcode.LOAD: 0, Opcode.LOADW: 1, Opcode.COMPUTE: 2, Opcode.STORE: 3, Opcode.UPDATE: 4, Opcode.VECTOR: 3}
PRODUCERS = ("load", "wload", "compute_read", "compute_written", "store", "update")  # bits of `wait`
FP, BP, WU = 0, 1, 2
GATE_BUFFER = 2
# Operations of VECTOR.
MAXIMUM, INDEX, SUM, CHOOSE, TABLE, SLOPE, ADD, LOAD_TABLE = range(8)
FACTOR_SIGN, FACTOR_KEEP, FACTOR_GATE = 1, 2, 3  # what chooses the factor of a result


@dataclass(frozen=True)
class Field:
    """`bits` bits from bit `low` of half-word `half` on; more than 16 go on in the next half-words."""

    half: int
    low: int = 0
    bits: int = 16
    signed: bool = False

    @property
    def first(self) -> int:
        return 16 * self.half + self.low

    @property
    def range(self) -> tuple[int, int]:
        """(smallest, largest) value."""
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if self.signed else (0, (1 << self.bits) - 1)


def _halves(first: int, *names: str) -> dict[str, Field]:
    return {name: Field(first + i) for i, name in enumerate(names)}


_ALL = {"opcode": Field(0, 0, 4), "wait": Field(0, 4, 6), "signal": Field(0, 10, 5), "tag": Field(1, 5, 11)}
_DRAM = {
    "base_sel": Field(2, 8, 2),
    "addr": Field(3, 0, 48),
    "run_beats": Field(6, 0, 32),
    "n1": Field(8),
    "stride1": Field(9, 0, 32),
    "n2": Field(11),
    "stride2": Field(12, 0, 32),
    "n_words": Field(25, 0, 32),
}
_BUFFER = {
    "buffer": Field(2, 0, 2),
    "upsample": Field(2, 2, 1),
    "scale": Field(2, 3, 1),
    "fold": Field(2, 4, 2),
    "pool_bit": Field(2, 6, 2),
    "derive": Field(2, 11, 1),
    "packed": Field(2, 12, 1),
    **_halves(14, "n_b", "n_y", "n_x", "n_c", "base", "stride_b", "stride_y", "stride_x", "stride_qy", "stride_qx"),
    "gate_base": Field(27, 0, 20),
    "rot_y": Field(29, 0, 3),
    "rot_x": Field(29, 3, 3),
}
_SOFTMAX = {
    "softmax": Field(2, 13, 1),
    "n_valid": Field(24, 0, 7),
    "u_shift": Field(30, 0, 6),
    "loss_shift": Field(30, 6, 5),
    "classes": Field(31),
}
READINGS = 3  # of the vectors of a LOAD with softmax
SHIFT_AT_0 = 8  # u_shift of outputs without a fraction
_ROWS = _halves(14, "n_outer", "n_inner")

FIELDS: dict[Opcode, dict[str, Field]] = {
    Opcode.END: _ALL,
    Opcode.LOAD: {**_ALL, **_DRAM, **_BUFFER, **_SOFTMAX},
    Opcode.STORE: {**_ALL, **_DRAM, **_BUFFER},
    Opcode.LOADW: {**_ALL, **_DRAM, **_ROWS, "base": Field(18)},
    Opcode.COMPUTE: {
        **_ALL,
        "signal_read": Field(1, 0, 5),
        "mode": Field(2, 0, 2),
        "row_buf": Field(2, 2, 1),
        "dst_buf": Field(2, 3, 1),
        "bias": Field(2, 4, 1),
        "relu": Field(2, 5, 1),
        "pool": Field(2, 6, 1),
        "gate_write": Field(2, 7, 1),
        "scale": Field(2, 8, 1),
        "loss": Field(2, 9, 2),
        "grad_first": Field(2, 11, 1),
        "rounding": Field(2, 12, 2),
        "split": Field(2, 14, 1),
        "fold": Field(3, 0, 2),
        "row_fold": Field(3, 2, 2),
        "col_fold": Field(3, 4, 2),
        "dst_fold": Field(3, 6, 2),
        "gate_fold": Field(3, 8, 2),
        "shift": Field(3, 10, 6),
        "row_rot_x": Field(4, 0, 3),
        "row_rot_y": Field(4, 3, 3),
        "col_rot_x": Field(4, 6, 3),
        "col_rot_y": Field(4, 9, 3),
        "keep_in": Field(4, 12, 1),
        "keep_out": Field(4, 13, 1),
        "dst_rot_x": Field(5, 0, 3),
        "dst_rot_y": Field(5, 3, 3),
        "gate_rot_x": Field(5, 6, 3),
        "gate_rot_y": Field(5, 9, 3),
        **_halves(6, "row_base", "row_stride_y", "row_stride_x", "row_height", "row_width"),
        **_halves(11, "col_base", "col_stride_y", "col_stride_x", "col_height", "col_width"),
        **_halves(16, "dst_base", "dst_stride_y", "dst_stride_x", "dst_height", "dst_width"),
        "map0": Field(21),
        **_halves(22, "gate_stride_y", "gate_stride_x"),
        **_halves(24, "n_g", "n_rg", "n_by", "n_bx", "n_ky", "n_kx", "n_c", "n_last"),
        "disp_y0": Field(32, 0, 8, True),
        "disp_x0": Field(32, 8, 8, True),
        **_halves(33, "wgt_base", "wgt_stride_g", "wgt_stride_ky", "wgt_stride_kx", "wgt_stride_cg", "bias_base"),
        "bias_exp": Field(39, 0, 4),
        "factor": Field(39, 4, 2),
        "factor_shift": Field(39, 6, 5),
        "loss_shift": Field(39, 11, 5),
        **_halves(
            40,
            "grad_base",
            "grad_stride_rg",
            "grad_stride_ky",
            "grad_stride_kx",
            "grad_bias_base",
            "row_channels",
            "col_channels",
        ),
        "t_pos": Field(47, 0, 16, True),
        "t_neg": Field(48, 0, 16, True),
        "in_bx0": Field(49, 0, 12),
        **_halves(50, "n_valid", "rnd_tag", "n_base", "height", "width"),
        "gate_base": Field(55, 0, 20),
        "in_by0": Field(56, 4, 12),
        "by0": Field(57, 0, 12),
        "skip_y": Field(57, 12, 4),
        "bx0": Field(58, 0, 12),
        "skip_x": Field(58, 12, 4),
        **_halves(59, "factor_0", "factor_1", "keep_threshold", "factor_tag", "keep_tag"),
    },
    Opcode.UPDATE: {
        **_ALL,
        **_ROWS,
        "momentum": Field(2, 0, 1),
        "rounding": Field(2, 1, 2),
        "resident": Field(2, 3, 1),
        "base_sel": Field(2, 8, 2),
        "addr": Field(3, 0, 48),
        "run_beats": Field(6, 0, 32),
        "momentum_addr": Field(8, 0, 48),
        **_halves(11, "wgt_base", "wgt_inner"),
        "base": Field(18),
        "shift_g": Field(19, 0, 6),
        "shift_v": Field(19, 6, 5),
        "shift_w": Field(19, 11, 5),
        "lr_m": Field(20, 0, 15),
        "beta_m": Field(21, 0, 15),
        "rnd_tag": Field(22),
        "key": Field(23, 0, 32),
        "n_words": Field(25, 0, 32),
        "map0": Field(27),
        "decay_m": Field(28, 0, 15),
        "rate_m": Field(29, 0, 15),
        "shift_d": Field(30, 0, 4),
    },
    Opcode.VECTOR: {
        **_ALL,
        "operation": Field(2, 0, 3),
        "transpose": Field(2, 3, 1),
        "relu": Field(2, 4, 1),
        "rounding": Field(2, 5, 2),
        "gradient": Field(2, 7, 1),
        "base_sel": Field(2, 8, 2),
        "base_sel_b": Field(2, 10, 2),
        "base_sel_out": Field(2, 12, 2),
        "addr": Field(3, 0, 48),
        "addr_b": Field(6, 0, 48),
        "addr_out": Field(9, 0, 48),
        "stride_y": Field(12, 0, 32),
        "stride_x": Field(14, 0, 32),
        "advance_y": Field(16, 0, 32),
        "advance_x": Field(18, 0, 32),
        **_halves(20, "n_beats", "n_y", "n_x"),
        "n_ky": Field(23, 0, 8),
        "n_kx": Field(23, 8, 8),
        "step_y": Field(24, 0, 8),
        "step_x": Field(24, 8, 8),
        "first_y": Field(25, 0, 16, True),
        "first_x": Field(26, 0, 16, True),
        "phase_y": Field(27, 0, 8),
        "phase_x": Field(27, 8, 8),
        **_halves(28, "height", "width", "multiplier"),
        "shift": Field(31, 0, 6),
        "shift_a": Field(31, 6, 5, True),
        "shift_b": Field(31, 11, 5, True),
        "index_behind": Field(32, 0, 32),
        **_halves(36, "rnd_tag", "n_base"),
        "fold": Field(38, 0, 2),
        **_halves(39, "keep_threshold", "keep_tag"),
    },
}
# STORE has no up-sampling: the positions stay free.
for _name in ("upsample", "scale", "pool_bit", "derive", "stride_qy", "stride_qx"):
    FIELDS[Opcode.STORE] = {name: place for name, place in FIELDS[Opcode.STORE].items() if name != _name}
FIELDS[Opcode.STORE] |= {
    "urgent": Field(2, 10, 1),
    "height": Field(22, 0, 12),
    "width": Field(23, 0, 12),
    "n_valid": Field(24, 0, 7),
}


# First bit, mask, sign bit or 0, smallest and largest value of the fields of an opcode; all of their bits.
_OPCODES = {int(opcode): opcode for opcode in Opcode}
_PLACES = {
    opcode: {name: (f.first, (1 << f.bits) - 1, f.signed << (f.bits - 1), *f.range) for name, f in fields.items()}
    for opcode, fields in FIELDS.items()
}
_NAMED = {opcode: sum(mask << first for first, mask, *_ in places.values()) for opcode, places in _PLACES.items()}


@dataclass
class Instruction:
    """One instruction: fields by name (those left out are zero). Reading an attribute reads the field."""

    opcode: Opcode
    fields: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.opcode = Opcode(self.opcode)
        if not self.fields.keys() <= FIELDS[self.opcode].keys():
            for name in self.fields:
                self._known(name)

    def _known(self, name: str) -> None:
        if name not in FIELDS[self.opcode]:
            raise ValueError(f"{self.opcode.name} has no field {name}")

    def __getitem__(self, name: str) -> int:
        if name in self.fields:
            return self.fields[name]
        self._known(name)
        return 0

    def __setitem__(self, name: str, value: int) -> None:
        self._known(name)
        self.fields[name] = value

    def check(self) -> None:
        """Raise ValueError, naming the field, when a value does not fit."""
        places = _PLACES[self.opcode]
        for name, value in self.fields.items():
            *_, low, high = places[name]
            if not low <= value <= high:
                raise ValueError(f"{self.opcode.name} field {name} is {value}, not {low}..{high}")


def instruction(opcode: Opcode, **fields: int) -> Instruction:
    """Instruction with `fields`; raises ValueError for an unknown field or a value out of range."""
    result = Instruction(opcode, {name: int(value) for name, value in fields.items()})
    result.check()
    return result


def encode(instr: Instruction) -> bytes:
    """128 bytes of an instruction; raises ValueError, naming the field, for a value out of range."""
    instr.check()
    word, places = int(instr.opcode), _PLACES[instr.opcode]
    for name, value in instr.fields.items():
        first, mask, *_ = places[name]
        word |= (int(value) & mask) << first
    return word.to_bytes(BYTES, "little")


def decode(data: bytes | np.ndarray) -> Instruction:
    """Instruction from its 128 bytes, with every field of its opcode; raises ValueError for a free opcode or a set
    unnamed bit."""
    data = bytes(data)
    if len(data) != BYTES:
        raise ValueError(f"an instruction has {BYTES} bytes, not {len(data)}")
    word = int.from_bytes(data, "little")
    if word & 15 not in _OPCODES:
        raise ValueError(f"opcode {word & 15} is free")
    opcode = _OPCODES[word & 15]
    if rest := word & ~_NAMED[opcode]:
        raise ValueError(f"{opcode.name} has unnamed bits set: {rest:#x}")
    fields = {}
    for name, (first, mask, sign, *_) in _PLACES[opcode].items():
        value = word >> first & mask
        fields[name] = value - 2 * (value & sign)
    del fields["opcode"]
    return Instruction(opcode, fields)


def assemble(instructions: Iterable[Instruction]) -> np.ndarray:
    """Program as bytes (uint8)."""
    return np.frombuffer(b"".join(encode(instr) for instr in instructions), np.uint8).copy()


def disassemble(data: bytes | np.ndarray) -> list[Instruction]:
    """Instructions of a program given as bytes."""
    data = bytes(data)
    return [decode(data[at : at + BYTES]) for at in range(0, len(data), BYTES)]
