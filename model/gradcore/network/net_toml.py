# SPDX-License-Identifier: Apache-2.0
"""The reader of net.toml."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from gradcore.files import toml_text
from gradcore.files.atomic import StrPath
from gradcore.network.description import Network
from gradcore.network.schedule import schedule_of
from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.kinds import KINDS
from gradcore.ops.layer import LAYER_FORMATS, Layer


def load(path: StrPath, changes: Sequence[str] = ()) -> Network:
    """The network of a net.toml file with `changes` (see `parse`). Raises NetworkError, which names the file, for
    anything wrong in it, also when it cannot be read."""
    try:
        text = toml_text.read(path)
    except (OSError, ValueError) as error:
        raise NetworkError(
            "file", f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)
        ) from error
    return parse(text, path, changes)


def parse(text: str, file: StrPath = "", changes: Sequence[str] = ()) -> Network:
    """The network of the text of a net.toml. changes: "field=value", as train.minibatch=16 or layer.0.maps=32, each put
    in the place of what the text has. Raises NetworkError, which names `file`."""
    try:
        table = toml_text.parse(text)
        for change in changes:
            _change(table, change)
        return network_of(table)
    except NetworkError as error:
        error.file = str(file)
        raise
    except ValueError as error:
        raise NetworkError("syntax", str(error), file=str(file)) from error


def _change(table: dict[str, Any], change: str) -> None:
    """Put a field of a parsed net.toml. Raises NetworkError."""
    path, equals, value = (part.strip() for part in change.partition("="))
    *parents, field = path.split(".")
    if not equals or not all((*parents, field)):
        raise NetworkError(change, "is not FIELD=VALUE", "train.minibatch=16, layer.0.maps=32")
    at: Any = table
    for parent in parents:
        if isinstance(at, list):
            if not parent.isdecimal() or int(parent) >= len(at):
                raise NetworkError(path, f"there is no layer {parent}", f"layer.0 to layer.{len(at) - 1}")
            at = at[int(parent)]
        else:
            at = at.setdefault(parent, {})
        if not isinstance(at, (dict, list)):
            raise NetworkError(path, f"'{parent}' is no table", parent)
    if isinstance(at, list):
        raise NetworkError(path, "is a layer, not a field of one", f"{path}.maps=32")
    try:
        at[field] = toml_text.parse(f"value = {value}")["value"]
    except ValueError:
        at[field] = value  # a word without quotation marks


def network_of(table: Mapping[str, Any]) -> Network:
    """The network of a parsed net.toml. Raises NetworkError."""
    table = dict(table)
    train, formats = check.table("train", table.pop("train", {})), check.table("format", table.pop("format", {}))
    check.known("", table, ("name", "input", "loss", "layer"))
    check.known("train.", train, ("optimiser", "learning_rate", "momentum", "weight_decay", "minibatch", "schedule"))
    if "schedule" in train:
        train["schedule"] = schedule_of(train["schedule"])
    check.known("format.", formats, ("data_width", "rounding", "input", *LAYER_FORMATS))
    if "input" not in table:
        raise NetworkError("input", "is missing", "input = [maps, rows, columns]")
    entries = table.get("layer", [])
    if not isinstance(entries, list):
        raise NetworkError("layer", "is not a list of tables", "[[layer]]")
    layers = []
    for index, entry in enumerate(entries):
        try:
            layers.append(_layer(entry))
        except NetworkError as error:
            error.layer, error.name = index, entry.get("name", "") if isinstance(entry, dict) else ""
            raise
    own = {key: formats.pop(key) for key in ("data_width", "rounding") if key in formats}
    return Network(
        name=table.get("name", "network"),
        shape=table["input"],
        layers=tuple(layers),
        formats=formats,
        **train,
        **own,
        **{key: table[key] for key in ("loss",) if key in table},
    )


def _layer(entry: Any) -> Layer:
    entry = check.table("layer", entry)
    kind = entry.pop("type", None)
    check.choice("type", kind, KINDS)
    if "input" in entry:
        if "inputs" in entry:
            raise NetworkError("input", "stands beside inputs", "one of the two")
        check.text("input", entry["input"])
        entry["inputs"] = [entry.pop("input")]
    if "format" in entry:
        entry["formats"] = entry.pop("format")
    known = fields(KINDS[kind])
    check.known("", entry, [f.name for f in known], {"formats": "format"})
    for f in known:
        if f.default is f.default_factory is MISSING and f.name not in entry:
            raise NetworkError(f.name, "is missing", f"{f.name} = number of output {f.name}")
    return KINDS[kind](**entry)
