# SPDX-License-Identifier: Apache-2.0
"""Random programs for the compiled engine and what must become of them.

A case (memory, program, windows, BASE registers) follows from the engine, the seed and its number alone. Three kinds:
*valid* (compiled training programs of tiny networks, random transfers, programs of tb.support.handmade; every defined
byte of the DRAM is known from the instruction-level model), *mutated* (some bits, fields, instructions, tokens, windows
of a valid one changed), *garbage*. One of eight of them meets a fault (fuzz_faults). `verdict` says from the documents,
not from the RTL, whether a program completes or which (error, instruction) may end it. `Fuzzer.run` runs one case and
compares.
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from gradcore.host.device import Device
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ENGINE, Instruction, Opcode
from gradcore.machine.backend import MachineBackend
from gradcore.machine.machine import Machine
from gradcore.sim.backend import Memory, MemoryRuleBroken, SimBackend
from gradcore.sim.build import build_engine
from gradcore.sim.sources import ROOT
from tb.model.compiler.networks import fitting_network
from tb.support import fuzz_faults, handmade
from tb.support.fuzz_faults import Wrong

ENGINES = {
    "small": EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512),
    "narrow": EngineConfig(
        grid=4, cols=8, data_width=11, mem_bytes=64, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512
    ),
    "default": EngineConfig(),
}
SIZE, PAGE = 1 << 18, 4096
NETWORKS, LONG, PREFETCH = (
    100,
    100_000,
    160,
)  # networks of a seed; cycles above which a program is stopped; beats read ahead, at most
MALFORMED, DEADLOCK, STOPPED, READ, WRITE = 3, 4, 6, 7, 8
READS, WRITES = (Opcode.LOAD, Opcode.LOADW, Opcode.UPDATE), (Opcode.STORE, Opcode.UPDATE)
ADDRESS = (1 << 48) - 1


@dataclass
class Case:
    kind: str
    image: np.ndarray  # the DRAM before
    program: int  # address
    words: list  # instructions as bytes, as many as PROG_LENGTH says
    bases: tuple
    windows: list  # (first address, end, rights)
    seed: int = 0
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


# ---- The oracle


@lru_cache(1 << 16)
def parsed(word: bytes, config: EngineConfig):
    """(instruction or None, error code of the instruction or 0)."""
    if word[0] & 15 > Opcode.UPDATE:
        return None, 1
    try:
        instr = isa.decode(word)
    except ValueError:
        return None, MALFORMED
    return instr, MALFORMED if isa.problem(instr, config) else 0


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
    beat, words = config.mem_bytes, f["n_words"]
    loops = f["n_outer"] * f["n_inner"] if "n_inner" in f else f["n_b"] * f["n_y"] * f["n_x"] * f["n_c"]
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
        config.act_depth, config.wgt_depth, config.grad_depth, config.gate_depth
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


# ---- Cases


def random_windows(rng, needs) -> list:
    """Windows that give each (first, end, rights) what it needs: one each, some larger, in random order, with others
    that overlap them."""
    windows = []
    for first, end, rights in needs:
        windows.append(
            (max(0, first - PAGE * rng.choice([0, 0, 1])), min(SIZE, end + PAGE * rng.choice([0, 0, 1])), rights)
        )
    while len(windows) < 4 and rng.random() < 0.6:
        first = PAGE * rng.randrange(SIZE // PAGE)
        windows.append((first, min(SIZE, first + PAGE * rng.randrange(4)), rng.randrange(4)))
    rng.shuffle(windows)
    return windows


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


@lru_cache(NETWORKS)
def network_case(config: EngineConfig, seed: int) -> Case:
    """The training program of a tiny network with its memory, somewhere in the DRAM."""
    rng = np.random.default_rng(seed)
    while True:
        network = fitting_network(rng, config, most_images=2, largest=4)
        device = Device(MachineBackend(config, 2 * SIZE), network, config, seed, origin=PAGE * int(rng.integers(16)))
        if device._free <= SIZE and device.compiled.train.cycles < 1000:
            break
    compiled, limit = device.compiled, 1 << config.data_width - 3
    x = rng.integers(-limit, limit, (network.minibatch, *network.shape))
    device.backend.mem_write(device._images, compiled.pack_images(x))
    device.backend.mem_write(
        device._targets, compiled.pack_targets(rng.integers(0, network.classes, network.minibatch))
    )
    address, program = device._programs[compiled.images, "train"]
    split = device._base + device._room
    return Case(
        "valid",
        device.backend.dram[:SIZE].copy(),
        address,
        [isa.encode(instr) for instr in program.instructions],
        (device._base, device._images, device._targets, 0),
        [(device._base, split, reg.READ | reg.WRITE), (split, device._free, reg.READ)],
        seed,
        network=seed,
    )


def transfers_case(config: EngineConfig, rng) -> Case:
    """LOAD, LOADW, STORE and UPDATE with random loops, strides and folds. Each has its own region of the DRAM; UPDATE
    with a rate of zero, whose result no gradient changes."""
    beat, instructions, at = config.mem_bytes, [], PAGE
    noise = np.random.default_rng(rng.getrandbits(32))
    image = noise.integers(0, 256, SIZE, np.uint8)
    if config.word_bytes == 2:  # words of the data width
        words = image.view("<i2")
        words[:] = words << (16 - config.data_width) >> (16 - config.data_width)

    def runs(beats: int) -> dict:
        """beats = run_beats * n1 * n2, at a place of its own."""
        nonlocal at
        n1, n2 = rng.choice([(a, b) for a in (1, 2, 3, 4, 6) for b in (1, 2, 3) if beats % (a * b) == 0])
        run = beats // (n1 * n2)
        stride1 = beat * (run + rng.choice([0, 0, 1, 5]))
        stride2 = n1 * stride1 + beat * rng.choice([0, 3])
        start, at = at, -(-(at + n2 * stride2 + beat * run) // beat) * beat
        return dict(
            addr=start,
            run_beats=run,
            n1=n1,
            stride1=stride1 if n1 > 1 else beat * rng.randrange(9),
            n2=n2,
            stride2=stride2,
        )

    def vectors() -> dict:
        n = dict(n_b=rng.randint(1, 2), n_y=rng.randint(1, 3), n_x=rng.randint(1, 3), n_c=rng.randint(1, 5))
        x = n["n_c"] + rng.randrange(2)
        y = n["n_x"] * x + rng.randrange(2)
        return dict(
            n,
            n_words=n["n_b"] * n["n_y"] * n["n_x"] * n["n_c"],
            base=rng.randrange(1 << 16),
            stride_x=x,
            stride_y=y,
            stride_b=n["n_y"] * y,
            fold=rng.randint(0, config.log_grid),
            rot_y=rng.randrange(8),
            rot_x=rng.randrange(8),
        )

    def rows() -> dict:
        outer, inner = rng.randint(1, 4), rng.randint(1, 9)
        return dict(n_outer=outer, n_inner=inner, n_words=outer * inner, base=rng.randrange(1 << 16))

    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(4)
        if kind < 2:
            shape, buffer, how = vectors(), rng.randrange(2), rng.choice(("plain", "plain", "derive", "packed"))
            shape |= dict(gate_base=rng.randrange(1 << 20))
            beats = -(-shape["n_words"] * config.vector_bytes // beat)
            packed_beats = -(-shape["n_words"] * config.gate_bytes // beat)
            kept = dict(height=rng.randint(1, 16), width=rng.randint(1, 16), n_valid=rng.randint(1, config.lanes))
            if rng.random() < 0.3:
                kept |= dict(rot_y=rng.randrange(8), rot_x=rng.randrange(8))
            bits = shape | kept | dict(buffer=isa.GATE_BUFFER, packed=1, urgent=rng.randrange(2))
            if how == "packed":  # targets or bits, then bits
                words = rng.randrange(2)
                place = runs(beats if words else packed_beats)
                load = shape | place | dict(buffer=isa.GATE_BUFFER, packed=1 - words)
                instructions.append(isa.instruction(Opcode.LOAD, **load))
            else:
                derive = int(how == "derive")
                instructions.append(isa.instruction(Opcode.LOAD, buffer=buffer, derive=derive, **shape, **runs(beats)))
                plain = shape | kept | dict(buffer=buffer, urgent=rng.randrange(2))
                instructions.append(isa.instruction(Opcode.STORE, **plain, **runs(beats)))
            if how != "plain":
                instructions.append(isa.instruction(Opcode.STORE, **bits, **runs(packed_beats)))
        else:
            shape = rows()
            place = runs(-(-shape["n_words"] * config.row_bytes // beat))
            if kind == 2:
                instructions.append(isa.instruction(Opcode.LOADW, **shape, **place))
            else:
                beats = place["run_beats"] * place["n1"] * place["n2"]
                start, at = at, at + 2 * beats * beat
                held = (
                    dict(resident=1, wgt_base=rng.randrange(1 << 16), wgt_inner=shape["n_inner"])
                    if rng.randrange(2)
                    else {}
                )
                if held:
                    instructions.append(isa.instruction(Opcode.LOADW, **shape | dict(base=held["wgt_base"]), **place))
                instructions.append(
                    isa.instruction(
                        Opcode.UPDATE,
                        **shape,
                        momentum=rng.randrange(2),
                        rounding=rng.randrange(4),
                        addr=start,
                        momentum_addr=start + beats * beat,
                        run_beats=beats,
                        shift_g=rng.randrange(8),
                        shift_v=rng.randrange(16),
                        shift_w=rng.randrange(8),
                        lr_m=0,
                        beta_m=rng.randrange(1 << 15),
                        rnd_tag=rng.randrange(1 << 16),
                        key=rng.getrandbits(16),
                        map0=rng.randrange(1 << 16),
                        **held,
                    )
                )
    for instr in instructions:
        instr["tag"] = rng.randrange(1 << 11)
    program = -(-at // PAGE) * PAGE
    select = rng.randrange(4)
    ordered = [replace_field(instr, "base_sel", select) for instr in serial(instructions)]
    shift = PAGE * rng.randrange(8)
    image = np.roll(image, shift)
    bases = [beat * rng.getrandbits(40) for _ in range(4)]
    bases[select] = shift
    if rng.random() < 0.3:  # the sum wraps
        offset = beat * rng.getrandbits(30)
        ordered = [move(instr, offset) for instr in ordered]
        bases[select] = (shift - offset) & ADDRESS
    words = [isa.encode(instr) for instr in (*ordered, isa.instruction(Opcode.END))]
    return Case(
        "valid",
        image,
        program + shift,
        words,
        tuple(bases),
        [
            (PAGE + shift, program + shift, reg.READ | reg.WRITE),
            (program + shift, program + shift + 2 * PAGE, reg.READ),
        ],
        rng.getrandbits(32),
        True,
    )


def handmade_case(config: EngineConfig, rng) -> Case:
    """A program of tb.support.handmade somewhere in the DRAM."""
    noise = np.random.default_rng(rng.getrandbits(32))
    if rng.random() < 0.3:
        program = handmade.gates(config, noise)
    else:
        split = config.split and rng.random() < 0.3
        parts = rng.randint(2, 3 if split else 5)
        program = handmade.reductions(config, noise, parts, split=split, alone=rng.random() < 0.5)
    shift, end = PAGE * rng.randrange(8), -(-program.at // PAGE) * PAGE
    image = noise.integers(0, 256, SIZE, np.uint8)
    image[shift : shift + program.at] = program.image[: program.at]
    words = [isa.encode(instr) for instr in program.ordered()]
    code = shift + end
    return Case(
        "valid",
        image,
        code,
        words,
        (shift, 0, 0, 0),
        [(shift, code, reg.READ | reg.WRITE), (code, code + 2 * PAGE, reg.READ)],
        rng.getrandbits(32),
    )


def replace_field(instr, name: str, value: int):
    if name in isa.FIELDS[instr.opcode]:
        instr[name] = value
    return instr


def move(instr, offset: int):
    for name in ("addr", "momentum_addr"):
        if name in instr.fields:
            instr[name] += offset
    return instr


def valid(config: EngineConfig, seed: int, rng) -> Case:
    kind = rng.random()
    if kind < 0.3:
        case = transfers_case(config, rng)
    elif kind < 0.5:
        case = handmade_case(config, rng)
    else:
        case = network_case(config, 1000 * seed + rng.randrange(NETWORKS))
    needs, words = case.windows, case.words
    alone = case.serial or rng.random() < 0.5
    words = list(serial_words(tuple(words)) if alone and not case.serial else words)
    image = case.image.copy()
    for k, word in enumerate(words):
        image[case.program + k * isa.BYTES :][: isa.BYTES] = np.frombuffer(word, np.uint8)
    return replace(case, image=image, words=words, windows=random_windows(rng, needs), serial=alone, notes=[])


def flip_bits(case, rng, k):
    word = int.from_bytes(case.words[k], "little")
    for _ in range(rng.randint(1, 4)):
        word ^= 1 << rng.randrange(8 * isa.BYTES)
    case.words[k] = word.to_bytes(isa.BYTES, "little")


def set_fields(case, rng, k, names=None) -> list:
    """Some named fields get an edge value, one near the old one, or that of another field; returns which."""
    try:
        instr = isa.decode(case.words[k])
    except ValueError:
        return []
    names = [
        name for name in names or isa.FIELDS[instr.opcode] if name in isa.FIELDS[instr.opcode] and name != "opcode"
    ]
    chosen = rng.sample(names, min(len(names), rng.randint(1, 3)))
    for name in chosen:
        low, high = isa.FIELDS[instr.opcode][name].range
        value = rng.choice(
            [
                0,
                1,
                2,
                high,
                low,
                instr[name] + 1,
                instr[name] - 1,
                2 * instr[name],
                rng.randint(low, high),
                instr[rng.choice(names)],
            ]
        )
        instr[name] = min(high, max(low, value))
        case.notes.append(f"{k} {name}={instr[name]}")
    case.words[k] = isa.encode(instr)
    return chosen


LENGTHS = ("n_words", "run_beats", "n1", "n2", "n_b", "n_y", "n_x", "n_c", "n_outer", "n_inner")
PLACES = ("addr", "stride1", "stride2", "base_sel", "momentum_addr", "base", "tag")


def near_length(case, rng):
    """One length of a transfer a little longer or shorter."""
    transfers = [
        k
        for k, word in enumerate(case.words)
        if word[0] & 15 in (Opcode.LOAD, Opcode.LOADW, Opcode.STORE, Opcode.UPDATE)
    ]
    if transfers:
        k = rng.choice(transfers)
        try:
            instr = isa.decode(case.words[k])
        except ValueError:
            return
        name = rng.choice([name for name in LENGTHS if name in isa.FIELDS[instr.opcode]])
        low, high = isa.FIELDS[instr.opcode][name].range
        instr[name] = min(high, max(1, instr[name] + rng.choice([-2, -1, 1, 2, instr[name], -instr[name] // 2])))
        case.notes.append(f"{k} {name}={instr[name]}")
        case.words[k] = isa.encode(instr)


def mutate(case: Case, rng):
    """One change; inexact where engines may meet that ran one after the other, or where the array may take what nobody
    has written: what comes out of it, a saturated number perhaps, says nothing about that."""
    how, k = rng.randrange(11), rng.randrange(len(case.words))
    computes = any(word[0] & 15 == Opcode.COMPUTE for word in case.words)
    case.exact &= case.serial and how in (2, 3, 4, 10) and (how > 3 or not computes)
    case.network = 0
    case.notes.append(f"{how} at {k}")
    if how == 0:
        flip_bits(case, rng, k)
    elif how == 1:
        set_fields(case, rng, k)
    elif how == 2:
        near_length(case, rng)
    elif how == 3:
        set_fields(case, rng, k, LENGTHS)
    elif how == 4:
        case.exact &= "base" not in set_fields(case, rng, k, PLACES) or not computes
    elif how == 5:
        set_fields(case, rng, k, ("wait", "signal", "signal_read"))
    elif how == 6:
        del case.words[k]
    elif how == 7:
        case.words.insert(rng.randrange(len(case.words) + 1), case.words[k])
    elif how == 8:
        other = rng.randrange(len(case.words))
        case.words[k], case.words[other] = case.words[other], case.words[k]
    elif how == 9 and rng.random() < 0.5:
        del case.words[k:]
    elif how == 9:
        case.words += [rng.randbytes(isa.BYTES) for _ in range(rng.randint(1, 40))]
    elif case.windows:
        n = rng.randrange(len(case.windows))
        first, end, rights = case.windows[n]
        case.windows[n] = rng.choice(
            [
                (first, end, rights & rng.randrange(4)),
                (min(first + PAGE, SIZE), end, rights),
                (first, max(0, end - PAGE), rights),
                (end, first, rights),
            ]
        )


def garbage_word(rng) -> bytes:
    """Random bits; mostly an opcode that exists and no bits without a name, often with small numbers."""
    if rng.random() < 0.1:
        return rng.randbytes(isa.BYTES)
    opcode = rng.choice(
        [Opcode.LOAD, Opcode.LOADW, Opcode.COMPUTE, Opcode.STORE, Opcode.UPDATE, Opcode.LOAD, Opcode.STORE, Opcode.END]
    )
    instr, small = Instruction(opcode), rng.random() < 0.9
    for name, place in isa.FIELDS[opcode].items():
        low, high = place.range
        if name == "opcode":
            continue
        if name in ("wait", "signal", "signal_read"):
            value = rng.choice([0, 0, 0, 1 << rng.randrange(place.bits)])
        elif name in ("addr", "momentum_addr"):
            value = 64 * rng.randrange(SIZE // 64) if small else rng.randint(low, high)
        elif name in ("stride1", "stride2"):
            value = 64 * rng.randrange(8) if small else rng.randint(low, high)
        elif name in ("mode", "loss", "buffer") or "fold" in name:
            value = rng.choice([0, 0, 1, 1, 2, rng.randint(low, high)])
        elif name in ("keep_in", "keep_out", "derive", "packed"):
            value = rng.choice([0, 0, 1])
        elif name in LENGTHS or name.startswith("n_"):
            value = rng.randint(1, 4) if small and rng.random() < 0.97 else rng.randint(low, high)
        else:
            value = rng.randint(low, high)
        instr[name] = min(high, value)
    if small and rng.random() < 0.8:
        agree(instr)
    if small and "n_words" in instr.fields:  # lengths that agree, most of the time
        rows = "n_inner" in instr.fields
        words = (
            instr["n_outer"] * instr["n_inner"] if rows else instr["n_b"] * instr["n_y"] * instr["n_x"] * instr["n_c"]
        )
        instr["n_words"] = min(words, (1 << 32) - 1) if rng.random() < 0.8 else instr["n_words"]
        instr["run_beats"] = rng.randint(1, 64)
    return isa.encode(instr)


def agree(instr):
    """Choices that do not go together made to do so."""
    if instr.opcode == Opcode.COMPUTE and (instr["keep_in"] or instr["keep_out"]):
        instr["mode"] = min(instr["mode"], isa.BP)
        for name in ("n_g", "n_by", "n_bx"):
            instr[name] = 1
    elif instr.opcode in (Opcode.LOAD, Opcode.STORE):
        if instr["buffer"] != isa.GATE_BUFFER:
            instr["packed"] = 0
        elif instr.opcode == Opcode.STORE:
            instr["packed"] = 1
        if instr.opcode == Opcode.LOAD and instr["derive"]:
            instr["buffer"], instr["packed"], instr["upsample"], instr["scale"] = instr["buffer"] & 1, 0, 0, 0


def fit(word: bytes, config: EngineConfig, rng) -> bytes:
    """The run made as long as the words need, where that is possible, three times of four."""
    instr, code = parsed(word, config)
    if code or "n_words" not in instr.fields or rng.random() < 0.25:
        return word
    beats = -(-instr["n_words"] * word_bytes(instr, config) // config.mem_bytes)
    instr = Instruction(instr.opcode, dict(instr.fields))
    instr["run_beats"] = min(beats, (1 << 32) - 1)
    for name in ("n1", "n2"):
        replace_field(instr, name, 1)
    return isa.encode(instr)


def garbage(config: EngineConfig, rng) -> Case:
    words = [fit(garbage_word(rng), config, rng) for _ in range(rng.randint(1, 24))]
    if rng.random() < 0.7:
        words.append(isa.encode(isa.instruction(Opcode.END)))
    image = np.random.default_rng(rng.getrandbits(32)).integers(0, 256, SIZE, np.uint8)
    windows = random_windows(rng, [(0, SIZE, rng.choice([3, 3, 3, 1, 2]))] if rng.random() < 0.8 else [])
    bases = tuple(rng.choice([0, 0, 0, 0, 64 * rng.randrange(SIZE // 64), 64 * rng.getrandbits(42)]) for _ in range(4))
    return Case(
        "garbage",
        image,
        config.mem_bytes * rng.randrange(SIZE // config.mem_bytes),
        words,
        bases,
        windows,
        rng.getrandbits(32),
        exact=False,
    )


def make(config: EngineConfig, seed: int, number: int) -> Case:
    """Every second program is valid, so each of the others is followed by one whose result is known."""
    rng = random.Random(f"{seed}:{number}")
    if number % 2:
        return valid(config, seed, rng)
    if rng.random() < 0.3:
        case = garbage(config, rng)
    else:
        case = replace(valid(config, seed, rng), kind="mutated")
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if case.words:
                mutate(case, rng)
    for k, word in enumerate(case.words):
        part = case.image[case.program + k * isa.BYTES :][: isa.BYTES]
        part[:] = np.frombuffer(word, np.uint8)[: len(part)]
    case.words = [
        case.image[case.program + k * isa.BYTES :][: isa.BYTES].tobytes().ljust(isa.BYTES, b"\0")
        for k in range(len(case.words))
    ]
    return case


# ---- Running


class Fuzzer:
    """A compiled engine that runs cases one after the other, reset only where a fault says so."""

    def __init__(self, engine: str, seed: int, library=None):
        self.engine, self.seed, self.config = engine, seed, ENGINES[engine]
        self.memory = Memory(SIZE, bytes_per_cycle=self.config.mem_bytes)
        self.backend = SimBackend(library or build_engine(self.config)[0], self.memory)
        self.tally, self.known, self.written = Counter(), {}, {}
        self.reset()

    def close(self):
        self.backend.close()

    def reset(self):
        """A hardware reset."""
        self.backend.reset()
        self.written.clear()
        self.backend.write32(reg.IRQ_ENABLE, reg.IRQ_DONE | reg.IRQ_FAILED)

    def set(self, values: dict):
        """Write registers; those that have the value already keep it."""
        for offset, value in values.items():
            if self.written.get(offset) != value:
                self.backend.write32(offset, value)
                self.written[offset] = value

    def expected(self, case: Case):
        """(DRAM after the program, mask of the bytes that do not depend on what was in the buffers before); None where
        the model has no result: an UPDATE on itself, a sum that overflows, a transfer beyond the memory that the
        engine's windows were not asked for."""
        if case.network in self.known:
            return self.known[case.network]
        after = []
        computes = any(word[0] & 15 == Opcode.COMPUTE for word in case.words)
        for garbage in range(3 if computes else 2):  # what is only copied cannot be equal by chance
            dram = case.image.copy()
            machine = Machine(self.config, dram, "program", max(1, garbage))
            if garbage == 1:  # the opposite of 0: no word is the same
                for words in (
                    machine.buffers[0].words,
                    machine.buffers[1].words,
                    machine.gate.words,
                    machine.weights,
                    machine.gradients,
                ):
                    words[:] = ~words
            try:
                machine.run(case.program, [base if base < SIZE else base - (1 << 48) for base in case.bases], case.seed)
            except (AssertionError, IndexError):
                if case.kind == "valid":
                    raise
                return None
            after.append(dram.view(np.uint16))
        result = after[0].view(np.uint8), np.repeat((after[0] == after[1]) & (after[0] == after[-1]), 2)
        if case.network:
            self.known[case.network] = result
        return result

    def run(self, number: int):
        """One case; raises Wrong."""
        case = make(self.config, self.seed, number)
        try:
            self.check(case, f"{self.seed}:{number}:run")
        except (Wrong, MemoryRuleBroken) as error:
            raise Wrong(f"{case.kind} program {number} ({', '.join(case.notes)}): {error}") from error

    def check(self, case: Case, seed, draw=fuzz_faults.draw):
        """Runs a case with random memory timing and with what `draw` has for it (tb/support/fuzz_faults.py)."""
        backend, rng, what = self.backend, random.Random(seed), verdict(case, self.config)
        if case.kind == "valid" and what.errors:
            raise Wrong(f"the oracle refuses a valid program: {sorted(what.errors)}")
        memory = replace(
            self.memory,
            latency=rng.choice([1, 2, 4, 8, 16, 40]),
            stall=rng.choice([0, 0, 0.3]),
            seed=rng.getrandbits(30),
        )
        backend.tune(memory)
        backend.dram[:] = case.image
        backend.allow(case.rights)
        fault = draw(rng, self, case)
        name = fault.name if fault else case.kind
        try:
            ending = self._ended(case, what, rng, fault)
        except Wrong as error:
            raise Wrong(f"{f'with {name}: ' if fault else ''}{error}") from error
        self._unchanged(case, what)
        self.tally[f"{name}: programs"] += 1
        if ending is None:
            self.tally[f"{name}: reset"] += 1
            return
        completes = ending == (0, 0)
        if completes and case.exact and not what.own:
            compared = self._compared(case, what)
            self.tally[f"{name}: compared with the model"] += bool(compared)
            self.tally["bytes compared"] += compared
        self.tally[f"{name}: {'completes' if completes else reg.ERRORS[ending[0]]}"] += 1
        self.tally["cycles"] += backend.read32(reg.COUNTERS)

    def _ended(self, case, what, rng, fault):
        """Runs it; (error code, instruction) of its end as registers tell it, (0, 0) when it completes, None when it
        was reset."""
        backend = self.backend
        values = {offset: 0 for n in range(4) for offset in reg.window(n, 0, 0, 0)}
        for n, window in enumerate(case.windows):
            values |= reg.window(n, *window)
        for offset, value in ((reg.PROG_BASE, case.program), *zip(reg.BASE, case.bases)):
            values |= {offset: value & 0xFFFFFFFF, offset + 4: value >> 32}
        values |= {reg.SEED: case.seed, reg.PROG_LENGTH: len(case.words), reg.WATCHDOG: 0}
        if fault:
            fault.arm(values)
        self.set(values)
        backend.write32(reg.CTRL, reg.START)
        backend.run(2)
        if fault and not fault.act():
            return None
        stopped = what.cycles > LONG or rng.random() < 0.02
        if stopped:
            backend.run(rng.randint(0, 4000))
            backend.write32(reg.CTRL, reg.STOP)
        if not backend.run(20_000 if stopped else 2 * what.cycles + 2000 * bool(fault)):
            raise Wrong(f"no interrupt after {2 * what.cycles} cycles, allowed {sorted(what.errors)}")
        status, error = backend.read32(reg.STATUS), backend.read32(reg.ERROR)
        address = backend.read32(reg.ERROR_ADDR) | backend.read32(reg.ERROR_ADDR + 4) << 32
        ending = error & 0xFF, error >> 8
        if (backend.outstanding and not status & reg.BUS_OPEN) or status & reg.BUSY:
            raise Wrong(f"{backend.outstanding} bursts outstanding at the interrupt, STATUS {status:#x}")
        traffic = backend.traffic
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.run(20)
        if backend.traffic != traffic and not status & reg.BUS_OPEN:
            raise Wrong("traffic after the end")
        anywhere = (fault.errors if fault else frozenset()) | ({STOPPED} if stopped else frozenset())
        if status & reg.DONE and not what.own and (what.errors or status & reg.FAILED or error):
            raise Wrong(
                f"completes, STATUS {status:#x}, ERROR {error:#x}, should fail with one of {sorted(what.errors)}"
            )
        if (
            status & reg.FAILED
            and not what.own
            and ending not in what.errors
            and not (ending[0] in anywhere and ending[1] <= len(case.words))
        ):
            wanted = f"fail with one of {sorted(what.errors)}" if what.errors else "complete"
            raise Wrong(f"fails with {ending} at {address:#x}, should {wanted}")
        if ending[0] in (READ, WRITE) and case.allows(address, {READ: reg.READ, WRITE: reg.WRITE}[ending[0]]):
            raise Wrong(f"error {ending} names {address:#x}, which a window allows")
        if fault:
            fault.settle(status, ending[0], address)
        elif status & reg.BUS_OPEN:
            raise Wrong("BUS_OPEN with a good memory")
        return ending

    def _unchanged(self, case, what):
        """No byte has changed that the program does not write."""
        changed = self.backend.dram != case.image
        for first, end in what.spans:
            changed[first:end] = False
        if changed.any():
            raise Wrong(f"byte {int(np.argmax(changed)):#x} has changed, which no instruction writes")

    def _compared(self, case, what) -> int:
        """Compares what the program has written with the model, where the model knows it; returns the number of
        bytes."""
        expected = self.expected(case)
        if not expected:
            return 0
        defined = np.zeros(SIZE, bool)
        for first, end in what.spans:
            defined[first:end] = True
        for first, end in what.rests:
            defined[first:end] = False
        defined &= expected[1]
        bad = (self.backend.dram != expected[0]) & defined
        if bad.any():
            raise Wrong(f"{int(bad.sum())} bytes differ from the model, first {int(np.argmax(bad)):#x}")
        return int(defined.sum())


def write(config: EngineConfig, engine: str, seed: int, number: int):
    """Leaves a case as a listing in build/fuzz/; returns its path."""
    case = make(config, seed, number)
    path = ROOT / "build" / "fuzz" / f"{engine}-seed{seed}-{number}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    what = verdict(case, config)
    lines = [
        f"{case.kind} {case.notes}",
        f"PROG_BASE {case.program:#x}, BASE {[hex(base) for base in case.bases]}, SEED {case.seed}",
        f"windows {[(hex(first), hex(end), rights) for first, end, rights in case.windows]}",
        f"allowed {sorted(what.errors) or 'complete'}, {what.cycles} cycles",
    ]
    for k, word in enumerate(case.words):
        instr, code = parsed(word, config)
        lines.append(
            f"{k}: {instr.opcode.name} { ({name: value for name, value in instr.fields.items() if value}) }"
            if instr
            else f"{k}: {word.hex()}, error {code}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path.relative_to(ROOT)
