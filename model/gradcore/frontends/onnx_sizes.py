# SPDX-License-Identifier: Apache-2.0
"""Sizes that an ONNX graph computes from those of its tensors, as `x.view(x.size(0), -1)` is exported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from gradcore.frontends.layers import Value, refuse
from gradcore.frontends.onnx_constants import Constant

# Operators on sizes, and their attributes with their defaults.
OPERATORS: dict[str, dict[str, Any]] = {
    "Shape": {},
    "Gather": {"axis": 0},
    "Unsqueeze": {"axes": None},
    "Concat": {"axis": None},
}


@dataclass(frozen=True)
class Sizes:
    """values: None for the number of images, where that is not fixed; scalar: a number, not a list of one."""

    values: tuple[int | None, ...]
    scalar: bool = False


def is_of_sizes(kind: str, inputs: Sequence[object]) -> bool:
    """Does an operator compute sizes?"""
    return kind == "Shape" or kind in OPERATORS and any(isinstance(found, Sizes) for found in inputs)


def sizes_of(kind: str, attributes: Mapping[str, Any], inputs: Sequence[Any], images: int | None) -> Sizes:
    """What an operator of `OPERATORS` computes. Raises ModelError."""
    x = inputs[0]
    if kind == "Shape":
        refuse(not isinstance(x, Value), "reads no tensor of the model", "the shape of a tensor")
        return Sizes((images, prod(x.shape)) if x.flat else (images, *x.shape))
    axis = attributes.get("axis")
    refuse(axis not in (None, 0), f"axis={axis}", "axis=0")
    if kind == "Concat":
        refuse(any(isinstance(found, Sizes) and found.scalar for found in inputs), "joins numbers", "lists")
        return Sizes(tuple(size for found in inputs for size in _values(found)))
    if kind == "Gather":
        refuse(not isinstance(x, Sizes) or x.scalar, "takes a part of no list of sizes", "Shape before it")
        places = _values(inputs[1])
        good = all(place is not None and -len(x.values) <= place < len(x.values) for place in places)
        refuse(not good, f"takes the sizes {list(places)} of {len(x.values)}", f"0 to {len(x.values) - 1}")
        return Sizes(tuple(x.values[place or 0] for place in places), inputs[1].shape == ())
    axes = attributes["axes"] if len(inputs) < 2 else _values(inputs[1])
    refuse(not isinstance(x, Sizes) or not x.scalar or tuple(axes) != (0,), "of another than a number", "axes=[0]")
    return Sizes(x.values)


def _values(found: Any) -> tuple[int | None, ...]:
    refuse(not isinstance(found, (Sizes, Constant)), "reads a tensor of the model", "sizes and constants")
    return found.values if isinstance(found, Sizes) else tuple(found.integers())
