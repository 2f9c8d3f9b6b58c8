# SPDX-License-Identifier: Apache-2.0
"""COMPUTE of WU: one operation for each window of blocks."""

from itertools import product
from typing import Unpack

from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operands import GradientOptions, column_fields, group_fields, moved, operand, whole_map
from gradcore.compiler.operation import Op, Part, Place, Rows
from gradcore.compiler.products import at_blocks, cheapest, compute
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Fields, Run
from gradcore.compiler.windows import gradient_runs, only_taps, tap_groups, within
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import WU
from gradcore.network.weighted_layer import LayerParameters


def gradients(
    setting: Setting,
    index: int,
    image: int,
    delta: Place,
    act: Place,
    grads: Rows,
    first: bool,
    part: Part,
    **more: Unpack[GradientOptions],
) -> list[Op]:
    """COMPUTE WU: adds the gradients of the group that starts with `image` for a part of the weights, with the first
    one those of the bias; `first`: overwrites what is there. Several, of windows of blocks, where taps find
    nothing or where one sum of the array could overflow: nothing would tell, unlike in the gradient buffer.

    `act` belongs to the part. `more`: area, the blocks of the delta; maps (first, end), the output maps, to which
    `delta` and `grads` then belong; held, the part that `grads` belong to, if it is a larger one.
    """
    p, fold = setting.layers[index], setting.folds(index).fp
    shape, (outputs, _, *kernel) = delta_shape(p), p.weight_shape
    area, maps, held = more.get("area"), more.get("maps", (0, outputs)), more.get("held", part)
    down, across = ((at, end - at) for at, end in area or whole_map(fold, shape))
    blocks = down, across
    groups, inputs = ceil_div(maps[1] - maps[0], setting.config.cols), part.channels[1] - part.channels[0]
    together = p.tap_rows
    stride_x = held.channels[1] - held.channels[0]
    stride_y = held.columns[1] * stride_x
    common = dict(
        mode=WU,
        row_buf=delta.buffer,
        n_rg=groups,
        grad_stride_rg=held.count,
        grad_stride_ky=stride_y,
        grad_stride_kx=stride_x,
        grad_bias_base=grads.bias_base,
        row_channels=maps[1] - maps[0],
        skip_y=p.stride[0] - 1,
        skip_x=p.stride[1] - 1,
        **group_fields(setting, fold, image, shape),
        **operand(setting, "row", delta, fold, image, shape),
        **operand(setting, "col", act, fold, image, p.in_shape),
    )
    biased = p.bias and part.starts
    end = grads.base + groups * held.count
    touched = [("grad", grads.base, end)]
    if biased and grads.bias_base == end:
        touched = [("grad", grads.base, grads.end)]
    elif biased:
        touched += [("grad", grads.bias_base, grads.end)]

    def window(row: Run, column: Run) -> Fields:
        (by0, n_by, ky0, n_ky), (bx0, n_bx, kx0, n_kx) = row, column
        at = p.stride[0] * by0, p.stride[1] * bx0
        count, before = inputs, ky0 % together
        if together > 1:
            count, n_ky = inputs * n_ky, 1
        fields = dict(by0=by0, n_by=n_by, bx0=bx0, n_bx=n_bx, in_by0=at[0], in_bx0=at[1], n_ky=n_ky, n_kx=n_kx)
        fields |= dict(disp_y0=ky0 - before - p.pad[0], disp_x0=kx0 - p.pad[1], col_channels=count)
        base = grads.base + (ky0 - held.rows[0]) * stride_y + (kx0 - held.columns[0]) * stride_x
        fields |= dict(grad_base=base + part.channels[0] - held.channels[0], grad_first=first)
        columns = common | dict(col_base=common["col_base"] + before * inputs)
        fields |= moved(setting, common, ["row"], by0, bx0) | moved(setting, columns, ["col"], *at)
        return common | fields | column_fields(setting, (0, count))

    joined = together, 1
    taken = (tap_groups(*taps, each) for taps, each in zip((part.rows, part.columns), joined))
    plain = [[(*run, *taps) for taps in each] for run, each in zip(blocks, taken)]
    runs = [gradient_runs(fold, *each) for each in zip(shape[1:], p.in_shape[1:], kernel, p.pad, p.stride, joined)]
    runs = [only_taps(one, *taps) for one, taps in zip(runs, (part.rows, part.columns))]
    if area:
        runs = [within(one, *ends) for one, ends in zip(runs, area)]
    # What the first one overwrites it must reach with every tap.
    axes = [[one] if area and first else [one, other] for one, other in zip(plain, runs)]
    # The pass that sums the bias takes every block.
    options = [
        pairs
        for pairs in (list(product(*option)) for option in product(*axes))
        if not biased or any((row[:2], column[:2]) == blocks for row, column in pairs)
    ]
    all_rows = part.rows[1] == kernel[0]
    ops, text = [], f"WU images {image}.." + f" taps {part.rows[0]}.." * (not all_rows)
    for row, column in cheapest(setting, options, window):
        bias = biased and (row[:2], column[:2]) == blocks
        biased = biased and not bias
        for k, (by0, n_by, bx0, n_bx) in enumerate(_exact_windows(setting, p, row[1], column[1])):
            fields = window((row[0] + by0, n_by, *row[2:]), (column[0] + bx0, n_bx, *column[2:]))
            fields |= dict(bias=bias, grad_first=first and not k)
            reads = [*delta.ranges, *act.ranges]
            ops.append(compute(setting, p, fields, text + at_blocks(fields), (reads, touched, touched)))
    return ops


def _exact_windows(setting: Setting, p: LayerParameters, rows: int, columns: int) -> list[tuple[int, int, int, int]]:
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
