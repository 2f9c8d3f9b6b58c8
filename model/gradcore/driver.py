# SPDX-License-Identifier: Apache-2.0
"""Host driver: the same on the model, the simulated RTL and a board.

A back end has five calls: read32(offset), write32(offset, value), mem_read(address, size) -> uint8 array, mem_write(address, data),
wait_irq(timeout) -> bool. `MachineBackend` is the instruction-level model.
"""

import numpy as np

from gradcore import registers as reg
from gradcore.compiler import CompiledNetwork, compile_network
from gradcore.config import EngineConfig
from gradcore.fixed import int64, iteration_seed
from gradcore.fold import round_up
from gradcore.machine import Machine
from gradcore.reference import initial_weights

PAGE = 4096


class EngineError(RuntimeError):
    """The engine stopped with an error or did not finish. Attributes: code, index (instruction), address (doc/registers.md, "Errors")."""

    def __init__(self, message, code=None, index=None, address=None):
        self.code, self.index, self.address = code, index, address
        super().__init__(message)


class MachineBackend:
    """The instruction-level model behind the five calls; a run takes place in the write to CTRL. It counts no cycles, only saturations."""

    name = "machine"

    def __init__(self, config: EngineConfig, size: int = 1 << 26, order: str = "program", seed: int = 1, after=None):
        self.dram = np.zeros(size, np.uint8)
        self.machine = Machine(config, self.dram, order, seed, after=after)
        self._registers = {}
        self._fixed = {reg.ID: reg.ID_VALUE, reg.VERSION: reg.VERSION_VALUE, **dict(zip((reg.CONFIG, reg.CONFIG2, reg.CONFIG3), config.config_registers))}
        self._saturated = {reg.COUNTERS + 8 * n: name.partition(".")[2] for n, name in reg.COUNTER_NAMES.items() if name.startswith("saturated.")}
        self._status = self._error = 0

    def read32(self, offset: int) -> int:
        if offset == reg.STATUS:
            return self._status
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
            if value & reg.START:
                self._run()
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
        return bool(self._status & (reg.DONE | reg.FAILED)) and bool(self._registers.get(reg.IRQ_ENABLE, 0) & 1)

    def close(self):
        """Nothing to free."""

    def _wide(self, offset: int) -> int:
        return self._registers.get(offset, 0) | self._registers.get(offset + 4, 0) << 32

    def _run(self):
        self.machine.run(self._wide(reg.PROG_BASE), [self._wide(base) for base in reg.BASE], self._registers.get(reg.SEED, 0))
        self._status = reg.DONE | reg.GRAD_OVERFLOW * self.machine.grad_overflow

    def _check(self, address: int, size: int):
        if address < 0 or size < 0 or address + size > len(self.dram):
            raise ValueError(f"{size} bytes at {address:#x} are not inside the DRAM of {len(self.dram)} bytes")


class Device:
    """An engine that trains one network: `with Device(backend, network, config, seed) as device`.

    Compiles the network, checks that the engine is the one compiled for, and places programs, weights and minibatches in the DRAM from
    `origin` on. step, outputs, weights and load work as those of `ReferenceTrainer`. Raises CompileError, EngineError.
    """

    def __init__(self, backend, network, config: EngineConfig = EngineConfig(), seed: int = 1, state: list | None = None,
                 origin: int = 0, timeout: float = 600.0, keep: bool = False, watchdog: int = 1 << 20):
        self.backend, self.network, self.config, self.seed, self.timeout, self._keep = backend, network, config, seed, timeout, keep
        self.grad_overflow = False
        self._check_engine()
        self._base = round_up(origin, PAGE)
        self._free = self._base  # rises as programs and minibatches need room
        self._compiled, self._programs = {}, {}
        self.compiled = compile_network(network, config, keep=keep)
        # Smaller minibatches use the same place; their folds may make their maps somewhat larger.
        self._room = round_up(2 * self.compiled.memory.size, PAGE)
        self._free += self._room
        self._images, self._targets, self._batch_room = 0, 0, (0, 0)
        self._prepare(self.compiled)
        backend.write32(reg.IRQ_ENABLE, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.write32(reg.WATCHDOG, watchdog)
        self.load(initial_weights(network, seed) if state is None else state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the back end."""
        close = getattr(self.backend, "close", None)
        if close:
            close()

    # Weights

    def load(self, state: list):
        """Write weights, biases and momenta (as `weights` returns them)."""
        for tensor, data in self.compiled.pack_state(state):
            self.backend.mem_write(self._base + tensor.addr, data)

    def weights(self) -> list:
        """Per layer a dict of weight, bias, momentum, bias_momentum (int64)."""
        return self.compiled.unpack_state(lambda tensor: self.backend.mem_read(self._base + tensor.addr, tensor.layout.size))

    # Training and inference

    def step(self, x, labels, iteration: int) -> int:
        """One training iteration on integers `x` (N, C, H, W), labels (N,), N up to the minibatch; returns the integer LOSS."""
        x = self._checked(x)
        compiled = self._for(len(x))
        self.backend.mem_write(self._images, compiled.pack_images(x))
        self.backend.mem_write(self._targets, compiled.pack_targets(labels))
        return self.run(compiled, "train", self._images, self._targets, iteration)

    def upload(self, x, labels) -> list:
        """Place whole minibatches in DRAM once; returns their addresses (images, targets) for `run`. A rest that fills none is left out."""
        x, size, places = self._checked(x), self.compiled.images, []
        for at in range(0, len(x) - size + 1, size):
            place = []
            for data in (self.compiled.pack_images(x[at : at + size]), self.compiled.pack_targets(labels[at : at + size])):
                place.append(self._allocate(data.size))
                self.backend.mem_write(place[-1], data)
            places.append(tuple(place))
        return places

    def outputs(self, x, iteration: int = 0) -> np.ndarray:
        """Outputs (N, classes) as integers of any number of images, with the roundings of `iteration`."""
        x, size, result = self._checked(x), self.compiled.images, []
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
        """Run program `name` ("train" or "infer") on the minibatch at these addresses; returns the integer LOSS."""
        address, program = self._programs[compiled.images, name]
        self._open_windows()
        self._write64(reg.PROG_BASE, address)
        self.backend.write32(reg.PROG_LENGTH, len(program.instructions))
        for offset, value in zip(reg.BASE, (self._base, images, targets, 0)):
            self._write64(offset, value)
        self.backend.write32(reg.SEED, iteration_seed(self.seed, iteration))
        self.backend.write32(reg.CTRL, reg.START)
        if not self.backend.wait_irq(self.timeout):
            raise EngineError(f"program {name} did not end in {self.timeout} s, STATUS {self.backend.read32(reg.STATUS):#x}")
        status = self.backend.read32(reg.STATUS)
        if status & reg.FAILED:
            error, address = self.backend.read32(reg.ERROR), self._read64(reg.ERROR_ADDR)
            code, index = error & 0xFF, error >> 8
            where = f" (address {address:#x})" if code >= reg.FIRST_WITH_ADDRESS else ""
            raise EngineError(f"{reg.ERRORS.get(code, f'error {code}')} at {program.describe(index)}{where}", code, index, address)
        self.grad_overflow |= bool(status & reg.GRAD_OVERFLOW)
        return self._read64(reg.LOSS)

    def counters(self) -> dict:
        """Counters of the last run by name (gradcore.registers.COUNTER_NAMES)."""
        return {name: self._read64(reg.COUNTERS + 8 * index) for index, name in reg.COUNTER_NAMES.items()}

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
            raise EngineError(f"a minibatch of {compiled.images} needs {compiled.memory.size} bytes, reserved are {self._room}")
        wanted = compiled.memory.act[0].end, compiled.memory.target.end
        if any(end > room for end, room in zip(wanted, self._batch_room)):      # also for a smaller one that is taken unfolded
            self._batch_room = tuple(max(room, 2 * end) for end, room in zip(wanted, self._batch_room))
            self._images, self._targets = map(self._allocate, self._batch_room)
        self._compiled[compiled.images] = compiled
        for program in (compiled.train, compiled.infer):
            address = self._allocate(program.binary.size)
            self.backend.mem_write(address, program.binary)
            self._programs[compiled.images, program.name] = address, program

    def _allocate(self, size: int) -> int:
        address = self._free
        self._free += round_up(size, PAGE)
        return address

    def _open_windows(self):
        """What belongs to the network may be read and written, programs and minibatches only read."""
        spans = (self._base, self._base + self._room, reg.READ | reg.WRITE), (self._base + self._room, self._free, reg.READ)
        for n, (first, end, rights) in enumerate(spans):
            for offset, value in reg.window(n, first, end, rights).items():
                self.backend.write32(offset, value)

    def _check_engine(self):
        if self.backend.read32(reg.ID) != reg.ID_VALUE:
            raise EngineError(f"no gradcore engine: ID is {self.backend.read32(reg.ID):#010x}")
        found = tuple(self.backend.read32(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3))
        if found != self.config.config_registers:
            raise EngineError("the engine has CONFIG {:#010x} {:#010x} {:#010x}, compiled for {:#010x} {:#010x} {:#010x}".format(*found, *self.config.config_registers))

    def _write64(self, offset: int, value: int):
        self.backend.write32(offset, value & 0xFFFFFFFF)
        self.backend.write32(offset + 4, value >> 32)

    def _read64(self, offset: int) -> int:
        return self.backend.read32(offset) | self.backend.read32(offset + 4) << 32
