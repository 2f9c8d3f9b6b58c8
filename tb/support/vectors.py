# SPDX-License-Identifier: Apache-2.0
"""Random VECTORs that the engine takes, over memory that holds their sources."""

from dataclasses import dataclass

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import (
    ADD,
    CHOOSE,
    INDEX,
    LOAD_TABLE,
    MAXIMUM,
    SLOPE,
    SUM,
    TABLE,
    Instruction,
    Opcode,
    instruction,
)
from gradcore.isa.rules import problem

OPERATIONS = MAXIMUM, INDEX, SUM, CHOOSE, TABLE, SLOPE, ADD, LOAD_TABLE
PAIRS = CHOOSE, SLOPE, ADD


@dataclass
class Drawn:
    """A VECTOR with its addresses from 0 on: `sources` bytes from `addr`'s map on, `results` behind them."""

    instr: Instruction
    sources: int  # bytes of a source's map
    results: int  # bytes of the result, with that of the indices


def _axis(rng, name: str, transpose: int, large: bool) -> dict[str, int]:
    taps = rng.choice([1, 2, 3, rng.randint(1, 6), rng.randint(7, 128) if large else 2])
    size = rng.randint(1, 3 if taps > 6 else 7)
    step = rng.choice([1, 2, taps, rng.randint(1, 6), rng.randint(1, 128) if large else 1])
    count = rng.randint(1, 4 if taps > 6 else 6)
    return {
        f"n_k{name}": taps,
        f"step_{name}": step,
        f"first_{name}": rng.randint(-taps, size),
        f"phase_{name}": rng.randrange(step) if transpose else rng.choice([0, 0, 7]),
        f"n_{name}": count,
        {"y": "height", "x": "width"}[name]: size,
    }


def taps(instr: Instruction) -> int:
    """Taps that a VECTOR looks at, about; those outside the map take time, too."""
    if instr["operation"] == LOAD_TABLE:
        return 1
    count = -(-instr["n_beats"] // 64)
    for name in "yx":
        found = instr["n_k" + name]
        count *= instr["n_" + name] * (-(-found // instr["step_" + name]) if instr["transpose"] else found)
    return count


def random_vector(rng, config: EngineConfig, room: int, operation: int | None = None, most: int = 1 << 60) -> Drawn:
    """A VECTOR whose map and result each take `room` bytes at most and that looks at `most` taps at most; `rng` is a
    random.Random."""
    beat = config.mem_bytes
    while True:
        kind = rng.choice(OPERATIONS) if operation is None else operation
        fields = dict(operation=kind, rounding=rng.randrange(4), relu=rng.randrange(2), multiplier=rng.getrandbits(16))
        fields |= dict(shift=rng.choice([0, rng.randrange(16), rng.randrange(48)]), shift_a=rng.randrange(16))
        fields |= dict(shift_b=rng.randrange(16), gradient=rng.randrange(2))
        fields |= dict(rnd_tag=rng.getrandbits(16), n_base=rng.getrandbits(16), fold=rng.randint(0, config.log_grid))
        if kind in (TABLE, SLOPE):
            fields["shift_a"] = rng.choice([rng.randint(-16, 15), 16 - config.data_width])
            fields["shift"] = rng.choice([0, rng.randrange(16), 15])
        if kind == SUM and rng.random() < 0.7:  # few saturate
            fields |= dict(multiplier=rng.randrange(1, 1 << rng.randint(1, 15)), shift=rng.randint(8, 20))
        fields["keep_tag"] = rng.choice([fields["rnd_tag"], rng.getrandbits(16)])
        if kind == SUM and rng.random() < 0.6:
            fields["keep_threshold"] = rng.choice([1, round(0.9 * 65536), 65535, rng.getrandbits(16)])
        beats = rng.choice([1, 2, rng.randint(1, 9), rng.randint(1, 200), 64, 65])
        if kind == LOAD_TABLE:
            beats = rng.choice([rng.randint(1, 4), -(-2050 // beat), -(-2050 // beat) + rng.randint(0, 4)])
        if kind >= TABLE:
            window = {key + name: 1 for name in "yx" for key in ("n_k", "step_")}
            fields |= window | dict(height=rng.randint(1, 4), width=rng.randint(1, 4))
            fields |= dict(n_y=rng.randint(1, 5), n_x=rng.randint(1, 5))
            fields |= dict(first_y=rng.randint(-1, 1), first_x=rng.randint(-1, 1))
            if kind == LOAD_TABLE:
                fields |= dict(first_y=0, first_x=0)
        else:
            transpose = {SUM: rng.randrange(2), CHOOSE: 1}.get(kind, 0)
            large = rng.random() < 0.1
            fields["transpose"] = transpose
            fields |= _axis(rng, "y", transpose, large) | _axis(rng, "x", transpose, large)
        column = beat * (beats + rng.choice([0, 0, 1, 5]))
        row = fields["width"] * column + beat * rng.choice([0, 0, 3])
        sources, results = fields["height"] * row, fields["n_y"] * fields["n_x"] * beats * beat
        if kind == LOAD_TABLE:
            sources, results = max(sources, beats * beat), 0
        if kind == MAXIMUM and rng.random() < 0.7:
            fields["index_behind"] = results + beat * rng.choice([0, 0, 1, 7])
            results += fields["index_behind"]
        if max(sources, results) > room:
            continue
        fields |= dict(n_beats=beats, stride_y=row, stride_x=column)
        back = fields.get("transpose", 0)
        fields |= dict(
            advance_y=row if back else row * fields["step_y"], advance_x=column if back else column * fields["step_x"]
        )
        instr = instruction(Opcode.VECTOR, **fields)
        if taps(instr) > most:
            continue
        assert not problem(instr, config), problem(instr, config)
        return Drawn(instr, sources, results)


def place(drawn: Drawn, a: int, b: int, out: int) -> None:
    """Its maps at the addresses `a` and `b`, its result at `out`."""
    instr = drawn.instr
    corner = instr["first_y"] * instr["stride_y"] + instr["first_x"] * instr["stride_x"]
    instr["addr"], instr["addr_b"] = (a + corner) % (1 << 48), (b + corner) % (1 << 48)
    instr["addr_out"] = out
