# SPDX-License-Identifier: Apache-2.0
"""LOAD, LOADW, STORE and UPDATE: one operation at a time."""

from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import FIXED, MapTensor
from gradcore.compiler.operation import Op, Place, Rows, make
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import GATE_BUFFER, Opcode
from gradcore.numerics.fixed_point import COEF_MAX, MODES
from gradcore.numerics.random_numbers import random_tag


def _contiguous(setting: Setting, base_sel, addr, words, word_bytes) -> tuple:
    beats = ceil_div(words * word_bytes, setting.config.mem_bytes)
    fields = dict(base_sel=base_sel, addr=addr, run_beats=beats, n1=1, n2=1, n_words=words)
    return fields, (f"dram{base_sel}", addr, addr + beats * setting.config.mem_bytes)


def _group(setting: Setting, tensor: MapTensor, group: int) -> tuple:
    layout = tensor.layout
    return _contiguous(
        setting,
        tensor.base_sel,
        tensor.addr + group * layout.group_bytes,
        layout.group_vectors,
        setting.config.vector_bytes,
    )


def load(setting: Setting, layer: str, tensor: MapTensor, group: int, place: Place, scale=None) -> Op:
    """LOAD of one image group; up-sampled if the tensor says so, scaled by `scale` = (first gate vector, tile,
    vectors in all)."""
    layout, tile = tensor.layout, place.tile
    fields, dram = _group(setting, tensor, group)
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
        first, gate_tile, total = scale
        start = first + group * tile.groups * gate_tile.size
        strides |= dict(scale=1, gate_base=start)
        reads.append(("gate", start, min(start + tile.groups * gate_tile.size, first + total)))
    instr = make(
        Opcode.LOAD,
        layer,
        **fields,
        buffer=place.buffer,
        fold=tile.fold,
        n_b=1,
        n_y=layout.rows,
        n_x=layout.columns,
        n_c=layout.channels,
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


def load_gate(setting: Setting, layer: str, tensor: MapTensor, group: int, first: int) -> Op:
    """LOAD of one image group of targets into the gate buffer."""
    layout, tile = tensor.layout, tensor.tile
    fields, dram = _group(setting, tensor, group)
    base = first + group * tile.size
    instr = make(
        Opcode.LOAD,
        layer,
        **fields,
        buffer=GATE_BUFFER,
        fold=tile.fold,
        n_b=1,
        n_y=layout.rows,
        n_x=layout.columns,
        n_c=layout.channels,
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
    fields, dram = _group(setting, tensor, group)
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
        n_c=layout.channels,
        base=place.base,
        stride_b=layout.group_vectors,
        stride_y=layout.columns * layout.channels,
        stride_x=layout.channels,
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


def load_weights(setting: Setting, index: int, rows: Rows) -> list:
    """LOADW of weights and of the bias."""
    p, tensor = setting.network.parameters[index], setting.memory.weight[index]
    layout, ops = tensor.layout, []
    _, inputs, *kernel = p.weight_shape
    parts = [("weights", 0, layout.groups * kernel[0] * kernel[1], inputs, rows.base)]
    if p.bias:
        parts.append(("bias", layout.bias_offset, layout.groups, 1, rows.bias_base))
    for what, offset, outer, inner, base in parts:
        fields, dram = _contiguous(setting, FIXED, tensor.addr + offset, outer * inner, setting.config.row_bytes)
        instr = make(Opcode.LOADW, p.name, **fields, n_outer=outer, n_inner=inner, base=base)
        ops.append(
            Op(
                instr,
                p.name,
                what,
                max(fields["run_beats"], outer * inner),
                fields["run_beats"],
                [dram],
                [("wgt", base, base + outer * inner)],
            )
        )
    return ops


def kernel_rows(setting: Setting, index: int, last_apart: bool) -> list:
    """Rows of the kernel as (first, count) that WU and UPDATE take at once: all, or the last one by itself where
    that can be done."""
    layout, rows = setting.memory.weight[index].layout, setting.layers[index].weight_shape[2]
    row = layout.inner // rows
    apart = (
        last_apart
        and rows > 1
        and layout.groups == 1
        and row * setting.config.row_bytes % setting.config.mem_bytes == 0
    )
    return [(0, rows - 1), (rows - 1, 1)] if apart else [(0, rows)]


def update(setting: Setting, index: int, grads: Rows, held: Rows | None, taps: tuple) -> list:
    """UPDATE of the weights of some rows of the kernel, with the first one of the bias; `held`: their rows in the
    weight buffer, from where they are read."""
    p, tensor, previous = setting.layers[index], setting.memory.weight[index], setting.memory.momentum[index]
    layout, ops, momentum = tensor.layout, [], setting.network.optimiser == "momentum"
    inputs = setting.network.parameters[index].weight_shape[1]
    first, inner = (n * layout.inner // p.weight_shape[2] for n in taps)
    parts = [
        (
            "weights",
            first * setting.config.row_bytes,
            inner,
            grads.base + first,
            first,
            p.weight_update,
            held and dict(wgt_base=held.base + first, wgt_inner=inputs),
        )
    ]
    if p.bias and not first:
        parts.append(
            (
                "bias",
                layout.bias_offset,
                1,
                grads.bias_base,
                layout.inner,
                p.bias_update,
                held and dict(wgt_base=held.bias_base, wgt_inner=1),
            )
        )
    for what, offset, inner, base, key, numbers, source in parts:
        words = layout.groups * inner
        fields, dram = _contiguous(setting, FIXED, tensor.addr + offset, words, setting.config.row_bytes)
        _, dram_momentum = _contiguous(setting, FIXED, previous.addr + offset, words, setting.config.row_bytes)
        drams = [dram, dram_momentum] if momentum else [dram]
        if not (0 <= numbers.lr_m <= COEF_MAX and 0 <= numbers.beta_m <= COEF_MAX):
            raise CompileError(
                p.name, "learning rate or momentum coefficient", max(numbers.lr_m, numbers.beta_m), COEF_MAX
            )
        instr = make(
            Opcode.UPDATE,
            p.name,
            momentum=momentum,
            rounding=MODES[setting.network.mode("param")],
            base_sel=FIXED,
            addr=fields["addr"],
            run_beats=fields["run_beats"],
            momentum_addr=dram_momentum[1] if momentum else 0,
            n_outer=layout.groups,
            n_inner=inner,
            base=base,
            shift_g=numbers.shift_g,
            shift_v=numbers.shift_v,
            shift_w=numbers.shift_w,
            lr_m=numbers.lr_m,
            beta_m=numbers.beta_m if momentum else 0,
            rnd_tag=random_tag(index, "param"),
            key=key,
            n_words=words,
            resident=bool(source),
            **(source or {}),
        )
        reads, writes = [*drams, ("grad", base, base + words)], drams
        if source:
            reads[0] = ("wgt", source["wgt_base"], source["wgt_base"] + words)
        beats = (2 * len(drams) - bool(source)) * fields["run_beats"]
        ops.append(Op(instr, p.name, what, max(words, beats), beats, reads, writes))
    return ops
