# SPDX-License-Identifier: Apache-2.0
"""What each layer takes of a program: every cycle belongs to one layer and to one of `SHARES`.

A COMPUTE has the cycles from the end of the one before to its own end, and the last one those to the end of the
program, but for those in which a VECTOR or an UPDATE was waited for: nothing covers these, and they belong to the layer
of the VECTOR or UPDATE. A wait is for what was needed last; while that had not begun, for what it needed last itself or
for what was before it in its engine, and so on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradcore.compiler.operation import Op
from gradcore.compiler.tokens import COMPUTE, dependencies
from gradcore.isa.instruction import Opcode
from gradcore.report.bench import PASSES

BESIDE = {Opcode.VECTOR: "VECTOR", Opcode.UPDATE: "UPDATE"}
SHARES = (*PASSES, *BESIDE.values())
Spans = Mapping[int, tuple[int, int]]  # start and end of every operation


def shares(ops: Sequence[Op], spans: Spans, total: int) -> dict[str, dict[str, int]]:
    """Cycles by layer and by `SHARES` of a program of `total` cycles; spans: as measured, or as expected."""
    sources = _sources(ops)
    found = {op.layer: dict.fromkeys(SHARES, 0) for op in ops}
    before = min(start for start, _ in spans.values())
    computes = [index for index, op in enumerate(ops) if op.engine == COMPUTE]
    periods = [(index, sources[index], *spans[index]) for index in computes]
    periods.append((computes[-1], [*spans], before + total, before + total))
    for index, given, start, end in periods:
        op, own = ops[index], end - before
        for cause, cycles in _waited_for(given, sources, spans, before, start):
            if share := BESIDE.get(ops[cause].instr.opcode):
                found[ops[cause].layer][share] += cycles
                own -= cycles
        found[op.layer][PASSES[op.instr["mode"]]] += own
        before = end
    return found


def _sources(ops: Sequence[Op]) -> list[list[int]]:
    """What every operation can wait for: what it needs, and what is before it in its engine."""
    found, newest = [], dict[int, int]()
    for index, (op, needs) in enumerate(zip(ops, dependencies(ops))):
        found.append([*needs.values(), *([newest[op.engine]] if op.engine in newest else [])])
        newest[op.engine] = index
    return found


def _waited_for(
    given: Iterable[int], sources: Sequence[Iterable[int]], spans: Spans, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """(operation, cycles) of what was waited for between `start` and `end` by one that could wait for those `given`."""
    while end > start and given:
        index = max(given, key=lambda source: spans[source][1])
        first, last = spans[index]
        yield index, max(min(last, end) - max(first, start), 0)
        given, end = sources[index], min(first, end)
