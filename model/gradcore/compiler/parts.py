# SPDX-License-Identifier: Apache-2.0
"""The weights of a layer in parts, so that what each takes fits the buffers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Part
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import ceil_div


@dataclass(frozen=True)
class Need:
    """What something takes of a buffer with `depth` vectors or rows; `twice`: two places are wanted."""

    name: str
    size: int
    depth: int
    twice: bool = False

    def excess(self, wish: bool) -> float:
        """Part of the buffer that is taken; above 1 it does not fit. `wish`: with the second place."""
        size = self.size * (2 if self.twice and wish else 1)
        return size / self.depth if self.depth else inf if size else 0.0


def fit(setting: Setting, index: int, needs: Sequence[Need]) -> None:
    """Raises CompileError where the worst of the needs of a layer does not fit."""
    worst = max(needs, key=lambda need: need.excess(False))
    if worst.size > worst.depth:
        # Coarser folds of the layer and of those beside it make smaller blocks.
        stages = tuple(range(max(2 * index - 1, 0), 2 * index + 3))
        # All layers in strips leave more of the gate buffer.
        strips = range(len(setting.layers)) if setting.memory.gate_vectors else ()
        raise CompileError(
            setting.layers[index].name, worst.name, worst.size, worst.depth, stages, strips, scattered={index}
        )


def cut(
    setting: Setting, index: int, whole: Part, needs: Callable[[Part], list[Need]], only_rows: bool = False
) -> list[Part]:
    """Parts of `whole` of a layer, so that needs(part) fit, twice where that is wanted and can be had. Cuts rows of the
    kernel first, then, unless `only_rows`, columns, then channels by multiples of COLS, each as far as it helps. Raises
    CompileError."""
    step = setting.config.cols
    (ky, n_ky), (kx, n_kx), (c, end), (down, right) = whole.rows, whole.columns, whole.channels, whole.step
    each = dict(rows=n_ky, columns=n_kx, channels=ceil_div(end - c, step))

    def part(y: int, x: int, first: int, each: dict[str, int]) -> Part:
        rows, columns = min(each["rows"], n_ky - y), min(each["columns"], n_kx - x)
        channels = first, min(first + each["channels"] * step, end)
        return Part((ky + y * down, rows), (kx + x * right, columns), channels, False, False, whole.step)

    def every(each: dict[str, int], channels: range) -> list[Part]:
        rows, columns = range(0, n_ky, each["rows"]), range(0, n_kx, each["columns"])
        return [part(y, x, first, each) for y in rows for x in columns for first in channels]

    def wanted(each: dict[str, int]) -> list[Need]:
        # Of the outer taps a map has fewer pixels; of the first channels no part has more.
        return [need for one in every(each, range(c, c + 1)) for need in needs(one)]

    def excess(each: dict[str, int]) -> float:
        return max(need.excess(True) for need in wanted(each))

    while (now := excess(each)) > 1:
        axes = [axis for axis in each if each[axis] > 1 and (axis == "rows" or not only_rows)]
        axis = next((axis for axis in axes if excess(each | {axis: 1}) < now), None)
        if not axis:
            break
        each[axis] = ceil_div(each[axis], 2)
    fit(setting, index, wanted(each))
    parts = every(each, range(c, end, each["channels"] * step))
    parts[0], parts[-1] = replace(parts[0], first=True), replace(parts[-1], last=True)
    return parts
