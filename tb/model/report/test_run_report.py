# SPDX-License-Identifier: Apache-2.0
"""Figures, trace and pictures from counters and events."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gradcore.isa.instruction import ENGINES
from gradcore.isa.registers import COUNTER_NAMES
from gradcore.report import run_report as report
from gradcore.sim.backend import EVENT


def events(rows):
    return np.array(rows, dtype=EVENT)


def test_causes_sum_to_the_cycles():
    rng = np.random.default_rng(3)
    values = [100_000, *range(1, 8)]
    for _ in ENGINES:
        values += list(rng.multinomial(100_000, np.ones(8) / 8))
    counters = {name: int(values[index]) for index, name in COUNTER_NAMES.items() if index < 48}
    causes = report.by_cause(counters)
    assert list(causes) == list(ENGINES)
    assert all(sum(parts.values()) == 100_000 for parts in causes.values())
    assert (
        causes["store"]["busy"] == values[32]
        and causes["compute"]["wait_wload"] == values[26]
        and causes["load"]["idle"] == values[15]
    )
    assert report.unaccounted(causes, 100_000) == {}
    counters["store.wait_load"] += 1
    assert report.unaccounted(report.by_cause(counters), 100_000) == {"store": -1}


def operation(engine, layer, tag):
    return SimpleNamespace(engine=engine, layer=layer, text="FP", instr={"tag": tag})


def test_events_are_named_by_their_order_when_tags_repeat():
    ops = [operation(0, "a", 1), operation(2, "b", 1), operation(0, "c", 2), operation(0, "d", 1)]
    rows = [(0, 1, 0, 1), (1, 2, 2, 1), (2, 3, 0, 2), (3, 4, 0, 1), (4, 5, 0, 1), (5, 6, 4, 9)]
    assert report.event_names(events(rows), ops) == ["a FP", "b FP", "c FP", "d FP", "tag 1", "tag 9"]


def test_trace_is_well_formed(tmp_path):
    rows = [(5, 9, 0, 3), (9, 30, 2, 7), (12, 12, 4, 2047)]
    report.write_trace(tmp_path / "trace.json", events(rows), ["x", "conv1 FP", "y"])
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    threads = {e["tid"]: e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    assert threads == dict(enumerate(ENGINES))
    spans = [e for e in trace if e["ph"] == "X"]
    assert [(e["ts"], e["dur"], e["tid"]) for e in spans] == [(5, 4, 0), (9, 21, 2), (12, 0, 4)]
    assert [(e["name"], e["args"]["tag"]) for e in spans] == [("x", 3), ("conv1 FP", 7), ("y", 2047)]
    assert all({"name", "ph", "pid", "tid"} <= set(e) for e in trace)


@pytest.mark.parametrize("count", [0, 1, 300])
def test_pictures_are_drawn(tmp_path, count):
    rows = [(10 * i, 10 * i + 7, i % 5, i) for i in range(count)]
    report.timeline_picture(tmp_path / "t.png", events(rows))
    history = [
        {"epoch": i + 1, "loss": 1 / (i + 1), "test_accuracy": 0.5, "float32_loss": 1, "float32_test_accuracy": 0.4}
        for i in range(3)
    ]
    report.loss_picture(tmp_path / "l.png", history)
    for name in ("t.png", "l.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "change, bad",
    [
        ({}, False),
        ({"weights_equal": None}, False),
        ({"weights_equal": False}, True),
        ({"differing_outputs": 1}, True),
        ({"unaccounted_cycles": {"load": 3}}, True),
    ],
)
def test_failed_checks(change, bad):
    assert report.failed({"weights_equal": True, "differing_outputs": 0, "unaccounted_cycles": {}} | change) is bad
