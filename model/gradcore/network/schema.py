# SPDX-License-Identifier: Apache-2.0
"""JSON schema of net.toml, made from the kinds of layers: for editors, and for programs that write such files.

It knows fields, types and single ranges; what depends on several fields is the business of `Network`.
"""

from dataclasses import MISSING, Field, fields

from gradcore.network.description import IMAGES_MAX, LAYERS_MAX, OPTIMISERS
from gradcore.network.schedule import SCHEDULES, STEPS_MAX, Schedule
from gradcore.numerics.fixed_point import FRAC_MAX, FRAC_MIN, MODES
from gradcore.ops.checks import MAPS_MAX, NAME_MAX, RATE_MAX, SIZE_MAX
from gradcore.ops.kinds import KINDS
from gradcore.ops.layer import LAYER_FORMATS, Layer
from gradcore.ops.loss import LOSSES

TYPES: dict[object, str] = {int: "integer", bool: "boolean", str: "string"}


def schema() -> dict:
    """The schema of a whole file, as JSON has it."""
    modes = {"enum": list(MODES)}
    by_kind = {"type": "object", "properties": dict.fromkeys(("act", "delta", "param"), modes)}
    formats = {key: _integer(FRAC_MIN, FRAC_MAX) for key in ("input", *LAYER_FORMATS)}
    formats |= {"data_width": _integer(8, 16), "rounding": {"anyOf": [modes, by_kind | _closed()]}}
    train = {
        "optimiser": {"enum": list(OPTIMISERS)},
        "learning_rate": _number(0, RATE_MAX),
        "momentum": {"type": "number", "minimum": 0, "maximum": 0.999},
        "weight_decay": {"type": "number", "minimum": 0, "maximum": 1},
        "minibatch": _integer(1, IMAGES_MAX),
        "schedule": {"oneOf": [_schedule(name, kind) for name, kind in SCHEDULES.items()]},
    }
    sizes = [_integer(1, most) for most in (MAPS_MAX, SIZE_MAX, SIZE_MAX)]
    layers = [_layer(name, kind) for name, kind in KINDS.items()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "net.toml: a network and its training",
        "type": "object",
        "required": ["input", "layer"],
        "properties": {
            "name": {"type": "string", "maxLength": NAME_MAX},
            "input": {"type": "array", "prefixItems": sizes, "minItems": 3, "maxItems": 3},
            "loss": {"enum": list(LOSSES)},
            "train": {"type": "object", "properties": train} | _closed(),
            "format": {"type": "object", "properties": formats} | _closed(),
            "layer": {"type": "array", "minItems": 1, "maxItems": LAYERS_MAX, "items": {"oneOf": layers}},
        },
    } | _closed()


def _layer(name: str, kind: type[Layer]) -> dict:
    """One entry of `layer`: the fields of the kind's dataclass, by their annotations and the ranges in their
    metadata."""
    properties: dict[str, dict] = {"type": {"const": name}}
    required = ["type"]
    for f in fields(kind):
        if f.name == "formats":
            values = {key: _integer(FRAC_MIN, FRAC_MAX) for key in kind.own_formats}
            properties["format"] = {"type": "object", "properties": values} | _closed()
        elif f.name == "inputs":
            least, most = kind.reads
            properties["inputs"] = {
                "type": "array",
                "items": {"type": "string"},
                "minItems": least,
                "maxItems": most,
            }
            properties["input"] = {"type": "string"}
        else:
            properties[f.name] = _value(f)
            if f.default is f.default_factory is MISSING:
                required.append(f.name)
    return {
        "title": (kind.__doc__ or "").partition(".")[0].partition("\n")[0],
        "type": "object",
        "required": required,
        "properties": properties,
        "not": {"required": ["input", "inputs"]},
    } | _closed()


def _schedule(name: str, kind: type[Schedule]) -> dict:
    """The table [train.schedule] of one type."""
    properties: dict[str, dict] = {"type": {"const": name}}
    required = ["type"]
    for f in fields(kind):
        if f.type is tuple:
            least, most = f.metadata["range"]
            one = _integer(least, most) if f.name == "epochs" else {"type": "number", "minimum": least, "maximum": most}
            properties[f.name] = {"type": "array", "items": one, "minItems": 1, "maxItems": STEPS_MAX}
            required.append(f.name)
        else:
            properties[f.name] = _value(f)
    title = (kind.__doc__ or "").partition(".")[0].replace("\n    ", " ")
    return {"title": title, "type": "object", "required": required, "properties": properties} | _closed()


def _value(f: Field) -> dict:
    if choices := f.metadata.get("choices"):
        return {"enum": list(choices)}
    if "above" in f.metadata:
        return _number(f.metadata["above"], f.metadata["most"])
    if f.type in (tuple, tuple | None):
        one = _integer(*f.metadata["range"])
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]}
    if f.type is float:
        least, most = f.metadata["range"]
        return {"type": "number", "minimum": least, "maximum": most}
    return _integer(*f.metadata["range"]) if f.type is int else {"type": TYPES[f.type]}


def _integer(least: int, most: int) -> dict:
    return {"type": "integer", "minimum": least, "maximum": most}


def _number(above: float, most: float) -> dict:
    return {"type": "number", "exclusiveMinimum": above, "maximum": most}


def _closed() -> dict:
    return {"additionalProperties": False}
