# SPDX-License-Identifier: Apache-2.0
"""The trace of recorded events."""

import json
from types import SimpleNamespace

import numpy as np

from gradcore.isa.instruction import ENGINES
from gradcore.report.trace import event_names, write_trace
from gradcore.sim.backend import EVENT


def events(rows):
    return np.array(rows, dtype=EVENT)


def operation(engine, layer, tag):
    return SimpleNamespace(engine=engine, layer=layer, text="FP", instr={"tag": tag})


def test_events_are_named_by_their_order_when_tags_repeat():
    ops = [operation(0, "a", 1), operation(2, "b", 1), operation(0, "c", 2), operation(0, "d", 1)]
    rows = [(0, 1, 0, 1), (1, 2, 2, 1), (2, 3, 0, 2), (3, 4, 0, 1), (4, 5, 0, 1), (5, 6, 4, 9)]
    assert event_names(events(rows), ops) == ["a FP", "b FP", "c FP", "d FP", "tag 1", "tag 9"]


def test_trace_is_well_formed(tmp_path):
    rows = [(5, 9, 0, 3), (9, 30, 2, 7), (12, 12, 4, 2047)]
    write_trace(tmp_path / "trace.json", events(rows), ["x", "conv1 FP", "y"])
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    threads = {e["tid"]: e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    assert threads == dict(enumerate(ENGINES))
    spans = [e for e in trace if e["ph"] == "X"]
    assert [(e["ts"], e["dur"], e["tid"]) for e in spans] == [(5, 4, 0), (9, 21, 2), (12, 0, 4)]
    assert [(e["name"], e["args"]["tag"]) for e in spans] == [("x", 3), ("conv1 FP", 7), ("y", 2047)]
    assert all({"name", "ph", "pid", "tid"} <= set(e) for e in trace)
