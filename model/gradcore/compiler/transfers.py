# SPDX-License-Identifier: Apache-2.0
"""LOAD, LOADW, STORE and UPDATE: one operation at a time."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import FIXED, Gates, MapTensor
from gradcore.compiler.operation import Op, Part, Place, Rows, make, part_row, row_part
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Access, Count, Fields
from gradcore.isa.fold import RowLayout, ceil_div
from gradcore.isa.instruction import GATE_BUFFER, Opcode
from gradcore.numerics.fixed_point import COEF_MAX, MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.optimiser import UpdateParameters


def contiguous(setting: Setting, base_sel: int, addr: int, words: int, word_bytes: int) -> tuple[Fields, Access]:
    """DRAM fields of one run of words, and its range."""
    beats = ceil_div(words * word_bytes, setting.config.mem_bytes)
    fields = dict(base_sel=base_sel, addr=addr, run_beats=beats, n1=1, n2=1, n_words=words)
    return fields, (f"dram{base_sel}", addr, addr + beats * setting.config.mem_bytes)


def group_in_dram(setting: Setting, tensor: MapTensor, group: int) -> tuple[Fields, Access]:
    """DRAM fields of an image group, and its range."""
    layout = tensor.layout
    return contiguous(
        setting,
        tensor.base_sel,
        tensor.addr + group * layout.group_bytes,
        layout.group_vectors,
        setting.config.vector_bytes,
    )


def load(setting: Setting, layer: str, tensor: MapTensor, group: int, place: Place, scale: Gates | None = None) -> Op:
    """LOAD of one image group; up-sampled if the tensor says so, scaled by the `Gates` `scale`."""
    layout, tile = tensor.layout, place.tile
    fields, dram = group_in_dram(setting, tensor, group)
    strides = dict(stride_b=tile.stride_b, stride_y=tile.stride_y, stride_x=tile.stride_x)
    reads, vectors = [dram], layout.group_vectors
    if tensor.upsample:
        vectors *= 4
        strides |= dict(upsample=1, pool_bit=min(layout.fold, setting.config.log_grid - 1))
        if layout.fold == setting.config.log_grid:
            strides |= dict(
                stride_y=2 * tile.stride_y,
                stride_x=2 * tile.stride_x,
                stride_qy=tile.stride_y,
                stride_qx=tile.stride_x,
            )
        else:
            strides |= dict(stride_qy=2 * tile.stride_b, stride_qx=tile.stride_b)
    if scale:
        start = scale.place(group * tile.groups)
        strides |= dict(scale=1, gate_base=start)
        reads.append(("gate", start, min(start + tile.groups * scale.tile.size, scale.first + scale.size)))
    instr = make(
        Opcode.LOAD,
        layer,
        **fields,
        buffer=place.buffer,
        fold=tile.fold,
        n_b=1,
        n_y=layout.rows,
        n_x=layout.columns,
        n_c=layout.pitch,
        base=place.base,
        **strides,
    )
    what = " up-sampled" * tensor.upsample + " scaled" * bool(scale)
    return Op(
        instr,
        layer,
        f"{tensor.name} group {group}{what}",
        max(fields["run_beats"], vectors),
        fields["run_beats"],
        reads,
        [*place.ranges],
    )


def load_gate(setting: Setting, layer: str, tensor: MapTensor, group: int, base: int) -> Op:
    """LOAD of one image group of targets into the gate buffer, from vector `base` on."""
    layout, tile = tensor.layout, tensor.tile
    fields, dram = group_in_dram(setting, tensor, group)
    instr = make(
        Opcode.LOAD,
        layer,
        **fields,
        buffer=GATE_BUFFER,
        fold=tile.fold,
        n_b=1,
        n_y=layout.rows,
        n_x=layout.columns,
        n_c=layout.pitch,
        gate_base=base,
        stride_b=tile.stride_b,
        stride_y=tile.stride_y,
        stride_x=tile.stride_x,
    )
    cycles = max(fields["run_beats"], layout.group_vectors)
    return Op(
        instr,
        layer,
        f"{tensor.name} group {group}",
        cycles,
        fields["run_beats"],
        [dram],
        [("gate", base, base + tile.size)],
    )


def store(setting: Setting, layer: str, tensor: MapTensor, group: int, place: Place, urgent: bool = False) -> Op:
    """STORE of one image group; its tile in the buffer has the shape of the tensor. `urgent`: the array waits for
    it."""
    layout = tensor.layout
    fields, dram = group_in_dram(setting, tensor, group)
    images = min(layout.group_images, layout.images - group * layout.group_images)
    instr = make(
        Opcode.STORE,
        layer,
        **fields,
        buffer=place.buffer,
        fold=layout.fold,
        n_b=1,
        n_y=layout.rows,
        n_x=layout.columns,
        n_c=layout.pitch,
        base=place.base,
        stride_b=layout.group_vectors,
        stride_y=layout.columns * layout.pitch,
        stride_x=layout.pitch,
        urgent=urgent,
        height=layout.height,
        width=layout.width,
        n_valid=images,
    )
    return Op(
        instr,
        layer,
        f"{tensor.name} group {group}",
        max(fields["run_beats"], layout.group_vectors),
        fields["run_beats"],
        [*place.ranges],
        [dram],
    )


def load_rows(
    setting: Setting,
    index: int,
    what: str,
    offset: int,
    outer: int,
    inner: int,
    base: int,
    runs: tuple[int, int] | None = None,
) -> Op:
    """LOADW of outer x inner rows, from `offset` bytes behind a layer's first weight: contiguous, or in `runs` =
    (number, bytes from one to the next)."""
    p, tensor = setting.forward[index], setting.memory.weight[index]
    fields, dram = contiguous(setting, FIXED, tensor.addr + offset, outer * inner, setting.config.row_bytes)
    if runs:
        fields |= dict(n1=runs[0], stride1=runs[1], run_beats=fields["run_beats"] // runs[0])
        dram = dram[0], dram[1], dram[1] + (runs[0] - 1) * runs[1] + fields["run_beats"] * setting.config.mem_bytes
    beats = fields["run_beats"] * fields["n1"]
    instr = make(Opcode.LOADW, p.name, **fields, n_outer=outer, n_inner=inner, base=base)
    return Op(instr, p.name, what, max(beats, outer * inner), beats, [dram], [("wgt", base, base + outer * inner)])


def load_weights(setting: Setting, index: int, rows: Rows) -> list[Op]:
    """LOADW of weights and of the bias."""
    p, layout = setting.forward[index], setting.memory.weight[index].layout
    inputs = p.weight_shape[1]
    ops = [load_rows(setting, index, "weights", 0, layout.rows // inputs, inputs, rows.base)]
    return ops + load_bias(setting, index, (0, layout.groups), rows.bias_base) * p.bias


def load_bias(setting: Setting, index: int, groups: Count, base: int) -> list[Op]:
    """LOADW of the bias of output groups (first, number)."""
    layout = setting.memory.weight[index].layout
    return [
        load_rows(setting, index, "bias", layout.bias_place(first), number, 1, base + first - groups[0])
        for first, number in _bias_runs(layout, groups)
    ]


def _bias_runs(layout: RowLayout, groups: Count) -> list[Count]:
    """Output groups (first, number) whose rows of bias follow each other."""
    first, number = groups
    return [groups] if layout.unit == 1 else [(at, 1) for at in range(first, first + number)]


def kernel_rows(setting: Setting, index: int, last_apart: bool) -> list[Part]:
    """The weights that WU and UPDATE take at once: all, or the last row of the kernel by itself where that can be
    done."""
    config, layout, p = setting.config, setting.memory.weight[index].layout, setting.layers[index]
    rows = p.weight_shape[2]
    whole_beats = layout.inner // rows * config.row_bytes % config.mem_bytes == 0
    apart = last_apart and rows > 1 and layout.groups == 1 and whole_beats
    return [row_part(p, taps) for taps in ([(0, rows - 1), (rows - 1, 1)] if apart else [(0, rows)])]


def update(setting: Setting, index: int, grads: Rows, held: Rows | None, part: Part) -> list[Op]:
    """UPDATE of the weights of some rows of the kernel, with the first one of the bias; `held`: their rows in the
    weight buffer, from where they are read."""
    p, layout = setting.layers[index], setting.memory.weight[index].layout
    inputs = setting.forward[index].weight_shape[1]
    first = part_row(p, part)
    source = dict(wgt_base=held.base + first, wgt_inner=inputs) if held else None
    ops = update_part(setting, index, (0, layout.groups), part, grads.base + first, source)
    if p.bias and not first:
        source = dict(wgt_base=held.bias_base, wgt_inner=1) if held else None
        ops += update_bias(setting, index, (0, layout.groups), grads.bias_base, source)
    return ops


def update_part(
    setting: Setting, index: int, groups: Count, part: Part, base: int, source: Fields | None = None
) -> list[Op]:
    """UPDATE of a part of the weights of output groups (first, number), one for each run of rows that follow each
    other. Their gradients begin at row `base`. Raises CompileError where one does not begin at a beat."""
    p, layout, config = setting.layers[index], setting.memory.weight[index].layout, setting.config
    inputs = p.weight_shape[1]
    joined = inputs // layout.inputs  # taps that are input maps of one tap
    runs: list[tuple[int, int, int]] = []
    for ky, kx in part.places():
        tap = ky * p.weight_shape[3] + kx
        for row, channel, number in layout.runs(tap * joined, part.channels):
            key = tap * inputs + channel
            if runs and runs[-1][0] + runs[-1][2] == row and runs[-1][1] + runs[-1][2] == key:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + number)
            else:
                runs.append((row, key, number))
    # All rows of several groups may follow each other, too.
    together = groups[1] if runs[0][2] == layout.outer else 1
    ops = []
    for group in range(groups[0], sum(groups), together):
        for row, key, number in runs:
            place = dict(outer=together, inner=number, base=base, key=key, map0=group * config.cols)
            offset = (group * layout.outer + row) * config.row_bytes
            ops.append(_update(setting, index, "weights", offset, p.weight_update, place, source))
            base += together * number
    return ops


def update_bias(setting: Setting, index: int, groups: Count, base: int, source: Fields | None = None) -> list[Op]:
    """UPDATE of the bias of output groups (first, number)."""
    p, layout, cols = setting.layers[index], setting.memory.weight[index].layout, setting.config.cols
    ops = []
    for first, number in _bias_runs(layout, groups):
        place = dict(outer=number, inner=1, base=base + first - groups[0], key=layout.inner, map0=first * cols)
        ops.append(_update(setting, index, "bias", layout.bias_place(first), p.bias_update, place, source))
    return ops


def _update(
    setting: Setting,
    index: int,
    what: str,
    offset: int,
    numbers: UpdateParameters | None,
    place: Fields,
    source: Fields | None,
) -> Op:
    p, config = setting.layers[index], setting.config
    tensor, previous = setting.memory.weight[index], setting.memory.momentum[index]
    momentum, words = setting.network.has_momentum, place["outer"] * place["inner"]
    fields, dram = contiguous(setting, FIXED, tensor.addr + offset, words, config.row_bytes)
    _, dram_momentum = contiguous(setting, FIXED, previous.addr + offset, words, config.row_bytes)
    drams = [dram, dram_momentum] if momentum else [dram]
    assert numbers
    if not (0 <= numbers.lr_m <= COEF_MAX and 0 <= numbers.beta_m <= COEF_MAX):
        raise CompileError(p.name, "learning rate or momentum coefficient", max(numbers.lr_m, numbers.beta_m), COEF_MAX)
    instr = make(
        Opcode.UPDATE,
        p.name,
        momentum=momentum,
        rounding=MODES[setting.network.mode("param")],
        base_sel=FIXED,
        addr=fields["addr"],
        run_beats=fields["run_beats"],
        momentum_addr=dram_momentum[1] if momentum else 0,
        n_outer=place["outer"],
        n_inner=place["inner"],
        base=place["base"],
        shift_g=numbers.shift_g,
        shift_v=numbers.shift_v,
        shift_d=numbers.shift_d,
        shift_w=numbers.shift_w,
        lr_m=numbers.lr_m,
        beta_m=numbers.beta_m if momentum else 0,
        decay_m=numbers.decay_m,
        rate_m=numbers.rate_m if setting.network.rate_behind_momentum else 0,
        rnd_tag=random_tag(p.layer, "param"),
        key=place["key"],
        map0=place["map0"],
        n_words=words,
        resident=bool(source),
        **(source or {}),
    )
    reads, writes = [*drams, ("grad", place["base"], place["base"] + words)], drams
    if source:
        reads[0] = ("wgt", source["wgt_base"], source["wgt_base"] + words)
    beats = (2 * len(drams) - bool(source)) * fields["run_beats"]
    return Op(instr, p.name, what, max(words, beats), beats, reads, writes)
