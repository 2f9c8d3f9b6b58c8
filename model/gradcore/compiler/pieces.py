# SPDX-License-Identifier: Apache-2.0
"""LOAD and STORE of a piece of a tensor: some block rows, block columns and channels of an image group."""

from dataclasses import dataclass, replace
from itertools import product

from gradcore.compiler.memory_map import MapTensor
from gradcore.compiler.operation import Op, Place, make
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Access, Fields, Span
from gradcore.isa.fold import GateLayout, ceil_div
from gradcore.isa.instruction import GATE_BUFFER, Opcode


@dataclass(frozen=True)
class Piece:
    """Blocks and channels of image groups, as (first, end) each, counted as they lie in DRAM. Several groups need all
    columns or all channels: a transfer has two loops around its runs. `before`: channels that its place has before
    them."""

    group: int
    rows: Span
    columns: Span
    channels: Span
    groups: int = 1
    before: int = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        rows, columns, channels = (end - first for first, end in (self.rows, self.columns, self.channels))
        return rows, columns, channels

    @property
    def vectors(self) -> int:
        rows, columns, channels = self.counts
        return self.groups * rows * columns * channels


def _dram(setting: Setting, tensor: MapTensor, piece: Piece) -> tuple[Fields, Access]:
    """(fields, range) of a piece in DRAM."""
    layout, beat, size = tensor.layout, setting.config.mem_bytes, tensor.layout.vector_bytes
    (rows, columns, channels), (row, column, channel) = (
        piece.counts,
        (p[0] for p in (piece.rows, piece.columns, piece.channels)),
    )
    first = (row * layout.columns + column) * layout.pitch + layout.channel_place(channel)
    addr = tensor.addr + piece.group * layout.group_bytes + first * size
    down, groups = (rows, layout.columns * layout.pitch * size), (piece.groups, layout.group_bytes)
    if channels < layout.pitch and columns == layout.columns:
        loops, run = ((rows * columns, layout.pitch * size), groups), channels
    elif channels < layout.pitch:
        assert piece.groups == 1
        loops, run = ((columns, layout.pitch * size), down), channels
    elif columns < layout.columns:
        loops, run = (down, groups), columns * channels
    else:
        loops, run = (groups, (1, 0)), rows * columns * channels
    (n1, stride1), (n2, stride2) = loops
    end = addr + (n1 - 1) * stride1 + (n2 - 1) * stride2 + run * size
    fields = dict(base_sel=tensor.base_sel, addr=addr, run_beats=ceil_div(run * size, beat))
    fields |= dict(n1=n1, stride1=stride1 * (n1 > 1), n2=n2, stride2=stride2 * (n2 > 1))
    return fields, (f"dram{tensor.base_sel}", addr, -(-end // beat) * beat)


def _buffer(setting: Setting, piece: Piece, place: Place, up: int = 1, spread: int = 1) -> Fields:
    """Fields of the buffer side; `up` block rows and `spread` image groups in the buffer come of one in DRAM."""
    rows, columns, channels = piece.counts
    tile, grid = place.tile, setting.config.grid
    base = dict(gate_base=place.base) if place.buffer == GATE_BUFFER else dict(base=place.base)
    return base | dict(
        buffer=place.buffer,
        fold=tile.fold,
        n_b=piece.groups,
        n_y=rows,
        n_x=columns,
        n_c=channels,
        n_words=piece.vectors,
        stride_b=spread * tile.stride_b,
        stride_y=up * tile.stride_y,
        stride_x=up * tile.stride_x,
        rot_y=((up * piece.rows[0] << tile.fold) + piece.before // grid) % grid,
        rot_x=(up * piece.columns[0] << tile.fold) % grid,
    )


SPARE = 2  # vectors behind what a LOAD of one quarter keeps, where the others of the last vector go


def _by_shares(setting: Setting, tensor: MapTensor, piece: Piece, place: Place) -> list[tuple[Piece, Place]]:
    """(piece, place) of what one instruction moves: of a scattered tensor a share of one block."""
    if not tensor.layout.scattered:
        return [(piece, place)]
    assert isinstance(tensor.layout, GateLayout)
    share, depth = tensor.layout.share, setting.config.gate_depth
    (top, bottom), (left, right), (first, end) = piece.rows, piece.columns, piece.channels
    found = []
    for y, x, c in product(range(top, bottom), range(left, right), range(first, end, share)):
        one = Piece(piece.group, (y, y + 1), (x, x + 1), (c, min(c + share, end)), before=c - first)
        offset = (y - top) * place.tile.stride_y + (x - left) * place.tile.stride_x + c - first
        found.append((one, replace(place, base=(place.base + offset) % depth)))
    return found


def load_piece(
    setting: Setting,
    layer: str,
    tensor: MapTensor,
    piece: Piece,
    place: Place,
    gate: Place | None = None,
    quarter: int | None = None,
) -> list[Op]:
    """LOAD of a piece to `place`, that of its first block; up-sampled if the tensor says so, scaled by `gate`.
    `quarter`: the one of the four up-sampled image groups that is wanted. The others go where the next vector, or the
    wanted one itself, comes later."""
    return [_load(setting, layer, tensor, *one, gate, quarter) for one in _by_shares(setting, tensor, piece, place)]


def _load(
    setting: Setting,
    layer: str,
    tensor: MapTensor,
    piece: Piece,
    place: Place,
    gate: Place | None,
    quarter: int | None,
) -> Op:
    dram, source = _dram(setting, tensor, piece)
    layout, tile, top = tensor.layout, place.tile, setting.config.log_grid
    vectors, reads = piece.vectors, [source]
    more: Fields = {}
    up = 1 + (tensor.upsample and layout.fold == top)
    fields = _buffer(setting, piece, place, up, 4 if tensor.upsample and up == 1 else 1)
    if tensor.upsample:
        vectors *= 4
        strides = (tile.stride_y, tile.stride_x) if up == 2 else (2 * tile.stride_b, tile.stride_b)
        if quarter is not None:
            strides = 1 - quarter // 2, 1 - quarter % 2
        more = dict(upsample=1, pool_bit=min(layout.fold, top - 1), stride_qy=strides[0], stride_qx=strides[1])
    if gate:
        more |= dict(scale=1, gate_base=gate.base)
        reads += gate.ranges
    if place.buffer == GATE_BUFFER:
        more |= dict(packed=isinstance(layout, GateLayout))
    instr = make(Opcode.LOAD, layer, **dram, **fields, **more)
    beats = dram["run_beats"] * dram["n1"] * dram["n2"]
    what = " up-sampled" * tensor.upsample + " scaled" * bool(gate)
    return Op(instr, layer, _text(tensor, piece, what), max(beats, vectors), beats, reads, [*place.ranges])


def store_piece(
    setting: Setting, layer: str, tensor: MapTensor, piece: Piece, place: Place, urgent: bool = False
) -> list[Op]:
    """STORE of a piece from `place`, that of its first block; `urgent`: the array waits while both read one buffer."""
    return [_store(setting, layer, tensor, *one, urgent) for one in _by_shares(setting, tensor, piece, place)]


def _store(setting: Setting, layer: str, tensor: MapTensor, piece: Piece, place: Place, urgent: bool) -> Op:
    dram, target = _dram(setting, tensor, piece)
    layout, fold = tensor.layout, tensor.layout.fold
    instr = make(
        Opcode.STORE,
        layer,
        **dram,
        **_buffer(setting, piece, place),
        packed=isinstance(layout, GateLayout),
        urgent=urgent,
        height=layout.height - (piece.rows[0] << fold),
        width=layout.width - (piece.columns[0] << fold),
        n_valid=min(layout.group_images, layout.images - piece.group * layout.group_images),
    )
    beats = dram["run_beats"] * dram["n1"] * dram["n2"]
    text = _text(tensor, piece, "")
    return Op(instr, layer, text, max(beats, piece.vectors), beats, [*place.ranges], [target])


def _text(tensor: MapTensor, piece: Piece, what: str) -> str:
    (row, end), (channel, _) = piece.rows, piece.channels
    return f"{tensor.name} group {piece.group} rows {row}..{end - 1}" + f" maps {channel}.." * bool(channel) + what
