# SPDX-License-Identifier: Apache-2.0
"""Places of weights and gradients: rows of the weight and of the gradient buffer."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Rows
from gradcore.compiler.products import splits
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import round_up


def place_rows(setting: Setting, what: str, depth: int) -> list:
    """`Rows` of every layer: all side by side if they fit, else alternately from both ends; none for layers in strips.
    `what`: weight or gradient. Raises CompileError where a layer alone does not fit."""
    sizes = []
    for index, (p, tensor) in enumerate(zip(setting.layers, setting.memory.weight)):
        own = (tensor.layout.rows, tensor.layout.groups * p.bias)
        sizes.append((0, 0) if index in setting.choices.strips else own)
        if sum(sizes[-1]) > depth:
            raise CompileError(p.name, f"{what} rows of {setting.config.cols}", sum(own), depth, (), {index})
    for align in (setting.config.lanes, 1):
        at, bases = 0, []
        for index, size in enumerate(sizes):
            bases.append(round_up(at, align if what == "weight" and splits(setting, index) else 1))
            at = bases[-1] + sum(size)
        if at <= depth:
            break
    else:
        bases = [(depth - sum(size)) * (index % 2) for index, size in enumerate(sizes)]
    return [Rows(base, base + rows, base + rows + bias) for base, (rows, bias) in zip(bases, sizes)]


def apart(rows: list) -> bool:
    """Do no two of them overlap?"""
    rows = sorted(rows, key=lambda r: r.base)
    return all(one.end <= other.base for one, other in zip(rows, rows[1:]))
