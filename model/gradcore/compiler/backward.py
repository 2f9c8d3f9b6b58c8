# SPDX-License-Identifier: Apache-2.0
"""The backward pass: BP, WU and UPDATE, chain by chain."""

from dataclasses import dataclass, field

from gradcore.compiler.body import Body
from gradcore.compiler.chains import Chain, backward_tiles
from gradcore.compiler.gates import fetch, gate_place
from gradcore.compiler.gradients import gradients
from gradcore.compiler.operation import Op, Part, Rows, part_row
from gradcore.compiler.products import backward
from gradcore.compiler.slots import Slots, Wanted
from gradcore.compiler.transfers import kernel_rows, update


def backward_chain(body: Body, chain: Chain, beside: Chain, start: int) -> None:
    """Emits a chain of the backward pass, and `beside` it (the lowest trained layer, or []) the next one, each group of
    images when its errors have been stored."""
    setting = body.setting
    first = setting.layers[chain[0]]
    tiles = backward_tiles(setting, chain, start)
    more = backward_tiles(setting, beside, start) if beside else []
    if body.resident:
        slots = [slots for each in (chain, beside) if each for slots in _resident_slots(body, each)]
    else:
        stages = tuple(range(2 * chain[0] + bool(first.pool), 2 * chain[0] - setting.has_errors(chain[0]) - 1, -1))
        slots = (not beside and _kept_slots(body, chain, tiles)) or body.slots(chain[0], tiles + more, stages)
    run = _Groups(body, chain, slots[: len(tiles)])
    follow = _Groups(body, beside, slots[len(tiles) :])
    whole = setting.delta(setting.first).layout.group_images
    for image in run.images:
        done = run.emit(image)
        stored = done if done == setting.images else done // whole * whole
        for other in follow.images[follow.done :] if beside else ():
            if other >= stored - setting.group_images(chain[0]):
                break
            follow.emit(other)
    for image in follow.images[follow.done :]:
        follow.emit(image)
    body.ops += run.later + follow.later
    for turn in (0, 1):
        for index in (index for index in [*chain, *beside] if setting.layers[index].trainable):
            held = body.weight_rows[index] if body.weights_stay else None
            for part in _kernel_rows(body, index)[turn : turn + 1]:
                body.ops += update(setting, index, body.grad_rows[index], held, part)


@dataclass
class _Groups:
    """BP and WU of a chain, one group of images at a time. later: WU that comes when the chain is done."""

    body: Body
    chain: Chain
    slots: list[Slots]
    done: int = 0
    later: list[Op] = field(default_factory=list)

    @property
    def images(self) -> range:
        """First images of the groups."""
        setting = self.body.setting
        return range(0, setting.images, setting.group_images(self.chain[0])) if self.chain else range(0)

    def emit(self, image: int) -> int:
        """One group; returns the number of images that are done then."""
        body, setting, chain = self.body, self.body.setting, self.chain
        memory, (delta_slots, *pairs) = setting.memory, self.slots
        acts, errors = dict(zip(chain, pairs[::2])), dict(zip(chain, pairs[1::2]))
        deltas = dict(zip(chain, [delta_slots, *pairs[1::2]]))
        # What waits for nobody is loaded first.
        trained = [index for index in chain if setting.layers[index].trainable]
        columns = {index: body.need_tile(acts[index], index, memory.act[index], image) for index in trained}
        _need_delta(body, chain[0], delta_slots, image)
        for index in chain:
            rows = deltas[index].place(setting.delta(index), image)
            now, *later = [
                gradients(setting, index, image, rows, columns[index], _grads(body, index, part), image == 0, part)
                for part in _kernel_rows(body, index)
                if index in columns
            ] or [[]]
            self.later += [op for part in later for op in part]
            early = index in setting.choices.early
            body.ops += now * early
            _errors(body, index, image, deltas[index], errors[index], index == chain[-1])
            body.ops += now * (not early)
        self.done += 1
        return min(image + setting.group_images(chain[0]), setting.images)


def _errors(body: Body, index: int, image: int, delta_slots: Slots, error_slots: Slots, last: bool) -> None:
    """BP of one group; stored unless the next layer of the chain reads it in the buffer."""
    if not body.setting.has_errors(index):
        return
    if image == 0:
        body.need_weights(index)
    setting, folds = body.setting, body.setting.folds(index)
    delta, error = setting.delta(index), setting.error(index)
    after = min(image + setting.fold_images(folds.fp), setting.images)
    for part in range(image, after, setting.fold_images(folds.bp)):
        out = error_slots.stored(error, part)
        gates = setting.memory.gate[index - 1] if not setting.layers[index - 1].pool else None
        if gates:
            body.ops += fetch(setting, index - 1, part)
        gate = gate_place(setting, gates, part) if gates else None
        body.ops += backward(
            setting, index, part, delta_slots.place(delta, part), out, body.weight_rows[index], gate=gate
        )
        if setting.keep or error.upsample or (last and not body.resident):
            body.finish_tile(setting.layers[index].name, error, part, folds.bp, out)


def _grads(body: Body, index: int, part: Part) -> Rows:
    """Where the gradients of some rows of the kernel are."""
    rows = body.grad_rows[index]
    return Rows(rows.base + part_row(body.setting.layers[index], part), rows.bias_base, rows.end)


def _kernel_rows(body: Body, index: int) -> list[Part]:
    """The rows of the kernel that WU and UPDATE take at once; the operands of what comes later must stay."""
    second = index == body.setting.first + 1
    return kernel_rows(body.setting, index, body.setting.choices.last_row and second and bool(body.resident))


def _need_delta(body: Body, index: int, slots: Slots, image: int) -> None:
    """The local gradient that a chain begins with; that of a pooled layer is scaled by its gates."""
    setting, tensor = body.setting, body.setting.delta(index)
    gates = setting.memory.gate[index] if setting.layers[index].pool else None
    if gates and not slots.has(tensor.group(image)):
        first = tensor.group(image) * tensor.layout.group_images
        after = min(first + tensor.layout.group_images, setting.images)
        for part in range(first, after, setting.fold_images(gates.tile.fold)):
            body.ops += fetch(setting, index, part)
    body.need_tile(slots, index, tensor, image, gates)


def _resident_slots(body: Body, chain: Chain) -> list[Slots]:
    """The slots of a backward chain where every tensor has its own."""
    memory = body.setting.memory
    acts = [body.resident[memory.act[index]] for index in chain]
    deltas = [memory.delta[index - 1] if body.setting.has_errors(index) else None for index in chain]
    # Without BP there is no error.
    errors = [
        body.resident[(delta, "errors") if delta.upsample else delta] if delta else Slots(0, 0, [0]) for delta in deltas
    ]
    return [body.resident[body.setting.delta(chain[0])], *(slots for pair in zip(acts, errors) for slots in pair)]


def _kept_slots(body: Body, chain: Chain, tiles: list[Wanted]) -> list[Slots] | None:
    """Slots of the chain that begins with the last layer, with its input and its delta where the forward pass has left
    them; None where that is not all of them or another tile needs the place."""
    setting, memory, index = body.setting, body.setting.memory, chain[0]
    if not body.newest or setting.input(index) is not memory.act[index] or index < setting.last:
        return None
    act, delta = body.newest
    if memory.act[index].layout.groups > 1 or setting.delta(index).layout.groups > 1:
        return None
    (buffer, *_), (other, *_), *rest = tiles
    before = body.phases
    _, _, *others = body.slots(index, [(buffer, 0, 1), (other, 0, 1), *rest], ())
    if any(slots.meets(kept) for slots in others for kept in (act, delta)):
        body.phases = before
        return None
    return [delta, act, *others]
