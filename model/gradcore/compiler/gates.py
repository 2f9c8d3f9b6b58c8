# SPDX-License-Identifier: Apache-2.0
"""Places of gates that stay in the gate buffer from the forward to the backward pass."""

from gradcore.compiler.operation import Place
from gradcore.compiler.setting import Setting
from gradcore.isa.instruction import GATE_BUFFER


def gate_place(setting: Setting, gate: tuple, image: int) -> Place:
    """Place of the gate vectors of the group with `image`; gate = (first vector, tile)."""
    first, tile = gate
    base = first + image // setting.fold_images(tile.fold) * tile.size
    return Place(GATE_BUFFER, base, tile, (("gate", base, base + tile.size),))
