# SPDX-License-Identifier: Apache-2.0
"""Where the cycles of each engine went: counters by cause."""

from collections.abc import Mapping

from gradcore.isa.instruction import ENGINES, PRODUCERS


def by_cause(counters: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Split every engine's cycles: busy, waiting for a token of each producer, without an instruction.

    `counters` by name (`gradcore.isa.registers.COUNTER_NAMES`). The entries of one engine sum to its total of cycles.
    """
    causes = ("busy", *(f"wait_{producer}" for producer in PRODUCERS), "idle")
    return {engine: {cause: counters[f"{engine}.{cause}"] for cause in causes} for engine in ENGINES}


def unaccounted(causes: Mapping[str, Mapping[str, int]], cycles: int) -> dict[str, int]:
    """Engines whose cycles do not sum to the total, with the difference; empty when the counters are sound."""
    return {engine: cycles - sum(parts.values()) for engine, parts in causes.items() if sum(parts.values()) != cycles}
