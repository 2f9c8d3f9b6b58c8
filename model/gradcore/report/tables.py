# SPDX-License-Identifier: Apache-2.0
"""Figures of reports, compiled networks and weights as tables."""

from collections.abc import Iterator
from typing import Any

from gradcore.compiler.compile import CompiledNetwork
from gradcore.files.atomic import StrPath
from gradcore.host import model_file


def tables(found: dict[str, Any]) -> Iterator[tuple[str, list[tuple]]]:
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


def compiled_figures(compiled: CompiledNetwork) -> dict[str, Any]:
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
    network: Any = compiled.network  # the compiler knows it as an object
    config = {name: getattr(compiled.config, name) for name in compiled.config.__dataclass_fields__}
    return {
        "network": network.name,
        "images": compiled.images,
        "engine": config,
        "tensors": tensors,
        "programs": programs,
    }


def weights_table(path: StrPath) -> list[dict[str, Any]]:
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
