# SPDX-License-Identifier: Apache-2.0
"""VECTOR instructions: from the tensors, windows and numbers of a step to their fields, in bands of rows."""

from dataclasses import dataclass

from gradcore.compiler.memory_map import FIXED, MapTensor
from gradcore.compiler.operation import Op, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Access, Fields, Span
from gradcore.isa.fold import ceil_div, round_up
from gradcore.isa.instruction import ADD, CHOOSE, FIELDS, INDEX, MAXIMUM, SLOPE, SUM, TABLE, Opcode
from gradcore.ops.windows import Windows

TEXT = {MAXIMUM: "maximum", INDEX: "index", SUM: "sum", CHOOSE: "choose", TABLE: "table", SLOPE: "slope", ADD: "add"}
CHUNK, REQUEST = 64, 8  # beats of a read at most, cycles that each read takes besides
LANES = 16  # words of the result per cycle
PASS = 5  # cycles of a pass at least
ROWS_KEPT, PAIR_ROWS_KEPT, COLUMNS_KEPT = 4, 2, 4  # of windows whose pixels VECTOR reads once for a row of them
MOST_BEHIND = FIELDS[Opcode.VECTOR]["index_behind"].range[1]
MOST_CYCLES = 1 << 13  # of an instruction, as long as it can be divided
MOST_BEATS = FIELDS[Opcode.VECTOR]["n_beats"].range[1]  # of a pixel
DRAM_ADDRESSES = 1 << 48
ONE = Windows((1, 1), (1, 1))


def dram_range(tensor: MapTensor, group: int, rows: Span | None = None) -> Access:
    """Of an image group, or of some of its rows."""
    layout = tensor.layout
    start = tensor.addr + group * layout.group_bytes
    first, end = (row * layout.columns * _block(tensor) for row in rows) if rows else (0, layout.group_bytes)
    return f"dram{FIXED}", start + first, start + end


def _block(tensor: MapTensor) -> int:
    """Bytes of a block."""
    return tensor.layout.pitch * tensor.layout.vector_bytes


def _bands(rows: int, cycles: int) -> list[Span]:
    """Of VECTORs that take about `MOST_CYCLES` each: so each begins as soon as what it reads is there, and STOREs come
    between them."""
    count = min(rows, ceil_div(cycles, MOST_CYCLES))
    return [(rows * k // count, rows * (k + 1) // count) for k in range(count)]


def _random(fields: Fields) -> bool:
    """Has each word of the result random numbers, so that its place counts?"""
    return "rnd_tag" in fields or bool(fields.get("keep_threshold"))


def _reach(windows: Windows, k: int, at: int, back: bool) -> tuple[int, int]:
    """Pixels (first, end) of the sources along an axis that a pixel of the result needs, also outside the map."""
    size, step, pad = windows.size[k], windows.stride[k], windows.pad[k]
    if back:
        return ceil_div(at + pad - size + 1, step), (at + pad) // step + 1
    return at * step - pad, at * step - pad + size


def vector_cycles(read: int, beats: int, passes: int = 0, written: int = 0) -> int:
    """Of reading so many pixels of `beats`, while so many pixels pass and so many cycles' words are written."""
    parts = ceil_div(beats, CHUNK)
    return max(read * (beats + REQUEST * parts), passes * max(beats, PASS * parts), written)


def _keeps(windows: Windows, back: bool, pair: bool) -> bool:
    """Are pixels read once for a row of windows (rtl/vector)? Else once for each window."""
    rows, columns = (ceil_div(n, step if back else 1) for n, step in zip(windows.size, windows.stride))
    return rows <= (PAIR_ROWS_KEPT if pair else ROWS_KEPT) and columns <= COLUMNS_KEPT


@dataclass(frozen=True)
class Move:
    """VECTORs of an image group for the stages behind a layer. gradient: they make local gradients."""

    setting: Setting
    layer: str
    group: int
    gradient: int = 0

    def whole(self, operation: int, sources: list[MapTensor], result: MapTensor, **more: int) -> list[Op]:
        """Word by word: the tensors lie alike. A band is one pixel, if that is not too long; with random numbers each
        block is, and all rows are one band."""
        layout, beat, ops = result.layout, self.setting.config.mem_bytes, []
        block, cycles = _block(result), vector_cycles(len(sources), layout.group_bytes // beat)
        divisible = not layout.columns * block % beat and not _random(more)
        for rows in _bands(layout.rows, cycles) if divisible else [(0, layout.rows)]:
            first, count = rows[0], rows[1] - rows[0]
            size = round_up(count * layout.columns * block, beat)
            down, across, pixel = 1, 1, size
            if size // beat > MOST_BEATS or _random(more):
                down, across, pixel = count, layout.columns, block
            line = size // count if divisible else across * pixel
            place = dict(stride_x=pixel, stride_y=line, advance_x=pixel, advance_y=line, first_y=first)
            place |= dict.fromkeys(("n_ky", "n_kx", "step_y", "step_x"), 1)
            place |= dict(height=layout.rows, width=across, n_y=down, n_x=across, n_beats=pixel // beat)
            bands = (rows, rows) if divisible else (None, None)
            pixels = down * across * len(sources)
            ops.append(self.op(operation, sources, result, place | more, (pixels, pixels), bands=bands))
        return ops

    def positive(self, source: MapTensor, result: MapTensor) -> Op:
        """The larger of each word and zero: a window of two pixels, a row of the map or all of it and as many zeros."""
        zeros, layout = self.setting.memory.zeros, result.layout
        rows, size, beat = 1, layout.group_bytes, self.setting.config.mem_bytes
        assert zeros
        if size // beat > MOST_BEATS:
            rows, size = layout.rows, layout.columns * layout.pitch * layout.vector_bytes
        between = dram_range(source, self.group)[1] - zeros.addr
        place = dict(stride_x=between, advance_x=between, stride_y=size, advance_y=size, n_kx=2, step_x=2, width=2)
        place |= dict(n_ky=1, step_y=1, n_x=1, n_y=rows, height=rows, n_beats=size // beat)
        return self.op(MAXIMUM, [zeros], result, place, (2 * rows, 2 * rows), (source,))

    def windows(
        self,
        operation: int,
        windows: Windows,
        sources: list[MapTensor],
        result: MapTensor,
        indices: MapTensor | None = None,
        **more: int,
    ) -> list[Op]:
        """A word of the result from the words of its window; of a maximum also where it was."""
        return self._by_windows(operation, windows, sources, result, False, more, indices)

    def back(
        self, operation: int, windows: Windows, sources: list[MapTensor], result: MapTensor, **more: int
    ) -> list[Op]:
        """The way back through the windows: a word of the result from those of the windows that it is in."""
        return self._by_windows(operation, windows, sources, result, True, more | dict(transpose=1))

    def _by_windows(
        self,
        operation: int,
        windows: Windows,
        sources: list[MapTensor],
        result: MapTensor,
        back: bool,
        more: Fields,
        indices: MapTensor | None = None,
    ) -> list[Op]:
        if windows == ONE:
            return self.whole(operation, sources, result, **more)
        (height, _), (count, _) = self._axis(sources[0], 0), self._axis(result, 0)
        across, wide, fresh = self._fields(1, windows, sources[0], result, (0, result.layout.columns), back)
        pair, more = len(sources) > 1, more | (dict(index_behind=indices.addr - result.addr) if indices else {})
        if not _keeps(windows, back, pair):
            fresh = wide
        passes = fresh * pair + wide
        needs = [[min(max(n, 0), height) for n in _reach(windows, 0, at, back)] for at in range(count)]
        taps, beats = sum(end - first for first, end in needs), _block(result) // self.setting.config.mem_bytes
        cycles = vector_cycles(taps * fresh * len(sources), beats, taps * passes)
        ops = []
        for rows in [(0, count)] if _random(more) else _bands(count, cycles):
            down, high, _ = self._fields(0, windows, sources[0], result, rows, back)
            firsts, ends = zip(*needs[slice(*rows)])
            bands = rows, (min(firsts), max(ends))
            again = (rows[1] - rows[0]) * result.layout.columns if indices else 0
            work = high * fresh * len(sources), high * passes + again
            ops.append(self.op(operation, sources, result, across | down | more, work, bands=bands, indices=indices))
        return ops

    def _axis(self, tensor: MapTensor, k: int) -> tuple[int, int]:
        """(pixels, bytes from one to the next) along an axis; a vector is one."""
        layout = tensor.layout
        pixel = layout.pitch * layout.vector_bytes
        return (layout.columns, pixel) if k else (layout.rows, layout.columns * pixel)

    def _fields(
        self, k: int, windows: Windows, source: MapTensor, result: MapTensor, span: Span, back: bool
    ) -> tuple[Fields, int, int]:
        """Fields of an axis, for the pixels `span` of the result, the number of taps that lie in the map, and the
        number of pixels that they are."""
        (extent, stride), axis, step = self._axis(source, k), "yx"[k], windows.stride[k]
        first, phase = divmod(span[0] + windows.pad[k], step) if back else (span[0] * step - windows.pad[k], 0)
        taps = pixels = seen = 0
        for at in range(*span):
            start, end = (min(max(n, 0), extent) for n in _reach(windows, k, at, back))
            taps += end - start
            pixels += max(end - max(start, seen), 0)
            seen = max(seen, end)
        names = (f"n_k{axis}", f"step_{axis}", f"n_{axis}", f"stride_{axis}", f"advance_{axis}")
        place = dict(zip(names, (windows.size[k], step, span[1] - span[0], stride, stride if back else step * stride)))
        return place | {f"first_{axis}": first, f"phase_{axis}": phase, ("height", "width")[k]: extent}, taps, pixels

    def op(
        self,
        operation: int,
        sources: list[MapTensor],
        result: MapTensor,
        place: Fields,
        work: tuple[int, int],
        others: tuple[MapTensor, ...] = (),
        behind: int = 0,
        bands: tuple[Span | None, Span | None] = (None, None),
        indices: MapTensor | None = None,
    ) -> Op:
        """An operation with the fields `place`. work: pixels of all sources that are read, and pixels that pass;
        others: sources that the windows reach besides; behind: bytes from the start of `result` to what is written;
        bands: rows of the result and of the sources, if not all; indices: those of a maximum."""
        config = self.setting.config
        layout, group = result.layout, 0 if others else self.group
        if _random(place):
            place = place | dict(n_base=self.group * layout.group_images, fold=layout.fold)
        place = dict(n_beats=layout.pitch * layout.vector_bytes // config.mem_bytes) | place
        corner = sum(place.get(f"first_{axis}", 0) * place[f"stride_{axis}"] for axis in "yx")
        written, read = bands
        (_, target, _) = dram_range(result, self.group, written)
        starts = [(dram_range(tensor, group)[1] + corner) % DRAM_ADDRESSES for tensor in sources]
        more = dict(gradient=self.gradient, addr_out=target + behind) | dict(zip(("addr", "addr_b"), starts))
        instr = make(Opcode.VECTOR, self.layer, operation=operation, **more, **place)
        made, beats = [result, indices] if indices else [result], place["n_beats"]
        results = place["n_y"] * place["n_x"] * beats * len(made)
        cycles = max(vector_cycles(work[0], beats, work[1], results * self._cycles_per_beat()), 1)
        what = "dropout" if place.get("keep_threshold") else TEXT[operation]
        text = f"{what} {result.name} group {self.group}"
        moved = work[0] * beats + results
        return Op(
            instr,
            self.layer,
            text,
            cycles,
            moved,
            [dram_range(t, group, read) for t in sources] + [dram_range(t, self.group) for t in others],
            [dram_range(t, self.group, written) for t in made],
        )

    def _cycles_per_beat(self) -> int:
        """Cycles of a beat of the result."""
        config = self.setting.config
        return max(config.mem_bytes // config.word_bytes // LANES, 1)
