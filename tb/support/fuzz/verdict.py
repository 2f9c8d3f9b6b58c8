# SPDX-License-Identifier: Apache-2.0
"""What a program must end as, from the documents and not from the RTL."""

from dataclasses import dataclass, field

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ENGINE, Opcode
from tb.support.fuzz.case import (
    DEADLOCK,
    MALFORMED,
    PAGE,
    PREFETCH,
    READ,
    READS,
    WRITE,
    WRITES,
    Case,
    pages_of,
    parsed,
    word_bytes,
)
from tb.support.fuzz.windows import effect


@dataclass
class Fate:
    """What an instruction does once it starts: errors that may end it (none: it completes), cycles at most, beats it
    may write."""

    codes: set
    cycles: int
    spans: list = field(default_factory=list)
    rests: list = field(default_factory=list)  # behind the last word of the last beat that is written: anything


def fate(instr, case: Case, config: EngineConfig, rights) -> Fate:
    f = instr.fields
    if instr.opcode == Opcode.COMPUTE:
        wu = f["mode"] == isa.WU
        steps = f["n_by"] * f["n_bx"] * config.cols if wu else f["n_ky"] * f["n_kx"] * f["n_c"] + 1
        passes = f["n_rg"] * f["n_ky"] * f["n_kx"] * f["n_g"] if wu else f["n_g"] * f["n_by"] * f["n_bx"]
        return Fate(set(), 200 + passes * (max(steps, config.cols + 1) + 2))
    if instr.opcode == Opcode.VECTOR:
        lacking, cycles, spans = effect(instr, case, config, rights)
        return Fate({{reg.READ: READ, reg.WRITE: WRITE}[right] for right in lacking}, cycles, spans)
    beat, words = config.mem_bytes, f["n_words"]
    loops = f["n_outer"] * f["n_inner"] if "n_inner" in f else f["n_b"] * f["n_y"] * f["n_x"] * f["n_c"]
    loops *= isa.READINGS if f.get("softmax") else 1
    size = word_bytes(instr, config)
    beats = f["run_beats"] * f.get("n1", 1) * f.get("n2", 1)
    agree = words == loops and beats == -(-words * size // beat)
    addresses = [f["addr"], f["momentum_addr"]] if instr.opcode == Opcode.UPDATE and f["momentum"] else [f["addr"]]
    codes, spans, rests = set() if agree else {MALFORMED}, [], []
    needed = -(-min(words, loops) * size // beat)  # beats until the lengths are seen to differ, at most
    for number, address in enumerate(addresses):
        end = 0
        held = number == 0 and f.get("resident", 0)  # comes from the weight buffer
        stop = {READ: instr.opcode not in READS or bool(held), WRITE: instr.opcode not in WRITES}
        for count, (before, page, at, part) in enumerate(pages_of(case.bases[f["base_sel"]] + address, instr, beat)):
            allowed = rights[page] if page < len(rights) else 0
            for code, right in ((READ, reg.READ), (WRITE, reg.WRITE)):
                if not stop[code] and not allowed & right:
                    stop[code] = True
                    if agree or before < needed + PREFETCH:
                        codes.add(code)
                    if code == READ and instr.opcode != Opcode.UPDATE and before < min(needed, beats):
                        codes.discard(MALFORMED)  # the words never come
            if not stop[WRITE]:
                spans.append((at, end := at + part * beat))
            if all(stop.values()) or count > 3000 or (not agree and before > needed + PREFETCH):
                break
        rests.append((end - -words * size % beat, end))
    moved = min(beats, needed + PREFETCH) * len(addresses)
    return Fate(
        codes,
        600
        + 24 * moved
        + 16 * min(words, loops) * (4 if f.get("upsample") else 1)
        + (100 * config.lanes + 80 * min(words, loops)) * f.get("softmax", 0)
        + 140 * min(moved, 8 + f.get("n1", 1) * f.get("n2", 1) + moved // 8),
        spans,
        rests,
    )


@dataclass
class Verdict:
    errors: set  # (code, index or None for any) that may end it; empty: it completes
    cycles: int  # at most
    spans: list  # bytes that it may write
    rests: list  # those of them that hold anything
    own: bool = False  # it may write over itself: every error is allowed


def verdict(case: Case, config: EngineConfig) -> Verdict:
    rights, length = case.rights, len(case.words)
    items = [parsed(word, config) for word in case.words]
    scrub = max(
        config.act_depth, config.wgt_depth, config.grad_depth, config.gate_depth, 512
    )  # it may come before the program
    errors, cycles, spans, rests = set(), 2000 + scrub, [], []
    tokens = np.zeros((6, 5), int)
    queues, stuck, at, ended = [[] for _ in range(5)], [False] * 5, 0, False
    # Program fetch: the first instruction that touches a page without the right.
    lost = length
    for page in range(case.program // PAGE, -(-(case.program + length * isa.BYTES) // PAGE) if length else 0):
        if not (page < len(rights) and rights[page] & reg.READ):
            lost = max(0, page * PAGE - case.program) // isa.BYTES
            break
    while True:
        moved = False
        while at < lost and not ended:
            instr, code = items[at]
            if code:
                errors.add((code, at))
                ended = True
            elif instr.opcode == Opcode.END:
                ended = True
            elif len(queues[ENGINE[instr.opcode]]) < 4:
                queues[ENGINE[instr.opcode]].append(at)
                at, moved = at + 1, True
            else:
                break
        for engine, queue in enumerate(queues):
            while queue and not stuck[engine]:
                instr = items[queue[0]][0]
                wait = [p for p in range(6) if instr["wait"] >> p & 1]
                if any(not tokens[p, engine] for p in wait):
                    break
                moved = True
                index = queue.pop(0)
                for p in wait:
                    tokens[p, engine] -= 1
                what = fate(instr, case, config, rights)
                cycles, spans, rests = cycles + what.cycles, spans + what.spans, rests + what.rests
                if what.codes:
                    errors |= {(code, index) for code in what.codes}
                    stuck[engine] = True
                    continue
                for signal, producer in (("signal", (0, 1, 3, 4, 5)[engine]), ("signal_read", 2)):
                    for consumer in range(5):
                        tokens[producer, consumer] += instr.fields.get(signal, 0) >> consumer & 1
        if not moved:
            break
    waiting = [queue[0] for queue in queues if queue]
    if lost < length and (
        ended or lost <= at + PREFETCH * config.mem_bytes // isa.BYTES + 2
    ):  # behind END everything is read
        errors |= {(READ, index) for index in range(min(at, lost) + 1)}
    elif at == length and not ended:
        errors.add((2, length))
    if waiting and not any(stuck):
        errors.add((DEADLOCK, waiting[0]))
    own = any(first < case.program + length * isa.BYTES and end > case.program for first, end in spans)
    return Verdict(errors, cycles + 30 * length * isa.BYTES // config.mem_bytes, spans, rests, own)
