# SPDX-License-Identifier: Apache-2.0
"""Readable listing of a compiled network: memory map, instructions with tokens and expected cycles, totals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcore.compiler.operation import Op, compute_cycles
from gradcore.isa.instruction import ENGINES, PRODUCERS, Opcode
from gradcore.network.weighted_layer import LayerParameters

if TYPE_CHECKING:
    from gradcore.compiler.compiled import CompiledNetwork


def _names(mask: int, names: Sequence[str]) -> str:
    return "+".join(name for bit, name in enumerate(names) if mask >> bit & 1)


def _line(index: int, op: Op, start: int) -> str:
    instr = op.instr
    tokens = [f"wait {_names(instr['wait'], PRODUCERS)}"] * bool(instr["wait"])
    tokens += [f"signal {_names(instr['signal'], ENGINES)}"] * bool(instr["signal"])
    if instr.opcode == Opcode.COMPUTE and instr["signal_read"]:
        tokens.append(f"when read {_names(instr['signal_read'], ENGINES)}")
    touched = " ".join(f"{name}[{a:#x}:{b:#x}]" for name, a, b in [*op.reads, *op.late_reads])
    written = " ".join(f"{name}[{a:#x}:{b:#x}]" for name, a, b in op.writes)
    what = f"{index:6} {start:>9} {op.cycles:>7}  {instr.opcode.name:8}{op.layer:12} {op.text:34}"
    return f"{what} {touched} -> {written}  {'; '.join(tokens)}".rstrip()


def _strides(compiled: "CompiledNetwork") -> list[str]:
    """What strides cost: in DRAM, and in the pixels of BP."""
    found, setting = [], compiled.setting
    for p, taken, back in zip(compiled.network.parameters, setting.forward, setting.errors):
        if p.stride == (1, 1):
            continue
        line = "nothing is unfolded" if taken is p else _unfolded(compiled, p, taken)
        if p.index and p.shift_bp is not None and back is p:
            line += "; BP takes the pixels of its input in phases"
        elif p.index and p.shift_bp is not None:
            (_, height, width), (_, rows, columns) = back.conv_shape, p.conv_shape
            line += f"; BP takes a local gradient of {height}x{width} with zeros between {rows}x{columns}"
        found.append(f"{p.name}: stride {p.stride[0]}x{p.stride[1]}, {line}")
    return found


def _unfolded(compiled: "CompiledNetwork", p: LayerParameters, taken: LayerParameters) -> str:
    """What a layer that is unfolded to `taken` costs in DRAM."""
    memory, beat = compiled.memory, compiled.config.mem_bytes
    unfolded = memory.act[p.index].layout if p.index else memory.images.layout
    maps, height, width = p.in_shape
    plain = replace(unfolded, channels=maps, height=height, width=width)
    passes = "FP and WU" if p.trainable else "FP"
    what = "the images are" if p.index == 0 else "its input is"
    maps, height, width = taken.in_shape
    return (
        f"unfolded to {maps} maps of {height}x{width} for {passes}: "
        f"{unfolded.size // beat} beats of a minibatch, {plain.size // beat} as {what}"
    )


def write(compiled: "CompiledNetwork") -> str:
    """Text of a CompiledNetwork."""
    config, memory = compiled.config, compiled.memory
    lines = [
        f"network {compiled.network.name}, minibatch {compiled.images}",
        f"engine grid {config.grid}, cols {config.cols}, {config.data_width} bits, beat {config.mem_bytes} bytes",
        "",
        f"choices: {compiled.setting.choices}",
        "",
        "folds: fp  bp  delta in buffer, in DRAM",
    ]
    lines += [
        f"  {p.name:16} {f.fp}  {f.bp}  {f.delta}  {f.delta_dram}"
        for p, f in zip(compiled.network.parameters, memory.folds)
    ]
    lines += ["", "DRAM: base, address, bytes"]
    for tensor in memory.tensors():
        lines.append(
            f"  {tensor.name:24} BASE{getattr(tensor, 'base_sel', 0)} {tensor.addr:#010x} {tensor.layout.size}"
        )
    lines += _strides(compiled)
    lines.append(f"gate buffer: {memory.gate_vectors} of {config.gate_depth} vectors")
    for program in (compiled.train, compiled.infer):
        lines += [
            "",
            f"program {program.name}: {len(program.ops) + 1} instructions, {program.tokens} tokens",
            *(f"  {note}" for note in program.notes),
            "  index     start  cycles  instruction",
        ]
        lines += [_line(index, op, start) for index, (op, (start, _)) in enumerate(zip(program.ops, program.timeline))]
        busy = [sum(op.cycles for op in program.ops if op.engine == engine) for engine in range(len(ENGINES))]
        steps = sum(compute_cycles(op.instr, config.cols)[1] for op in program.ops if op.instr.opcode == Opcode.COMPUTE)
        lines.append("busy cycles: " + ", ".join(f"{name} {cycles}" for name, cycles in zip(ENGINES, busy)))
        lines.append(
            f"array steps {steps}; expected cycles {program.cycles}, per image {program.cycles / compiled.images:.1f}"
        )
    return "\n".join(lines) + "\n"
