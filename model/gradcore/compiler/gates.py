# SPDX-License-Identifier: Apache-2.0
"""Gates from the forward to the backward pass: they stay in the gate buffer, or go to DRAM as bits and come back."""

from gradcore.compiler.memory_map import Gates, MapTensor
from gradcore.compiler.operation import Op, Place
from gradcore.compiler.pieces import Piece, load_piece, store_piece
from gradcore.compiler.setting import Setting
from gradcore.isa.instruction import GATE_BUFFER


def gate_place(setting: Setting, gates: Gates, image: int) -> Place:
    """Place of the gate vectors of the group with `image`."""
    base, tile = gates.place(image // setting.fold_images(gates.tile.fold)), gates.tile
    return Place(GATE_BUFFER, base, tile, (("gate", base, base + tile.size),))


def spill(setting: Setting, index: int, image: int) -> list[Op]:
    """STORE of the gates of the group with `image` of layer `index`, in a list; none where they stay."""
    return store_piece(setting, *_moved(setting, index, image)) if setting.memory.spilled[index] else []


def fetch(setting: Setting, index: int, image: int) -> list[Op]:
    """The LOAD that brings them back."""
    return load_piece(setting, *_moved(setting, index, image)) if setting.memory.spilled[index] else []


def _moved(setting: Setting, index: int, image: int) -> tuple[str, MapTensor, Piece, Place]:
    """(layer, tensor, piece, place) of the gates of the group with `image`."""
    tensor, gates = setting.memory.spilled[index], setting.memory.gate[index]
    assert tensor and gates
    layout, place = tensor.layout, gate_place(setting, gates, image)
    piece = Piece(tensor.group(image), (0, layout.rows), (0, layout.columns), (0, layout.pitch))
    return setting.layers[index].name, tensor, piece, place
