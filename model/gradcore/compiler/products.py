# SPDX-License-Identifier: Apache-2.0
"""COMPUTE of the three passes: one operation for each window of blocks."""

from itertools import product

from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Op, Place, Rows, compute_cycles, make
from gradcore.compiler.setting import Setting
from gradcore.isa.fold import ceil_div, image_place, tap_windows
from gradcore.isa.instruction import BP, FP, WU, Opcode
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.loss import LOSSES


def _turn(setting: Setting, name: str, access: int, storage: int, image: int) -> dict:
    """Rotations that place image `image`, the first of a group of fold `access`, inside its group of fold
    `storage`."""
    _, ih, ix = image_place(setting.config.grid, storage, image)
    assert storage <= access
    return {f"{name}_rot_y": int(ih) << storage, f"{name}_rot_x": int(ix) << storage}


def _operand(setting: Setting, name: str, place: Place, access: int, image: int, shape) -> dict:
    tile = place.tile
    return {
        f"{name}_base": place.base,
        f"{name}_stride_y": tile.stride_y,
        f"{name}_stride_x": tile.stride_x,
        f"{name}_height": shape[1],
        f"{name}_width": shape[2],
        f"{name}_fold": tile.fold,
        **_turn(setting, name, access, tile.fold, image),
    }


def _gate(setting: Setting, gate: tuple, access: int, image: int) -> tuple:
    """Fields and range of the gate vectors of a group; gate = (first vector, tile)."""
    first, tile = gate
    base = first + image // (setting.config.grid >> tile.fold) ** 2 * tile.size
    fields = dict(gate_base=base, gate_stride_y=tile.stride_y, gate_stride_x=tile.stride_x, gate_fold=tile.fold)
    return fields | _turn(setting, "gate", access, tile.fold, image), ("gate", base, base + tile.size)


def _common(setting: Setting, fold: int, image: int, shape) -> dict:
    py = 1 << fold
    images = (setting.config.grid >> fold) ** 2
    return dict(
        fold=fold,
        n_by=ceil_div(shape[1], py),
        n_bx=ceil_div(shape[2], py),
        height=shape[1],
        width=shape[2],
        n_base=image,
        n_valid=min(images, setting.images - image),
    )


def _column_groups(setting: Setting, maps: int) -> dict:
    groups = ceil_div(maps, setting.config.cols)
    return dict(n_g=groups, n_last=maps - (groups - 1) * setting.config.cols)


def splits(setting: Setting, index: int) -> bool:
    """May groups of lanes share the channels of a layer's FP? Its rows of weights must then begin at a multiple of
    LANES."""
    return setting.config.split and setting.network.parameters[index].weight_shape[1] % setting.config.lanes == 0


def _split(setting: Setting, index: int, image: int, rows: Rows) -> bool:
    """Do all pixels and images of a group lie in the first COLS lanes? Image 2 is in the lower half of the grid."""
    fold, grid = setting.memory.folds[index].fp, setting.config.grid
    lane_rows, images = (
        min(setting.network.parameters[index].conv_shape[1], 1 << fold),
        min((grid >> fold) ** 2, setting.images - image),
    )
    return (
        splits(setting, index)
        and rows.base % setting.config.lanes == 0
        and lane_rows <= setting.config.cols // grid
        and images <= 2
    )


def forward(
    setting: Setting, index: int, image: int, source: Place, dest: Place, rows: Rows, train: bool, loss: bool
) -> Op:
    """COMPUTE FP of the group that starts with `image`; gates are written when training, the last layer then gives
    the delta. The first layer is computed as the network has it: unfolding saves steps in WU only."""
    p, fold, memory = setting.network.parameters[index], setting.memory.folds[index].fp, setting.memory
    layout, (outputs, inputs, *kernel) = memory.weight[index].layout, p.weight_shape
    split = _split(setting, index, image, rows)
    fields = dict(
        mode=FP,
        row_buf=source.buffer,
        dst_buf=dest.buffer,
        bias=p.bias,
        relu=p.relu,
        pool=bool(p.pool),
        rounding=MODES[setting.network.mode("act")],
        shift=p.shift_fp,
        bias_exp=p.bias_exp,
        rnd_tag=random_tag(index, "act"),
        n_ky=kernel[0],
        n_kx=kernel[1],
        n_c=inputs // (setting.config.groups if split else 1),
        disp_y0=-p.pad[0],
        disp_x0=-p.pad[1],
        wgt_base=rows.base,
        wgt_stride_g=layout.inner,
        wgt_stride_ky=kernel[1] * inputs,
        wgt_stride_kx=inputs,
        wgt_stride_cg=setting.config.lanes if split else setting.config.cols,
        bias_base=rows.bias_base,
        split=split,
    )
    fields |= _common(setting, fold, image, p.conv_shape) | _column_groups(setting, outputs)
    fields |= _operand(setting, "row", source, fold, image, p.in_shape) | _operand(
        setting, "dst", dest, fold, image, p.out_shape
    )
    writes, late = [dest.range], []
    if loss:
        gate, touched = _gate(setting, (memory.target_gate, memory.target.tile), fold, image)
        numbers = setting.network.loss_parameters
        fields |= gate | dict(
            loss=LOSSES[numbers.loss], t_pos=numbers.t_pos, t_neg=numbers.t_neg, loss_shift=numbers.shift
        )
        late.append(touched)
    elif train and memory.gate[index]:
        gate, touched = _gate(setting, memory.gate[index], fold, image)
        fields |= gate | dict(gate_write=1)
        writes.append(touched)
    return _compute(
        setting, p, fields, f"FP images {image}..", [source.range, ("wgt", rows.base, rows.end)], writes, late
    )


def backward(setting: Setting, index: int, image: int, source: Place, dest: Place, rows: Rows) -> list:
    """COMPUTE BP: the local gradient at the input of layer `index`, scaled by the gate unless the layer before
    pools. One for each window of blocks that the same taps reach."""
    p, fold, memory = setting.layers[index], setting.memory.folds[index].bp, setting.memory
    before, layout, (outputs, inputs, *kernel) = setting.layers[index - 1], memory.weight[index].layout, p.weight_shape
    common = dict(
        mode=BP,
        row_buf=source.buffer,
        dst_buf=dest.buffer,
        rounding=MODES[setting.network.mode("delta")],
        shift=p.shift_bp,
        rnd_tag=random_tag(index - 1, "delta"),
        n_c=outputs,
        wgt_stride_g=setting.config.cols,
        wgt_stride_ky=kernel[1] * inputs,
        wgt_stride_kx=inputs,
        wgt_stride_cg=layout.inner,
    )
    common |= _common(setting, fold, image, p.in_shape) | _column_groups(setting, inputs)
    operands = ["row", "dst"]
    for name, place, shape in (("row", source, delta_shape(p)), ("dst", dest, p.in_shape)):
        common |= _operand(setting, name, place, fold, image, shape)
    late = []
    if memory.gate[index - 1] and not before.pool:
        gate, touched = _gate(setting, memory.gate[index - 1], fold, image)
        common |= gate | dict(scale=1)
        operands.append("gate")
        late.append(touched)
    windows = [tap_windows(1 << fold, *sizes) for sizes in zip(p.in_shape[1:], delta_shape(p)[1:], kernel, p.pad)]
    ops = []
    for (by0, n_by, ky0, n_ky), (bx0, n_bx, kx0, n_kx) in product(*windows):
        fields = dict(
            by0=by0,
            n_by=n_by,
            bx0=bx0,
            n_bx=n_bx,
            n_ky=n_ky,
            n_kx=n_kx,
            disp_y0=p.pad[0] - ky0,
            disp_x0=p.pad[1] - kx0,
            wgt_base=rows.base + (ky0 * kernel[1] + kx0) * inputs,
        )
        for name in operands:
            up = fold - common[f"{name}_fold"]
            offset = (by0 << up) * common[f"{name}_stride_y"] + (bx0 << up) * common[f"{name}_stride_x"]
            fields[f"{name}_base"] = common[f"{name}_base"] + offset
        text = f"BP images {image}.." + f" blocks {by0},{bx0}.." * bool(by0 or bx0)
        ops.append(
            _compute(
                setting, p, common | fields, text, [source.range, ("wgt", rows.base, rows.end)], [dest.range], late
            )
        )
    return ops


def gradients(
    setting: Setting, index: int, image: int, delta: Place, act: Place, grads: Rows, first: bool, taps: tuple
) -> list:
    """COMPUTE WU: adds the gradients of the group that starts with `image` for some rows of the kernel, with the
    first one those of the bias. Several, of windows of blocks, where one sum of the array could overflow: nothing
    would tell, unlike in the gradient buffer."""
    p, fold, memory = setting.layers[index], setting.memory.folds[index].fp, setting.memory
    layout, shape, (outputs, inputs, *kernel) = memory.weight[index].layout, delta_shape(p), p.weight_shape
    fields = dict(
        mode=WU,
        row_buf=delta.buffer,
        bias=p.bias and not taps[0],
        grad_first=first,
        n_rg=layout.groups,
        n_ky=taps[1],
        n_kx=kernel[1],
        disp_y0=taps[0] - p.pad[0],
        disp_x0=-p.pad[1],
        grad_base=grads.base + taps[0] * kernel[1] * inputs,
        grad_stride_rg=layout.inner,
        grad_stride_ky=kernel[1] * inputs,
        grad_stride_kx=inputs,
        grad_bias_base=grads.bias_base,
        row_channels=outputs,
        col_channels=inputs,
    )
    fields |= _common(setting, fold, image, shape) | _column_groups(setting, inputs)
    fields |= _operand(setting, "row", delta, fold, image, shape) | _operand(
        setting, "col", act, fold, image, p.in_shape
    )
    touched = [("grad", grads.base, grads.end)]
    if taps[1] < kernel[0]:
        start = fields["grad_base"]
        touched = [("grad", start, start + taps[1] * kernel[1] * inputs)] + [
            ("grad", grads.bias_base, grads.end)
        ] * fields["bias"]
    text, ops = f"WU images {image}.." + f" taps {taps[0]}.." * (taps[1] < kernel[0]), []
    for by0, n_by, bx0, n_bx in _exact_windows(setting, p, fields["n_by"], fields["n_bx"]):
        window = dict(by0=by0, n_by=n_by, bx0=bx0, n_bx=n_bx, grad_first=first and not ops)
        for name in ("row", "col"):
            up = fold - fields[f"{name}_fold"]
            offset = (by0 << up) * fields[f"{name}_stride_y"] + (bx0 << up) * fields[f"{name}_stride_x"]
            window[f"{name}_base"] = fields[f"{name}_base"] + offset
        ops.append(
            _compute(
                setting,
                p,
                fields | window,
                text + f" blocks {by0},{bx0}.." * bool(ops),
                [delta.range, act.range],
                touched,
                touched,
            )
        )
    return ops


def _exact_windows(setting: Setting, p, rows: int, columns: int) -> list:
    """(by0, n_by, bx0, n_bx) of windows of rows x columns blocks whose COLS steps each keep every sum of WU in the
    accumulator."""
    steps = ((1 << setting.config.acc_width - 1) - 1) >> 2 * setting.network.data_width - 2
    most = steps // setting.config.cols
    if not most:
        raise CompileError(p.name, "steps of a sum of a weight gradient", setting.config.cols, steps)
    wide, high = min(most, columns), max(1, most // columns)
    return [
        (y, min(high, rows - y), x, min(wide, columns - x))
        for y in range(0, rows, high)
        for x in range(0, columns, wide)
    ]


def _compute(setting: Setting, p, fields, text, reads, writes, late) -> Op:
    instr = make(Opcode.COMPUTE, p.name, **fields)
    return Op(instr, p.name, text, compute_cycles(instr, setting.config.cols)[0], 0, reads, writes, late)
