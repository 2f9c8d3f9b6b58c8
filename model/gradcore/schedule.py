# SPDX-License-Identifier: Apache-2.0
"""Third step of the compiler: the order of the instructions, layer by layer over the minibatch, and the places of tiles in the buffers.

Nothing here is about safety: any order whose program text is right in itself gets its tokens from gradcore.tokens.
"""

from gradcore.fold import ceil_div
from gradcore.lower import Lower, Place, Rows
from gradcore.plan import CompileError
from gradcore.timeline import timeline


class Schedule:
    """Emits the operations of one program. `train`: the whole iteration, else the forward pass alone.

    Layers whose images are in the same groups form a chain: group by group all its layers are computed, and what one writes into an operand
    buffer the next one reads there. `keep`: also store the deltas that nobody loads, so that all can be looked at.
    """

    def __init__(self, lower: Lower, train: bool, keep: bool):
        self.lower, self.train, self.keep = lower, train, keep
        self.network, self.config, self.memory = lower.network, lower.config, lower.memory
        self.layers, self.images = lower.layers, lower.images
        self.ops, self._phases = [], 0
        self.weight_rows = self._place_rows("weight", self.config.wgt_depth)
        self.grad_rows = self._place_rows("gradient", self.config.grad_depth) if train else None
        self._resident = []  # layers whose weights are in the weight buffer
        for chain in self._chains(range(len(self.layers)), self._follows_forward, self._forward_tiles):
            self._forward(chain)
        if train:
            for chain in self._chains(range(len(self.layers) - 1, -1, -1), self._follows_backward, self._backward_tiles):
                self._backward(chain)
        self.ops = in_order_of_start(self.ops)

    # Chains

    def _chains(self, order, follows, tiles) -> list:
        """The layers of `order` in chains: as long as `follows` allows and the tiles and the weights of all fit at once."""
        chains = []
        for index in order:
            longer = [*chains[-1], index] if chains else []
            if longer and follows(*longer[-2:]) and self._fit(tiles(longer)) and self._weights_fit(longer):
                chains[-1] = longer
            else:
                chains.append([index])
        return chains

    def _follows_forward(self, before: int, index: int) -> bool:
        return self.memory.folds[index].fp == self.memory.folds[before].fp

    def _follows_backward(self, before: int, index: int) -> bool:
        """Up-sampling is done by LOAD, so a pooled layer starts a chain."""
        folds = self.memory.folds
        return not self.layers[index].pool and folds[before].fp == folds[before].bp == folds[index].fp

    def _fit(self, wanted: list) -> bool:
        return all(sum(2 * size for b, size in wanted if b == buffer) <= self.config.act_depth for buffer in (0, 1))

    def _weights_fit(self, chain: list) -> bool:
        rows = sorted((self.weight_rows[index] for index in chain), key=lambda r: r.base)
        return all(one.end <= other.base for one, other in zip(rows, rows[1:]))

    def _forward_tiles(self, chain: list) -> list:
        """(buffer, vectors) of the tiles of a forward chain: its input, then every layer's output, in turns."""
        tensors = [self.memory.act[chain[0]], *(self._output(index) for index in chain)]
        return [(k % 2, tensor.tile.size) for k, tensor in enumerate(tensors)]

    def _backward_tiles(self, chain: list) -> list:
        """(buffer, vectors) of the tiles of a backward chain: the delta, then every layer's input and its error, in turns."""
        wanted = [(1, self.memory.delta[chain[0]].tile.size)]
        for k, index in enumerate(chain):
            # The error's tile has the shape of the stored tensor; up-sampling comes later.
            errors = [self.memory.delta[index - 1].layout.group_vectors] if index else [0]
            wanted += [(k % 2, size) for size in (self.memory.act[index].tile.size, *errors)]
        return wanted

    def _output(self, index: int):
        """What the forward pass of a layer writes: its activations, after the loss the delta."""
        return self.memory.delta[index] if self._has_loss(index) else self.memory.act[index + 1]

    def _has_loss(self, index: int) -> bool:
        return self.train and index == len(self.layers) - 1

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

    def _forward(self, chain: list):
        stages = (2 * chain[0], 2 * chain[0] + 2)
        slots = self._slots(self.layers[chain[0]].name, self._forward_tiles(chain), stages)
        groups = list(self._groups(self.memory.folds[chain[0]].fp))
        # A layer works on the group behind that of the layer before it: what it reads was written long enough ago.
        for step in range(len(groups) + len(chain) - 1):
            for k, index in enumerate(chain):
                if 0 <= step - k < len(groups):
                    self._forward_group(index, groups[step - k], slots[k], slots[k + 1], k > 0, k < len(chain) - 1)

    def _forward_group(self, index: int, image: int, read: "_Slots", write: "_Slots", chained: bool, feeds: bool):
        """FP of one group; `chained`: its input is in the buffer, `feeds`: its output is read there by the next layer."""
        p, memory, lower, loss = self.layers[index], self.memory, self.lower, self._has_loss(index)
        source, dest = memory.act[index], self._output(index)
        if image == 0:
            self._weights(index)
            for group in range(memory.target.layout.groups * loss):
                self.ops.append(lower.load_gate(p.name, memory.target, group, memory.target_gate))
        if chained:
            tile = read.place(source, image)
        else:
            tile = self._tile(read, source, image, lambda group, place: lower.load(p.name, source, group, place))
        out = write.place(dest, image)
        self.ops.append(lower.forward(index, image, tile, out, self.weight_rows[index], self.train, loss))
        if self.train or not feeds:
            self._finish(p.name, dest, image, memory.folds[index].fp, out)

    def _backward(self, chain: list):
        first, last = self.layers[chain[0]], chain[-1]
        stages = (2 * chain[0], *((2 * chain[0] - 1,) if chain[0] else ()), *((2 * chain[0] + 1,) if first.pool else ()))
        delta_slots, *pairs = self._slots(first.name, self._backward_tiles(chain), stages)
        for image in self._groups(self.memory.folds[chain[0]].fp):
            slots = delta_slots
            for index, act_slots, error_slots in zip(chain, pairs[::2], pairs[1::2]):
                self._backward_group(index, image, slots, act_slots, error_slots, index != chain[0], index != last)
                slots = error_slots
        for index in chain:
            self.ops += self.lower.update(index, self.grad_rows[index])

    def _backward_group(self, index: int, image: int, delta_slots, act_slots, error_slots, chained: bool, feeds: bool):
        """BP and WU of one group; `chained`: its delta is in the buffer, `feeds`: its error is read there by the next layer."""
        p, memory, lower, folds = self.layers[index], self.memory, self.lower, self.memory.folds[index]
        delta, act, error = memory.delta[index], memory.act[index], memory.delta[index - 1] if index else None
        if index and image == 0:
            self._weights(index)
        if chained:
            rows = delta_slots.place(delta, image)
        else:
            rows = self._tile(delta_slots, delta, image, lambda group, place: lower.load(p.name, delta, group, place, self._scale(index)))
        columns = self._tile(act_slots, act, image, lambda group, place: lower.load(p.name, act, group, place))
        if index:
            per_wu, per_bp = ((self.config.grid >> fold) ** 2 for fold in (folds.fp, folds.bp))
            for part in range(image, min(image + per_wu, self.images), per_bp):
                out = error_slots.place(error, part, stored=True)
                own = delta_slots.place(delta, part)
                self.ops.append(lower.backward(index, part, own, out, self.weight_rows[index]))
                if self.keep or not feeds:
                    self._finish(p.name, error, part, folds.bp, out)
        self.ops.append(lower.gradients(index, image, rows, columns, self.grad_rows[index], image == 0))

    def _scale(self, index: int):
        """Gate of a pooled layer for LOAD: first vector, tile, vectors in all."""
        if not self.layers[index].pool:
            return None
        first, tile = self.memory.gate[index]
        return first, tile, tile.size * ceil_div(self.images, (self.config.grid >> tile.fold) ** 2)

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


def in_order_of_start(ops: list) -> list:
    """The operations by expected start: each engine's order stays, and an instruction is fetched about when its engine has use for it."""
    starts = [start for start, _ in timeline(ops)]
    return [ops[k] for k in sorted(range(len(ops)), key=lambda k: (starts[k], k))]
