# SPDX-License-Identifier: Apache-2.0
"""Tokens. Safety follows from the declared accesses alone, whatever the order of the
program."""

from dataclasses import dataclass

from gradcore.isa.instruction import PRODUCERS

READ, WRITTEN = PRODUCERS.index("compute_read"), PRODUCERS.index("compute_written")
PRODUCER = {0: 0, 1: 1, 3: 4, 4: 5}  # of an engine other than compute
COMPUTE = 2
_BLOCK = 16  # accesses are looked for in blocks of 2^16 bytes, vectors or rows


@dataclass(slots=True)
class _Access:
    start: int
    end: int
    op: int
    engine: int
    producer: int  # whose signal says that the access is over
    write: bool


def _accesses(op, index: int):
    """(space, access, late) of an operation; late accesses of COMPUTE happen in the order of its drains."""
    compute = op.engine == COMPUTE
    for ranges, write, late in ((op.reads, False, False), (op.late_reads, False, True), (op.writes, True, True)):
        producer = (WRITTEN if late else READ) if compute else PRODUCER[op.engine]
        for space, start, end in ranges:
            yield space, _Access(start, end, index, op.engine, producer, write), late


def dependencies(ops: list) -> list:
    """Per operation the newest earlier operation of each producer that must have signalled: {producer: index}."""
    blocks, result = {}, []
    for index, op in enumerate(ops):
        need = {}
        found = [
            (blocks.setdefault((space, block), []), block << _BLOCK, block + 1 << _BLOCK, space, access)
            for space, access, _ in _accesses(op, index)
            for block in range(access.start >> _BLOCK, (access.end - 1 >> _BLOCK) + 1)
        ]
        for kept, _, _, space, access in found:
            start, end, write, engine = access.start, access.end, access.write, op.engine
            for old in kept:
                if (write or old.write) and old.start < end and start < old.end and old.op != index:
                    same = old.engine == engine
                    if same and not (engine == COMPUTE and old.write and not write and space != "grad"):
                        continue
                    if old.op > need.get(old.producer, -1):
                        need[old.producer] = old.op
        for kept, low, high, _, access in found:
            # A write that covers an access stands for it from now on; so does a later read by the same producer.
            start, end, write, producer = access.start, access.end, access.write, access.producer
            kept[:] = [
                old
                for old in kept
                if not (
                    (start <= old.start or start <= low)
                    and (old.end <= end or high <= end)
                    and (write or (not old.write and old.producer == producer))
                )
            ]
            kept.append(access)
        if READ in need and need.get(WRITTEN, -1) >= need[READ]:
            del need[READ]
        result.append(need)
    return result


def add_tokens(ops: list, needs: list) -> int:
    """Set wait, signal and signal_read of all instructions; returns the number of tokens. `needs`: their
    `dependencies`.

    An operation knows at its start which operation of every producer has signalled: what its predecessor in the engine
    knew, and what the givers of its tokens knew. Only needs beyond that become tokens, newest first; so tokens of one
    producer for one consumer are taken in the order in which they are given, and none follows from others.
    """
    last, known_at, count = {}, [], 0
    for index, (op, need) in enumerate(zip(ops, needs)):
        known = [-1] * len(PRODUCERS)
        if op.engine in last:
            before = last[op.engine]
            known = list(known_at[before])
            known[READ if op.engine == COMPUTE else PRODUCER[op.engine]] = before
        for producer, source in sorted(need.items(), key=lambda item: (-item[1], -item[0])):
            if source <= max(known[producer], known[WRITTEN] if producer == READ else -1):
                continue
            known = [max(pair) for pair in zip(known, known_at[source])]
            known[producer] = max(known[producer], source)
            count += 1
            signal = "signal_read" if producer == READ else "signal"
            given = ops[source].instr
            assert not given[signal] >> op.engine & 1
            given[signal] = given[signal] | 1 << op.engine
            op.instr["wait"] = op.instr["wait"] | 1 << producer
        known_at.append(tuple(known))
        last[op.engine] = index
    return count
