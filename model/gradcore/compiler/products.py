# SPDX-License-Identifier: Apache-2.0
"""COMPUTE of FP and BP: one operation for each window of blocks."""

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from typing import Unpack

from gradcore.compiler.factors import backward_factor, forward_factor
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.operands import (
    ProductOptions,
    column_fields,
    group_fields,
    moved,
    operand,
    split_lanes,
    whole_map,
)
from gradcore.compiler.operation import Op, Part, Place, Rows, compute_cycles, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Access, Fields, Run
from gradcore.compiler.windows import (
    Phase,
    backward_phases,
    forward_runs,
    whole,
    within,
)
from gradcore.isa.instruction import BP, FP, Opcode
from gradcore.network.weighted_layer import LayerParameters
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.loss import LOSSES

TURN_ROUND = 2  # cycles from a COMPUTE to the next
Pair = tuple[Run, ...]  # of rows, of columns
Window = Callable[[Run, Run], Fields]  # of such a pair
Touched = tuple[list[Access], list[Access], list[Access]]  # reads, writes, late reads


def forward(
    setting: Setting, index: int, image: int, source: Place, dest: Place, rows: Rows, **more: Unpack[ProductOptions]
) -> list[Op]:
    """COMPUTE FP of the group that starts with `image`, one for each window of blocks.

    `more`: gate, the Place that gates are written to; targets, the Place of the loss's targets; area, the blocks to
    compute; train, whether dropout drops; maps (first, end), the output maps, to which `dest`, `rows` and gates then
    belong; part, the Part of the reduction, to which `source` and `rows` then belong, with the `strides` of its rows.
    """
    p, fold, cols = setting.forward[index], setting.folds(index).fp, setting.config.cols
    gate, targets = more.get("gate"), more.get("targets")
    layout, (outputs, inputs, *kernel) = setting.memory.weight[index].layout, p.weight_shape
    area, maps = more.get("area") or whole_map(fold, p.conv_shape), more.get("maps", (0, outputs))
    part = more.get("part")
    split = not part and split_lanes(setting, index, image, rows)
    common = dict(
        mode=FP,
        row_buf=source.buffer,
        dst_buf=dest.buffer,
        bias=p.bias,
        relu=p.relu,
        pool=bool(p.pool),
        rounding=MODES[setting.network.mode("act")],
        shift=p.shift_fp,
        bias_exp=p.bias_exp,
        rnd_tag=random_tag(p.layer, "act"),
        n_c=inputs // (setting.config.groups if split else 1),
        wgt_stride_g=layout.inner,
        wgt_stride_ky=kernel[1] * inputs,
        wgt_stride_kx=inputs,
        wgt_stride_cg=setting.config.lanes if split else cols,
        bias_base=rows.bias_base % setting.config.wgt_depth,
        split=split,
        skip_y=p.stride[0] - 1,
        skip_x=p.stride[1] - 1,
        **forward_factor(p, more.get("train", False)),
        **group_fields(setting, fold, image, p.conv_shape),
        map0=maps[0],
        **column_fields(setting, maps),
        **operand(setting, "row", source, fold, image, p.in_shape),
        **operand(setting, "dst", dest, fold, image, p.out_shape),
    )
    results, writes = ["dst"], [*dest.ranges]
    late: list[Access] = []
    if bits := gate or targets:
        common |= operand(setting, "gate", bits, fold, image)
        results.append("gate")
    if targets:
        numbers = setting.network.loss_parameters
        common |= dict(loss=LOSSES[numbers.loss], t_pos=numbers.t_pos, t_neg=numbers.t_neg, loss_shift=numbers.shift)
        late += targets.ranges
    elif gate:
        common |= dict(gate_write=1)
        writes += gate.ranges

    def window(row: Run, column: Run) -> Fields:
        (by0, n_by, ky0, n_ky), (bx0, n_bx, kx0, n_kx) = row, column
        at = p.stride[0] * by0, p.stride[1] * bx0
        fields = dict(by0=by0, n_by=n_by, bx0=bx0, n_bx=n_bx, in_by0=at[0], in_bx0=at[1], n_ky=n_ky, n_kx=n_kx)
        fields |= dict(disp_y0=ky0 - p.pad[0], disp_x0=kx0 - p.pad[1])
        fields |= dict(wgt_base=rows.base + (ky0 * kernel[1] + kx0) * inputs)
        fields |= moved(setting, common, ["row"], *at) | moved(setting, common, results, by0, bx0, bool(p.pool))
        return common | fields

    text, axes = f"FP images {image}..", []
    if part:
        common |= more["strides"] | dict(n_c=part.channels[1] - part.channels[0])
        fields = window((area[0][0], 1, *part.rows), (area[1][0], 1, *part.columns))
        return [_part(setting, p, fields, part, rows, (source, writes, late), text)]
    sizes = zip(p.conv_shape[1:], p.in_shape[1:], kernel, p.pad)
    for (first, end), (size, given, taps, pad), stride in zip(area, sizes, p.stride):
        runs = within(forward_runs(fold, size, given, taps, pad, bool(p.pool), stride), first, end)
        axes.append([whole((first, end - first), (0, taps)), runs])
    reads = [*source.ranges, ("wgt", rows.base, rows.end)]
    return _windows(setting, p, axes, window, text, (reads, writes, late))


def backward(
    setting: Setting, index: int, image: int, source: Place, dest: Place, rows: Rows, **more: Unpack[ProductOptions]
) -> list[Op]:
    """COMPUTE BP: the local gradient at the input of layer `index`. One for each window of blocks that the same taps
    reach; with a stride those of each phase.

    `more`: gate, the Place of the gates that scale it; area, the blocks to compute; maps (first, end), the input maps,
    to which `dest`, `rows` and the gates then belong; part, the Part of the reduction, to which `source` and `rows`
    then belong, with the `strides` of its rows.
    """
    p, fold, cols = setting.errors[index], setting.folds(index).bp, setting.config.cols
    outputs, inputs, *kernel = p.weight_shape
    gate, maps = more.get("gate"), more.get("maps", (0, inputs))
    area, width = more.get("area") or whole_map(fold, p.in_shape), maps[1] - maps[0]
    layer = setting.network.graph.tensors[p.input].layer
    assert layer is not None and p.shift_bp is not None
    common = dict(
        mode=BP,
        row_buf=source.buffer,
        dst_buf=dest.buffer,
        rounding=MODES[setting.network.mode("delta")],
        shift=p.shift_bp,
        rnd_tag=random_tag(layer, "delta"),
        n_c=outputs // p.groups,
        wgt_stride_g=cols,
        wgt_stride_ky=p.stride[0] * kernel[1] * width,
        wgt_stride_kx=p.stride[1] * width,
        wgt_stride_cg=kernel[0] * kernel[1] * width,
        skip_y=p.stride[0] - 1,
        skip_x=p.stride[1] - 1,
        **group_fields(setting, fold, image, p.in_shape),
        map0=maps[0],
        **column_fields(setting, maps),
        **operand(setting, "row", source, fold, image, delta_shape(p)),
        **operand(setting, "dst", dest, fold, image, p.in_shape),
    )
    results, writes = ["dst"], [*dest.ranges]
    late: list[Access] = []
    before = setting.layers[index - 1]
    if before.alone:
        common |= backward_factor(before)
    if gate:
        common |= operand(setting, "gate", gate, fold, image) | dict(scale=before.relu)
        results.append("gate")
        late += gate.ranges

    def window(down: Phase, row: Run, across: Phase, column: Run) -> Fields:
        (by0, n_by, ky0, n_ky), (bx0, n_bx, kx0, n_kx) = row, column
        at = down.first + down.stride * by0, across.first + across.stride * bx0
        fields = dict(by0=by0, n_by=n_by, bx0=bx0, n_bx=n_bx, in_by0=at[0], in_bx0=at[1], n_ky=n_ky, n_kx=n_kx)
        fields |= dict(disp_y0=down.offset - ky0, disp_x0=across.offset - kx0)
        tap = (down.tap + down.stride * ky0) * kernel[1] + across.tap + across.stride * kx0
        fields |= dict(wgt_base=rows.base + tap * width)
        fields |= moved(setting, common, ["row"], by0, bx0) | moved(setting, common, results, *at)
        for name in results:
            for axis, phase in (("y", down), ("x", across)):
                fields[f"{name}_stride_{axis}"] = phase.stride * common[f"{name}_stride_{axis}"]
        if not n_ky or not n_kx:  # a step behind the local gradient gives zeros
            behind = dict(by0=source_shape[1], disp_y0=0, disp_x0=0, n_ky=1, n_kx=1, n_c=1)
            fields |= behind | dict(wgt_base=rows.base)
        return common | fields

    source_shape, part, text = delta_shape(p), more.get("part"), f"BP images {image}.."
    phases = [backward_phases(*taken) for taken in zip(kernel, p.pad, p.stride)]
    sizes = list(zip(p.in_shape[1:], source_shape[1:], area))
    reads = [*source.ranges, ("wgt", rows.base, rows.end)]
    if part and part.taps:
        common |= more["strides"] | dict(n_c=part.channels[1] - part.channels[0])
        row, column = (
            (each[at % len(each)], each[at % len(each)].run(at, *taps))
            for (at, _), each, taps in zip(area, phases, (part.rows, part.columns))
        )
        return [_part(setting, p, window(*row, *column), part, rows, (source, writes, late), text)]
    axes = [[(phase, run) for phase in each for run in phase.runs(fold, *size)] for each, size in zip(phases, sizes)]
    found = [window(*row, *column) for row, column in product(*axes)]
    return [compute(setting, p, fields, text + at_blocks(fields), (reads, writes, late)) for fields in found]


def cheapest(setting: Setting, options: list[list[Pair]], window: Window) -> list[Pair]:
    """The list of pairs of runs whose COMPUTEs `window(row, column)` take the fewest cycles; of equals the first."""

    def cycles(pairs: list[Pair]) -> int:
        fields = (defaultdict(int, window(*pair)) for pair in pairs)
        return sum(compute_cycles(one, setting.config.cols)[0] + TURN_ROUND for one in fields)

    return min(options, key=cycles) if len(options) > 1 else options[0]


def _windows(
    setting: Setting, p: LayerParameters, axes: list[list[list[Run]]], window: Window, text: str, touched: Touched
) -> list[Op]:
    """The operations of the cheapest of the alternatives of each axis."""
    options = [list(product(*option)) for option in product(*axes)]
    chosen = (window(*pair) for pair in cheapest(setting, options, window))
    return [compute(setting, p, fields, text + at_blocks(fields), touched) for fields in chosen]


def _part(
    setting: Setting,
    p: LayerParameters,
    fields: Fields,
    part: Part,
    rows: Rows,
    access: tuple[Place, list[Access], list[Access]],
    text: str,
) -> Op:
    """One part of a reduction of one block."""
    source, writes, late = access
    fields |= dict(wgt_base=rows.base, keep_in=not part.first, keep_out=not part.last)
    fields["bias"] = fields.get("bias", 0) and part.last
    reads = [*source.ranges, ("wgt", rows.base, rows.end)]
    touched = (reads, writes, late) if part.last else (reads, [], [])
    return compute(setting, p, fields, text + at_blocks(fields), touched)


def at_blocks(fields: Fields) -> str:
    return f" blocks {fields['by0']},{fields['bx0']}.." * bool(fields["by0"] or fields["bx0"])


def compute(setting: Setting, p: LayerParameters, fields: Fields, text: str, touched: Touched) -> Op:
    instr = make(Opcode.COMPUTE, p.name, **fields)
    return Op(instr, p.name, text, compute_cycles(instr, setting.config.cols)[0], 0, *touched)
