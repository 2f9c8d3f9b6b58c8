# SPDX-License-Identifier: Apache-2.0
"""Rows of weights of parts of a reduction."""

from math import prod

from gradcore.compiler.body import Body
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Part, Rows
from gradcore.compiler.rings import Region
from gradcore.compiler.transfers import load_rows
from gradcore.isa.fold import ceil_div


class PartWeights:
    """Rows of weights of one part after the other in `region`; they stay until their place is taken."""

    def __init__(self, body: Body, index: int, region: Region):
        self.body, self.index, self.region = body, index, region
        self._held: dict = {}

    def forward(self, part: Part, maps: tuple) -> Rows:
        """LOADW of a part of FP for one column group of output maps, unless it is there; the bias is in front of
        all."""
        setting, layout = self.body.setting, self.body.setting.memory.weight[self.index].layout
        count, group = part.channels[1] - part.channels[0], maps[0] // setting.config.cols
        first = group * layout.inner + self._tap(part) + part.channels[0]
        base = self._need((part, maps), first, (count, *self._taps(part)), count)
        return Rows(base, base + part.taps * count, group, group + setting.layers[self.index].bias)

    def backward(self, part: Part, maps: tuple) -> Rows:
        """LOADW of a part of BP for some input maps, unless it is there."""
        setting, layout = self.body.setting, self.body.setting.memory.weight[self.index].layout
        cols, width = setting.config.cols, maps[1] - maps[0]
        groups = ceil_div(part.channels[1], cols) - part.channels[0] // cols
        first = part.channels[0] // cols * layout.inner + self._tap(part) + maps[0]
        base = self._need((part, maps), first, (width, (groups, layout.inner), *self._taps(part)), width)
        return Rows(base, base + part.taps * groups * width)

    def _tap(self, part: Part) -> int:
        """Rows before those of the first tap."""
        layout = self.body.setting.memory.weight[self.index].layout
        return (part.rows[0] * layout.kernel[1] + part.columns[0]) * layout.inputs

    def _taps(self, part: Part) -> tuple:
        """(number, rows from one to the next) of columns and of rows of the kernel."""
        layout = self.body.setting.memory.weight[self.index].layout
        return (part.columns[1], layout.inputs), (part.rows[1], layout.kernel[1] * layout.inputs)

    def _need(self, key, first: int, rows: tuple, inner: int) -> int:
        """Address of rows from row `first` on: rows = (adjacent ones, (number, rows from one to the next)..)."""
        if key in self._held:
            return self._held[key][0]
        run, loops = _merged(*rows)
        size = run * prod(number for number, _ in loops)
        base = self.region.take(size)
        self._held = {k: (a, b) for k, (a, b) in self._held.items() if b <= base or a >= base + size}
        self._held[key] = base, base + size
        # An instruction has two loops.
        number, stride = loops.pop() if len(loops) > 2 else (1, 0)
        for k in range(number):
            part = size // number
            self._load(first + k * stride, part // inner, inner, base + k * part, run, loops)
        return base

    def _load(self, first: int, outer: int, inner: int, base: int, run: int, loops: list):
        setting = self.body.setting
        beat, row = setting.config.mem_bytes, setting.config.row_bytes
        begins = [first * row, *(n * row for _, stride in loops for n in (stride, run))]
        if behind := next((n % beat for n in begins if n % beat), 0):
            raise CompileError(setting.layers[self.index].name, "bytes of a tap's weights behind a beat", behind, 0)
        runs = [(number, stride * row) for number, stride in loops]
        self.body.ops.append(load_rows(setting, self.index, "weights", first * row, outer, inner, base, runs))


def _merged(run: int, *loops: tuple) -> tuple:
    """(adjacent rows, loops (number, rows from one to the next) that are left) where those that go on without a gap are
    one."""
    left: list = []
    for number, stride in loops:
        if number == 1:
            continue
        if not left and stride == run:
            run *= number
        elif left and stride == left[-1][0] * left[-1][1]:
            left[-1] = left[-1][0] * number, left[-1][1]
        else:
            left.append((number, stride))
    return run, left
