# SPDX-License-Identifier: Apache-2.0
"""VECTORs of a convolution with a stride behind another layer: its input unfolded, so that its taps are input maps, and
its local gradient with zeros between the pixels (doc/architecture.md, "Strides")."""

from gradcore.compiler.body import Body
from gradcore.compiler.operation import Op
from gradcore.compiler.vectors import Move, insert
from gradcore.isa.instruction import MAXIMUM, SUM
from gradcore.ops.windows import Windows


def unfold_input(body: Body, index: int):
    """Emits what gathers the pixels of the taps of layer `index` side by side; nothing without a stride."""
    setting = body.setting
    if not setting.strided(index):
        return
    for group in range(setting.memory.plain[index].layout.groups):
        insert(body, _unfolded(Move(setting, setting.layers[index].name, group), index))


def spread_delta(body: Body, index: int):
    """Emits what puts zeros between the pixels of the local gradient of layer `index`; nothing without a stride."""
    setting = body.setting
    if not setting.strided(index):
        return
    delta, spread = setting.memory.delta[index], setting.memory.spread[index]
    windows = Windows((1, 1), setting.network.parameters[index].stride)
    for group in range(delta.layout.groups):
        move = Move(setting, setting.layers[index].name, group)
        insert(body, [move.back(SUM, windows, [delta], spread, multiplier=1)])


def _unfolded(move: Move, index: int) -> list[Op]:
    """Of an image group. The taps of a row of the kernel are neighbours in the input, too, so a pixel of VECTOR is all
    of them, as long as they lie in the map; where they do not, each is one, and those outside are zero."""
    p, memory = move.setting.network.parameters[index], move.setting.memory
    source, result = memory.plain[index], memory.act[index]
    (rows, columns), (_, high, wide) = p.weight_shape[2:], p.conv_shape
    (down, right), (above, left), (height, width) = p.stride, p.pad, p.in_shape[1:]
    pixel = source.layout.pitch * source.layout.vector_bytes
    beats, line = pixel // move.setting.config.mem_bytes, width * pixel
    taps = rows * columns

    def op(axes: tuple, length: int, at: int) -> Op:
        """`axes` of the result: (pixels, first row or column of the map, from one to the next, its size, bytes)."""
        place, found = dict(n_ky=1, n_kx=1, n_beats=length * beats), 1
        for axis, extent, (count, first, step, size, stride) in zip("yx", ("height", "width"), axes):
            place |= {f"n_{axis}": count, f"first_{axis}": first, f"step_{axis}": step, extent: size}
            place |= {f"stride_{axis}": stride, f"advance_{axis}": step * stride}
            found *= sum(0 <= first + k * step < size for k in range(count))
        return move.op(MAXIMUM, [source], result, place, found, behind=at * pixel)

    inside = [x for x in range(wide) if columns == 1 or 0 <= x * right - left <= width - columns]
    if rows == 1 and len(inside) == wide:
        return [op(((high, -above, down, height, line), (wide, -left, right, width, pixel)), columns, 0)]
    ops = []
    for y in range(high):
        lines = (rows, y * down - above, 1, height, line)
        for x in range(wide):
            at = (y * wide + x) * taps
            if x not in inside:
                ops.append(op((lines, (columns, x * right - left, 1, width, pixel)), 1, at))
            elif x == inside[0]:
                ops.append(op(((len(inside), x * right - left, right, width, pixel), lines), columns, at))
    return ops
