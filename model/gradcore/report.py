# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: counters by cause, timeline, pictures."""

import json

ENGINES = ("load", "wload", "compute", "store", "update")
PRODUCERS = ("load", "wload", "compute_read", "compute_written", "store", "update")
COLOURS = {"load": "#4477aa", "wload": "#66ccee", "compute": "#228833", "store": "#ccbb44", "update": "#ee6677"}


def by_cause(counters):
    """Split every engine's cycles: busy, waiting for a token of each producer, without an instruction.

    `counters` are the 64-bit counters in the order of the register map. The entries of one engine sum to its total of cycles.
    """
    causes = {}
    for e, engine in enumerate(ENGINES):
        first = 8 + 8 * e
        waits = {f"wait_{p}": int(counters[first + 1 + i]) for i, p in enumerate(PRODUCERS)}
        causes[engine] = {"busy": int(counters[first]), **waits, "idle": int(counters[first + 7])}
    return causes


def unaccounted(causes, cycles):
    """Engines whose cycles do not sum to the total, with the difference; empty when the counters are sound."""
    return {engine: cycles - sum(parts.values()) for engine, parts in causes.items() if sum(parts.values()) != cycles}


def chrome_trace(events, labels=None):
    """Trace of the recorded events for Perfetto or chrome://tracing; one microsecond there is one cycle here."""
    labels = labels or {}
    trace = [{"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "gradcore"}}]
    for tid, engine in enumerate(ENGINES):
        trace.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": engine}})
        trace.append({"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": tid, "args": {"sort_index": tid}})
    for event in events:
        tag, start, end = int(event["tag"]), int(event["start"]), int(event["end"])
        trace.append(
            {
                "name": labels.get(tag, f"tag {tag}"),
                "cat": ENGINES[int(event["engine"])],
                "ph": "X",
                "pid": 1,
                "tid": int(event["engine"]),
                "ts": start,
                "dur": end - start,
                "args": {"tag": tag},
            }
        )
    return {"traceEvents": trace, "displayTimeUnit": "ns", "otherData": {"unit": "1 us = 1 cycle"}}


def write_trace(path, events, labels=None):
    """Write `chrome_trace` as a file."""
    path.write_text(json.dumps(chrome_trace(events, labels)))


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def loss_picture(path, history):
    """Loss per image and test accuracy over the epochs, fixed point beside float32."""
    plt = _pyplot()
    epochs = [entry["epoch"] for entry in history]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, key, name in ((left, "loss", "training loss per image"), (right, "test_accuracy", "test accuracy")):
        for prefix, label, style in (("", "fixed point", "o-"), ("float32_", "float32", "s--")):
            values = [entry.get(prefix + key) for entry in history]
            if None not in values:
                axis.plot(epochs, values, style, label=label, markersize=4)
        axis.set_xlabel("epoch")
        axis.set_title(name)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def timeline_picture(path, events, title="one minibatch"):
    """What each engine did, as bars over the cycles."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(11, 2.8), layout="constrained")
    origin = int(events["start"].min()) if len(events) else 0
    for row, engine in enumerate(ENGINES):
        mine = events[events["engine"] == row]
        spans = [(int(e["start"]) - origin, max(1, int(e["end"] - e["start"]))) for e in mine]
        shades = [COLOURS[engine], COLOURS[engine] + "99"]
        axis.broken_barh(spans, (row - 0.4, 0.8), facecolors=[shades[i % 2] for i in range(len(spans))])
    axis.set_yticks(range(len(ENGINES)), ENGINES)
    axis.set_ylim(len(ENGINES) - 0.5, -0.5)
    axis.set_xlabel("cycle")
    axis.set_title(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)
