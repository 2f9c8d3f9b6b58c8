# SPDX-License-Identifier: Apache-2.0
"""Third step of the compiler: the order of the instructions, layer by layer over the minibatch, and the places of tiles
in the buffers.

Nothing here is about safety: any order whose program text is right in itself gets its tokens from
gradcore.compiler.tokens.
"""

from gradcore.compiler.emission import Lower, Place, Rows
from gradcore.compiler.estimate import timeline
from gradcore.compiler.memory_map import CompileError
from gradcore.isa.fold import ceil_div, round_up


class Schedule:
    """Emits the operations of one program. `train`: the whole iteration, else the forward pass alone. `early`: layers
    whose WU comes before their BP, so that their UPDATE begins earlier. `last`: the last row of the second layer's
    kernel comes after the first layer in WU and UPDATE, so that the first one's UPDATE is done meanwhile.

    Layers form chains as long as their tiles fit: a chain is computed group by group of images, and what one layer
    writes into an operand buffer the next one reads there. Where all tensors of an iteration fit side by side, they
    stay in the buffers, except what up-sampling takes through DRAM. `keep`: also store what nobody loads, so that all
    can be looked at.
    """

    def __init__(self, lower: Lower, train: bool, keep: bool, early: frozenset = frozenset(), last: bool = False):
        self.last, self._later = last, []
        self.lower, self.train, self.keep, self.early = lower, train, keep, early
        self.network, self.config, self.memory = lower.network, lower.config, lower.memory
        self.layers, self.images = lower.layers, lower.images
        self.ops, self._phases = [], 0
        self._act_buffer = 0  # operand buffer of the last layer's input
        self.weight_rows = self._place_rows("weight", self.config.wgt_depth)
        self.grad_rows = self._place_rows("gradient", self.config.grad_depth) if train else None
        self._resident = []  # layers whose weights are in the weight buffer
        self._weights_stay = self._weights_fit(range(len(self.layers)))
        self._own = self._own_slots() if train else {}
        for chain in self._chains(range(len(self.layers)), self._follows_forward, self._forward_tiles):
            self._forward(chain)
        if train:
            chains = self._chains(range(len(self.layers) - 1, -1, -1), self._follows_backward, self._backward_tiles)
            beside = self._beside(chains)
            chains = chains[:-1] if beside else chains
            for chain in chains:
                self._backward(chain, beside if chain is chains[-1] else [])
        self.ops = in_order_of_start(self.ops)

    # Chains

    def _chains(self, order, follows, tiles) -> list:
        """The layers of `order` in chains: as long as `follows` allows and the tiles and the weights of all fit at
        once."""
        chains = []
        for index in order:
            longer = [*chains[-1], index] if chains else []
            if longer and follows(*longer[-2:]) and self._fit(tiles(longer)) and self._weights_fit(longer):
                chains[-1] = longer
            else:
                chains.append([index])
        return chains

    def _beside(self, chains: list) -> list:
        """The first layer's chain, if it is alone and can run beside the one before: without a backward pass it would
        wait for its operands."""
        if (
            len(chains) < 2
            or chains[-1] != [0]
            or not self._fit(self._backward_tiles(chains[-2]) + self._backward_tiles([0]))
        ):
            return []
        return chains[-1]

    def _follows_forward(self, before: int, index: int) -> bool:
        """A layer can wait for several groups of the layer before it, which never has more images in a group."""
        return True

    def _follows_backward(self, before: int, index: int) -> bool:
        """Up-sampling is done by LOAD, so a pooled layer starts a chain."""
        folds = self.memory.folds
        return not self.layers[index].pool and folds[before].fp == folds[before].bp == folds[index].fp

    def _fit(self, wanted: list) -> bool:
        return all(
            sum(min(2, groups) * size for b, size, groups in wanted if b == buffer) <= self.config.act_depth
            for buffer in (0, 1)
        )

    def _weights_fit(self, chain: list) -> bool:
        rows = sorted((self.weight_rows[index] for index in chain), key=lambda r: r.base)
        return all(one.end <= other.base for one, other in zip(rows, rows[1:]))

    def _forward_tiles(self, chain: list) -> list:
        """(buffer, vectors, groups) of the tiles of a forward chain: its input, then every layer's output, in turns."""
        tensors = [self._input(chain[0]), *(self._output(index) for index in chain)]
        return [(k % 2, tensor.tile.size, tensor.layout.groups) for k, tensor in enumerate(tensors)]

    def _backward_tiles(self, chain: list) -> list:
        """(buffer, vectors, groups) of the tiles of a backward chain: the delta, then every layer's input and its
        error, in turns."""
        delta, start = self.memory.delta[chain[0]], self._act_buffer
        wanted = [(1 - start, delta.tile.size, delta.layout.groups)]
        for k, index in enumerate(chain, start):
            # The error's tile has the shape of the stored tensor; up-sampling comes later.
            act, error = self.memory.act[index], self.memory.delta[index - 1].layout if index else None
            wanted += [
                (k % 2, act.tile.size, act.layout.groups),
                (k % 2, error.group_vectors, error.groups) if index else (k % 2, 0, 1),
            ]
        return wanted

    def _input(self, index: int):
        """What the forward pass of a layer reads."""
        return self.memory.act[index] if index else self.memory.images

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
        for align in (self.config.lanes, 1):
            at, bases = 0, []
            for index, size in enumerate(sizes):
                bases.append(round_up(at, align if what == "weight" and self.lower.splits(index) else 1))
                at = bases[-1] + sum(size)
            if at <= depth:
                break
        else:
            bases = [(depth - sum(size)) * (index % 2) for index, size in enumerate(sizes)]
        return [Rows(base, base + rows, base + rows + bias) for base, (rows, bias) in zip(bases, sizes)]

    def _slots(self, layer: str, wanted: list, stages: tuple) -> list:
        """Slots for tiles: wanted = (buffer, tile size, groups); two each where they fit, else one. Phases take turns
        at both ends."""
        depth, counts = self.config.act_depth, [min(2, groups) for _, _, groups in wanted]
        for buffer in (0, 1):
            mine = [k for k, (b, *_) in enumerate(wanted) if b == buffer]
            for k in sorted(mine, key=lambda k: -wanted[k][1]):
                if sum(counts[m] * wanted[m][1] for m in mine) > depth:
                    counts[k] = 1
            need = sum(wanted[m][1] for m in mine)
            if need > depth:
                raise CompileError(layer, f"vectors of the tiles in operand buffer {buffer}", need, depth, stages)
        self._phases += 1
        at, result = [0, 0], []
        for (buffer, size, _), count in zip(wanted, counts):
            bases = [at[buffer] + k * size for k in range(count)]
            at[buffer] += count * size
            result.append(_Slots(buffer, size, [depth - base - size if self._phases % 2 else base for base in bases]))
        return result

    def _kept_slots(self, chain: list):
        """Slots of the chain that begins with the last layer, with its input and its delta where the forward pass has
        left them; None where that is not all of them or another tile needs the place."""
        act, delta = self._newest
        if self._input(chain[0]) is not self.memory.act[chain[0]]:
            return None
        if (
            chain[0] + 1 < len(self.layers)
            or self.memory.act[chain[0]].layout.groups > 1
            or self.memory.delta[chain[0]].layout.groups > 1
        ):
            return None
        (buffer, *_), (other, *_), *rest = self._backward_tiles(chain)
        before = self._phases
        _, _, *others = self._slots(self.layers[chain[0]].name, [(buffer, 0, 1), (other, 0, 1), *rest], ())
        if any(slots.meets(kept) for slots in others for kept in (act, delta)):
            self._phases = before
            return None
        return [delta, act, *others]

    def _own_slots(self) -> dict:
        """Slots by tensor if everything fits at once: every tensor one group, all side by side; else none. The errors
        of a pooled layer, which LOAD up-samples, go for that time to the delta of another pooled layer."""
        memory, wanted = self.memory, [(0, self.memory.images, self.memory.images.tile.size)]
        for index, (act, delta) in enumerate(zip(memory.act, memory.delta)):
            wanted += [(index % 2, act, act.tile.size)] * (act is not memory.images)
            wanted += [(1 - index % 2, delta, delta.tile.size)]
            wanted += [(1 - index % 2, (delta, "errors"), delta.layout.group_vectors)] * (
                delta.upsample and not self._lender(index)
            )
        room = [sum(size for b, _, size in wanted if b == buffer) for buffer in (0, 1)]
        if max(room) > self.config.act_depth or any(
            t.layout.groups > 1 for t in (memory.images, *memory.act, *memory.delta)
        ):
            return {}
        at, result = [0, 0], {}
        for buffer, tensor, size in wanted:
            result[tensor] = _Slots(buffer, size, [at[buffer]])
            at[buffer] += size
        for index, delta in enumerate(memory.delta):
            if delta.upsample and self._lender(index):
                result[delta, "errors"] = _Slots(
                    1 - index % 2, delta.layout.group_vectors, result[self._lender(index)].bases
                )
        return result

    def _lender(self, index: int):
        """A pooled layer's delta whose place is free while the errors of layer `index` are there: the first one's, of
        the first the last one's."""
        delta = self.memory.delta[index]
        others = [other for other in self.memory.delta[index % 2 :: 2] if other.upsample and other is not delta]
        lender = others and others[0 if self.memory.delta.index(others[0]) < index else -1]
        return lender if lender and lender.tile.size >= delta.layout.group_vectors else None

    def _weights(self, index: int):
        if index in self._resident:
            return
        mine = self.weight_rows[index]
        self._resident = [
            k for k in self._resident if self.weight_rows[k].end <= mine.base or self.weight_rows[k].base >= mine.end
        ]
        self._resident.append(index)
        self.ops += self.lower.load_weights(index, mine)

    # Phases

    def _forward(self, chain: list):
        stages = (2 * chain[0], 2 * chain[0] + 2)
        if self._own:
            slots = [self._own[tensor] for tensor in (self._input(chain[0]), *(self._output(index) for index in chain))]
        else:
            slots = self._slots(self.layers[chain[0]].name, self._forward_tiles(chain), stages)
        self._act_buffer, self._newest = slots[-2].buffer, slots[-2:]
        images = [self._group_images(index) for index in chain]
        done, last = [0] * len(chain), None

        def ready(k: int) -> bool:
            if done[k] >= self.images or (k and done[k - 1] < min(done[k] + images[k], self.images)):
                return False
            if k + 1 == len(chain):
                return True
            group = (
                done[k] // images[k + 1]
            )  # of the next layer, which must have finished with the tile that was in the slot before
            return done[k + 1] >= min((group - len(slots[k + 1].bases) + 1) * images[k + 1], self.images)

        while done[-1] < self.images:
            # The last layer that can; not one that reads what has been computed just now, if there is another: the
            # results are on their way.
            k = max((k for k in range(len(chain)) if ready(k)), key=lambda k: (k - 1 != last, k))
            self._forward_group(chain[k], done[k], slots[k], slots[k + 1], k > 0, k < len(chain) - 1)
            done[k], last = done[k] + images[k], k

    def _forward_group(self, index: int, image: int, read: "_Slots", write: "_Slots", chained: bool, feeds: bool):
        """FP of one group; `chained`: its input is in the buffer, `feeds`: its output is read there by the next
        layer."""
        p, memory, lower, loss = self.layers[index], self.memory, self.lower, self._has_loss(index)
        source, dest = self._input(index), self._output(index)
        if image == 0:
            self._weights(index)
            for group in range(memory.target.layout.groups * loss):
                self.ops.append(lower.load_gate(p.name, memory.target, group, memory.target_gate))
        tile = read.place(source, image) if chained else self._load(read, index, source, image)
        out = write.place(dest, image)
        self.ops.append(lower.forward(index, image, tile, out, self.weight_rows[index], self.train, loss))
        if self.keep or not (self._own or feeds and not self.train):
            self._finish(p.name, dest, image, memory.folds[index].fp, out)

    def _backward(self, chain: list, beside: list):
        """A backward chain, and `beside` it ([] or [0]) the next one, each group of images when its errors have been
        stored."""
        first = self.layers[chain[0]]
        stages = (
            2 * chain[0],
            *((2 * chain[0] - 1,) if chain[0] else ()),
            *((2 * chain[0] + 1,) if first.pool else ()),
        )
        tiles, more = self._backward_tiles(chain), self._backward_tiles(beside) if beside else []
        if self._own:
            slots = [slots for each in (chain, beside) if each for slots in self._own_backward(each)]
        else:
            slots = (not beside and self._kept_slots(chain)) or self._slots(first.name, tiles + more, stages)
        run = self._backward_groups(chain, slots[: len(tiles)])
        follow, behind = self._backward_groups(beside, slots[len(tiles) :]), 0
        whole = self.memory.delta[0].layout.group_images
        for done in run:
            stored = done if done == self.images else done // whole * whole
            while beside and behind < stored - self._group_images(chain[0]):
                behind = next(follow)
        for _ in follow:
            pass
        later, self._later = self._later, []
        self.ops += later
        for part in (0, 1):
            for index in [*chain, *beside]:
                held = self.weight_rows[index] if self._weights_stay else None
                for taps in self._taps(index)[part : part + 1]:
                    self.ops += self.lower.update(index, self.grad_rows[index], held, taps)

    def _backward_groups(self, chain: list, slots: list):
        """Emits the BP and WU of a chain group by group; yields the number of images done after each."""
        if not chain:
            return
        delta_slots, *pairs = slots
        acts, errors = dict(zip(chain, pairs[::2])), dict(zip(chain, pairs[1::2]))
        deltas = dict(zip(chain, [delta_slots, *pairs[1::2]]))
        for image in self._groups(self.memory.folds[chain[0]].fp):
            # What waits for nobody is loaded first.
            columns = {index: self._load(acts[index], index, self.memory.act[index], image) for index in chain}
            self._load(delta_slots, chain[0], self.memory.delta[chain[0]], image, self._scale(chain[0]))
            for index in chain:
                rows = deltas[index].place(self.memory.delta[index], image)
                gradients, *later = (
                    self.lower.gradients(index, image, rows, columns[index], self.grad_rows[index], image == 0, taps)
                    for taps in self._taps(index)
                )
                self._later += [op for part in later for op in part]
                self.ops += gradients * (index in self.early)
                self._errors(index, image, deltas[index], errors[index], index == chain[-1])
                self.ops += gradients * (index not in self.early)
            yield min(image + self._group_images(chain[0]), self.images)

    def _taps(self, index: int) -> list:
        """Rows of the kernel that WU and UPDATE take at once; the operands of what comes later must stay."""
        return self.lower.taps(index, self.last and index == 1 and bool(self._own))

    def _own_backward(self, chain: list) -> list:
        """The slots of a backward chain where every tensor has its own."""
        acts = [self._own[self.memory.act[index]] for index in chain]
        deltas = [self.memory.delta[index - 1] if index else None for index in chain]
        errors = [delta and self._own[(delta, "errors") if delta.upsample else delta] for delta in deltas]
        return [self._own[self.memory.delta[chain[0]]], *(slots for pair in zip(acts, errors) for slots in pair)]

    def _errors(self, index: int, image: int, delta_slots: "_Slots", error_slots: "_Slots", last: bool):
        """BP of one group; stored unless the next layer of the chain reads it in the buffer."""
        if index == 0:
            return
        if image == 0:
            self._weights(index)
        folds, delta, error = self.memory.folds[index], self.memory.delta[index], self.memory.delta[index - 1]
        per_wu, per_bp = ((self.config.grid >> fold) ** 2 for fold in (folds.fp, folds.bp))
        for part in range(image, min(image + per_wu, self.images), per_bp):
            out = error_slots.place(error, part, stored=True)
            self.ops += self.lower.backward(index, part, delta_slots.place(delta, part), out, self.weight_rows[index])
            if self.keep or error.upsample or (last and not self._own):
                self._finish(self.layers[index].name, error, part, folds.bp, out)

    def _scale(self, index: int):
        """Gate of a pooled layer for LOAD: first vector, tile, vectors in all."""
        if not self.layers[index].pool:
            return None
        first, tile = self.memory.gate[index]
        return first, tile, tile.size * ceil_div(self.images, (self.config.grid >> tile.fold) ** 2)

    def _group_images(self, index: int) -> int:
        """Images of a group of a layer's sums."""
        return (self.config.grid >> self.memory.folds[index].fp) ** 2

    def _groups(self, fold: int) -> range:
        """First images of the groups of a fold."""
        return range(0, self.images, (self.config.grid >> fold) ** 2)

    def _load(self, slots: "_Slots", index: int, tensor, image: int, scale=None) -> Place:
        """The tile with `image`, loaded for layer `index` when it is not there yet."""
        missing = not slots.has(tensor.group(image))
        place = slots.place(tensor, image)
        if missing:
            group = tensor.group(image)
            self.ops.append(self.lower.load(self.layers[index].name, tensor, group, slots.tile(tensor, group), scale))
        return place

    def _finish(self, layer: str, tensor, image: int, fold: int, place: Place):
        """STORE once the last computed images of the tensor's group are there."""
        after = image + (self.config.grid >> fold) ** 2
        if after >= self.images or tensor.group(after) != tensor.group(image):
            self.ops.append(
                self.lower.store(layer, tensor, tensor.group(image), place, bool(self._own) and tensor.upsample)
            )


class _Slots:
    """One or two places for the tiles of a tensor, used in turn."""

    def __init__(self, buffer: int, size: int, bases: list):
        self.buffer, self.size, self.bases = buffer, size, bases
        self._group = [None] * len(bases)
        self._next = 0

    def meets(self, other: "_Slots") -> bool:
        """Do the places of both overlap?"""
        return self.buffer == other.buffer and any(
            a < b + other.size and b < a + self.size for a in self.bases for b in other.bases
        )

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
        """Place of the image group with `image` in the fold of the tile; `stored`: the tile as it is in DRAM, one
        group."""
        base = self._base(tensor.group(image))
        if stored:
            layout = tensor.layout
            tile = type(tensor.tile)(layout.fold, layout.channels, layout.rows, layout.columns)
            return Place(self.buffer, base, tile, base, self.size)
        return Place(self.buffer, base + tensor.tile_offset(image), tensor.tile, base, self.size)


def in_order_of_start(ops: list) -> list:
    """The operations by expected start: each engine's order stays, and an instruction is fetched about when its engine
    has use for it."""
    starts = [start for start, _ in timeline(ops)]
    return [ops[k] for k in sorted(range(len(ops)), key=lambda k: (starts[k], k))]
