# SPDX-License-Identifier: Apache-2.0
"""The forward pass, chain by chain."""

from gradcore.compiler.body import Body
from gradcore.compiler.chains import Chain, forward_tiles
from gradcore.compiler.gates import gate_place, spill
from gradcore.compiler.products import forward
from gradcore.compiler.slots import Slots
from gradcore.compiler.softmax import softmax
from gradcore.compiler.transfers import load_gate


def forward_chain(body: Body, chain: Chain) -> None:
    """Emits a chain of the forward pass."""
    setting = body.setting
    end = setting.images
    if body.resident:
        tensors = (setting.input(chain[0]), *(setting.output(index, body.train) for index in chain))
        slots = [body.resident[tensor] for tensor in tensors]
    else:
        stages = (2 * chain[0] + 2, 2 * chain[0])
        slots = body.slots(chain[0], forward_tiles(setting, chain, body.train), stages)
    body.newest = slots[-2:]
    images = [setting.group_images(index) for index in chain]
    done, last = [0] * len(chain), None

    def ready(k: int) -> bool:
        if done[k] >= end or (k and done[k - 1] < min(done[k] + images[k], end)):
            return False
        if k + 1 == len(chain):
            return True
        # The next layer must have finished with the tile that was in the slot before.
        group = done[k] // images[k + 1]
        return done[k + 1] >= min((group - len(slots[k + 1].bases) + 1) * images[k + 1], end)

    while done[-1] < end:
        # The last layer that can; not one that reads what has been computed just now, if there is another: the
        # results are on their way.
        k = max((k for k in range(len(chain)) if ready(k)), key=lambda k: (k - 1 != last, k))
        _group(body, chain[k], done[k], slots[k], slots[k + 1], k > 0, k < len(chain) - 1)
        done[k], last = done[k] + images[k], k


def _group(body: Body, index: int, image: int, read: Slots, write: Slots, chained: bool, feeds: bool) -> None:
    """FP of one group; `chained`: its input is in the buffer, `feeds`: its output is read there by the next layer."""
    setting, memory = body.setting, body.setting.memory
    p, loss = setting.layers[index], body.train and index == setting.last
    source, dest = setting.input(index), setting.output(index, body.train)
    if image == 0:
        body.need_weights(index)
        for group in range(memory.target.layout.groups * loss):
            body.ops.append(load_gate(setting, p.name, memory.target, group, memory.target_gate.place(group)))
    tile = read.place(source, image) if chained else body.need_tile(read, index, source, image)
    out = write.place(dest, image)
    targets = gate_place(setting, memory.target_gate, image) if loss and not setting.softmax else None
    gates = memory.gate[index] if body.train and not targets else None
    gate = gate_place(setting, gates, image) if gates else None
    rows = body.weight_rows[index]
    body.ops += forward(setting, index, image, tile, out, rows, gate=gate, targets=targets, train=body.train)
    if gates and setting.completes(image, setting.folds(index).fp, gates.tile.fold):
        body.ops += spill(setting, index, image)
    if loss and setting.softmax:
        body.ops += softmax(setting, dest.group(image), out)
    # WU of the next layer reads it again.
    again = body.train and (index == setting.last or setting.layers[index + 1].trainable)
    if setting.keep or not (body.resident or feeds and not again):
        body.finish_tile(p.name, dest, image, setting.folds(index).fp, out)
