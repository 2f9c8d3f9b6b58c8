# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy: COMPUTE leaves the outputs of the last layer in an operand buffer, STORE takes them to
DRAM, LOAD brings them back three times over as the local gradient. Where stages are behind the last layer, the outputs
are what VECTOR has made of its, and the local gradient is that of the last stage."""

from gradcore.compiler.body import Body
from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import MapTensor
from gradcore.compiler.operation import Op, Place, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.transfers import group_in_dram, load_gate, store
from gradcore.isa.instruction import READINGS, SHIFT_AT_0, Opcode

SLICE = 4  # lanes at once: of gc_softmax
LEAST, DIVISION, LATENCY = 9, 72, 25  # cycles: of a vector at least, of the division of a slice, of the pipeline


def softmax(setting: Setting, group: int, place: Place) -> list[Op]:
    """STORE of the outputs of an image group at `place`, and LOAD of its local gradient to where they were."""
    name = setting.layers[setting.last].name
    return [store(setting, name, _outputs(setting), group, place), _load(setting, group, place)]


def softmax_strips(body: Body) -> None:
    """The same where the outputs are in DRAM already, to where the local gradient is to be, too."""
    setting, memory, config = body.setting, body.setting.memory, body.setting.config
    name, error = setting.layers[setting.last].name, memory.loss_error
    tile = error.tile
    for quantity, size, depth in (
        ("vectors of the classes of a group of images", tile.size, config.act_depth),
        ("gate vectors of the targets of a group of images", memory.gate_vectors + tile.size, config.gate_depth),
    ):
        if size > depth:
            # Layers in strips keep no gates in the buffer.
            strips = range(len(setting.layers)) if memory.gate_vectors else ()
            raise CompileError(name, quantity, size, depth, strips=strips)
    for group in range(memory.target.layout.groups):
        base = group % 2 * tile.size if 2 * tile.size <= config.act_depth else 0
        place = Place(1, base, tile, (("buf1", base, base + tile.size),))
        body.ops.append(load_gate(setting, name, memory.target, group, memory.gate_vectors))
        body.ops.append(_load(setting, group, place, memory.gate_vectors))
        body.ops.append(store(setting, name, error, group, place))


def _outputs(setting: Setting) -> MapTensor:
    return setting.memory.act[setting.last + 1]


def _load(setting: Setting, group: int, place: Place, first: int | None = None) -> Op:
    """LOAD of a group's local gradient; `first`: vector of its target bits, else where all groups have them."""
    layout, numbers, config = _outputs(setting).layout, setting.network.loss_parameters, setting.config
    fields, dram = group_in_dram(setting, _outputs(setting), group)
    size, name = layout.group_vectors, setting.layers[setting.last].name
    gates = setting.memory.target_gate.first + group * size if first is None else first
    instr = make(
        Opcode.LOAD,
        name,
        **fields | dict(n1=READINGS, n_words=READINGS * size),
        softmax=1,
        buffer=place.buffer,
        fold=place.tile.fold,
        n_b=1,
        n_y=1,
        n_x=1,
        n_c=size,
        base=place.base,
        gate_base=gates,
        n_valid=min(layout.group_images, layout.images - group * layout.group_images),
        u_shift=numbers.fo + SHIFT_AT_0,
        loss_shift=numbers.shift,
        classes=layout.channels,
    )
    slices, beats = config.lanes // SLICE, READINGS * fields["run_beats"]
    cycles = READINGS * size * max(slices + 1, LEAST) + DIVISION * slices + LATENCY
    text = f"{setting.memory.loss_error.name} group {group} of {_outputs(setting).name}"
    reads = [dram, ("gate", gates, gates + size)]
    return Op(instr, name, text, max(beats, cycles), beats, reads, [*place.ranges])
