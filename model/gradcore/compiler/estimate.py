# SPDX-License-Identifier: Apache-2.0
"""What the compiler expects of the clock: when every instruction starts and ends, from its work and what it must wait
for.

An event-driven model of the five engines. COMPUTE takes its passes; transfers share the memory's bandwidth evenly, a
STORE stands still while the array reads its buffer (an urgent one takes the array's steps), an UPDATE while gradients
of single blocks are added in every cycle of the gradient buffer. The engine's own latencies are those of
doc/architecture.md, "Pipeline of a compute step".
"""

from dataclasses import dataclass

from gradcore.compiler.tokens import COMPUTE, PRODUCER, READ, WRITTEN, dependencies
from gradcore.isa.instruction import ENGINE, WU, Opcode

TURN_ROUND, READ_LATENCY, DRAIN_LATENCY, FETCH_LATENCY = 2, 6, 24, 34
# Cycles of a transfer besides its beats and the memory's latency, which an UPDATE meets twice.
TRANSFER_LATENCY = {Opcode.LOAD: 25, Opcode.LOADW: 7, Opcode.STORE: 25, Opcode.UPDATE: 39}


@dataclass(frozen=True)
class Bandwidth:
    """The memory: bytes per cycle that reads and writes share, cycles from a request to its data, bytes of a beat."""

    bytes_per_cycle: int = 64
    latency: int = 60
    beat: int = 64

    @property
    def beats_per_cycle(self) -> float:
        return self.bytes_per_cycle / self.beat


class _Engine:
    """One queue: `left` cycles at full speed of the operation at its head, then `wait` cycles until its result is
    there."""

    def __init__(self, ops: list):
        self.ops, self.at, self.left, self.wait, self.started = ops, 0, 0.0, 0.0, False

    @property
    def op(self):
        return self.ops[self.at] if self.at < len(self.ops) else None


def timeline(ops: list, memory: Bandwidth = Bandwidth(), needs: list | None = None) -> list:
    """(start, end) of every operation in expected cycles. `needs`: their `dependencies`, if known."""
    needs, order = needs or dependencies(ops), {id(op): k for k, op in enumerate(ops)}
    engines = [_Engine([op for op in ops if op.engine == number]) for number in range(5)]
    spans, signals, now = [None] * len(ops), {}, float(FETCH_LATENCY + memory.latency)
    while any(engine.op for engine in engines):
        for engine in engines:
            op = engine.op
            if op is None or engine.started:
                continue
            given = [signals.get((source, producer)) for producer, source in needs[order[id(op)]].items()]
            if None not in given:
                engine.started, engine.left = True, _work(op)
                engine.wait = _latency(op.instr.opcode, memory)
                engine.begin = max([now, *given])
                spans[order[id(op)]] = engine.begin, None
        speeds = _speeds(engines, now, memory)
        step = min(_next(engine, speed, now) for engine, speed in zip(engines, speeds) if engine.started)
        for engine, speed in zip(engines, speeds):
            if not engine.started or engine.begin > now:
                continue
            if engine.left > 0:
                engine.left = max(0.0, engine.left - speed * step)
                engine.left *= engine.left > 1e-6
            else:
                engine.wait -= step
            if engine.left == 0 and engine.wait <= 1e-6:
                _finish(engine, order[id(engine.op)], now + step, spans, signals)
        now += step
    return [(round(start), round(end)) for start, end in spans]


def _work(op) -> int:
    return op.cycles + TURN_ROUND * (op.engine == COMPUTE)


def _latency(opcode, memory: Bandwidth) -> float:
    """Cycles after the work until the result is there."""
    return (
        0.0 if opcode == Opcode.COMPUTE else TRANSFER_LATENCY[opcode] + memory.latency * (1 + (opcode == Opcode.UPDATE))
    )


def _next(engine, speed: float, now: float) -> float:
    """Cycles until something changes for an engine."""
    if engine.begin > now:
        return engine.begin - now
    if engine.left > 0:
        return engine.left / speed if speed else float("inf")
    return max(engine.wait, 1e-6)


def _speeds(engines: list, now: float, memory: Bandwidth) -> list:
    """Share of its full speed that every engine has at the moment."""
    running = [engine.started and engine.begin <= now and engine.left > 0 for engine in engines]
    compute = engines[COMPUTE].op if running[COMPUTE] else None
    reads = {space for space, _, _ in compute.reads} if compute else ()
    no_gradients = (
        compute
        and compute.instr["mode"] == WU
        and compute.instr["n_by"] * compute.instr["n_bx"] == 1
        and not compute.instr["grad_first"]
    )
    speeds, wanted = [float(r) for r in running], {}
    for number, engine in enumerate(engines):
        if not running[number] or number == COMPUTE:
            continue
        opcode = engine.op.instr.opcode
        if (
            opcode == Opcode.STORE
            and not engine.op.instr["urgent"]
            and engine.op.reads[0][0] in reads
            or opcode == Opcode.UPDATE
            and no_gradients
        ):
            speeds[number] = 0.0
        else:
            wanted[number] = engine.op.beats / engine.op.cycles
    room = memory.beats_per_cycle
    for number, demand in sorted(wanted.items(), key=lambda item: item[1]):
        share = min(demand, room / len(wanted))
        speeds[number] = share / demand
        room -= share
        del wanted[number]
    store = ENGINE[Opcode.STORE]
    if running[store] and engines[store].op.reads[0][0] in reads:
        speeds[COMPUTE] -= speeds[store] * engines[store].op.instr["n_words"] / engines[store].op.cycles
    return speeds


def _finish(engine, index: int, now: float, spans: list, signals: dict):
    op = engine.op
    spans[index] = spans[index][0], now
    if op.engine == COMPUTE:
        signals[index, READ], signals[index, WRITTEN] = now + READ_LATENCY, now + DRAIN_LATENCY + op.instr["n_last"]
    else:
        signals[index, PRODUCER[op.engine]] = now
    engine.at, engine.started = engine.at + 1, False
