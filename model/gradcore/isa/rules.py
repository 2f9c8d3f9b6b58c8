# SPDX-License-Identifier: Apache-2.0
"""What the engine refuses in an instruction before it starts (doc/instructions.md, "Refused instructions")."""

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import (
    ADD,
    CHOOSE,
    FACTOR_GATE,
    FACTOR_KEEP,
    FP,
    GATE_BUFFER,
    MAXIMUM,
    SUM,
    TABLE,
    WU,
    Instruction,
    Opcode,
)

_WINDOW = ("n_ky", "n_kx", "step_y", "step_x")
_STRIDED = ("n1", "n2", "run_beats", "n_words")
_COUNTS: dict[Opcode, tuple[str, ...]] = {  # fields that must not be zero
    Opcode.END: (),
    Opcode.LOAD: (*_STRIDED, "n_b", "n_y", "n_x", "n_c"),
    Opcode.STORE: (*_STRIDED, "n_b", "n_y", "n_x", "n_c", "height", "width", "n_valid"),
    Opcode.LOADW: (*_STRIDED, "n_outer", "n_inner"),
    Opcode.UPDATE: ("run_beats", "n_words", "n_outer", "n_inner"),
    Opcode.COMPUTE: ("n_g", "n_by", "n_bx", "n_ky", "n_kx", "n_last"),
    Opcode.VECTOR: ("n_beats", "n_y", "n_x", *_WINDOW, "height", "width"),
}
_BEATS = {  # fields that must be multiples of the beat
    Opcode.LOAD: ("addr", "stride1", "stride2"),
    Opcode.STORE: ("addr", "stride1", "stride2"),
    Opcode.LOADW: ("addr", "stride1", "stride2"),
    Opcode.UPDATE: ("addr", "momentum_addr"),
    Opcode.VECTOR: ("addr", "addr_b", "addr_out", "stride_y", "stride_x", "advance_y", "advance_x", "index_behind"),
}
# Fields with a largest value below their width's; those of folds are None: log2 of the grid.
_LIMITS: dict[Opcode, dict[str, int | None]] = {
    Opcode.LOAD: {"fold": None, "buffer": 2},
    Opcode.STORE: {"fold": None},
    Opcode.VECTOR: {**dict.fromkeys(_WINDOW, 128), "height": 32767, "width": 32767, "shift": 47, "fold": None},
    Opcode.COMPUTE: {"mode": WU, "loss": 2, **dict.fromkeys(("fold", "row_fold", "col_fold", "dst_fold", "gate_fold"))},
}


def problem(instr: Instruction, config: EngineConfig) -> str:
    """Why the engine refuses an instruction ("field is value"), or nothing; equal to the RTL's gc_instruction_check.
    `config`: EngineConfig."""
    if instr.opcode == Opcode.VECTOR and not config.has_vector:
        return f"opcode is {instr.opcode:d}"
    zero = [*_COUNTS[instr.opcode]]
    if instr.opcode == Opcode.COMPUTE:
        zero.append("n_rg" if instr["mode"] == WU else "n_c")
    if instr.opcode == Opcode.UPDATE and instr["resident"]:
        zero.append("wgt_inner")
    if instr.opcode == Opcode.LOAD and instr["softmax"]:
        zero += ["n_valid", "classes"]
    bad = [name for name in zero if not instr[name]]
    bad += [
        name
        for name in _BEATS.get(instr.opcode, ())
        if instr[name] % config.mem_bytes and (name != "momentum_addr" or instr["momentum"])
    ]
    limits = {name: config.log_grid if most is None else most for name, most in _LIMITS.get(instr.opcode, {}).items()}
    if instr.opcode == Opcode.COMPUTE:
        limits["n_last"] = config.cols
        limits["split"] = int(config.split and instr["mode"] == FP)
        one_pass = instr["mode"] != WU and all(instr[name] == 1 for name in ("n_g", "n_by", "n_bx"))
        limits |= dict.fromkeys(("keep_in", "keep_out"), int(one_pass))
        if instr["fold"]:
            limits |= dict(skip_y=0, skip_x=0)
        limits["factor"] = (
            0 if instr["loss"] or not config.has_factor else FACTOR_KEEP if instr["pool"] else FACTOR_GATE
        )
    if instr.opcode in (Opcode.LOAD, Opcode.STORE):
        limits["packed"] = int(instr["buffer"] == GATE_BUFFER)
    if instr.opcode == Opcode.STORE:
        limits["buffer"] = GATE_BUFFER if instr["packed"] else 1
    if instr.opcode == Opcode.LOAD:
        changed = instr["buffer"] == GATE_BUFFER or instr["upsample"] or instr["scale"]
        limits["derive"] = int(not changed)
        one_block = all(instr[name] == 1 for name in ("n_b", "n_y", "n_x"))
        limits["softmax"] = int(config.has_softmax and one_block and not changed and not instr["derive"])
        if instr["softmax"]:
            limits["classes"] = instr["n_c"]
    if instr.opcode == Opcode.VECTOR:
        limits |= _vector_limits(instr)
    bad += [name for name, most in limits.items() if instr[name] > most]
    if instr.opcode == Opcode.VECTOR and instr["operation"] == ADD:
        bad += [name for name in ("shift_a", "shift_b") if instr[name] < 0]
    return f"{bad[0]} is {instr[bad[0]]}" if bad else ""


def _vector_limits(instr: Instruction) -> dict[str, int]:
    """Largest values of fields of a VECTOR that follow from its others."""
    limits = {} if instr["operation"] == MAXIMUM else {"index_behind": 0}
    limits |= {} if instr["operation"] == SUM else {"keep_threshold": 0}
    if instr["operation"] >= TABLE:
        return limits | dict.fromkeys(_WINDOW, 1) | {"transpose": 0}
    if not instr["transpose"]:
        return limits | {"operation": SUM}
    low = {"operation": CHOOSE} if instr["operation"] >= SUM else {"transpose": 0}
    return limits | {**low, "phase_y": instr["step_y"] - 1, "phase_x": instr["step_x"] - 1}
