# SPDX-License-Identifier: Apache-2.0
"""Valid programs with some bits, fields, instructions, tokens or windows changed."""

from gradcore.isa import instruction as isa
from gradcore.isa.instruction import Opcode
from tb.support.fuzz.case import LENGTHS, PAGE, SIZE, Case

PLACES = ("addr", "stride1", "stride2", "base_sel", "momentum_addr", "base", "tag", "addr_b", "addr_out")


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
    case.exact &= how == 10 or not any(word[0] & 15 == Opcode.VECTOR for word in case.words)
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
