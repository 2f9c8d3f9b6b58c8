# SPDX-License-Identifier: Apache-2.0
"""Third step of the compiler: the order of the instructions, layer by layer over the minibatch, and the places of tiles in the buffers.

Nothing here is about safety: any order whose program text is right in itself gets its tokens from gradcore.tokens.
"""

from gradcore.fold import ceil_div
from gradcore.isa import Opcode
from gradcore.lower import Lower, Place, Rows
from gradcore.plan import CompileError


class Schedule:
    """Emits the operations of one program. `train`: the whole iteration, else the forward pass alone."""

    def __init__(self, lower: Lower, train: bool):
        self.lower, self.train = lower, train
        self.network, self.config, self.memory = lower.network, lower.config, lower.memory
        self.layers, self.images = self.network.parameters, lower.images
        self.ops, self._phases = [], 0
        self.weight_rows = self._place_rows("weight", self.config.wgt_depth)
        self.grad_rows = self._place_rows("gradient", self.config.grad_depth) if train else None
        self._resident = []  # layers whose weights are in the weight buffer
        for index in range(len(self.layers)):
            self._forward(index)
        if train:
            for index in reversed(range(len(self.layers))):
                self._backward(index)
        hoist(self.ops)

    # Buffers

    def _place_rows(self, what: str, depth: int) -> list:
        """Rows of every layer: all side by side if they fit, else alternately from both ends."""
        sizes = []
        for p, tensor in zip(self.layers, self.memory.weight):
            sizes.append((tensor.layout.rows, tensor.layout.groups * p.bias))
            if sum(sizes[-1]) > depth:
                raise CompileError(p.name, f"{what} rows of {self.config.cols}", sum(sizes[-1]), depth)
        fits, at, result = sum(map(sum, sizes)) <= depth, 0, []
        for index, (rows, bias) in enumerate(sizes):
            base = at if fits else (depth - rows - bias) * (index % 2)
            result.append(Rows(base, base + rows, base + rows + bias))
            at += rows + bias
        return result

    def _slots(self, layer: str, wanted: list, stages: tuple) -> list:
        """Slots for tiles: wanted = (buffer, tile size); two each where they fit, else one. Phases take turns at both ends."""
        depth, counts = self.config.act_depth, [2] * len(wanted)
        for buffer in (0, 1):
            mine = [k for k, (b, _) in enumerate(wanted) if b == buffer]
            for k in sorted(mine, key=lambda k: -wanted[k][1]):
                if sum(counts[m] * wanted[m][1] for m in mine) > depth:
                    counts[k] = 1
            need = sum(wanted[m][1] for m in mine)
            if need > depth:
                raise CompileError(layer, f"vectors of the tiles in operand buffer {buffer}", need, depth, stages)
        self._phases += 1
        at, result = [0, 0], []
        for (buffer, size), count in zip(wanted, counts):
            bases = [at[buffer] + k * size for k in range(count)]
            at[buffer] += count * size
            result.append(_Slots(buffer, size, [depth - base - size if self._phases % 2 else base for base in bases]))
        return result

    def _weights(self, index: int):
        if index in self._resident:
            return
        mine = self.weight_rows[index]
        self._resident = [k for k in self._resident if self.weight_rows[k].end <= mine.base or self.weight_rows[k].base >= mine.end]
        self._resident.append(index)
        self.ops += self.lower.load_weights(index, mine)

    # Phases

    def _forward(self, index: int):
        p, memory, lower = self.layers[index], self.memory, self.lower
        last = index == len(self.layers) - 1
        loss = last and self.train
        source, dest = memory.act[index], memory.delta[index] if loss else memory.act[index + 1]
        read, write = self._slots(p.name, [(0, source.tile.size), (1, dest.tile.size)], (2 * index, 2 * index + 2))
        self._weights(index)
        if loss:
            for group in range(memory.target.layout.groups):
                self.ops.append(lower.load_gate(p.name, memory.target, group, memory.target_gate))
        for image in self._groups(memory.folds[index].fp):
            tile = self._tile(read, source, image, lambda group, place: lower.load(p.name, source, group, place))
            out = write.place(dest, image)
            self.ops.append(lower.forward(index, image, tile, out, self.weight_rows[index], self.train, loss))
            self._finish(p.name, dest, image, memory.folds[index].fp, out)

    def _backward(self, index: int):
        p, memory, lower = self.layers[index], self.memory, self.lower
        delta, act, error = memory.delta[index], memory.act[index], memory.delta[index - 1] if index else None
        # The error's tile has the shape of the stored tensor; up-sampling comes later.
        error_size = error.layout.group_vectors if index else 0
        wanted = [(1, delta.tile.size), (0, act.tile.size)] + [(0, error_size)] * bool(index)
        stages = (2 * index, *((2 * index - 1,) if index else ()), *((2 * index + 1,) if p.pool else ()))
        slots = self._slots(p.name, wanted, stages)
        if index:
            self._weights(index)
        scale = None
        if p.pool:
            first, gate_tile = memory.gate[index]
            total = gate_tile.size * ceil_div(self.images, (self.config.grid >> gate_tile.fold) ** 2)
            scale = first, gate_tile, total
        folds = memory.folds[index]
        per_wu, per_bp = ((self.config.grid >> fold) ** 2 for fold in (folds.fp, folds.bp))
        for image in self._groups(folds.fp):
            rows = self._tile(slots[0], delta, image, lambda group, place: lower.load(p.name, delta, group, place, scale))
            columns = self._tile(slots[1], act, image, lambda group, place: lower.load(p.name, act, group, place))
            if index:
                for part in range(image, min(image + per_wu, self.images), per_bp):
                    out = slots[2].place(error, part, stored=True)
                    own = slots[0].place(delta, part)
                    self.ops.append(lower.backward(index, part, own, out, self.weight_rows[index]))
                    self._finish(p.name, error, part, folds.bp, out)
            self.ops.append(lower.gradients(index, image, rows, columns, self.grad_rows[index], image == 0))
        self.ops += lower.update(index, self.grad_rows[index])

    def _groups(self, fold: int) -> range:
        """First images of the groups of a fold."""
        return range(0, self.images, (self.config.grid >> fold) ** 2)

    def _tile(self, slots: "_Slots", tensor, image: int, load) -> Place:
        """The tile with `image`, loaded when it is not there yet."""
        missing = not slots.has(tensor.group(image))
        place = slots.place(tensor, image)
        if missing:
            self.ops.append(load(tensor.group(image), slots.tile(tensor, tensor.group(image))))
        return place

    def _finish(self, layer: str, tensor, image: int, fold: int, place: Place):
        """STORE once the last computed images of the tensor's group are there."""
        after = image + (self.config.grid >> fold) ** 2
        if after >= self.images or tensor.group(after) != tensor.group(image):
            self.ops.append(self.lower.store(layer, tensor, tensor.group(image), place))


class _Slots:
    """One or two places for the tiles of a tensor, used in turn."""

    def __init__(self, buffer: int, size: int, bases: list):
        self.buffer, self.size, self.bases = buffer, size, bases
        self._group = [None] * len(bases)
        self._next = 0

    def has(self, group: int) -> bool:
        return group in self._group

    def _base(self, group: int) -> int:
        if group not in self._group:
            self._group[self._next] = group
            self._next = (self._next + 1) % len(self.bases)
        return self.bases[self._group.index(group)]

    def tile(self, tensor, group: int) -> Place:
        base = self._base(group)
        return Place(self.buffer, base, tensor.tile, base, self.size)

    def place(self, tensor, image: int, stored: bool = False) -> Place:
        """Place of the image group with `image` in the fold of the tile; `stored`: the tile as it is in DRAM, one group."""
        base = self._base(tensor.group(image))
        if stored:
            layout = tensor.layout
            tile = type(tensor.tile)(layout.fold, layout.channels, layout.rows, layout.columns)
            return Place(self.buffer, base, tile, base, self.size)
        return Place(self.buffer, base + tensor.tile_offset(image), tensor.tile, base, self.size)


def hoist(ops: list):
    """Move every LOAD and LOADW up as far as its data and the order of its engine allow, but over no more than one other layer: it is in
    its queue long before it is needed, and the queues do not fill up with what is needed much later."""
    for at in range(len(ops)):
        op = ops[at]
        if op.instr.opcode not in (Opcode.LOAD, Opcode.LOADW):
            continue
        to, passed = at, {op.layer}
        while to and ops[to - 1].engine != op.engine and not _conflict(ops[to - 1], op):
            passed.add(ops[to - 1].layer)
            if len(passed) > 2:
                break
            to -= 1
        ops.insert(to, ops.pop(at))


def _conflict(one, other) -> bool:
    def touch(a, b):
        return any(x[0] == y[0] and x[1] < y[2] and y[1] < x[2] for x in a for y in b)

    return touch(one.writes, [*other.reads, *other.late_reads, *other.writes]) or touch([*one.reads, *one.late_reads], other.writes)
