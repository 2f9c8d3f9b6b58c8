# SPDX-License-Identifier: Apache-2.0
"""Places of weights and gradients: rows of the weight and of the gradient buffer."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.operands import splits
from gradcore.compiler.operation import Rows
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import round_up


def place_rows(setting: Setting, what: str, depth: int) -> list[Rows]:
    """`Rows` of every layer: all side by side if they fit, else alternately from both ends. Of layers in strips only
    the weights have rows, and only where all layers fit side by side; of frozen layers only the weights have rows.
    `what`: weight or gradient. Raises CompileError where a layer alone does not fit."""
    strips = setting.choices.strips
    every = [(t.layout.rows, t.layout.groups * p.bias) for p, t in zip(setting.layers, setting.memory.weight)]
    if what == "gradient":
        every = [size if p.trainable else (0, 0) for p, size in zip(setting.layers, every)]
    chains = [(0, 0) if index in strips else size for index, size in enumerate(every)]
    for p, size, index in zip(setting.layers, chains, range(len(chains))):
        if sum(size) > depth:
            raise CompileError(p.name, f"{what} rows of {setting.config.cols}", sum(size), depth, (), {index})
    dense = all(t.layout.dense for t in setting.memory.weight)
    for sizes in (every, chains) if what == "weight" and dense else (chains,):
        for align in (setting.config.lanes, 1):
            bases, at = [], 0
            for index, size in enumerate(sizes):
                bases.append(round_up(at, align if what == "weight" and splits(setting, index) else 1))
                at = bases[-1] + sum(size)
            if at <= depth:
                return _rows(bases, sizes)
    return _rows([(depth - sum(size)) * (index % 2) for index, size in enumerate(chains)], chains)


def _rows(bases: list[int], sizes: list[tuple[int, int]]) -> list[Rows]:
    return [Rows(base, base + rows, base + rows + bias) for base, (rows, bias) in zip(bases, sizes)]


def apart(rows: list[Rows]) -> bool:
    """Do no two of them overlap?"""
    rows = sorted(rows, key=lambda r: (r.base, r.end))
    return all(one.end <= other.base for one, other in zip(rows, rows[1:]))
