# SPDX-License-Identifier: Apache-2.0
"""What the tests show of which operator: each network that a test compares is noted in the folder that `EVIDENCE`
names. ci/operators makes the last table of doc/operators.md of it."""

import json
import os
from collections import Counter
from pathlib import Path

from gradcore.network.description import Network
from gradcore.ops.kinds import KINDS
from gradcore.ops.loss import LOSSES

HOW = {  # what a network is compared with, or where
    "loops": "plain loops",
    "autograd": "PyTorch's autograd",
    "machine": "the instruction-level model",
    "rtl": "the RTL",
}
OPERATORS = (*KINDS, *LOSSES)


def operators(network: Network) -> set:
    """Types of its layers, also those that are fields of others, and its loss."""
    names = {kind: name for name, kind in KINDS.items()}
    found = {names[type(layer)] for layer in network.layers} | {network.loss}
    found |= {"relu"} if any(getattr(layer, "relu", False) for layer in network.layers) else set()
    return found | ({"max_pool"} if any(getattr(layer, "pool", None) for layer in network.layers) else set())


def note(how: str, network: Network) -> None:
    """This network has been compared, to the end."""
    assert how in HOW
    if folder := os.environ.get("EVIDENCE"):
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps({"how": how, "operators": sorted(operators(network))}) + "\n")


def count(folder: Path) -> dict:
    """{operator: {how: number of networks}} of what has been noted in a folder."""
    found = {operator: Counter() for operator in OPERATORS}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            entry = json.loads(line)
            for operator in entry["operators"]:
                found[operator][entry["how"]] += 1
    return found


def table(found: dict) -> str:
    """Of what `count` returns, for a document."""
    lines = ["| operator | " + " | ".join(HOW.values()) + " |", "|---|" + "--:|" * len(HOW)]
    lines += [f"| `{name}` | " + " | ".join(str(found[name][how]) for how in HOW) + " |" for name in found]
    return "\n".join(lines) + "\n"
