# SPDX-License-Identifier: Apache-2.0
"""VECTORs of a convolution with a stride behind another layer: its input unfolded, so that its taps are input maps, and
its local gradient with zeros between the pixels (doc/architecture.md, "Strides behind another layer")."""

from gradcore.compiler.body import Body
from gradcore.compiler.moves import Move
from gradcore.compiler.operation import Op
from gradcore.compiler.vectors import insert
from gradcore.isa.instruction import MAXIMUM, SUM
from gradcore.ops.windows import Windows

_Axis = tuple[int, int, int, int, int]  # pixels, first one, from one to the next, size of the map, bytes


def unfold_input(body: Body, index: int) -> None:
    """Emits what gathers the pixels of the taps of layer `index` side by side; nothing without a stride."""
    setting = body.setting
    if setting.memory.act[index] is setting.memory.plain[index]:
        return
    for group in range(setting.memory.plain[index].layout.groups):
        insert(body, _unfolded(Move(setting, setting.layers[index].name, group), index))


def spread_delta(body: Body, index: int) -> None:
    """Emits what puts zeros between the pixels of the local gradient of layer `index`, where its BP has them."""
    setting = body.setting
    delta, spread = setting.delta(index), setting.memory.spread[index]
    if spread is delta:
        return
    assert spread
    windows = Windows((1, 1), setting.network.parameters[index].stride)
    for group in range(delta.layout.groups):
        move = Move(setting, setting.layers[index].name, group, gradient=1)
        insert(body, move.back(SUM, windows, [delta], spread, multiplier=1))


def _unfolded(move: Move, index: int) -> list[Op]:
    """Of an image group. The taps of a row of the kernel are neighbours in the input, too, so a pixel of VECTOR is all
    of them, as long as they lie in the map and nothing between them; else each is one, and those outside are zero."""
    p, memory = move.setting.network.parameters[index], move.setting.memory
    source, result = memory.plain[index], memory.act[index]
    (rows, columns), (_, high, wide) = p.weight_shape[2:], p.conv_shape
    (down, right), (above, left), (maps, height, width) = p.stride, p.pad, p.in_shape
    pixel = source.layout.pitch * source.layout.vector_bytes
    tap, line = result.layout.pitch * result.layout.vector_bytes // (rows * columns), width * pixel

    def op(axes: tuple[_Axis, _Axis], taps: int, first: int) -> Op:
        """`taps` at once, from the tap `first` of all on. axes: (pixels, first row or column of the map, from one to
        the next, its size, bytes)."""
        place, found = dict(n_ky=1, n_kx=1, n_beats=taps * tap // move.setting.config.mem_bytes), 1
        for axis, extent, (count, start, step, size, stride) in zip("yx", ("height", "width"), axes):
            place |= {f"n_{axis}": count, f"first_{axis}": start, f"step_{axis}": step, extent: size}
            place |= {f"stride_{axis}": stride, f"advance_{axis}": step * stride}
            found *= sum(0 <= start + k * step < size for k in range(count))
        return move.op(MAXIMUM, [source], result, place, (found, found), behind=first * tap)

    joined = source.layout.pitch == maps
    inside = [x for x in range(wide) if columns == 1 or (joined and 0 <= x * right - left <= width - columns)]
    if rows == 1 and len(inside) == wide:
        return [op(((high, -above, down, height, line), (wide, -left, right, width, pixel)), columns, 0)]
    ops = []
    for y in range(high):
        lines = (rows, y * down - above, 1, height, line)
        for x in range(wide):
            first = (y * wide + x) * rows * columns
            if x not in inside:
                ops.append(op((lines, (columns, x * right - left, 1, width, pixel)), 1, first))
            elif x == inside[0]:
                ops.append(op(((len(inside), x * right - left, right, width, pixel), lines), columns, first))
    return ops
