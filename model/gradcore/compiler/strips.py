# SPDX-License-Identifier: Apache-2.0
"""Strips: how many block rows and columns of a map a COMPUTE takes at once, so that what it reads and writes fits the
buffers."""

from dataclasses import dataclass

from gradcore.compiler.limits import CompileError
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Area, Span
from gradcore.isa.fold import ceil_div, round_up


@dataclass(frozen=True)
class Axis:
    """How the pixels of a computed map belong to those of another, on one axis: pixel a needs (or gives)
    (a*times + low) / step .. (a*times + high) / step of `size` pixels, in blocks of `block`."""

    size: int
    block: int
    low: int = 0
    high: int = 0
    step: int = 1
    times: int = 1

    def misses(self, first: int) -> bool:
        """Do pixels from `first` on belong to none?"""
        return (first * self.times + self.low) // self.step >= self.size

    def span(self, first: int, end: int) -> Span:
        """(first, end) of the blocks; at least one."""
        low = min(max((first * self.times + self.low) // self.step, 0), self.size - 1)
        high = min(max(ceil_div((end - 1) * self.times + 1 + self.high, self.step), low + 1), self.size)
        return low // self.block, ceil_div(high, self.block)


@dataclass(frozen=True)
class Demand:
    """What a strip takes of a buffer: blocks of two axes with `vectors` each. A ring keeps rows for the next strip;
    else two places are wanted."""

    name: str
    depth: int
    vectors: int
    rows: Axis
    columns: Axis
    ring: bool = False
    pairs: bool = False  # rows and columns come in twos: what LOAD up-samples
    stages: tuple[int, ...] = ()  # whose coarser folds make it smaller
    spare: int = 0  # vectors that must be free besides

    def spans(self, area: Area) -> Area:
        """(rows, columns) of blocks for an area in pixels."""
        rows, columns = self.rows.span(*area[0]), self.columns.span(*area[1])
        if self.pairs:
            rows, columns = ((a // 2 * 2, ceil_div(b, 2) * 2) for a, b in (rows, columns))
        return rows, columns


@dataclass(frozen=True)
class Strips:
    """A computed map of `shape` pixels in strips of `rows` x `columns` blocks of `block` pixels."""

    shape: tuple[int, int]
    block: int
    rows: int
    columns: int

    def __str__(self) -> str:
        return f"strips of {self.rows} x {self.columns} blocks of {self.block} x {self.block} pixels"

    def areas(self) -> list[Area]:
        """((first, end) of rows, (first, end) of columns) in blocks, from left to right, each downwards."""
        high, wide = (ceil_div(size, self.block) for size in self.shape)
        return [
            ((y, min(y + self.rows, high)), (x, min(x + self.columns, wide)))
            for x in range(0, wide, self.columns)
            for y in range(0, high, self.rows)
        ]

    def loaded(self, demand: "Demand", kept: bool) -> int:
        """Blocks of a demand that all strips load; `kept`: without those that the strip above has brought."""
        count, above = 0, (0, 0)
        beside: Span | None = None
        for (first, end), columns in (demand.spans(self.pixels(area)) for area in self.areas()):
            found = max(above[1], first) if kept and columns == beside and above[0] <= first else first
            count += max(end - found, 0) * (columns[1] - columns[0])
            above, beside = (first, end), columns
        return count

    def pixels(self, area: Area) -> Area:
        rows, columns = ((a * self.block, min(b * self.block, n)) for (a, b), n in zip(area, self.shape))
        return rows, columns


def choose_strips(
    setting: Setting, index: int, shape: tuple[int, int], block: int, step: int, demands: list[Demand]
) -> Strips:
    """The highest strips that `Choices.low` allows with which all demands fit with room for the next strip, else
    without; of all columns if possible, or of fewer where there is room so and no block is loaded twice for it. Strips
    have a multiple of `step` blocks. Raises CompileError."""
    high, wide = (ceil_div(size, block) for size in shape)
    most, columns = round_up(ceil_div(high, setting.choices.low), step), wide
    found: Strips | None = None
    while True:
        for ahead in (True, False) if not found else (True,):
            for rows in range(most, 0, -step):
                strips = Strips(shape, block, rows, columns)
                worst = _worst(strips, demands, ahead)
                if worst is not None:
                    continue
                if ahead and not (found and _load_more(strips, found, demands)):
                    return strips
                found = found or strips
                break
        if columns <= step:
            break
        columns = -(-columns // 2 // step) * step
    if found:
        return found
    assert worst
    demand, need = worst
    raise CompileError(setting.layers[index].name, f"{demand.name} of a block", need, demand.depth, demand.stages)


def _load_more(strips: Strips, others: Strips, demands: list[Demand]) -> bool:
    """Does a demand load more blocks in some strips than in others?"""
    return any(strips.loaded(demand, demand.ring) > others.loaded(demand, demand.ring) for demand in demands)


def fits_twice(strips: Strips, demands: list[Demand]) -> bool:
    """Do all demands fit with room for the next strip?"""
    return _worst(strips, demands, True) is None


def _worst(strips: Strips, demands: list[Demand], ahead: bool) -> tuple[Demand, int] | None:
    """A demand that does not fit and its need, or None. `ahead`: with room for the next strip."""
    for demand in demands:
        need = largest_need(strips, demand, ahead)
        if need > demand.depth:
            return demand, need
    return None


def largest_need(strips: Strips, demand: Demand, ahead: bool) -> int:
    """What the largest of the strips takes of a demand. `ahead`: with room for the next strip."""
    areas = [strips.pixels(area) for area in strips.areas()]
    spans = [demand.spans(area) for area in areas]
    need = 0
    # The first strip of the next images comes behind the last one.
    for (rows, columns), (then, beside) in zip(spans, spans[1:] + spans[:1]):
        (first, end), more = rows, then[1] - then[0]
        if demand.ring and columns == beside and first <= then[0] <= end and len(spans) > 1:
            more = max(then[1] - end, 0)
        need = max(need, (end - first + more * ahead) * (columns[1] - columns[0]) * demand.vectors + demand.spare)
    return need
