# SPDX-License-Identifier: Apache-2.0
"""What the compiler expects of the clock: when every instruction starts and ends, from its work and what it must wait for.

An event-driven model of the five engines. COMPUTE takes its passes; transfers share the memory's bandwidth evenly, and a STORE stands still
while the array reads its buffer. The engine's own latencies are those of doc/architecture.md, "Pipeline of a compute step".
"""

from dataclasses import dataclass

from gradcore.isa import Opcode
from gradcore.tokens import COMPUTE, PRODUCER, READ, WRITTEN, dependencies

TURN_ROUND, READ_LATENCY, DRAIN_LATENCY, TRANSFER_LATENCY = 2, 6, 30, 25


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
    """One queue: `left` cycles at full speed of the operation at its head, then `wait` cycles until its result is there."""

    def __init__(self, ops: list):
        self.ops, self.at, self.left, self.wait, self.started = ops, 0, 0.0, 0.0, False

    @property
    def op(self):
        return self.ops[self.at] if self.at < len(self.ops) else None


def timeline(ops: list, memory: Bandwidth = Bandwidth()) -> list:
    """(start, end) of every operation in expected cycles."""
    needs, order = dependencies(ops), {id(op): k for k, op in enumerate(ops)}
    engines = [_Engine([op for op in ops if op.engine == number]) for number in range(5)]
    spans, signals, now = [None] * len(ops), {}, 0.0
    while any(engine.op for engine in engines):
        for engine in engines:
            op = engine.op
            if op is None or engine.started:
                continue
            given = [signals.get((source, producer)) for producer, source in needs[order[id(op)]].items()]
            if None not in given:
                engine.started, engine.left = True, _work(op)
                engine.wait = 0.0 if op.engine == COMPUTE else TRANSFER_LATENCY + memory.latency
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
    reads = {space for space, _, _ in engines[COMPUTE].op.reads} if running[COMPUTE] else ()
    speeds, wanted = [float(r) for r in running], {}
    for number, engine in enumerate(engines):
        if not running[number] or number == COMPUTE:
            continue
        if engine.op.instr.opcode == Opcode.STORE and engine.op.reads[0][0] in reads:
            speeds[number] = 0.0
        else:
            wanted[number] = engine.op.beats / engine.op.cycles
    room = memory.beats_per_cycle
    for number, demand in sorted(wanted.items(), key=lambda item: item[1]):
        share = min(demand, room / len(wanted))
        speeds[number] = share / demand
        room -= share
        del wanted[number]
    return speeds


def _finish(engine, index: int, now: float, spans: list, signals: dict):
    op = engine.op
    spans[index] = spans[index][0], now
    if op.engine == COMPUTE:
        signals[index, READ], signals[index, WRITTEN] = now + READ_LATENCY, now + DRAIN_LATENCY + op.instr["n_last"]
    else:
        signals[index, PRODUCER[op.engine]] = now
    engine.at, engine.started = engine.at + 1, False
