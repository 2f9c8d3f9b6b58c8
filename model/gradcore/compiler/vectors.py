# SPDX-License-Identifier: Apache-2.0
"""VECTOR: the stages behind a layer, image group by image group, from DRAM to DRAM."""

from gradcore.compiler.body import Body
from gradcore.compiler.factors import keeping, kept_scale
from gradcore.compiler.memory_map import FIXED, MapTensor
from gradcore.compiler.moves import MOST_BEHIND, ONE, Move, vector_cycles
from gradcore.compiler.operation import Op, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.stages import StepPlace, TableTensor
from gradcore.compiler.tuples import Access, Fields
from gradcore.isa.instruction import ADD, CHOOSE, FIELDS, INDEX, LOAD_TABLE, MAXIMUM, SLOPE, SUM, TABLE, Opcode
from gradcore.network.stage import Stage
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops import average_pooling, dropout
from gradcore.ops.activation import TABLE_FRAC, Relu
from gradcore.ops.addition import Addition
from gradcore.ops.max_pooling import MaxPooling
from gradcore.ops.windows import Windows


def forward_stages(body: Body, index: int, groups: range | None = None) -> None:
    """Emits the stages behind layer `index` in the forward pass, of all image groups or of some; in training the
    indices that the backward pass chooses by are left for later."""
    setting = body.setting
    _clear_zeros(body, index)
    for group in groups if groups is not None else range(_groups(setting, index)):
        for place in setting.memory.stages[index]:
            move = Move(setting, setting.layers[index].name, group)
            if group < place.result.layout.groups:
                insert(body, _forward(body, move, place))
                if body.train and place.indices and not _indices_beside(body, place):
                    relu = _indices_of_relu(place)
                    body.late += move.windows(INDEX, _windows(place), [*place.sources], place.indices, relu=relu)


def late_indices(body: Body, since: int | None = None) -> None:
    """Emits indices that were left for later: as many as DRAM has time for beside what the array does in the operations
    from `since` on; without it all."""
    if since is not None:
        own = body.ops[since:]
        body.spare += sum(op.cycles if op.instr.opcode == Opcode.COMPUTE else -op.beats for op in own)
    count = 0
    while count < len(body.late) and (since is None or body.spare >= body.late[count].cycles):
        body.spare -= body.late[count].cycles
        count += 1
    insert(body, body.late[:count])
    del body.late[:count]
    if not body.late:
        body.spare = 0


def backward_stages(body: Body, index: int) -> None:
    """Emits the stages behind layer `index` in the backward pass, from the last to the first."""
    setting = body.setting
    for group in range(_groups(setting, index)):
        ops: list[Op] = []
        for place in reversed(setting.memory.stages[index]):
            move = Move(setting, setting.layers[index].name, group, gradient=1)
            if place.error and group < place.result.layout.groups:
                for one in place.sums:
                    ops += move.whole(ADD, [*one.terms], one.result)
                ops += _backward(body, move, place)
        insert(body, ops)


def _groups(setting: Setting, index: int) -> int:
    """Image groups of the stages behind a layer; not all need have as many."""
    return max((place.result.layout.groups for place in setting.memory.stages[index]), default=0)


def _forward(body: Body, move: "Move", place: StepPlace) -> list[Op]:
    """A step in the forward pass, of an image group."""
    ops: list[Op] = []
    stage, windows, sources = place.step.stage, _windows(place), [*place.sources]
    if stage:
        operator = stage.operator
        more = dict(shift=stage.shift_fp) | _rounding(body.setting, stage.layer, "act", stage.shift_fp)
        if place.tables:
            ops += _need_table(body, move.layer, place.tables[0])
            ops += move.whole(TABLE, sources, place.result, shift_a=_argument(place), **more)
        elif isinstance(operator, Addition):
            finest = max(stage.fractions)
            more |= {f"shift_{key}": finest - frac for key, frac in zip("ab", stage.fractions)}
            ops += move.whole(ADD, sources, place.result, **more)
        elif isinstance(operator, dropout.Dropping):
            more = more | _dropping(operator, stage) if body.train else _passing(body.setting, stage)
            ops += move.whole(SUM, sources, place.result, **more)
        elif isinstance(operator, Relu):
            ops.append(move.positive(sources[0], place.result))
        elif isinstance(operator, MaxPooling):
            indices = _indices_beside(body, place)
            relu = bool(indices) and _indices_of_relu(place)
            ops += move.windows(MAXIMUM, windows, sources, place.result, indices, relu=relu)
        else:
            ops += move.windows(SUM, windows, sources, place.result, None, multiplier=_share(windows), **more)
    return ops


def _indices_beside(body: Body, place: StepPlace) -> MapTensor | None:
    """Indices of a step that come with its result: those of a maximum that does not lie too far before them."""
    maximum = place.step.stage and isinstance(place.step.stage.operator, MaxPooling) and _windows(place) != ONE
    if not (body.train and maximum and place.indices):
        return None
    return place.indices if 0 < place.indices.addr - place.result.addr <= MOST_BEHIND else None


def _indices_of_relu(place: StepPlace) -> bool:
    """Are indices gates, too?"""
    return place.step.relu or _is_relu(place)


def _backward(body: Body, move: "Move", place: StepPlace) -> list[Op]:
    """A step in the backward pass, of an image group: from its whole local gradient to what it contributes."""
    ops: list[Op] = []
    stage, windows = place.step.stage, _windows(place)
    assert place.error
    for k, delta in enumerate(place.deltas):
        if delta is None or delta.addr == place.error.addr:
            continue
        if place.indices:
            ops += move.back(CHOOSE, windows, [place.error, place.indices], delta)
            continue
        shift, layer = place.step.backward(k)
        more = dict(shift=max(shift, 0)) | _rounding(body.setting, layer, "delta", shift)
        if place.tables:
            ops += _need_table(body, move.layer, place.tables[-1])
            ops += move.whole(SLOPE, [place.error, place.sources[0]], delta, shift_a=_argument(place), **more)
        elif stage and isinstance(stage.operator, Addition):
            ops += move.whole(SUM, [place.error], delta, multiplier=1 << max(-shift, 0), **more)
        elif stage and isinstance(stage.operator, dropout.Dropping):
            ops += move.whole(SUM, [place.error], delta, **_dropping(stage.operator, stage), **more)
        else:
            ops += move.back(SUM, windows, [place.error], delta, multiplier=_share(windows), **more)
    return ops


def _clear_zeros(body: Body, index: int) -> None:
    """Writes the zeros for the first ReLU of a program that needs them: of pixels outside the map nothing is the
    largest."""
    setting, zeros = body.setting, body.setting.memory.zeros
    if zeros and not body.cleared and any(_is_relu(place) for place in setting.memory.stages[index]):
        body.cleared = True
        ops = Move(setting, setting.layers[index].name, 0).whole(MAXIMUM, [zeros], zeros, first_x=1 << 14)
        for op in ops:
            op.reads.clear()
        insert(body, ops)


def _is_relu(place: StepPlace) -> bool:
    return bool(place.step.stage and isinstance(place.step.stage.operator, Relu))


def insert(body: Body, ops: list[Op]) -> None:
    """Puts each of the operations where the last word that it reads is stored, behind all other VECTORs, so that it
    runs beside what follows."""
    for op in ops:
        at = len(body.ops)
        while at and not _precedes(body.ops[at - 1], op.reads):
            at -= 1
        body.ops.insert(at, op)


def _precedes(op: Op, read: list[Access]) -> bool:
    """Must one that reads so come behind this one?"""
    if op.instr.opcode == Opcode.VECTOR:
        return True
    return any(n == name and a < end and start < b for n, a, b in op.writes for name, start, end in read)


def _windows(place: StepPlace) -> Windows:
    """Those of a pooling; of the gate of a ReLU single pixels."""
    return getattr(place.step.stage.operator, "windows", ONE) if place.step.stage else ONE


def _rounding(setting: Setting, layer: int, kind: str, shift: int) -> Fields:
    """Fields of the rounding of a tensor of `layer`, none where nothing is dropped; only stochastic rounding has a
    tag."""
    mode = setting.network.mode(kind)
    tag = dict(rnd_tag=random_tag(layer, kind)) if mode == "stochastic" else {}
    return dict(rounding=MODES[mode]) | tag if shift > 0 else {}


def _share(windows: Windows) -> int:
    return round(1 / windows.area * (1 << average_pooling.BITS))


def _dropping(operator: dropout.Dropping, stage: Stage) -> Fields:
    """What a dropout keeps in training, and what that is multiplied by."""
    return dict(multiplier=kept_scale(operator)) | keeping(operator, stage.layer)


def _passing(setting: Setting, stage: Stage) -> Fields:
    """Of a dropout in inference: the words that it reads, in the format of its output."""
    shift = stage.shift_fp - dropout.BITS
    own = dict(multiplier=1 << max(-shift, 0), shift=max(shift, 0))
    return own | _rounding(setting, stage.layer, "act", shift)


def _argument(place: StepPlace) -> int:
    """Shift of a word to the fraction of a table's argument; beyond the field's range it changes nothing. Of a leaky
    ReLU the sign alone decides."""
    low, high = FIELDS[Opcode.VECTOR]["shift_a"].range
    if not place.step.stage:
        return high
    return min(max(TABLE_FRAC - place.step.stage.fractions[0], low), high)


def _need_table(body: Body, layer: str, table: TableTensor) -> list[Op]:
    """Load of a table unless it is there, in a list."""
    if body.table == table.name:
        return []
    body.table = table.name
    beats = table.layout.size // body.setting.config.mem_bytes
    instr = make(
        Opcode.VECTOR,
        layer,
        operation=LOAD_TABLE,
        base_sel=FIXED,
        addr=table.addr,
        n_beats=beats,
        **dict.fromkeys(("n_y", "n_x", "n_ky", "n_kx", "step_y", "step_x", "height", "width"), 1),
    )
    reads = [(f"dram{FIXED}", table.addr, table.end)]
    return [Op(instr, layer, f"load {table.name}", vector_cycles(1, beats), beats, reads)]
