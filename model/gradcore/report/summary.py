# SPDX-License-Identifier: Apache-2.0
"""A report in a few lines: has a check failed, what to warn of, the result."""

from typing import Any

from gradcore.reference.saturation import warnings as saturation_warnings


def failed(found: dict[str, Any]) -> bool:
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


def warnings(found: dict[str, Any]) -> list[str]:
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


def epoch_line(entry: dict[str, Any], epochs: int) -> str:
    """One line for a finished epoch."""
    equal = {True: ", weights equal", False: ", WEIGHTS DIFFER", None: ""}[entry["weights_equal"]]
    float32 = f" (float32 {_percent(entry['float32_test_accuracy'])})" if "float32_test_accuracy" in entry else ""
    accuracy = f"test accuracy {_percent(entry['test_accuracy'])}{float32}"
    if "validation_loss" in entry:
        aside = f"validation {entry['validation_loss']:.5f}, {_percent(entry['validation_accuracy'])}"
        accuracy = f"{aside}; {accuracy}"
    return f"epoch {entry['epoch']}/{epochs}: loss {entry['loss']:.5f}, {accuracy}{equal}"


def last_line(found: dict[str, Any]) -> str:
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


def bench_line(found: dict[str, Any]) -> str:
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


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"
