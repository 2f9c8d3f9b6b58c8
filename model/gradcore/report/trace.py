# SPDX-License-Identifier: Apache-2.0
"""The recorded instructions of a minibatch as a trace for Perfetto or chrome://tracing."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gradcore.files import strict_json
from gradcore.files.atomic import StrPath, write_text
from gradcore.isa.instruction import ENGINES, Instruction


class Operation(Protocol):
    """An instruction of a compiled program, and what it does."""

    @property
    def engine(self) -> int: ...

    @property
    def layer(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def cycles(self) -> int:
        """Expected ones."""

    @property
    def instr(self) -> Instruction: ...


def event_names(events: np.ndarray, ops: Sequence[Operation]) -> list[str]:
    """What each recorded event did, from the operations of its program: engines run their instructions in order, and
    tags tell where."""
    queues = [[op for op in ops if op.engine == engine] for engine in range(len(ENGINES))]
    names = []
    for event in events:
        queue, tag = queues[event["engine"]], int(event["tag"])
        place = next((i for i, op in enumerate(queue) if op.instr["tag"] == tag), None)
        names.append(f"tag {tag}" if place is None else f"{queue[place].layer} {queue[place].text}")
        del queue[: 0 if place is None else place + 1]
    return names


def chrome_trace(events: np.ndarray, names: list[str], run: str | None = None) -> dict[str, Any]:
    """Trace of the recorded events of a run for Perfetto or chrome://tracing; one microsecond there is one cycle
    here."""
    trace: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "gradcore"}}
    ]
    for tid, engine in enumerate(ENGINES):
        trace.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": engine}})
        trace.append({"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": tid, "args": {"sort_index": tid}})
    for event, name in zip(events, names, strict=True):
        number, tag, start, end = (int(event[key]) for key in ("engine", "tag", "start", "end"))
        span = {
            "name": name,
            "cat": ENGINES[number],
            "ph": "X",
            "pid": 1,
            "tid": number,
            "ts": start,
            "dur": end - start,
            "args": {"tag": tag},
        }
        trace.append(span)
    return {"traceEvents": trace, "displayTimeUnit": "ns", "otherData": {"unit": "1 us = 1 cycle", "run": run}}


def write_trace(path: StrPath, events: np.ndarray, names: list[str], run: str | None = None) -> None:
    """Write `chrome_trace` as a file."""
    write_text(path, strict_json.dumps(chrome_trace(events, names, run)))
