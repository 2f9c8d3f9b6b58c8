# SPDX-License-Identifier: Apache-2.0
"""VECTORs of the fuzzer: programs of them, and what the memory sees of one."""

from collections.abc import Iterator

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from tb.support.fuzz.case import ADDRESS, PAGE, SIZE, Case, serial
from tb.support.vectors import PAIRS, place, random_vector, taps

MOST_TAPS = 100_000  # more of them do not end before the program is stopped
ROOM = 1 << 14


def vectors_case(config: EngineConfig, rng) -> Case:
    """Some VECTORs, the table first where one is used, each with sources of noise or of what another one has made."""
    beat, at, instructions, made = config.mem_bytes, PAGE, [], []
    noise = np.random.default_rng(rng.getrandbits(32))
    kinds = [rng.randrange(8) for _ in range(rng.randint(1, 4))]
    if {isa.TABLE, isa.SLOPE} & set(kinds) and rng.random() < 0.8:
        kinds.insert(0, isa.LOAD_TABLE)

    def room(size: int) -> int:
        nonlocal at
        start, at = at, at + -(-size // beat) * beat
        return start

    for kind in kinds:
        drawn = random_vector(rng, config, ROOM, kind, MOST_TAPS)
        old = [start for start, size in made if size >= drawn.sources]
        a, b = (rng.choice(old) if old and rng.random() < 0.5 else room(drawn.sources) for _ in range(2))
        out = room(drawn.results)
        place(drawn, a, b, out)
        made.append((out, drawn.results))
        instructions.append(drawn.instr)
    shift, end = PAGE * rng.randrange(8), -(-at // PAGE) * PAGE
    bases = [shift, shift, shift, beat * rng.getrandbits(40)]
    for instr in instructions:
        instr["tag"] = rng.randrange(1 << 11)
        for name in ("base_sel", "base_sel_b", "base_sel_out"):
            instr[name] = rng.randrange(3)
    image = noise.integers(0, 256, SIZE, np.uint8)
    code = shift + end
    return Case(
        "valid",
        image,
        code,
        [isa.encode(instr) for instr in serial([*instructions, isa.instruction(Opcode.END)])],
        tuple(bases),
        [(shift + PAGE, code, reg.READ | reg.WRITE), (code, code + 2 * PAGE, reg.READ)],
        rng.getrandbits(32),
        True,
    )


def _axis(instr, name: str) -> Iterator[int]:
    """Bytes behind `addr` of the taps of an axis that lie in the map."""
    size = instr["height" if name == "y" else "width"]
    taps, step, first, stride, advance, phase = (
        instr[key + name] for key in ("n_k", "step_", "first_", "stride_", "advance_", "phase_")
    )
    for at in range(instr["n_" + name]):
        windows, tap = divmod(phase + at, step) if instr["transpose"] else (0, 0)
        for j, k in enumerate(range(tap, taps, step if instr["transpose"] else 1)):
            row = first + (windows - j if instr["transpose"] else at * step + k)
            if 0 <= row < size:
                yield windows * advance - j * stride if instr["transpose"] else at * advance + k * stride


def reads(instr, bases) -> set[int]:
    """Addresses of the pixels that are read."""
    sources = [(instr["base_sel"], instr["addr"])]
    if instr["operation"] in PAIRS:
        sources.append((instr["base_sel_b"], instr["addr_b"]))
    places = {0}
    if instr["operation"] != isa.LOAD_TABLE:
        rows, columns = sorted(set(_axis(instr, "y"))), sorted(set(_axis(instr, "x")))
        places = {row + column for row in rows for column in columns}
    return {(bases[select] + addr + at) & ADDRESS for select, addr in sources for at in places}


def pages(start: int, size: int, end: int) -> Iterator[tuple[int, int]]:
    """(address, bytes) of contiguous bytes page by page, in order; those from page `end` on to the last one at once."""
    while size > 0:
        start &= ADDRESS
        part = min(size, PAGE - start % PAGE if start < end * PAGE else ADDRESS + 1 - start)
        yield start, part
        start, size = start + part, size - part


def effect(instr, case: Case, config: EngineConfig, rights) -> tuple[set, int, list]:
    """(rights that it lacks, cycles at most, spans that it may write) of a VECTOR."""
    beat = config.mem_bytes
    size, looked = instr["n_beats"] * beat, taps(instr)

    def lacks(address: int, right: int) -> bool:
        page = address // PAGE
        return not (page < len(rights) and rights[page] & right)

    lacking, spans = set(), []
    loads = instr["operation"] == isa.LOAD_TABLE
    long = looked > MOST_TAPS
    if not long:
        pixels = reads(instr, case.bases)
        if any(lacks(at, reg.READ) for start in pixels for at, _ in pages(start, size, len(rights))):
            lacking.add(reg.READ)
    start = case.bases[instr["base_sel_out"]] + instr["addr_out"]
    results = () if loads else (0, instr["index_behind"]) if instr["index_behind"] else (0,)
    for behind in results:
        for at, part in pages(start + behind, instr["n_y"] * instr["n_x"] * size, len(rights)):
            if lacks(at, reg.WRITE):  # what lies behind it may come before
                lacking.add(reg.WRITE)
            else:
                spans.append((at, at + part))
    passes = looked * (2 if instr["operation"] in PAIRS else 1)
    beats = (0 if loads else instr["n_y"] * instr["n_x"] * instr["n_beats"]) + passes * min(64, instr["n_beats"])
    beats += instr["n_beats"] * loads * beat
    return (
        lacking | ({reg.READ, reg.WRITE} if long else set()),
        1000 + 12 * looked + 200 * min(passes, 4000) + 24 * beats,
        spans,
    )
