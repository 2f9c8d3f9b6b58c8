# SPDX-License-Identifier: Apache-2.0
"""Places of weights and gradients: rows of the weight and of the gradient buffer."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Rows
from gradcore.compiler.products import splits
from gradcore.compiler.rings import Region
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
    return [Rows(base, base + rows, base + rows, base + rows + bias) for base, (rows, bias) in zip(bases, sizes)]


def behind_bias(setting: Setting, index: int, what: str, depth: int) -> Region:
    """The rows of a buffer behind those of the bias of all output groups, which come first where a layer is in strips.
    `what`: weight or gradient. Raises CompileError where none is left."""
    biases = setting.memory.weight[index].layout.groups * setting.layers[index].bias
    first = round_up(biases, setting.config.lanes if what == "weight" and splits(setting, index) else 1)
    if first >= depth:
        raise CompileError(setting.layers[index].name, f"{what} rows of the bias", first, depth)
    return Region(first, depth)


def apart(rows: list) -> bool:
    """Do no two of them overlap?"""
    rows = sorted(rows, key=lambda r: r.base)
    return all(one.bias_end <= other.base for one, other in zip(rows, rows[1:]))
