# SPDX-License-Identifier: Apache-2.0
"""The estimated clock of each module of a design: what ci/synth measures with ci/levels.py, compares and shows."""

import json
from collections.abc import Iterator
from pathlib import Path

from ci.levels import DELAYS, families, longest

FIGURES = Path(__file__).with_name("clock.json")


def measure(netlist: dict, top: str) -> dict:
    """{module: {family: mhz, levels, carry, from, to}} of the slowest path that ends in each module."""
    found: dict = {}
    for family, delays in families().items():
        for module, path in longest(netlist, top, delays):
            mhz = round(1000 / (delays.register + path.cost))
            row = {"mhz": mhz, "levels": path.levels, "carry": path.carry, "from": path.first, "to": path.last}
            found.setdefault(module, {}).setdefault(family, row)  # the first one is the slowest
    return dict(sorted(found.items()))


def slower(stored: dict, fresh: dict) -> Iterator[str]:
    """What is slower now than what is stored of a configuration."""
    for module, rows in fresh.items():
        for family, row in rows.items():
            before = stored.get(module, {}).get(family)
            if before and row["mhz"] < before["mhz"]:
                path = f"{row['levels']} levels, {row['carry']} carry bits, {row['from']} -> {row['to']}"
                yield f"{module}: {row['mhz']} MHz on {family}, {before['mhz']} before: {path}"


def slowest(stored: dict) -> dict:
    """{module: {family: row}} over all configurations."""
    found: dict = {}
    for modules in stored.values():
        for module, rows in modules.items():
            for family, row in rows.items():
                known = found.setdefault(module, {}).get(family)
                if known is None or row["mhz"] < known["mhz"]:
                    found[module][family] = row
    return found


def lines(stored: dict) -> list[str]:
    """The section of doc/resources.md; none without figures."""
    if not stored:
        return []
    known = json.loads(DELAYS.read_text())
    names = list(known["families"])
    rows = slowest(stored)
    result = [
        "",
        "## Estimated clock",
        "",
        *known["says"],
        "",
        "| module | " + " | ".join(f"{name}, MHz | levels | carry bits | path" for name in names) + " |",
        "|---|" + "--:|--:|--:|---|" * len(names),
    ]
    for module, families_ in sorted(rows.items(), key=lambda item: (min(r["mhz"] for r in item[1].values()), item[0])):
        cells = []
        for name in names:
            row = families_.get(name)
            cells += (
                [str(row["mhz"]), str(row["levels"]), str(row["carry"]), f"`{row['from']}` -> `{row['to']}`"]
                if row
                else ["", "", "", ""]
            )
        result.append(f"| {module} | {' | '.join(cells)} |")
    return [*result, "", "Of these configurations: " + ", ".join(stored) + "."]
