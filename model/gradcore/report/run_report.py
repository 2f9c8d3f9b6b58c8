# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: counters by cause, timeline, pictures."""

import io

import numpy as np

from gradcore.files import strict_json
from gradcore.files.atomic import write_bytes, write_json, write_text
from gradcore.host import model_file
from gradcore.isa.instruction import ENGINES, PRODUCERS
from gradcore.reference.saturation import warnings as saturation_warnings

COLOURS = {"load": "#4477aa", "wload": "#66ccee", "compute": "#228833", "store": "#ccbb44", "update": "#ee6677"}


def by_cause(counters):
    """Split every engine's cycles: busy, waiting for a token of each producer, without an instruction.

    `counters` by name (`gradcore.isa.registers.COUNTER_NAMES`). The entries of one engine sum to its total of cycles.
    """
    causes = ("busy", *(f"wait_{producer}" for producer in PRODUCERS), "idle")
    return {engine: {cause: counters[f"{engine}.{cause}"] for cause in causes} for engine in ENGINES}


def unaccounted(causes, cycles):
    """Engines whose cycles do not sum to the total, with the difference; empty when the counters are sound."""
    return {engine: cycles - sum(parts.values()) for engine, parts in causes.items() if sum(parts.values()) != cycles}


def event_names(events, ops):
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


def chrome_trace(events, names, run=None):
    """Trace of the recorded events of a run for Perfetto or chrome://tracing; one microsecond there is one cycle
    here."""
    trace = [{"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "gradcore"}}]
    for tid, engine in enumerate(ENGINES):
        trace.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": engine}})
        trace.append({"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": tid, "args": {"sort_index": tid}})
    for event, name in zip(events, names, strict=True):
        engine, tag, start, end = (int(event[key]) for key in ("engine", "tag", "start", "end"))
        span = {
            "name": name,
            "cat": ENGINES[engine],
            "ph": "X",
            "pid": 1,
            "tid": engine,
            "ts": start,
            "dur": end - start,
            "args": {"tag": tag},
        }
        trace.append(span)
    return {"traceEvents": trace, "displayTimeUnit": "ns", "otherData": {"unit": "1 us = 1 cycle", "run": run}}


def write_trace(path, events, names, run=None):
    """Write `chrome_trace` as a file."""
    write_text(path, strict_json.dumps(chrome_trace(events, names, run)))


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def _write_picture(path, plt, figure):
    """Write a figure as PNG and forget it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, format="png")
    plt.close(figure)
    write_bytes(path, buffer.getvalue())


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
    _write_picture(path, plt, figure)


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
    _write_picture(path, plt, figure)


def failed(found):
    """True when a report holds a failed check."""
    wrong = (
        "differing_words",
        "differing_losses",
        "differing_overflows",
        "differing_outputs",
        "unaccounted_cycles",
        "overflowed_minibatches",
    )
    return found.get("weights_equal") is False or any(found.get(key) for key in wrong)


def warnings(found):
    """Lines about numbers that did not fit: gradients that were wrapped, tensors of which many words were saturated."""
    count, rows = found.get("overflowed_minibatches"), found.get("saturations") or []
    lines = (
        [
            f"gradients overflowed in {count} minibatches, first in minibatch {found['first_overflow']}: "
            "such an update is wrong"
        ]
        if count
        else []
    )
    return lines + saturation_warnings(
        [{**row, "clipped": row["last_clipped"], "words": row["last_words"]} for row in rows]
    )


def _percent(value):
    return "-" if value is None else f"{100 * value:.2f} %"


def epoch_line(entry, epochs):
    """One line for a finished epoch."""
    equal = {True: ", weights equal", False: ", WEIGHTS DIFFER", None: ""}[entry["weights_equal"]]
    float32 = f" (float32 {_percent(entry['float32_test_accuracy'])})" if "float32_test_accuracy" in entry else ""
    accuracy = f"test accuracy {_percent(entry['test_accuracy'])}{float32}"
    return f"epoch {entry['epoch']}/{epochs}: loss {entry['loss']:.5f}, {accuracy}{equal}"


def last_line(found):
    """The result of a run in one line."""
    equal = {
        True: "yes",
        False: f"NO ({found['differing_words']} words, first {found['first_difference']})",
        None: "not checked",
    }
    cycles = "-" if found["cycles_per_image"] is None else f"{found['cycles_per_image']:.0f}"
    return (
        f"test accuracy {_percent(found['test_accuracy'])} (float32 {_percent(found['float32_test_accuracy'])}), "
        f"cycles per image {cycles}, MAC utilisation {_percent(found['mac_utilisation'])}, "
        f"weights equal: {equal[found['weights_equal']]}, weights sha256 {found['weights_sha256']}"
    )


def bench_line(found):
    """The result of a benchmark in one line."""
    return (
        f"{found['network']}, {found['engine']['grid'] ** 2}x{found['engine']['cols']}, "
        f"minibatch {found['minibatch']}: {found['cycles_per_image']:.1f} cycles per image "
        f"(ideal {found['ideal_cycles_per_image']:.1f}, utilisation {_percent(found['mac_utilisation'])}), "
        f"expected {found['expected_cycles_per_image']:.1f} ({found['expected_deviation_percent']:+.2f} %), "
        f"DRAM {found['dram_bytes_per_image'] / 1000:.1f} kB per image, "
        f"{found['differing_words']} of {found['words_compared']} words differ, "
        f"{found['simulated_cycles_per_second']} simulated cycles per second"
    )


def tables(found):
    """Figures of a report as (title, rows), the first row being the headings."""
    chosen = (
        "network",
        "data",
        "backend",
        "stall",
        "epochs",
        "seed",
        "train_images",
        "test_images",
        "words_compared",
        "differing_words",
        "cycles",
        "cycles_per_image",
        "ideal_cycles_per_image",
        "mac_utilisation",
        "mac_busy_cycles",
        "padding_cycles",
        "turn_round_cycles",
        "yield_cycles",
        "dram_bytes_read",
        "dram_bytes_written",
        "dram_bytes_per_image",
        "dram_bound_cycles_per_image",
        "expected_cycles_per_image",
        "expected_deviation_percent",
        "minibatch",
        "iterations",
        "weights_sha256",
        "engine_sha256",
    )
    yield "run", [("figure", "value"), *((key, found[key]) for key in chosen if found.get(key) is not None)]
    engines = found.get("engine_cycles") or found.get("stall_cycles")
    if engines:
        rows = [(cause, *(parts[cause] for parts in engines.values())) for cause in next(iter(engines.values()))]
        yield "cycles of each engine by cause", [("", *engines), *rows]
    saturated = [row for row in found.get("saturations") or [] if row["clipped"]]
    if saturated:
        rows = [
            (row["layer"], row["kind"], row["clipped"], row["words"], row["last_clipped"], row["last_words"])
            for row in saturated
        ]
        yield "saturated words", [("layer", "kind", "saturated", "of words", "in the last epoch", "of words"), *rows]
    if found.get("per_phase"):
        rows = [
            (
                p["layer"],
                p["pass"],
                p["cycles"],
                f"{100 * p['busy'] / max(p['cycles'], 1):.1f} %",
                ", ".join(f"{cause} {n}" for cause, n in p["stalls"].items())
                or ("beside the array" if p.get("beside") else ""),
            )
            for p in found["per_phase"]
        ]
        yield "layers and passes", [("layer", "pass", "cycles", "busy", "waiting"), *rows]


def write_run(folder, found, model, recorded=None):
    """Write the results of a run: weights.npz of the `Model`, loss.png, of a simulated run timeline.png and trace.json,
    and report.json, which says that the others are complete. Raises FileError."""
    model_file.write(folder / "weights.npz", model)
    loss_picture(folder / "loss.png", found["history"])
    if recorded:
        events, lost, ops = recorded
        write_trace(folder / "trace.json", events, event_names(events, ops), found.get("run"))
        timeline_picture(
            folder / "timeline.png",
            events,
            "one minibatch" + (f", the first {lost} instructions missing" if lost else ""),
        )
    write_json(folder / "report.json", found)


def write_bench(folder, found, events, ops):
    """Write the results of a benchmark: trace.json, timeline.png, roofline.png and, last, report.json. Raises
    FileError."""
    write_trace(folder / "trace.json", events, event_names(events, ops))
    timeline_picture(folder / "timeline.png", events, f"{found['network']}, one minibatch of {found['minibatch']}")
    roofline_picture(folder / "roofline.png", found)
    write_json(folder / "report.json", found)


def roofline_picture(path, found):
    """Multiply-accumulates per cycle over multiply-accumulates per DRAM byte, under the array's and the memory's
    limit."""
    plt = _pyplot()
    peak, rate = found["engine"]["grid"] ** 2 * found["engine"]["cols"], found["memory"]["bytes_per_cycle"]
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    intensity = found["macs_per_image"] / found["dram_bytes_per_image"]
    x = np.geomspace(peak / rate / 30, max(intensity, peak / rate) * 10, 200)
    axis.loglog(x, np.minimum(peak, rate * x), color="black", label=f"{peak} MACs, {rate} bytes per cycle")
    axis.loglog(
        [intensity],
        [found["macs_per_image"] / found["cycles_per_image"]],
        "o",
        color=COLOURS["compute"],
        label=found["network"],
    )
    axis.set_xlabel("multiply-accumulates per DRAM byte")
    axis.set_ylabel("multiply-accumulates per cycle")
    axis.legend()
    _write_picture(path, plt, figure)


def network_table(network):
    """Layers of a network: shapes, number formats, multiply-accumulates of a forward pass."""
    rows = []
    for p in network.parameters:
        rows.append(
            {
                "name": p.name,
                "type": "dense" if p.weight_shape[2:] == p.in_shape[1:] else "conv",
                "input": "x".join(map(str, p.in_shape)),
                "kernel": "x".join(map(str, p.weight_shape[2:])),
                "output": "x".join(map(str, p.out_shape)),
                "relu": p.relu,
                "pool": p.pool or "",
                "frac act": f"{p.fa} -> {p.fo}",
                "frac weight": p.fw,
                "frac delta": p.fd,
                "words": int(np.prod(p.weight_shape)) + p.bias * p.weight_shape[0],
                "macs": int(np.prod(p.weight_shape)) * p.conv_shape[1] * p.conv_shape[2],
            }
        )
    return rows


def compiled_figures(compiled):
    """Memory map and programs of a compiled network as plain data."""
    tensors = [
        {"name": t.name, "base": getattr(t, "base_sel", 0), "address": t.addr, "bytes": t.layout.size}
        for t in compiled.memory.tensors()
    ]
    programs = {
        program.name: {
            "instructions": len(program.instructions),
            "tokens": program.tokens,
            "expected_cycles": program.cycles,
        }
        for program in (compiled.train, compiled.infer)
    }
    config = {name: getattr(compiled.config, name) for name in compiled.config.__dataclass_fields__}
    return {
        "network": compiled.network.name,
        "images": compiled.images,
        "engine": config,
        "tensors": tensors,
        "programs": programs,
    }


def weights_table(path):
    """Format and range of every tensor in a weights.npz or a checkpoint. Raises FileError."""
    model, rows = model_file.read(path), []
    fractions = model_file.fractions(model.network)
    for name, x in model_file.tensors(model.network, model.state).items():
        rows.append(
            {
                "tensor": name,
                "shape": "x".join(map(str, x.shape)),
                "frac": fractions[name],
                "min": int(x.min()),
                "max": int(x.max()),
                "zero": int((x == 0).sum()),
            }
        )
    return rows
