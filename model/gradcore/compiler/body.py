# SPDX-License-Identifier: Apache-2.0
"""A program while it is made: its operations so far and what they have left in the buffers."""

from dataclasses import dataclass, field

from gradcore.compiler.deferred import Deferred
from gradcore.compiler.limits import TooMany
from gradcore.compiler.map_groups import MapGroup
from gradcore.compiler.memory_map import Gates, MapTensor
from gradcore.compiler.operation import Op, Place, Rows
from gradcore.compiler.rings import Region
from gradcore.compiler.rows import apart
from gradcore.compiler.setting import Setting
from gradcore.compiler.slots import Key, Slots, Wanted, place_tiles
from gradcore.compiler.transfers import load, load_weights, store


@dataclass
class Body:
    """Operations of one program.

    weight_rows, grad_rows: `Rows` by layer. resident: slots by tensor where all stays in the buffers, else empty.
    most: instructions that are too many. notes: how layers in strips are computed.
    weights, gradients: where tiles of layers in strips go, one behind the other.
    held: layers whose weights are in the weight buffer. newest: slots of the last layer's input and output. table: name
    of the one that VECTOR has. cleared: are the zeros written? late: VECTORs that nothing in the forward pass waits
    for; spare: cycles in which DRAM had nothing to do since there are some. deferred: tiles of WU that come between
    strips of BP.
    """

    setting: Setting
    train: bool
    weight_rows: list[Rows]
    grad_rows: list[Rows]
    resident: dict[Key, Slots]
    most: int
    ops: list[Op] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    newest: list[Slots] = field(default_factory=list)
    phases: int = 0
    notes: list[str] = field(default_factory=list)
    table: str = ""
    cleared: bool = False
    late: list[Op] = field(default_factory=list)
    deferred: Deferred = field(default_factory=Deferred)
    spare: int = 0

    def __post_init__(self) -> None:
        config = self.setting.config
        self.weights, self.gradients = Region(0, config.wgt_depth), Region(0, config.grad_depth)

    @property
    def weights_stay(self) -> bool:
        """Has every layer its own rows of the weight buffer?"""
        return apart(self.weight_rows) and not self.setting.choices.strips

    def slots(self, index: int, wanted: list[Wanted], stages: tuple[int, ...]) -> list[Slots]:
        """Slots for the tiles of the next phase; phases take turns at both ends of the buffers."""
        found = place_tiles(self.setting, index, wanted, stages, self.phases % 2 == 0)
        self.phases += 1
        return found

    def check_number(self) -> None:
        """Raises TooMany where there are too many instructions."""
        if len(self.ops) >= self.most:
            raise TooMany(None, "instructions of the program", len(self.ops), self.most)

    def note(self, index: int, step: str, text: str, group: MapGroup | None = None) -> None:
        """Says in the listing how a step of a layer, or of a group of it, is computed."""
        p = self.setting.layers[index]
        which = f" group {group.number}" if group and p.groups > 1 else ""
        self.notes.append(f"{p.name}{which} {step}: {text}")

    def forget(self) -> None:
        """A layer in strips has used all operand buffers, and the weight buffer if it has no rows of its own."""
        self.newest = []
        if not all(self.weight_rows[index] for index in self.setting.choices.strips):
            self.held = []

    def need_weights(self, index: int) -> Rows:
        """Rows of a layer's weights; LOADW unless they are there."""
        mine = self.weight_rows[index]
        if index in self.held:
            return mine
        self.held = [k for k in self.held if apart([self.weight_rows[k], mine])]
        self.held.append(index)
        self.ops += load_weights(self.setting, index, mine)
        return mine

    def need_tile(self, slots: Slots, index: int, tensor: MapTensor, image: int, scale: Gates | None = None) -> Place:
        """The tile with `image`, loaded for layer `index` when it is not there yet."""
        missing = not slots.has(tensor.group(image))
        place = slots.place(tensor, image)
        if missing:
            group, layer = tensor.group(image), self.setting.layers[index].name
            self.ops.append(load(self.setting, layer, tensor, group, slots.tile(tensor, group), scale))
        return place

    def finish_tile(self, layer: str, tensor: MapTensor, image: int, fold: int, place: Place) -> None:
        """STORE once the last computed images of the tensor's group are there."""
        after, group = image + self.setting.fold_images(fold), tensor.group(image)
        if after >= self.setting.images or tensor.group(after) != group:
            self.ops.append(store(self.setting, layer, tensor, group, place, bool(self.resident) and tensor.upsample))
