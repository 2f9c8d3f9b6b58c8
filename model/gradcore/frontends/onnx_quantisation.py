# SPDX-License-Identifier: Apache-2.0
"""Quantisation in an ONNX graph as number formats: QuantizeLinear, Clip, DequantizeLinear (QCDQ) and Quant (QONNX).

Both say: divide by a scale, round, clip, multiply by it. Where the scale is a power of two that is a format of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcore.frontends.layers import Value, refuse
from gradcore.frontends.onnx_constants import Constant, Grid

QONNX = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")  # domains of Quant
LINEAR = {"axis": None, "block_size": 0, "output_dtype": 0, "precision": 0, "saturate": 1}
OPERATORS: dict[str, tuple[Mapping[str, Any], int]] = {  # attributes with their defaults, largest number of inputs
    "QuantizeLinear": (LINEAR, 3),
    "DequantizeLinear": (LINEAR, 3),
    "Clip": ({"min": None, "max": None}, 3),
    "Quant": ({"signed": 1, "narrow": 0, "rounding_mode": "ROUND"}, 4),
}
KINDS = {"INT8": (8, True), "UINT8": (8, False), "INT16": (16, True), "UINT16": (16, False), "INT32": (32, True)}


@dataclass(frozen=True)
class Integers:
    """Words between QuantizeLinear and DequantizeLinear."""

    source: Value | Constant
    grid: Grid


def is_quantisation(kind: str, domain: str, inputs: tuple) -> bool:
    """Is it one of `OPERATORS`? A Clip is where integers go in."""
    if kind == "Quant":
        return domain in QONNX
    return kind in OPERATORS and (kind != "Clip" or bool(inputs) and isinstance(inputs[0], Integers))


def quantised(kind: str, given: Mapping[str, Any], inputs: tuple) -> Integers | tuple[Value | Constant, Grid]:
    """What becomes of a quantisation: integers, or a tensor with the grid that its words lie on. Raises ModelError."""
    if kind == "Quant":
        return _quant(given, inputs)
    if kind == "Clip":
        return _clip(given, inputs[0], inputs[1:])
    plain = given["block_size"] == 0 and given["precision"] == 0
    refuse(not plain, "blocks or another precision", "one scale for the tensor")
    frac = _frac(inputs[1] if len(inputs) > 1 else None)
    zero = inputs[2] if len(inputs) > 2 else None
    if kind == "QuantizeLinear":
        refuse(not isinstance(inputs[0], (Value, Constant)), "reads integers", "a tensor of floating point")
        bits, signed = _kind(zero.tensor.dtype.name if isinstance(zero, Constant) else "UINT8")
        _no_offset(zero)
        return Integers(inputs[0], Grid(frac, bits, signed))
    _no_offset(zero)
    if isinstance(inputs[0], Constant):
        bits, signed = _kind(inputs[0].tensor.dtype.name)
        grid = Grid(frac, bits, signed)
        return replace(inputs[0], grid=grid, stored=True), grid
    refuse(not isinstance(inputs[0], Integers), "reads no integers", "QuantizeLinear before it")
    assert isinstance(inputs[0], Integers)
    before = inputs[0].grid.frac
    refuse(frac != before, f"its scale is 2^{-frac}, that of QuantizeLinear 2^{-before}", "one scale for both")
    return inputs[0].source, inputs[0].grid


def _quant(given: Mapping[str, Any], inputs: tuple) -> tuple[Value | Constant, Grid]:
    mode = given["rounding_mode"]
    refuse(mode not in ("ROUND", "HALF_EVEN"), f"rounding_mode {mode}", "ROUND")
    refuse(len(inputs) != 4, f"has {len(inputs)} inputs", "4: tensor, scale, zero point, bits")
    source, scale, zero, width = inputs
    refuse(not isinstance(source, (Value, Constant)), "reads integers", "a tensor of floating point")
    _no_offset(zero)
    refuse(not isinstance(width, Constant), "computed bits", "a constant")
    bits = width.number()
    refuse(bits != int(bits) or not 2 <= bits <= 32, f"{bits:g} bits", "2 to 16 bits")
    narrow = bool(given["narrow"])
    refuse(narrow and isinstance(source, Value), "narrow=1 of a tensor that is computed", "narrow=0")
    return source, Grid(_frac(scale), int(bits), bool(given["signed"]), narrow)


def _clip(given: Mapping[str, Any], integers: Integers, inputs: tuple) -> Integers:
    """Fewer bits than the integers' type has, or the range without its least number."""
    limits = []
    for number, name in enumerate(("min", "max")):
        limit = inputs[number] if len(inputs) > number else given[name]
        refuse(limit is None, f"of integers without {name}", "both limits")
        limits.append(float(limit.tensor.numpy().item()) if isinstance(limit, Constant) else float(limit))
    low, high = limits
    grid = integers.grid
    bits = int(high + 1).bit_length() - 1 + grid.signed
    narrower = Grid(grid.frac, bits, grid.signed, grid.signed and low == -high)
    fits = bits <= grid.bits and (low, high) == narrower.limits
    refuse(not fits, f"to {low:g}..{high:g}", "the range of some number of bits, as -8..7")
    refuse(narrower.narrow and isinstance(integers.source, Value), f"to {low:g}..{high:g}", f"{low - 1:g}..{high:g}")
    return replace(integers, grid=narrower)


def _frac(scale: Any) -> int:
    """Fraction bits of a constant scale."""
    refuse(not isinstance(scale, Constant), "has a scale that is computed", "a constant")
    values = np.unique(scale.real())
    refuse(values.size != 1, f"has {scale.real().size} scales", "one scale for the tensor")
    (value,) = values
    refuse(value <= 0, f"has the scale {value:g}", "a power of two")
    frac = -round(float(np.log2(value)))
    refuse(not np.isclose(value, 2.0**-frac, rtol=1e-6), f"has the scale {value:g}", f"2^{-frac} = {2.0**-frac:g}")
    return frac


def _no_offset(zero: Any) -> None:
    """Refuse a zero point other than zero."""
    if zero is not None:
        refuse(not isinstance(zero, Constant), "has a zero point that is computed", "the constant 0")
        refuse(bool(np.any(zero.tensor.numpy())), "has a zero point", "0")


def _kind(name: str) -> tuple[int, bool]:
    refuse(name not in KINDS, f"integers of the type {name}", ", ".join(KINDS))
    return KINDS[name]
