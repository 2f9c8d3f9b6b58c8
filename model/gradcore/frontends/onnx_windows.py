# SPDX-License-Identifier: Apache-2.0
"""Kernels, strides and pads of ONNX's convolutions and poolings."""

from collections.abc import Mapping, Sequence
from typing import Any

from gradcore.frontends.layers import refuse
from gradcore.ops.layer import Shape

Pair = tuple[int, int]


def windows_of(given: Mapping[str, Any], shape: Shape) -> tuple[Pair, Pair, Pair]:
    """(window, stride, pad) of a pooling of maps of `shape`. Raises ModelError."""
    window, stride = given["kernel_shape"], given["strides"] or (1, 1)
    refuse(window is None or len(window) != 2, f"kernel_shape {window}", "rows and columns")
    return _pair(window), _pair(stride), pads_of(given, _pair(window), stride, shape)


def pads_of(given: Mapping[str, Any], kernel: Pair, stride: Sequence[int], shape: Shape) -> Pair:
    """Padding (rows, columns) that the attributes `auto_pad` and `pads` say. Raises ModelError."""
    refuse(any(d != 1 for d in given["dilations"] or ()), f"dilations {given['dilations']}", "dilations=[1, 1]")
    refuse(len(stride) != 2, f"strides {stride}", "rows and columns")
    kind, pads = given["auto_pad"], given["pads"] or (0, 0, 0, 0)
    refuse(kind not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), f"auto_pad '{kind}'", "NOTSET")
    if kind == "VALID":
        pads = (0, 0, 0, 0)
    elif kind != "NOTSET":
        total = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(shape[1:], stride, kernel)]
        before = [whole // 2 if kind == "SAME_UPPER" else whole - whole // 2 for whole in total]
        pads = (*before, *(whole - first for whole, first in zip(total, before)))
    refuse(len(pads) != 4, f"pads {pads}", "top, left, bottom, right")
    top, left, bottom, right = pads
    name = "pads" if kind == "NOTSET" else f"auto_pad '{kind}' gives the pads"
    refuse((top, left) != (bottom, right), f"{name} {tuple(pads)}, not the same on both sides", [top, left, top, left])
    return int(top), int(left)


def _pair(value: Sequence[int]) -> Pair:
    rows, columns = value
    return int(rows), int(columns)
