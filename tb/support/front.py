# SPDX-License-Identifier: Apache-2.0
"""A tiny network trained through a bus front of the engine: the same whatever the bus.

A test gives a `Front`: coroutines read(offset) and write(offset, value) for the registers, `memory` with read(address,
size) and write(address, bytes), the interrupt pin. A whole training is simulated with Verilator, for its speed.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge, with_timeout

from gradcore.compiler.compile import compile_network
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from tb.support.native import TABLE_DEPTH

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=256)
NETWORK = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)
PROGRAM, IMAGES, TARGETS, SIZE = 0x8000, 0x10000, 0x14000, 1 << 17
PARAMETERS = {
    "GRID": 4,
    "COLS": 4,
    "MEM_W": 128,
    "ADDR_W": 32,
    "ACT_DEPTH": 256,
    "WGT_DEPTH": 256,
    "GRAD_DEPTH": 256,
    "GATE_DEPTH": 256,
}

SMALLEST = {
    "GRID": 4,
    "COLS": 4,
    "DW": 8,
    "ACC_W": 24,
    "MEM_W": 64,
    "ADDR_W": 32,
    "ACT_DEPTH": 64,
    "WGT_DEPTH": 16,
    "GRAD_DEPTH": 16,
    "GATE_DEPTH": 64,
}
# Cycles before its first program, at most.
SCRUB = max(TABLE_DEPTH, *(depth for name, depth in SMALLEST.items() if name.endswith("_DEPTH"))) + 16


def program_registers():
    """Values by offset: a program of one instruction at PROGRAM, which the engine may fetch."""
    return reg.window(0, PROGRAM, SIZE, reg.READ) | {reg.PROG_BASE: PROGRAM, reg.PROG_BASE + 4: 0, reg.PROG_LENGTH: 1}


@dataclass
class Front:
    read: Any
    write: Any
    memory: Any
    irq: Any

    async def identify(self):
        assert await self.read(reg.ID) == reg.ID_VALUE
        assert (
            tuple([await self.read(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3)])
            == CONFIG.config_registers
        )

    async def prepare(self):
        """Weights, program and a random minibatch into the memory, everything but the start into the registers."""
        self.compiled, self.trainer = compile_network(NETWORK, CONFIG), ReferenceTrainer(NETWORK, 1)
        rng = np.random.default_rng(random.getrandbits(32))
        self.x, self.labels = rng.integers(-4096, 4096, (3, *NETWORK.shape)), rng.integers(0, 3, 3)
        for address, data in (
            (0, self.compiled.initial_image(self.trainer.weights())),
            (PROGRAM, self.compiled.train.binary),
            (IMAGES, self.compiled.pack_images(self.x)),
            (TARGETS, self.compiled.pack_targets(self.labels)),
        ):
            self.memory.write(address, data.tobytes())
        values = {
            reg.PROG_BASE: PROGRAM,
            reg.PROG_LENGTH: len(self.compiled.train.instructions),
            reg.SEED: iteration_seed(1, 0),
            reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED,
        }
        values |= dict(zip(reg.BASE, (0, IMAGES, TARGETS, 0))) | {base + 4: 0 for base in (*reg.BASE, reg.PROG_BASE)}
        values |= reg.window(0, 0, PROGRAM, reg.READ | reg.WRITE) | reg.window(1, PROGRAM, SIZE, reg.READ)
        for offset, value in values.items():
            await self.write(offset, value)

    async def run(self) -> int:
        """Start and wait for the interrupt; returns STATUS."""
        await self.write(reg.CTRL, reg.START)
        await with_timeout(RisingEdge(self.irq), 400, "us")
        return await self.read(reg.STATUS)

    async def train(self):
        """One training iteration, equal to the reference's in every bit."""
        assert await self.run() == reg.DONE
        loss = await self.read(reg.LOSS) | await self.read(reg.LOSS + 4) << 32
        assert loss == self.trainer.step(self.x, self.labels, 0)
        state = self.compiled.unpack_state(lambda t: np.frombuffer(self.memory.read(t.addr, t.layout.size), np.uint8))
        for own, reference in zip(state, self.trainer.weights()):
            for key in own:
                assert (own[key] == reference[key]).all(), key

    async def fail(self, code: int):
        """One iteration that ends with an error."""
        assert await self.run() == reg.FAILED
        error = await self.read(reg.ERROR)
        assert error & 0xFF == code and error >> 8 < len(self.compiled.train.instructions) and reg.ERRORS[code]

    async def byte_writes(self, write):
        """Writes with any strobes, by write(offset, value, strobes), change the bytes that they name; those of a width
        converter, too."""
        kept = {reg.SEED: 0x12345678, reg.WATCHDOG: 0, reg.BASE[2]: 0xCAFEF00D, reg.WINDOW + 8: 0x7654F000}
        for offset, value in kept.items():
            await self.write(offset, value)
        for _ in range(40):
            offset, value, strobes = random.choice(list(kept)), random.getrandbits(32), random.randrange(16)
            mask = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1)
            mask &= 0xFFFFF000 if offset == reg.WINDOW + 8 else 0xFFFFFFFF
            await write(offset, value, strobes)
            kept[offset] = kept[offset] & ~mask | value & mask
            assert await self.read(offset) == kept[offset]
        # A 64-bit bus writes CTRL or STATUS, IRQ_STATUS or WATCHDOG: the other half comes without strobes.
        await self.write(reg.IRQ_ENABLE, reg.IRQ_DONE | reg.IRQ_FAILED)
        await self.write(reg.PROG_LENGTH, 1)  # outside the windows: the program ends with an error
        for strobes in (0, 14, 1):
            await write(reg.CTRL, reg.START, strobes)
            await write(reg.STATUS, 0xFFFFFFFF, 0)
            await write(reg.WATCHDOG, 0xFFFFFFFF, 0)
            if strobes & 1 and not self.irq.value:  # a scrub may come first: the interrupt says when it is over
                await with_timeout(RisingEdge(self.irq), 400, "us")
            for _ in range(20):
                assert await self.read(reg.STATUS) == (reg.FAILED if strobes & 1 else 0)
        await write(reg.IRQ_STATUS, 0xFFFFFFFF, 0)
        assert self.irq.value == 1 and await self.read(reg.WATCHDOG) == kept[reg.WATCHDOG]
        await write(reg.IRQ_STATUS, 0xFFFFFFFF, 1)
        assert self.irq.value == 0

    def repair(self):
        """The weights as they were."""
        self.memory.write(0, self.compiled.initial_image(self.trainer.weights()).tobytes())
