# SPDX-License-Identifier: Apache-2.0
"""Programs that the engine must complete: compiled, random transfers, made by hand."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.host.device import Device
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.machine.backend import MachineBackend
from gradcore.network.layer_table import ideal_macs
from tb.model.compiler.networks import random_network
from tb.support import handmade
from tb.support.fuzz.case import ADDRESS, NETWORKS, PAGE, SIZE, Case, parsed, serial, serial_words
from tb.support.fuzz.windows import vectors_case

MOST_CYCLES = 1000  # of a compiled program, by the estimate


def random_windows(rng, needs) -> list:
    """Windows that give each (first, end, rights) what it needs: one over all, which leaves the next program what this
    one has on chip, or one each, some larger, in random order, with others that overlap them."""
    if needs and rng.random() < 0.7:
        return [(0, SIZE, reg.READ | reg.WRITE)]
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


@lru_cache(NETWORKS)
def network_case(config: EngineConfig, seed: int) -> Case:
    """The training program of a tiny network with its memory, somewhere in the DRAM."""
    rng = np.random.default_rng(seed)
    while True:
        network = random_network(rng, config.data_width, most_images=2, largest=4)
        if ideal_macs(network) * network.minibatch >= MOST_CYCLES * config.lanes * config.cols:
            continue
        try:
            cycles = compile_network(network, config).train.cycles
        except CompileError:
            continue
        if cycles >= MOST_CYCLES:
            continue
        device = Device(MachineBackend(config, 16 * SIZE), network, config, seed, origin=PAGE * int(rng.integers(16)))
        if device._free <= SIZE:
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
                        shift_v=rng.randrange(32),
                        shift_d=rng.randrange(16),
                        shift_w=rng.randrange(32),
                        lr_m=0,
                        beta_m=rng.randrange(1 << 15),
                        decay_m=rng.choice([0, rng.randrange(1 << 15)]),
                        rate_m=rng.choice([0, rng.randrange(1 << 15)]),
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


def _drawn(config: EngineConfig, seed: int, rng, networks: int) -> Case:
    kind = rng.random()
    if kind < 0.3:
        return transfers_case(config, rng)
    if kind < 0.45:
        return handmade_case(config, rng)
    if kind < 0.6 and config.has_vector:
        return vectors_case(config, rng)
    return network_case(config, 1000 * seed + rng.randrange(networks))


def valid(config: EngineConfig, seed: int, rng, networks: int) -> Case:
    """A program that completes; `networks`: of how many the training programs are. Of an engine without some parts one
    that needs none of them."""
    case = _drawn(config, seed, rng, networks)
    while any(parsed(word, config)[1] for word in case.words):
        case = _drawn(config, seed, rng, networks)
    needs, words = case.windows, case.words
    alone = case.serial or rng.random() < 0.5
    words = list(serial_words(tuple(words)) if alone and not case.serial else words)
    image = case.image.copy()
    for k, word in enumerate(words):
        image[case.program + k * isa.BYTES :][: isa.BYTES] = np.frombuffer(word, np.uint8)
    return replace(case, image=image, words=words, windows=random_windows(rng, needs), serial=alone, notes=[])
