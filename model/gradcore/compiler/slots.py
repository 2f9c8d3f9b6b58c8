# SPDX-License-Identifier: Apache-2.0
"""Places of tiles in the operand buffers."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import MapTensor, MemoryMap, Tile
from gradcore.compiler.operation import Place, space
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Access

Wanted = tuple[int, int, int]  # of tiles: buffer, size, groups
Key = MapTensor | tuple[MapTensor, str]  # of a resident tensor


class Slots:
    """One or two places for the tiles of a tensor, used in turn."""

    def __init__(self, buffer: int, size: int, bases: list[int]) -> None:
        self.buffer, self.size, self.bases = buffer, size, bases
        self._group: list[int | None] = [None] * len(bases)
        self._next = 0

    def meets(self, other: "Slots") -> bool:
        """Do the places of both overlap?"""
        return self.buffer == other.buffer and any(
            a < b + other.size and b < a + self.size for a in self.bases for b in other.bases
        )

    def has(self, group: int) -> bool:
        return group in self._group

    def _base(self, group: int) -> int:
        if group not in self._group:
            self._group[self._next] = group
            self._next = (self._next + 1) % len(self.bases)
        return self.bases[self._group.index(group)]

    def _ranges(self, base: int) -> tuple[Access, ...]:
        return ((space(self.buffer), base, base + self.size),)

    def tile(self, tensor: MapTensor, group: int) -> Place:
        """Place of a whole tile, for LOAD."""
        base = self._base(group)
        return Place(self.buffer, base, tensor.tile, self._ranges(base))

    def place(self, tensor: MapTensor, image: int) -> Place:
        """Place of the image group with `image` in the fold of the tile."""
        base = self._base(tensor.group(image))
        return Place(self.buffer, base + tensor.tile_offset(image), tensor.tile, self._ranges(base))

    def stored(self, tensor: MapTensor, image: int) -> Place:
        """Place of the group with `image` as it is in DRAM."""
        base, layout = self._base(tensor.group(image)), tensor.layout
        return Place(
            self.buffer, base, Tile(layout.fold, layout.pitch, layout.rows, layout.columns), self._ranges(base)
        )


def fits(depth: int, wanted: list[Wanted]) -> bool:
    """Do tiles, (buffer, size, groups) each, fit twice side by side?"""
    return all(sum(min(2, groups) * size for b, size, groups in wanted if b == buffer) <= depth for buffer in (0, 1))


def place_tiles(
    setting: Setting, index: int, wanted: list[Wanted], stages: tuple[int, ...], from_end: bool
) -> list[Slots]:
    """Slots for tiles: wanted = (buffer, tile size, groups); two each where they fit, else one. From the end of the
    buffers backwards if `from_end`. Raises CompileError, with `stages`, where one each does not fit."""
    depth = setting.config.act_depth
    counts = [min(2, groups) for _, _, groups in wanted]
    for buffer in (0, 1):
        mine = [k for k, (b, *_) in enumerate(wanted) if b == buffer]
        for k in sorted(mine, key=lambda k: -wanted[k][1]):
            if sum(counts[m] * wanted[m][1] for m in mine) > depth:
                counts[k] = 1
        need = sum(wanted[m][1] for m in mine)
        if need > depth:
            layer, quantity = setting.layers[index].name, f"vectors of the tiles in operand buffer {buffer}"
            raise CompileError(layer, quantity, need, depth, stages, {index})
    at, result = [0, 0], []
    for (buffer, size, _), count in zip(wanted, counts):
        bases = [at[buffer] + k * size for k in range(count)]
        at[buffer] += count * size
        result.append(Slots(buffer, size, [depth - base - size if from_end else base for base in bases]))
    return result


def resident_slots(setting: Setting) -> dict[Key, Slots]:
    """Slots by tensor if everything fits at once: every tensor one group, all side by side; else none. The errors of a
    pooled layer, which LOAD up-samples, go for that time to the delta of another pooled layer; their key is (delta,
    "errors")."""
    memory = setting.memory
    wanted: list[tuple[int, Key, int]] = [(0, memory.images, memory.images.tile.size)]
    for index, (act, delta) in enumerate(zip(memory.act, memory.delta)):
        wanted += [(index % 2, act, act.tile.size)] * (act is not memory.images)
        if not delta:
            continue
        wanted += [(1 - index % 2, delta, delta.tile.size)]
        wanted += [(1 - index % 2, (delta, "errors"), delta.layout.group_vectors)] * (
            delta.upsample and not _lender(memory, index)
        )
    room = [sum(size for b, _, size in wanted if b == buffer) for buffer in (0, 1)]
    if max(room) > setting.config.act_depth or any(
        t.layout.groups > 1 for t in (memory.images, *memory.act, *filter(None, memory.delta))
    ):
        return {}
    at = [0, 0]
    result: dict[Key, Slots] = {}
    for buffer, tensor, size in wanted:
        result[tensor] = Slots(buffer, size, [at[buffer]])
        at[buffer] += size
    for index, delta in enumerate(memory.delta):
        if delta and delta.upsample and (lender := _lender(memory, index)):
            result[delta, "errors"] = Slots(1 - index % 2, delta.layout.group_vectors, result[lender].bases)
    return result


def _lender(memory: MemoryMap, index: int) -> MapTensor | None:
    """A pooled layer's delta whose place is free while the errors of layer `index` are there: the first one's, of the
    first the last one's."""
    delta = memory.delta[index]
    assert delta
    others = [other for other in memory.delta[index % 2 :: 2] if other and other.upsample and other is not delta]
    lender = others[0 if memory.delta.index(others[0]) < index else -1] if others else None
    return lender if lender and lender.tile.size >= delta.layout.group_vectors else None
