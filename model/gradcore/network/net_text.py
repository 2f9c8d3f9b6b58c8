# SPDX-License-Identifier: Apache-2.0
"""The writer of net.toml: what `gradcore.network.parse` reads as the same network."""

import json
from dataclasses import MISSING, Field, fields
from typing import Any

from gradcore.network.description import Network
from gradcore.network.schedule import SCHEDULES, Schedule
from gradcore.ops.kinds import KINDS

LINE = 100  # characters of a list in one line
TRAIN = ("optimiser", "learning_rate", "momentum", "weight_decay", "minibatch")


def text_of(network: Network) -> str:
    """The text of a net.toml. Fields of layers that have their default are left out."""
    head = {"name": network.name, "input": network.shape, "loss": network.loss}
    parts = ["# SPDX-License-Identifier: Apache-2.0", *_lines(head)]
    parts += ["", "[train]", *_lines({key: getattr(network, key) for key in TRAIN})]
    if network.schedule != Schedule():
        parts += ["", "[train.schedule]", *_lines(_entry(network.schedule, SCHEDULES))]
    numbers = {"data_width": network.data_width, "rounding": network.rounding}
    parts += ["", "[format]", *_lines(numbers | network.formats)]
    for layer in network.layers:
        parts += ["", "[[layer]]", *_lines(_entry(layer, KINDS))]
    return "\n".join(parts) + "\n"


def _entry(item: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    """The table of a layer or a schedule, its type first."""
    found = {"type": next(name for name, kind in kinds.items() if kind is type(item))}
    found |= {f.name: getattr(item, f.name) for f in fields(item) if getattr(item, f.name) != _default(f)}
    return {"format" if key == "formats" else key: value for key, value in found.items()}


def _default(f: Field) -> Any:
    return f.default if f.default_factory is MISSING else f.default_factory()


def _lines(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in table.items()]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_lines(value)) + " }"
    if isinstance(value, (list, tuple)):
        short = "[" + ", ".join(map(_value, value)) + "]"
        return short if len(short) <= LINE else "[\n" + "".join(f"    {_value(x)},\n" for x in value) + "]"
    return json.dumps(value, ensure_ascii=False)
