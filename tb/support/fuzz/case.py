# SPDX-License-Identifier: Apache-2.0
"""A case of the fuzzer: memory, program, windows and BASE registers; its instructions read field by field."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ENGINE, Instruction, Opcode
from gradcore.isa.rules import problem
from gradcore.ops.optimiser import RATE_ONE
from tb.support.engines import BARE, NARROW, SMALL

ENGINES = {
    "small": SMALL,
    "narrow": NARROW,
    "bare": BARE,
    "default": EngineConfig(),
}
SIZE, PAGE = 1 << 18, 4096
NETWORKS = 100  # of a seed
LONG = 100_000  # cycles above which a program is stopped
PREFETCH = 160  # beats read ahead, at most
MALFORMED, DEADLOCK, STOPPED, READ, WRITE = 3, 4, 6, 7, 8
READS, WRITES = (Opcode.LOAD, Opcode.LOADW, Opcode.UPDATE), (Opcode.STORE, Opcode.UPDATE)
ADDRESS = (1 << 48) - 1
LENGTHS = ("n_words", "run_beats", "n1", "n2", "n_b", "n_y", "n_x", "n_c", "n_outer", "n_inner")


@dataclass
class Case:
    kind: str
    image: np.ndarray  # the DRAM before
    program: int  # address
    words: list  # instructions as bytes, as many as PROG_LENGTH says
    bases: tuple
    windows: list  # (first address, end, rights)
    seed: int = 0
    rate: int = RATE_ONE  # of the learning rates
    serial: bool = False  # one instruction after the other
    exact: bool = True  # the model's result is the only one
    notes: list = field(default_factory=list)
    network: int = 0  # of a network's training program its number, else 0

    @property
    def rights(self) -> np.ndarray:
        pages = np.zeros(SIZE // PAGE, np.uint8)
        for first, end, rights in self.windows:
            pages[first // PAGE : end // PAGE] |= rights
        return pages

    def allows(self, address: int, right: int) -> bool:
        return address < SIZE and bool(self.rights[address // PAGE] & right)


@lru_cache(1 << 16)
def parsed(word: bytes, config: EngineConfig):
    """(instruction or None, error code of the instruction or 0)."""
    if word[0] & 15 > Opcode.VECTOR:
        return None, 1
    try:
        instr = isa.decode(word)
    except ValueError:
        return None, MALFORMED
    return instr, MALFORMED if problem(instr, config) else 0


def word_bytes(instr, config: EngineConfig) -> int:
    """Bytes of a word of a transfer in DRAM."""
    if "n_inner" in instr.fields:
        return config.row_bytes
    return config.gate_bytes if instr["packed"] else config.vector_bytes


def pages_of(start: int, instr, beat: int):
    """(beats before, page) of every piece of a transfer that lies in one page, in order."""
    done = 0
    for k2 in range(instr.fields.get("n2", 1)):
        for k1 in range(instr.fields.get("n1", 1)):
            at, left = (
                start + k2 * instr.fields.get("stride2", 0) + k1 * instr.fields.get("stride1", 0),
                instr["run_beats"],
            )
            while left:
                at &= ADDRESS
                part = min(left, (PAGE - at % PAGE) // beat)
                yield done, at // PAGE, at, part
                at, left, done = at + part * beat, left - part, done + part


def serial(instructions) -> list:
    """The same instructions one after the other: each waits for the one before."""
    result = [
        Instruction(
            instr.opcode,
            {name: value for name, value in instr.fields.items() if name not in ("wait", "signal", "signal_read")},
        )
        for instr in instructions
    ]
    for before, after in zip(result, result[1:]):
        if after.opcode != Opcode.END:
            before["signal"] = 1 << ENGINE[after.opcode]
            after["wait"] = 1 << (0, 1, 3, 4, 5)[ENGINE[before.opcode]]
    return result


@lru_cache(NETWORKS)
def serial_words(words: tuple) -> list:
    return [isa.encode(instr) for instr in serial([isa.decode(word) for word in words])]
