# SPDX-License-Identifier: Apache-2.0
"""VECTOR: the stages behind a layer, image group by image group, from DRAM to DRAM."""

from dataclasses import dataclass

from gradcore.compiler.body import Body
from gradcore.compiler.memory_map import FIXED, MapTensor
from gradcore.compiler.operation import Op, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.stages import StepPlace, TableTensor
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import CHOOSE, FIELDS, INDEX, LOAD_TABLE, MAXIMUM, SLOPE, SUM, TABLE, Opcode
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.activation import TABLE_FRAC
from gradcore.ops.average_pooling import BITS
from gradcore.ops.max_pooling import MaxPooling
from gradcore.ops.windows import Windows

TEXT = {MAXIMUM: "maximum", INDEX: "index", SUM: "sum", CHOOSE: "choose", TABLE: "table", SLOPE: "slope"}
CHUNK, REQUEST = 64, 8  # beats of a read at most, cycles that each read takes besides
MOST_BEATS = FIELDS[Opcode.VECTOR]["n_beats"].range[1]  # of a pixel
DRAM_ADDRESSES = 1 << 48
ONE = Windows((1, 1), (1, 1))


def forward_stages(body: Body, index: int):
    """Emits the stages behind layer `index` in the forward pass; in training with the indices that the backward pass
    chooses by."""
    setting, at = body.setting, 0
    for group in range(setting.memory.out[index].layout.groups * bool(setting.memory.stages[index])):
        ops: list[Op] = []
        for place in setting.memory.stages[index]:
            move = _Move(setting, setting.layers[index].name, group)
            stage, windows = place.step.stage, _windows(place)
            if place.tables:
                ops += _need_table(body, move.layer, place.tables[0])
                more = dict(shift=stage.shift_fp, shift_a=_argument(place)) | _rounding(setting, stage.layer, "act")
                ops.append(move.whole(TABLE, [place.source], place.result, **more))
            elif stage and isinstance(stage.operator, MaxPooling):
                ops.append(move.windows(MAXIMUM, windows, [place.source], place.result))
            elif stage:
                more = dict(shift=stage.shift_fp, multiplier=_share(windows)) | _rounding(setting, stage.layer, "act")
                ops.append(move.windows(SUM, windows, [place.source], place.result, **more))
            if body.train and place.indices:
                more = dict(relu=place.step.relu)
                ops.append(move.windows(INDEX, windows, [place.source], place.indices, **more))
        at = _insert(body, setting.memory.out[index], group, ops, at)


def backward_stages(body: Body, index: int):
    """Emits the stages behind layer `index` in the backward pass, from the last to the first."""
    setting, at = body.setting, 0
    for group in range(setting.memory.out[index].layout.groups * bool(setting.memory.stages[index])):
        ops: list[Op] = []
        for place in reversed(setting.memory.stages[index]):
            move = _Move(setting, setting.layers[index].name, group)
            stage, windows = place.step.stage, _windows(place)
            assert place.error and place.delta
            if place.indices:
                ops.append(move.back(CHOOSE, windows, [place.error, place.indices], place.delta))
                continue
            assert stage
            more = dict(shift=stage.shift_bp) | _rounding(setting, stage.source_layer, "delta")
            if place.tables:
                ops += _need_table(body, move.layer, place.tables[1])
                more |= dict(shift_a=_argument(place))
                ops.append(move.whole(SLOPE, [place.error, place.source], place.delta, **more))
            else:
                more |= dict(multiplier=_share(windows))
                ops.append(move.back(SUM, windows, [place.error], place.delta, **more))
        at = _insert(body, setting.memory.error[index], group, ops, at)


def _insert(body: Body, source: MapTensor, group: int, ops: list[Op], first: int) -> int:
    """Puts the operations of a group where the last word of its `source` is stored, and not before `first`, so that
    they run beside what follows; returns the place behind them."""
    name, start, end = _range(source, group)
    for at in range(len(body.ops), first, -1):
        if any(n == name and a < end and start < b for n, a, b in body.ops[at - 1].writes):
            first = at
            break
    body.ops[first:first] = ops
    return first + len(ops)


def _range(tensor: MapTensor, group: int) -> tuple:
    start = tensor.addr + group * tensor.layout.group_bytes
    return f"dram{FIXED}", start, start + tensor.layout.group_bytes


def _windows(place: StepPlace) -> Windows:
    """Those of a pooling; of the gate of a ReLU single pixels."""
    return getattr(place.step.stage.operator, "windows", ONE) if place.step.stage else ONE


def _rounding(setting: Setting, layer: int, kind: str) -> dict:
    """Fields of the rounding of a tensor of `layer`; only stochastic rounding has a tag."""
    mode = setting.network.mode(kind)
    return dict(rounding=MODES[mode]) | (dict(rnd_tag=random_tag(layer, kind)) if mode == "stochastic" else {})


def _share(windows: Windows) -> int:
    return round(1 / windows.area * 2**BITS)


def _argument(place: StepPlace) -> int:
    """Shift of a word to the fraction of a table's argument; beyond the field's range it changes nothing."""
    low, high = FIELDS[Opcode.VECTOR]["shift_a"].range
    assert place.step.stage
    return min(max(TABLE_FRAC - place.step.stage.source_frac, low), high)


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
class _Move:
    """VECTORs of an image group for the stages behind a layer."""

    setting: Setting
    layer: str
    group: int

    def whole(self, operation: int, sources: list, result: MapTensor, **more) -> Op:
        """Word by word: the tensors lie alike. A group is one pixel, if that is not too long; with random numbers each
        block is."""
        layout, beat = result.layout, self.setting.config.mem_bytes
        rows, columns, size = 1, 1, layout.group_bytes
        if size // beat > MOST_BEATS or "rnd_tag" in more:
            rows, columns, size = layout.rows, layout.columns, layout.pitch * layout.vector_bytes
        place = dict(stride_x=size, stride_y=columns * size, advance_x=size, advance_y=columns * size)
        place |= dict.fromkeys(("n_ky", "n_kx", "step_y", "step_x"), 1)
        place |= dict(height=rows, width=columns, n_y=rows, n_x=columns, n_beats=size // beat)
        return self._op(operation, sources, result, place | more, rows * columns)

    def windows(self, operation: int, windows: Windows, sources: list, result: MapTensor, **more) -> Op:
        """A word of the result from the words of its window."""
        if windows == ONE:
            return self.whole(operation, sources, result, **more)
        place, taps = {}, 1
        for k, axis in enumerate("yx"):
            size, step, pad = windows.size[k], windows.stride[k], windows.pad[k]
            (source, stride), (count, _) = self._axis(sources[0], k), self._axis(result, k)
            place |= self._fields(axis, size, step, count, source, stride, step * stride) | {f"first_{axis}": -pad}
            taps *= sum(0 <= at * step - pad + tap < source for at in range(count) for tap in range(size))
        return self._op(operation, sources, result, place | more, taps)

    def back(self, operation: int, windows: Windows, sources: list, result: MapTensor, **more) -> Op:
        """The way back through the windows: a word of the result from those of the windows that it is in."""
        if windows == ONE:
            return self.whole(operation, sources, result, transpose=1, **more)
        place, taps = {}, 1
        for k, axis in enumerate("yx"):
            size, step, pad = windows.size[k], windows.stride[k], windows.pad[k]
            (source, stride), (count, _) = self._axis(sources[0], k), self._axis(result, k)
            first, phase = divmod(pad, step)
            place |= self._fields(axis, size, step, count, source, stride, stride)
            place |= {f"first_{axis}": first, f"phase_{axis}": phase}
            taps *= sum(0 <= at + pad - w * step < size for at in range(count) for w in range(source))
        return self._op(operation, sources, result, place | dict(transpose=1) | more, taps)

    def _axis(self, tensor: MapTensor, k: int) -> tuple:
        """(pixels, bytes from one to the next) along an axis; a vector is one."""
        layout = tensor.layout
        pixel = layout.pitch * layout.vector_bytes
        return (layout.columns, pixel) if k else (layout.rows, layout.columns * pixel)

    def _fields(self, axis: str, size: int, step: int, count: int, source: int, stride: int, advance: int) -> dict:
        names = (f"n_k{axis}", f"step_{axis}", f"n_{axis}", f"stride_{axis}", f"advance_{axis}")
        return dict(zip(names, (size, step, count, stride, advance))) | {("height", "width")[axis == "x"]: source}

    def _op(self, operation: int, sources: list, result: MapTensor, place: dict, taps: int) -> Op:
        """An operation with the fields `place`; the taps of all pixels that lie in the map are `taps`."""
        config = self.setting.config
        layout = result.layout
        if "rnd_tag" in place:
            place = place | dict(n_base=self.group * layout.group_images, fold=layout.fold)
        place = dict(n_beats=layout.pitch * layout.vector_bytes // config.mem_bytes) | place
        behind = sum(place.get(f"first_{axis}", 0) * place[f"stride_{axis}"] for axis in "yx")
        (_, target, _), starts = _range(result, self.group), [_range(tensor, self.group)[1] for tensor in sources]
        addresses = dict(zip(("addr", "addr_b"), ((start + behind) % DRAM_ADDRESSES for start in starts)))
        instr = make(Opcode.VECTOR, self.layer, operation=operation, addr_out=target, **addresses, **place)
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
            [_range(t, self.group) for t in sources],
            [_range(result, self.group)],
        )
