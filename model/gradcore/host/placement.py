# SPDX-License-Identifier: Apache-2.0
"""What lies in an engine's memory for a network: programs, weights, minibatches."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from gradcore.compiler.compile import CompiledNetwork, CompiledProgram, compile_network
from gradcore.compiler.stages import TableLayout
from gradcore.host import control
from gradcore.host.control import EngineError
from gradcore.host.engine_port import Backend
from gradcore.host.integrity import Piece, read_twice
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import MapLayout, RowLayout, round_up
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import int64
from gradcore.reference.trainer import State

PAGE = 4096
Place = tuple[int, str]  # images of the minibatch, name of the program


class InMemory(Protocol):
    """A tensor of the compiler's memory map."""

    @property
    def name(self) -> str:
        """Of the layer, and what it is."""

    @property
    def addr(self) -> int:
        """Behind BASE0."""

    @property
    def layout(self) -> MapLayout | RowLayout | TableLayout:
        """Its words in memory."""


class Layout:
    """Where all of a network lies in an engine's memory from `origin` on. First what the engine may write, then
    programs and minibatches, which it only reads."""

    def __init__(self, compiled: CompiledNetwork, origin: int) -> None:
        self._base = round_up(origin, PAGE)
        # Smaller minibatches use the same place; their folds may make their maps somewhat larger.
        self._room = round_up(2 * compiled.memory.size, PAGE)
        self._free = self._base + self._room  # rises as programs and minibatches need room
        self._images = self._targets = 0  # addresses of the minibatch, and the bytes reserved for its two parts
        self._batch_room = 0, 0

    def reserve(self, compiled: CompiledNetwork) -> tuple[int, int]:
        """Places for a minibatch and its programs; addresses of `train` and `infer`. Raises EngineError."""
        if compiled.memory.size > self._room:
            raise EngineError(
                f"a minibatch of {compiled.images} needs {compiled.memory.size} bytes, reserved are {self._room}"
            )
        wanted = compiled.memory.act[0].end, compiled.memory.target.end
        had = self._batch_room
        if wanted[0] > had[0] or wanted[1] > had[1]:  # also for a smaller one that is taken unfolded
            self._batch_room = max(had[0], 2 * wanted[0]), max(had[1], 2 * wanted[1])
            self._images, self._targets = map(self._allocate, self._batch_room)
        return self._allocate(compiled.train.binary.size), self._allocate(compiled.infer.binary.size)

    def _allocate(self, size: int) -> int:
        address = self._free
        self._free += round_up(size, PAGE)
        return address


def room(compiled: CompiledNetwork, *smaller: CompiledNetwork) -> int:
    """Bytes from a page on that a `Placement` takes, with the smaller minibatches that come, in their order; what is
    uploaded comes behind them."""
    layout = Layout(compiled, 0)
    for one in (compiled, *smaller):
        layout.reserve(one)
    return layout._free


def room_for_training(compiled: CompiledNetwork) -> int:
    """`room` with a minibatch of any size that is left over at the end of an epoch."""
    return 2 * room(compiled)


class Placement(Layout):
    """A network compiled for an engine of `config`, in the engine's memory from `origin` on. keep: as in
    `compile_network`."""

    def __init__(self, backend: Backend, network: Network, config: EngineConfig, origin: int, keep: bool) -> None:
        self.backend, self.network, self.config, self._keep = backend, network, config, keep
        self.loads = 0  # how often `load` has replaced the state
        self._compiled: dict[int, CompiledNetwork] = {}
        self._programs: dict[Place, tuple[int, CompiledProgram]] = {}
        self._pieces: dict[Place, Piece] = {}
        self.compiled = compile_network(network, config, keep=keep)
        super().__init__(self.compiled, origin)
        self._prepare(self.compiled)

    def mend(self, *places: Place) -> list[str]:
        """Compare the CRC of programs (default: all) in DRAM and write those again that differ; returns a text for
        each."""
        found = []
        for piece in (self._pieces[place] for place in places or self._pieces):
            if not piece.intact(self.backend):
                piece.write(self.backend)
                found.append(f"{piece.name} had changed in memory at {piece.address:#x}: written again")
        return found

    def load(self, state: State) -> None:
        """Write weights, biases and momenta (as `weights` returns them), read back and compared. Raises
        IntegrityError."""
        self.restore([self._piece(tensor, data) for tensor, data in self.compiled.pack_state(state)])

    def weights(self, check: bool = False) -> State:
        """Per layer a dict of weight, bias, momentum, bias_momentum (int64). `check`: everything is read twice;
        raises IntegrityError."""
        if check:
            return self.compiled.unpack_state(
                lambda tensor: read_twice(self.backend, tensor.name, self._base + tensor.addr, tensor.layout.size)
            )
        return self.compiled.unpack_state(self.tensor)

    def save(self) -> list[Piece]:
        """The state as it lies in DRAM, with CRCs: for `restore`, many times faster than `weights` and `load`."""
        memory = self.compiled.memory
        return [self._piece(tensor, self.tensor(tensor)) for tensor in (*memory.weight, *memory.momentum)]

    def restore(self, saved: list[Piece]) -> None:
        """Write a state that `save` has given, read back and compared. Raises IntegrityError, EngineBusy."""
        if self.backend.read32(reg.STATUS) & reg.BUSY:  # else the two would write over each other
            control.require_quiet(self.backend)
        self.loads += 1
        for piece in saved:
            piece.write(self.backend)

    def _piece(self, tensor: InMemory, data: np.ndarray) -> Piece:
        return Piece.of(tensor.name, self._base + tensor.addr, data)

    def upload(self, x: ArrayLike, labels: np.ndarray) -> list[tuple[int, int]]:
        """Place whole minibatches in DRAM once; returns their addresses (images, targets) for `run`. A rest that
        fills none is left out."""
        x, size = self._checked(x), self.compiled.images
        places = []
        for at in range(0, len(x) - size + 1, size):
            images = self._placed(self.compiled.pack_images(x[at : at + size]))
            targets = self._placed(self.compiled.pack_targets(labels[at : at + size]))
            places.append((images, targets))
        return places

    @property
    def base(self) -> int:
        """Address of the state: what BASE0 holds."""
        return self._base

    def tensor(self, tensor: InMemory) -> np.ndarray:
        """Bytes of a tensor of the memory map behind BASE0."""
        return self.backend.mem_read(self._base + tensor.addr, tensor.layout.size)

    def _checked(self, x: ArrayLike) -> np.ndarray:
        x = int64(x)
        if x.ndim != 4 or x.shape[1:] != self.network.shape:
            raise ValueError(f"images of shape {x.shape[1:]} where the network reads {self.network.shape}")
        return x

    def _for(self, images: int) -> CompiledNetwork:
        if images not in self._compiled:
            self._prepare(compile_network(self.network, self.config, images, self._keep))
        return self._compiled[images]

    def _prepare(self, compiled: CompiledNetwork) -> None:
        addresses = self.reserve(compiled)
        end = getattr(self.backend, "origin", 0) + getattr(self.backend, "size", self._free)
        if self._free > end:
            raise EngineError(
                f"programs and data of a minibatch of {compiled.images} end at {self._free:#x}, "
                f"the memory at {end:#x}: take a smaller minibatch"
            )
        self._compiled[compiled.images] = compiled
        for table in compiled.memory.tables:  # in the same place for every minibatch
            piece = self._pieces[compiled.images, table.name] = self._piece(table, table.data)
            piece.write(self.backend)
        for program, address in zip((compiled.train, compiled.infer), addresses, strict=True):
            place = compiled.images, program.name
            self._programs[place] = address, program
            piece = Piece.of(f"program {program.name} of {compiled.images} images", address, program.binary)
            self._pieces[place] = piece
            self.backend.mem_write(address, piece.data)

    def _placed(self, data: np.ndarray) -> int:
        """Write bytes to a place of their own; its address."""
        address = self._allocate(data.size)
        self.backend.mem_write(address, data)
        return address
