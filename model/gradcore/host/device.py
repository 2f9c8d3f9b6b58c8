# SPDX-License-Identifier: Apache-2.0
"""Host driver: the same on the model, the simulated RTL and a board.

A back end has five calls: read32(offset), write32(offset, value), mem_read(address, size) -> uint8 array,
mem_write(address, data), wait_irq(timeout) -> bool. `MachineBackend` is the instruction-level model.
"""

import warnings
from contextlib import suppress

import numpy as np

from gradcore.compiler.compile import CompiledNetwork, compile_network
from gradcore.host import control
from gradcore.host.control import EngineError
from gradcore.host.integrity import IntegrityError, Piece, read_twice
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import round_up
from gradcore.machine.machine import Machine
from gradcore.numerics.fixed_point import int64
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.reference.trainer import initial_weights

PAGE, MISALIGNED = 4096, 9
VERIFY = ("step", "start", "never")


class MachineBackend:
    """The instruction-level model behind the five calls; a run takes place in the write to CTRL. It counts no
    cycles, only saturations."""

    name = "machine"

    def __init__(self, config: EngineConfig, size: int = 1 << 26, order: str = "program", seed: int = 1, after=None):
        self.dram = np.zeros(size, np.uint8)
        self.machine = Machine(config, self.dram, order, seed, after=after)
        self._registers = {}
        self._fixed = {
            reg.ID: reg.ID_VALUE,
            reg.VERSION: reg.VERSION_VALUE,
            **dict(zip((reg.CONFIG, reg.CONFIG2, reg.CONFIG3), config.config_registers)),
        }
        self._saturated = {
            reg.COUNTERS + 8 * n: name.partition(".")[2]
            for n, name in reg.COUNTER_NAMES.items()
            if name.startswith("saturated.")
        }
        self._status = self._error = self._irq = 0

    def read32(self, offset: int) -> int:
        if offset == reg.STATUS:
            return self._status
        if offset == reg.IRQ_STATUS:
            return self._irq
        if offset == reg.ERROR:
            return self._error
        if offset in (reg.LOSS, reg.LOSS + 4):
            return self.machine.loss >> 8 * (offset - reg.LOSS) & 0xFFFFFFFF
        if offset in self._saturated:
            return self.machine.saturated[self._saturated[offset]]
        return self._fixed.get(offset, self._registers.get(offset, 0))

    def write32(self, offset: int, value: int):
        value = int(value) & 0xFFFFFFFF
        if offset == reg.CTRL:
            if value & reg.START:  # the rest has nothing to stop, to forget or to wipe
                self._status, self._error = reg.FAILED, 0  # for a program that raises
                self._fixed[reg.ERROR_ADDR] = self._fixed[reg.ERROR_ADDR + 4] = 0
                try:
                    self._run()
                finally:
                    self._irq = self._status // reg.DONE & 3
        elif offset == reg.IRQ_STATUS:
            self._irq &= ~value
        elif offset == reg.LOCK:
            self._registers[offset] = self._registers.get(offset, 0) | value & reg.LOCK_WINDOWS
        elif offset >= reg.WINDOW and self._registers.get(reg.LOCK):
            self._status |= reg.LOCKED_WRITE
        else:
            self._registers[offset] = value

    def mem_read(self, address: int, size: int) -> np.ndarray:
        self._check(address, size)
        return self.dram[address : address + size].copy()

    def mem_write(self, address: int, data):
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(address, data.size)
        self.dram[address : address + data.size] = data

    def wait_irq(self, timeout: float = 600.0) -> bool:
        return bool(self._irq & self._registers.get(reg.IRQ_ENABLE, 0))

    def close(self):
        """Nothing to free."""

    def _wide(self, offset: int) -> int:
        return self._registers.get(offset, 0) | self._registers.get(offset + 4, 0) << 32

    def _run(self):
        program, *bases = (self._wide(base) for base in (reg.PROG_BASE, *reg.BASE))
        odd = next((address for address in (program, *bases) if address % self.machine.config.mem_bytes), None)
        if odd is not None:
            self._error = MISALIGNED
            self._fixed[reg.ERROR_ADDR], self._fixed[reg.ERROR_ADDR + 4] = odd & 0xFFFFFFFF, odd >> 32
            return
        self.machine.run(program, bases, self._registers.get(reg.SEED, 0))
        self._status = reg.DONE | reg.GRAD_OVERFLOW * self.machine.grad_overflow

    def _check(self, address: int, size: int):
        if address < 0 or size < 0 or address + size > len(self.dram):
            raise ValueError(f"{size} bytes at {address:#x} are not inside the DRAM of {len(self.dram)} bytes")


class Device:
    """An engine that trains one network: `with Device(backend, network, config, seed) as device`.

    Compiles the network, checks that the engine is the one compiled for, and places programs, weights and minibatches
    in the DRAM from `origin` on. step, outputs, weights and load work as those of `ReferenceTrainer`. Raises
    CompileError, EngineError; gradcore.host.recovery goes on after one. A program that runs is stopped whatever ends
    the wait for it: an error, `timeout` seconds, Ctrl-C.

    `verify` says when the CRC of a program in DRAM is compared: "step" before and after each run, "start" before the
    first one and after an error, "never". A program that has changed before a run is written again and `say` is told;
    one that has changed during it raises IntegrityError.
    """

    def __init__(
        self,
        backend,
        network,
        config: EngineConfig = EngineConfig(),
        seed: int = 1,
        state: list | None = None,
        origin: int = 0,
        timeout: float = 600.0,
        keep: bool = False,
        watchdog: int = 1 << 20,
        verify: str = "step",
        say=warnings.warn,
    ):
        if verify not in VERIFY:
            raise ValueError(f"verify is {verify!r}, not one of {', '.join(VERIFY)}")
        self.backend, self.network, self.config, self.seed, self.timeout, self._keep = (
            backend,
            network,
            config,
            seed,
            timeout,
            keep,
        )
        self._watchdog, self.verify, self.say = watchdog, verify, say
        self.grad_overflow = self._closed = False
        self.late = control.LATE  # seconds for which `recover` waits for answers of the memory
        self.loads = 0  # how often `load` has replaced the state
        self._check_engine()
        control.require_quiet(backend)
        self._base = round_up(origin, PAGE)
        self._free = self._base  # rises as programs and minibatches need room
        self._compiled, self._programs, self._pieces, self._proven = {}, {}, {}, set()
        self.compiled = compile_network(network, config, keep=keep)
        # Smaller minibatches use the same place; their folds may make their maps somewhat larger.
        self._room = round_up(2 * self.compiled.memory.size, PAGE)
        self._free += self._room
        self._images, self._targets, self._batch_room = 0, 0, (0, 0)
        self._prepare(self.compiled)
        self._arm()
        self.load(initial_weights(network, seed) if state is None else state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Stop what runs and close the back end. Only the first call does anything."""
        if not self._closed:
            self._closed = True
            with suppress(Exception):  # an engine that does not stop is told to whoever opens it next
                self.stop()
            getattr(self.backend, "close", lambda: None)()

    # After an error

    def stop(self) -> int:
        """Stop the program that runs, if one does; STATUS. Raises EngineHung (gradcore.host.control)."""
        return control.stop(self.backend)

    def recover(self, force: bool = False) -> list:
        """Make the engine ready for the next run: gradcore.host.control.recover, and write again every program whose
        CRC in DRAM differs. Returns what had to be done, as texts. The state in DRAM may be half updated: `load` or
        `restore` it. Raises EngineHung, IntegrityError."""
        return control.recover(self.backend, force, self.late) + (self.mend() if self.verify != "never" else [])

    def mend(self, *places) -> list:
        """Compare the CRC of programs (default: all) in DRAM and write those again that differ; returns a text for
        each."""
        found = []
        for piece in (self._pieces[place] for place in places or self._pieces):
            if not piece.intact(self.backend):
                piece.write(self.backend)
                found.append(f"{piece.name} had changed in memory at {piece.address:#x}: written again")
        return found

    # Weights

    def load(self, state: list):
        """Write weights, biases and momenta (as `weights` returns them), read back and compared. Raises
        IntegrityError."""
        self.restore([self._piece(tensor, data) for tensor, data in self.compiled.pack_state(state)])

    def weights(self, check: bool = False) -> list:
        """Per layer a dict of weight, bias, momentum, bias_momentum (int64). `check`: everything is read twice;
        raises IntegrityError."""
        if check:
            return self.compiled.unpack_state(
                lambda tensor: read_twice(self.backend, tensor.name, self._base + tensor.addr, tensor.layout.size)
            )
        return self.compiled.unpack_state(self.tensor)

    def save(self) -> list:
        """The state as it lies in DRAM, with CRCs: for `restore`, many times faster than `weights` and `load`."""
        memory = self.compiled.memory
        return [self._piece(tensor, self.tensor(tensor)) for tensor in (*memory.weight, *memory.momentum)]

    def restore(self, saved: list):
        """Write a state that `save` has given, read back and compared. Raises IntegrityError, EngineBusy."""
        if self.backend.read32(reg.STATUS) & reg.BUSY:  # else the two would write over each other
            control.require_quiet(self.backend)
        self.loads += 1
        for piece in saved:
            piece.write(self.backend)

    def _piece(self, tensor, data) -> Piece:
        return Piece.of(tensor.name, self._base + tensor.addr, data)

    # Training and inference

    def step(self, x, labels, iteration: int) -> int:
        """One training iteration on integers `x` (N, C, H, W), labels (N,), N up to the minibatch; returns the
        integer LOSS."""
        x = self._checked(x)
        control.require_quiet(self.backend)  # before anything is written
        compiled = self._for(len(x))
        self.backend.mem_write(self._images, compiled.pack_images(x))
        self.backend.mem_write(self._targets, compiled.pack_targets(labels))
        return self.run(compiled, "train", self._images, self._targets, iteration)

    def upload(self, x, labels) -> list:
        """Place whole minibatches in DRAM once; returns their addresses (images, targets) for `run`. A rest that
        fills none is left out."""
        x, size, places = self._checked(x), self.compiled.images, []
        for at in range(0, len(x) - size + 1, size):
            place = []
            for data in (
                self.compiled.pack_images(x[at : at + size]),
                self.compiled.pack_targets(labels[at : at + size]),
            ):
                place.append(self._allocate(data.size))
                self.backend.mem_write(place[-1], data)
            places.append(tuple(place))
        return places

    def outputs(self, x, iteration: int = 0) -> np.ndarray:
        """Outputs (N, classes) as integers of any number of images, with the roundings of `iteration`."""
        x, size, result = self._checked(x), self.compiled.images, []
        control.require_quiet(self.backend)
        output = self.compiled.memory.act[-1]
        for at in range(0, len(x), size):
            part = x[at : at + size]
            padded = np.concatenate([part, np.zeros((size - len(part), *part.shape[1:]), part.dtype)])
            self.backend.mem_write(self._images, self.compiled.pack_images(padded))
            self.run(self.compiled, "infer", self._images, self._targets, iteration)
            data = self.backend.mem_read(self._base + output.addr, output.layout.size)
            result.append(output.layout.unpack(data)[: len(part), :, 0, 0])
        return np.concatenate(result)

    def run(self, compiled: CompiledNetwork, name: str, images: int, targets: int, iteration: int) -> int:
        """Run program `name` ("train" or "infer") on the minibatch at these addresses; returns the integer LOSS. Raises
        EngineError and its kinds in gradcore.host.control, IntegrityError; after an error the state in DRAM may be half
        updated."""
        place = compiled.images, name
        address, program = self._programs[place]
        control.require_quiet(self.backend)
        if self.backend.read32(reg.IRQ_ENABLE) != control.IRQS:  # there was a reset
            self._arm()
        self._prove(place)
        self._open_windows()
        self._write64(reg.PROG_BASE, address)
        for offset, value in zip(reg.BASE, (self._base, images, targets, 0)):
            self._write64(offset, value)
        self.backend.write32(reg.PROG_LENGTH, len(program.instructions))
        self.backend.write32(reg.SEED, iteration_seed(self.seed, iteration))
        status = control.execute(self.backend, self.timeout, f"program {name}")
        if status & reg.FAILED:
            self._proven.clear()
            code, index, address = control.error_registers(self.backend)
            where = f" (address {address:#x})" if code in reg.WITH_ADDRESS else ""
            owes = "; the memory owes answers: recover() before the next run" if status & reg.BUS_OPEN else ""
            raise EngineError(
                f"{reg.ERRORS.get(code, f'error {code}')} at {program.describe(index)}{where}{owes}",
                code,
                index,
                address,
            )
        if self.verify == "step" and (changed := self.mend(place)):
            raise IntegrityError(f"while it ran {changed[0]}")
        self.grad_overflow |= bool(status & reg.GRAD_OVERFLOW)
        return control.read64(self.backend, reg.LOSS)

    def counters(self) -> dict:
        """Counters of the last run by name (gradcore.isa.registers.COUNTER_NAMES)."""
        return control.counters(self.backend)

    @property
    def base(self) -> int:
        """Address of the state: what BASE0 holds."""
        return self._base

    def tensor(self, tensor) -> np.ndarray:
        """Bytes of a tensor of the memory map behind BASE0."""
        return self.backend.mem_read(self._base + tensor.addr, tensor.layout.size)

    def _checked(self, x) -> np.ndarray:
        x = int64(x)
        if x.ndim != 4 or x.shape[1:] != self.network.shape:
            raise ValueError(f"images of shape {x.shape[1:]} where the network reads {self.network.shape}")
        return x

    def _for(self, images: int) -> CompiledNetwork:
        if images not in self._compiled:
            self._prepare(compile_network(self.network, self.config, images, self._keep))
        return self._compiled[images]

    def _prepare(self, compiled: CompiledNetwork):
        if compiled.memory.size > self._room:
            raise EngineError(
                f"a minibatch of {compiled.images} needs {compiled.memory.size} bytes, reserved are {self._room}"
            )
        wanted = compiled.memory.act[0].end, compiled.memory.target.end
        if any(
            end > room for end, room in zip(wanted, self._batch_room)
        ):  # also for a smaller one that is taken unfolded
            self._batch_room = tuple(max(room, 2 * end) for end, room in zip(wanted, self._batch_room))
            self._images, self._targets = map(self._allocate, self._batch_room)
        self._compiled[compiled.images] = compiled
        for program in (compiled.train, compiled.infer):
            place = compiled.images, program.name
            address = self._allocate(program.binary.size)
            self._programs[place] = address, program
            piece = Piece.of(f"program {program.name} of {compiled.images} images", address, program.binary)
            self._pieces[place] = piece
            self.backend.mem_write(address, piece.data)

    def _arm(self):
        """Registers that keep their values until a reset."""
        self.backend.write32(reg.WATCHDOG, self._watchdog)
        self.backend.write32(reg.IRQ_ENABLE, control.IRQS)

    def _prove(self, place: tuple):
        """Before a run: is the program in DRAM?"""
        if self.verify == "step" or (self.verify == "start" and place not in self._proven):
            for text in self.mend(place):
                self.say(text)
            self._proven.add(place)

    def _allocate(self, size: int) -> int:
        address = self._free
        self._free += round_up(size, PAGE)
        return address

    def _open_windows(self):
        """What belongs to the network may be read and written, programs and minibatches only read. Written only if
        they differ: the engine clears its buffers after a change."""
        spans = (
            (self._base, self._base + self._room, reg.READ | reg.WRITE),
            (self._base + self._room, self._free, reg.READ),
        )
        wanted = reg.window(0, *spans[0]) | reg.window(1, *spans[1])
        if all(self.backend.read32(offset) == value for offset, value in wanted.items()):
            return
        for offset, value in wanted.items():
            self.backend.write32(offset, value)
        control.require_quiet(self.backend)
        kept = [offset for offset, value in wanted.items() if self.backend.read32(offset) != value]
        if kept:
            raise EngineError(
                f"the engine does not take the windows of this network, first at {kept[0]:#x}: are they locked (LOCK)?"
            )

    def _check_engine(self):
        if self.backend.read32(reg.ID) != reg.ID_VALUE:
            raise EngineError(f"no gradcore engine: ID is {self.backend.read32(reg.ID):#010x}")
        found = tuple(self.backend.read32(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3))
        if found != self.config.config_registers:
            raise EngineError(
                "the engine has CONFIG {:#010x} {:#010x} {:#010x}, compiled for {:#010x} {:#010x} {:#010x}".format(
                    *found, *self.config.config_registers
                )
            )

    def _write64(self, offset: int, value: int):
        self.backend.write32(offset, value & 0xFFFFFFFF)
        self.backend.write32(offset + 4, value >> 32)
