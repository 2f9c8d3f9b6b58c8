# SPDX-License-Identifier: Apache-2.0
"""VECTOR: the stages behind a layer, image group by image group, from DRAM to DRAM."""

from dataclasses import dataclass

from gradcore.compiler.body import Body
from gradcore.compiler.memory_map import FIXED, MapTensor
from gradcore.compiler.operation import Op, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.stages import StepPlace, TableTensor
from gradcore.compiler.tuples import Access, Fields
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import ADD, CHOOSE, FIELDS, INDEX, LOAD_TABLE, MAXIMUM, SLOPE, SUM, TABLE, Opcode
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.activation import TABLE_FRAC, Relu
from gradcore.ops.addition import Addition
from gradcore.ops.average_pooling import BITS
from gradcore.ops.max_pooling import MaxPooling
from gradcore.ops.windows import Windows

TEXT = {MAXIMUM: "maximum", INDEX: "index", SUM: "sum", CHOOSE: "choose", TABLE: "table", SLOPE: "slope", ADD: "add"}
CHUNK, REQUEST = 64, 8  # beats of a read at most, cycles that each read takes besides
MOST_BEATS = FIELDS[Opcode.VECTOR]["n_beats"].range[1]  # of a pixel
DRAM_ADDRESSES = 1 << 48
ONE = Windows((1, 1), (1, 1))


def forward_stages(body: Body, index: int) -> None:
    """Emits the stages behind layer `index` in the forward pass; in training with the indices that the backward pass
    chooses by."""
    setting = body.setting
    _clear_zeros(body, index)
    for group in range(_groups(setting, index)):
        ops: list[Op] = []
        for place in setting.memory.stages[index]:
            move = Move(setting, setting.layers[index].name, group)
            if group < place.result.layout.groups:
                ops += _forward(body, move, place)
        insert(body, ops)


def backward_stages(body: Body, index: int) -> None:
    """Emits the stages behind layer `index` in the backward pass, from the last to the first."""
    setting = body.setting
    for group in range(_groups(setting, index)):
        ops: list[Op] = []
        for place in reversed(setting.memory.stages[index]):
            move = Move(setting, setting.layers[index].name, group)
            if place.error and group < place.result.layout.groups:
                for one in place.sums:
                    ops.append(move.whole(ADD, [*one.terms], one.result))
                ops += _backward(body, move, place)
        insert(body, ops)


def _groups(setting: Setting, index: int) -> int:
    """Image groups of the stages behind a layer; not all need have as many."""
    return max((place.result.layout.groups for place in setting.memory.stages[index]), default=0)


def _forward(body: Body, move: "Move", place: StepPlace) -> list[Op]:
    """A step in the forward pass, of an image group."""
    ops: list[Op] = []
    stage, windows, sources = place.step.stage, _windows(place), [*place.sources]
    if stage:
        operator = stage.operator
        more = dict(shift=stage.shift_fp) | _rounding(body.setting, stage.layer, "act", stage.shift_fp)
        if place.tables:
            ops += _need_table(body, move.layer, place.tables[0])
            ops.append(move.whole(TABLE, sources, place.result, shift_a=_argument(place), **more))
        elif isinstance(operator, Addition):
            finest = max(stage.fractions)
            more |= {f"shift_{key}": finest - frac for key, frac in zip("ab", stage.fractions)}
            ops.append(move.whole(ADD, sources, place.result, **more))
        elif isinstance(operator, Relu):
            ops.append(move.positive(sources[0], place.result))
        elif isinstance(operator, MaxPooling):
            ops.append(move.windows(MAXIMUM, windows, sources, place.result))
        else:
            ops.append(move.windows(SUM, windows, sources, place.result, multiplier=_share(windows), **more))
    if body.train and place.indices:
        relu = place.step.relu or bool(stage and isinstance(stage.operator, Relu))
        ops.append(move.windows(INDEX, windows, sources, place.indices, relu=relu))
    return ops


def _backward(body: Body, move: "Move", place: StepPlace) -> list[Op]:
    """A step in the backward pass, of an image group: from its whole local gradient to what it contributes."""
    ops: list[Op] = []
    stage, windows = place.step.stage, _windows(place)
    assert place.error
    for k, delta in enumerate(place.deltas):
        if delta is None or delta.addr == place.error.addr:
            continue
        if place.indices:
            ops.append(move.back(CHOOSE, windows, [place.error, place.indices], delta))
            continue
        assert stage
        shift, layer = stage.shifts_bp[k], stage.source_layers[k]
        assert shift is not None and layer is not None
        more = dict(shift=max(shift, 0)) | _rounding(body.setting, layer, "delta", shift)
        if place.tables:
            ops += _need_table(body, move.layer, place.tables[1])
            ops.append(move.whole(SLOPE, [place.error, place.sources[0]], delta, shift_a=_argument(place), **more))
        elif isinstance(stage.operator, Addition):
            ops.append(move.whole(SUM, [place.error], delta, multiplier=1 << max(-shift, 0), **more))
        else:
            ops.append(move.back(SUM, windows, [place.error], delta, multiplier=_share(windows), **more))
    return ops


def _clear_zeros(body: Body, index: int) -> None:
    """Writes the zeros for the first ReLU of a program that needs them: of pixels outside the map nothing is the
    largest."""
    setting, zeros = body.setting, body.setting.memory.zeros
    if zeros and not body.cleared and any(_is_relu(place) for place in setting.memory.stages[index]):
        body.cleared = True
        op = Move(setting, setting.layers[index].name, 0).whole(MAXIMUM, [zeros], zeros, first_x=1 << 14)
        op.reads.clear()
        insert(body, [op])


def _is_relu(place: StepPlace) -> bool:
    return bool(place.step.stage and isinstance(place.step.stage.operator, Relu))


def insert(body: Body, ops: list[Op]) -> None:
    """Puts the operations of a group where the last word that they read is stored, behind all other VECTORs, so that
    they run beside what follows."""
    made = [write for op in ops for write in op.writes]
    read = [one for op in ops for one in op.reads if one not in made]
    at = len(body.ops) if ops else 0
    while at and not _precedes(body.ops[at - 1], read):
        at -= 1
    body.ops[at:at] = ops


def _precedes(op: Op, read: list[Access]) -> bool:
    """Must operations that read so come behind this one?"""
    if op.instr.opcode == Opcode.VECTOR:
        return True
    return any(n == name and a < end and start < b for n, a, b in op.writes for name, start, end in read)


def _range(tensor: MapTensor, group: int) -> Access:
    start = tensor.addr + group * tensor.layout.group_bytes
    return f"dram{FIXED}", start, start + tensor.layout.group_bytes


def _windows(place: StepPlace) -> Windows:
    """Those of a pooling; of the gate of a ReLU single pixels."""
    return getattr(place.step.stage.operator, "windows", ONE) if place.step.stage else ONE


def _rounding(setting: Setting, layer: int, kind: str, shift: int) -> Fields:
    """Fields of the rounding of a tensor of `layer`, none where nothing is dropped; only stochastic rounding has a
    tag."""
    mode = setting.network.mode(kind)
    tag = dict(rnd_tag=random_tag(layer, kind)) if mode == "stochastic" else {}
    return dict(rounding=MODES[mode]) | tag if shift > 0 else {}


def _share(windows: Windows) -> int:
    return round(1 / windows.area * (1 << BITS))


def _argument(place: StepPlace) -> int:
    """Shift of a word to the fraction of a table's argument; beyond the field's range it changes nothing."""
    low, high = FIELDS[Opcode.VECTOR]["shift_a"].range
    assert place.step.stage
    return min(max(TABLE_FRAC - place.step.stage.fractions[0], low), high)


def _need_table(body: Body, layer: str, table: TableTensor) -> list[Op]:
    """Load of a table unless it is there, in a list."""
    if body.table == table.name:
        return []
    body.table = table.name
    beats = table.layout.size // body.setting.config.mem_bytes
    instr = make(
        Opcode.VECTOR,
        layer,
        operation=LOAD_TABLE,
        base_sel=FIXED,
        addr=table.addr,
        n_beats=beats,
        **dict.fromkeys(("n_y", "n_x", "n_ky", "n_kx", "step_y", "step_x", "height", "width"), 1),
    )
    reads = [(f"dram{FIXED}", table.addr, table.end)]
    return [Op(instr, layer, f"load {table.name}", _cycles(1, beats, 1, 0), beats, reads)]


def _cycles(pixels: int, beats: int, sources: int, written: int) -> int:
    """Of reading so many pixels of `beats` of each source, while `written` beats are written."""
    return max(pixels * sources * (beats + REQUEST * ceil_div(beats, CHUNK)), written)


@dataclass(frozen=True)
class Move:
    """VECTORs of an image group for the stages behind a layer."""

    setting: Setting
    layer: str
    group: int

    def whole(self, operation: int, sources: list[MapTensor], result: MapTensor, **more: int) -> Op:
        """Word by word: the tensors lie alike. A group is one pixel, if that is not too long; with random numbers each
        block is."""
        layout, beat = result.layout, self.setting.config.mem_bytes
        rows, columns, size = 1, 1, layout.group_bytes
        if size // beat > MOST_BEATS or "rnd_tag" in more:
            rows, columns, size = layout.rows, layout.columns, layout.pitch * layout.vector_bytes
        place = dict(stride_x=size, stride_y=columns * size, advance_x=size, advance_y=columns * size)
        place |= dict.fromkeys(("n_ky", "n_kx", "step_y", "step_x"), 1)
        place |= dict(height=rows, width=columns, n_y=rows, n_x=columns, n_beats=size // beat)
        return self.op(operation, sources, result, place | more, rows * columns)

    def positive(self, source: MapTensor, result: MapTensor) -> Op:
        """The larger of each word and zero: a window of two pixels, a row of the map or all of it and as many zeros."""
        zeros, layout = self.setting.memory.zeros, result.layout
        rows, size, beat = 1, layout.group_bytes, self.setting.config.mem_bytes
        assert zeros
        if size // beat > MOST_BEATS:
            rows, size = layout.rows, layout.columns * layout.pitch * layout.vector_bytes
        between = _range(source, self.group)[1] - zeros.addr
        place = dict(stride_x=between, advance_x=between, stride_y=size, advance_y=size, n_kx=2, step_x=2, width=2)
        place |= dict(n_ky=1, step_y=1, n_x=1, n_y=rows, height=rows, n_beats=size // beat)
        return self.op(MAXIMUM, [zeros], result, place, 2 * rows, (source,))

    def windows(self, operation: int, windows: Windows, sources: list[MapTensor], result: MapTensor, **more: int) -> Op:
        """A word of the result from the words of its window."""
        if windows == ONE:
            return self.whole(operation, sources, result, **more)
        place: Fields = {}
        taps = 1
        for k, axis in enumerate("yx"):
            size, step, pad = windows.size[k], windows.stride[k], windows.pad[k]
            (source, stride), (count, _) = self._axis(sources[0], k), self._axis(result, k)
            place |= self._fields(axis, size, step, count, source, stride, step * stride) | {f"first_{axis}": -pad}
            taps *= sum(0 <= at * step - pad + tap < source for at in range(count) for tap in range(size))
        return self.op(operation, sources, result, place | more, taps)

    def back(self, operation: int, windows: Windows, sources: list[MapTensor], result: MapTensor, **more: int) -> Op:
        """The way back through the windows: a word of the result from those of the windows that it is in."""
        if windows == ONE:
            return self.whole(operation, sources, result, transpose=1, **more)
        place: Fields = {}
        taps = 1
        for k, axis in enumerate("yx"):
            size, step, pad = windows.size[k], windows.stride[k], windows.pad[k]
            (source, stride), (count, _) = self._axis(sources[0], k), self._axis(result, k)
            first, phase = divmod(pad, step)
            place |= self._fields(axis, size, step, count, source, stride, stride)
            place |= {f"first_{axis}": first, f"phase_{axis}": phase}
            taps *= sum(0 <= at + pad - w * step < size for at in range(count) for w in range(source))
        return self.op(operation, sources, result, place | dict(transpose=1) | more, taps)

    def _axis(self, tensor: MapTensor, k: int) -> tuple[int, int]:
        """(pixels, bytes from one to the next) along an axis; a vector is one."""
        layout = tensor.layout
        pixel = layout.pitch * layout.vector_bytes
        return (layout.columns, pixel) if k else (layout.rows, layout.columns * pixel)

    def _fields(self, axis: str, size: int, step: int, count: int, source: int, stride: int, advance: int) -> Fields:
        names = (f"n_k{axis}", f"step_{axis}", f"n_{axis}", f"stride_{axis}", f"advance_{axis}")
        return dict(zip(names, (size, step, count, stride, advance))) | {("height", "width")[axis == "x"]: source}

    def op(
        self,
        operation: int,
        sources: list[MapTensor],
        result: MapTensor,
        place: Fields,
        taps: int,
        others: tuple[MapTensor, ...] = (),
        behind: int = 0,
    ) -> Op:
        """An operation with the fields `place`; the taps of all pixels that lie in the map are `taps`. others: sources
        that the windows reach besides; behind: bytes from the start of `result` to what is written."""
        config = self.setting.config
        layout, group = result.layout, 0 if others else self.group
        if "rnd_tag" in place:
            place = place | dict(n_base=self.group * layout.group_images, fold=layout.fold)
        place = dict(n_beats=layout.pitch * layout.vector_bytes // config.mem_bytes) | place
        corner = sum(place.get(f"first_{axis}", 0) * place[f"stride_{axis}"] for axis in "yx")
        (_, target, _), starts = _range(result, self.group), [_range(tensor, group)[1] for tensor in sources]
        addresses = dict(zip(("addr", "addr_b"), ((start + corner) % DRAM_ADDRESSES for start in starts)))
        more = dict(addr_out=target + behind) | addresses
        instr = make(Opcode.VECTOR, self.layer, operation=operation, **more, **place)
        beats, written = place["n_beats"], place["n_y"] * place["n_x"] * place["n_beats"]
        cycles = max(_cycles(taps, beats, len(sources), written), 1)
        text = f"{TEXT[operation]} {result.name} group {self.group}"
        moved = taps * beats * len(sources) + written
        return Op(
            instr,
            self.layer,
            text,
            cycles,
            moved,
            [_range(t, group) for t in sources] + [_range(t, self.group) for t in others],
            [_range(result, self.group)],
        )
