# SPDX-License-Identifier: Apache-2.0
"""Tokens. Safety follows from the declared accesses alone, whatever the order of the
program."""

from bisect import bisect_left
from collections.abc import Sequence
from math import inf

from gradcore.compiler.operation import Op
from gradcore.isa.instruction import PRODUCERS

READ, WRITTEN = PRODUCERS.index("compute_read"), PRODUCERS.index("compute_written")
PRODUCER = {0: 0, 1: 1, 3: 4, 4: 5, 5: 6}  # of an engine other than compute; 5: VECTORs apart from STOREs
COMPUTE, STORE = 2, 3
ENGINE_OF = (0, 1, COMPUTE, COMPUTE, 3, 4, 5)  # of a producer
_NOBODY = (-1,) * len(ENGINE_OF)
_Past = tuple[int, int, tuple[int, ...]]


class _Space:
    """The accesses to one space so far, in segments of addresses that have the same past: (operation that wrote last,
    its producer, operations that read since by producer). What comes before is over when those are."""

    def __init__(self) -> None:
        self._starts: list[float] = [-inf]
        self._pasts: list[_Past] = [(-1, 0, _NOBODY)]

    def _cut(self, at: int) -> int:
        """Number of the segment that begins with address `at`."""
        k = bisect_left(self._starts, at)
        if k == len(self._starts) or self._starts[k] != at:
            self._starts.insert(k, at)
            self._pasts.insert(k, self._pasts[k - 1])
        return k

    def past(self, start: int, end: int) -> list[_Past]:
        """What addresses start..end-1 have seen."""
        first = self._cut(start)
        return self._pasts[first : self._cut(end)]

    def write(self, start: int, end: int, op: int, producer: int) -> None:
        """Operation `op` writes them."""
        first, behind = self._cut(start), self._cut(end)
        self._starts[first:behind], self._pasts[first:behind] = [start], [(op, producer, _NOBODY)]

    def read(self, start: int, end: int, op: int, producer: int) -> None:
        """Operation `op` reads them; neighbours whose pasts are equal then become one segment."""
        first, behind = self._cut(start), self._cut(end)
        starts: list[float] = []
        pasts: list[_Past] = []
        for at, (writer, by, readers) in zip(self._starts[first:behind], self._pasts[first:behind]):
            past = writer, by, (*readers[:producer], op, *readers[producer + 1 :])
            if not pasts or pasts[-1] != past:
                starts.append(at)
                pasts.append(past)
        self._starts[first:behind], self._pasts[first:behind] = starts, pasts


def _accesses(op: Op, engine: int) -> list[tuple[str, int, int, int, bool]]:
    """(space, first, end, producer whose signal says that the access is over, whether it writes) of an operation; late
    accesses of COMPUTE happen in the order of its drains."""
    early, late = (READ, WRITTEN) if engine == COMPUTE else (PRODUCER[engine],) * 2
    parts = ((op.reads, early, False), (op.late_reads, late, False), (op.writes, late, True))
    return [(*access, producer, write) for ranges, producer, write in parts for access in ranges]


def dependencies(ops: Sequence[Op], apart: bool = False) -> list[dict[int, int]]:
    """Per operation the newest earlier operation of each producer that must have signalled, as far as one does not
    follow from another: {producer: index}. `apart`: between STOREs and VECTORs, too (`Op.queue`)."""
    spaces: dict[str, _Space] = {}
    result = []
    for index, op in enumerate(ops):
        engine = op.queue(apart)
        accesses = [access for access in _accesses(op, engine) if access[1] < access[2]]
        need: dict[int, int] = {}
        for name, start, end, _, write in accesses:
            # What an engine does in order needs nothing, except a COMPUTE that reads what one has written.
            ordered = engine if write or name == "grad" else engine if engine != COMPUTE else -1
            for writer, by, readers in spaces.setdefault(name, _Space()).past(start, end):
                if writer > need.get(by, -1) and ENGINE_OF[by] != ordered:
                    need[by] = writer
                if write and readers is not _NOBODY:
                    for producer, reader in enumerate(readers):
                        if reader > need.get(producer, -1) and ENGINE_OF[producer] != engine:
                            need[producer] = reader
        for name, start, end, producer, write in accesses:
            (spaces[name].write if write else spaces[name].read)(start, end, index, producer)
        if READ in need and need.get(WRITTEN, -1) >= need[READ]:
            del need[READ]
        result.append(need)
    return result


def add_tokens(ops: Sequence[Op], needs: Sequence[dict[int, int]]) -> int:
    """Set wait, signal and signal_read of all instructions; returns the number of tokens. `needs`: their
    `dependencies`.

    An operation knows at its start which operation of every producer has signalled: what its predecessor in the engine
    knew, and what the givers of its tokens knew. Only needs beyond that become tokens, newest first; so tokens of one
    producer for one consumer are taken in the order in which they are given, and none follows from others.
    """
    last: dict[int, int] = {}
    known_at: list[tuple[int, ...]] = []
    count = 0
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
