# SPDX-License-Identifier: Apache-2.0
"""Programs of random words, some of them near to instructions."""

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Instruction, Opcode
from tb.support.fuzz.case import LENGTHS, SIZE, Case, parsed, word_bytes
from tb.support.fuzz.valid import random_windows, replace_field


def garbage_word(rng) -> bytes:
    """Random bits; mostly an opcode that exists and no bits without a name, often with small numbers."""
    if rng.random() < 0.1:
        return rng.randbytes(isa.BYTES)
    opcode = rng.choice([*Opcode, Opcode.LOAD, Opcode.STORE, Opcode.VECTOR])
    instr, small = Instruction(opcode), rng.random() < 0.9
    for name, place in isa.FIELDS[opcode].items():
        low, high = place.range
        if name == "opcode":
            continue
        if name in ("wait", "signal", "signal_read"):
            value = rng.choice([0, 0, 0, 1 << rng.randrange(place.bits)])
        elif name.startswith("addr") or name == "momentum_addr":
            value = 64 * rng.randrange(SIZE // 64) if small else rng.randint(low, high)
        elif name in ("stride1", "stride2") or (opcode == Opcode.VECTOR and name.startswith(("stride", "advance"))):
            value = 64 * rng.randrange(8) if small else rng.randint(low, high)
        elif name in ("mode", "loss", "buffer") or "fold" in name:
            value = rng.choice([0, 0, 1, 1, 2, rng.randint(low, high)])
        elif name == "factor":
            value = rng.choice([0, 0, 0, rng.randint(low, high)])
        elif name in ("keep_in", "keep_out", "derive", "packed", "softmax"):
            value = rng.choice([0, 0, 1])
        elif name in LENGTHS or name.startswith(("n_", "step_", "first_", "phase_")):
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
        ) * (isa.READINGS if instr.fields.get("softmax") else 1)
        instr["n_words"] = min(words, (1 << 32) - 1) if rng.random() < 0.8 else instr["n_words"]
        instr["run_beats"] = rng.randint(1, 64)
    return isa.encode(instr)


def agree(instr):
    """Choices that do not go together made to do so."""
    if instr.opcode == Opcode.COMPUTE:
        if instr["keep_in"] or instr["keep_out"]:
            instr["mode"] = min(instr["mode"], isa.BP)
            for name in ("n_g", "n_by", "n_bx"):
                instr[name] = 1
        if instr["factor"]:
            instr["loss"], instr["pool"] = 0, instr["pool"] & (instr["factor"] != isa.FACTOR_GATE)
    elif instr.opcode == Opcode.VECTOR:
        kind = instr["operation"]
        instr["transpose"] = int(kind == isa.CHOOSE or (kind == isa.SUM and instr["transpose"]))
        instr["shift"] %= 48
        instr["keep_threshold"] *= kind == isa.SUM
        for name in "yx":
            if kind >= isa.TABLE:
                instr["n_k" + name] = instr["step_" + name] = 1
            elif instr["transpose"]:
                instr["phase_" + name] %= max(1, instr["step_" + name])
        for name in ("height", "width"):
            instr[name] = max(1, instr[name] & 32767)
        if kind == isa.ADD:
            instr["shift_a"], instr["shift_b"] = instr["shift_a"] & 15, instr["shift_b"] & 15
    elif instr.opcode in (Opcode.LOAD, Opcode.STORE):
        if instr["buffer"] != isa.GATE_BUFFER:
            instr["packed"] = 0
        elif instr.opcode == Opcode.STORE:
            instr["packed"] = 1
        if instr.opcode == Opcode.LOAD and (instr["derive"] or instr["softmax"]):
            instr["buffer"], instr["packed"], instr["upsample"], instr["scale"] = instr["buffer"] & 1, 0, 0, 0
        if instr.opcode == Opcode.LOAD and instr["softmax"]:
            instr["derive"], instr["n_b"], instr["n_y"], instr["n_x"] = 0, 1, 1, 1
            instr["n_valid"], instr["classes"] = max(1, instr["n_valid"]), min(max(1, instr["classes"]), instr["n_c"])


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
