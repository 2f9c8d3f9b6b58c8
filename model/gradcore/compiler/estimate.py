# SPDX-License-Identifier: Apache-2.0
"""What the compiler expects of the clock: when every instruction starts and ends, from its work and what it must wait
for.

An event-driven model of the five engines. COMPUTE takes its passes; transfers share the memory's bandwidth evenly, a
STORE stands still while the array reads its buffer (an urgent one takes the array's steps), an UPDATE while gradients
of single blocks are added in every cycle of the gradient buffer. The engine's own latencies are those of
doc/architecture.md, "Pipeline of a compute step".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from gradcore.compiler.operation import Op
from gradcore.compiler.tokens import COMPUTE, READ, STORE
from gradcore.isa.instruction import ENGINES, WU, Instruction, Opcode

TURN_ROUND, READ_LATENCY, DRAIN_LATENCY, FACTOR_LATENCY, FETCH_LATENCY = 2, 6, 26, 7, 34
# Cycles of a transfer besides its beats and the memory's latency, which an UPDATE meets twice.
TRANSFER_LATENCY = {Opcode.LOAD: 25, Opcode.LOADW: 7, Opcode.STORE: 25, Opcode.UPDATE: 39, Opcode.VECTOR: 25}
_TINY = 1e-6  # cycles that are rounding of a sum


@dataclass(frozen=True)
class Bandwidth:
    """The memory: bytes per cycle that reads and writes share, cycles from a request to its data, bytes of a beat."""

    bytes_per_cycle: int = 64
    latency: int = 60
    beat: int = 64

    @property
    def beats_per_cycle(self) -> float:
        return self.bytes_per_cycle / self.beat


class _Queue:
    """Operations of one engine: `order` their numbers, those before `at` are done. The one at the head, once
    `started`, begins at `begin`, then has `left` cycles of work at full speed, then `wait` cycles until its result is
    there."""

    __slots__ = ("number", "order", "at", "started", "begin", "left", "wait", "speed", "opcode", "op", "spaces")

    opcode: Opcode
    op: Op

    def __init__(self, number: int, order: list[int]) -> None:
        self.number, self.order, self.at = number, order, 0
        self.started, self.begin, self.left, self.wait, self.speed = False, 0.0, 0.0, 0.0, 0.0
        self.spaces: list[str] = []

    def start(self, op: Op, begin: float, memory: Bandwidth) -> None:
        """The head starts."""
        self.op, self.opcode, self.started, self.begin = op, op.instr.opcode, True, begin
        self.left = float(op.cycles + TURN_ROUND * (self.number == COMPUTE))
        self.wait = _latency(self.opcode, memory)
        self.spaces = [space for space, _, _ in op.reads]

    def until_change(self, now: float) -> float:
        """Cycles until something changes."""
        if self.begin > now:
            return self.begin - now
        if self.left:
            return self.left / self.speed if self.speed else inf
        return max(self.wait, _TINY)

    def advance(self, cycles: float) -> bool:
        """Goes on; is the result there?"""
        if self.left:
            left = self.left - self.speed * cycles
            self.left = left if left > _TINY else 0.0
        else:
            self.wait -= cycles
        return not self.left and self.wait <= _TINY


def timeline(
    ops: Sequence[Op], needs: Sequence[Mapping[int, int]], memory: Bandwidth = Bandwidth(), apart: bool = False
) -> list[tuple[int, int]]:
    """(start, end) of every operation in expected cycles. `needs`: their `dependencies`. `apart`: STOREs and VECTORs
    are queues of their own for the one engine that does both, and it takes a STORE if there is one."""
    orders: list[list[int]] = [[] for _ in (*ENGINES, Opcode.VECTOR)]
    for index, op in enumerate(ops):
        orders[op.queue(apart)].append(index)
    queues = [_Queue(number, order) for number, order in enumerate(orders)]
    shared = queues[STORE], queues[-1]
    begins, read, written = [0.0] * len(ops), [-1.0] * len(ops), [-1.0] * len(ops)  # -1: not yet
    ends, now = [0.0] * len(ops), float(FETCH_LATENCY + memory.latency)
    while True:
        for queue in queues:
            if queue.started or queue.at == len(queue.order) or queue in shared and any(q.started for q in shared):
                continue
            index = queue.order[queue.at]
            given = [(read if producer == READ else written)[source] for producer, source in needs[index].items()]
            if not given or min(given) >= 0:
                begins[index] = max([now, *given])
                queue.start(ops[index], begins[index], memory)
        busy = [queue for queue in queues if queue.started]
        if not busy:
            return [(round(begin), round(end)) for begin, end in zip(begins, ends)]
        done = False
        while not done:
            running = [queue for queue in busy if queue.begin <= now]
            _share([queue for queue in running if queue.left], memory)
            step = min(queue.until_change(now) for queue in busy)
            for queue in running:
                if queue.advance(step):
                    done = True
                    index, queue.at, queue.started = queue.order[queue.at], queue.at + 1, False
                    ends[index] = written[index] = now + step
                    if queue.number == COMPUTE:
                        read[index] = ends[index] + READ_LATENCY
                        instr = queue.op.instr
                        late = FACTOR_LATENCY * bool(instr["factor"])
                        written[index] = ends[index] + DRAIN_LATENCY + late + instr["n_last"]
            now += step


def _latency(opcode: Opcode, memory: Bandwidth) -> float:
    """Cycles after the work until the result is there."""
    if opcode == Opcode.COMPUTE:
        return 0.0
    return float(TRANSFER_LATENCY[opcode] + memory.latency * (1 + (opcode == Opcode.UPDATE)))


def _share(working: list[_Queue], memory: Bandwidth) -> None:
    """Sets the share of its full speed that every queue at work has at the moment."""
    compute = next((queue for queue in working if queue.number == COMPUTE), None)
    spaces = compute.spaces if compute else ()
    wanted, store = [], None
    for queue in working:
        queue.speed = 1.0
        if queue is compute:
            continue
        if queue.opcode == Opcode.STORE and queue.spaces[0] in spaces:
            store = queue
        if (queue is store and not queue.op.instr["urgent"]) or (
            queue.opcode == Opcode.UPDATE and compute and _adds_always(compute.op.instr)
        ):
            queue.speed = 0.0
        else:
            wanted.append((queue.op.beats / queue.op.cycles, queue.number, queue))
    room = memory.beats_per_cycle
    wanted.sort()
    for k, (demand, _, queue) in enumerate(wanted):
        share = min(demand, room / (len(wanted) - k))
        queue.speed = share / demand
        room -= share
    if store:
        assert compute
        compute.speed -= store.speed * store.op.instr["n_words"] / store.op.cycles


def _adds_always(instr: Instruction) -> bool:
    """Does a COMPUTE add gradients in every cycle of the gradient buffer?"""
    return instr["mode"] == WU and instr["n_by"] * instr["n_bx"] == 1 and not instr["grad_first"]
