# SPDX-License-Identifier: Apache-2.0
"""The estimated clock of each module of a design: what ci/synth measures with ci/levels.py, compares and shows."""

from collections.abc import Iterator
from pathlib import Path

from ci.levels import families, longest

FIGURES = Path(__file__).with_name("clock.json")
TEXT = """\
**Estimates, not measurements**: there is no place and route behind them. A path is its LUTs with a net before each,
the carry bits that it runs along, and what every path has: a register's times and the last net. The constants are in
`ci/delays.json`. Fan-out and distance count nothing, and both families are estimated from the netlist above. The
column path: the slowest that ends in the module, from net to net, in any configuration named below the table.

The constants of UltraScale+ are those of a typical net (LUT 0.115 ns, net 0.32 ns). Those of Stratix 10 were fitted
to a run of an academic place and route tool with a model of that device, for 28 modules of an earlier state of this
RTL. The estimates of that state differ from it by 18 % (root of the mean square), 17 of 28 by less than 20 %; of two
modules the estimate names the slower one in 83 % of all pairs. The worst are those with long comparisons, 28 % too
fast: that tool puts them into carry chains, Yosys here into LUTs. Neither Quartus nor Vivado has run. What was placed
and routed: [clock.md](clock.md).
"""


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
    names = list(families())
    result = [
        "",
        "## Estimated clock",
        "",
        *TEXT.splitlines(),
        "",
        "| module | " + " | ".join(f"{name}, MHz | levels | carry bits | path" for name in names) + " |",
        "|---|" + "--:|--:|--:|---|" * len(names),
    ]
    rows = slowest(stored)
    for module in sorted(rows, key=lambda module: (min(row["mhz"] for row in rows[module].values()), module)):
        own = [rows[module][name] for name in names]
        cells = [f"{r['mhz']} | {r['levels']} | {r['carry']} | `{r['from']}` -> `{r['to']}`" for r in own]
        result.append(f"| {module} | {' | '.join(cells)} |")
    return [*result, "", "Of these configurations: " + ", ".join(stored) + "."]
