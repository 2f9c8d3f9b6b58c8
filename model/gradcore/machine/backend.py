# SPDX-License-Identifier: Apache-2.0
"""The machine model as a back end (gradcore.host.engine_port)."""

from collections.abc import Callable

import numpy as np

from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.machine.machine import Machine, TokenOverflow
from gradcore.ops.optimiser import RATE_ONE

MISALIGNED, TOKENS = 9, 10  # codes of ERROR (doc/registers.md)


class MachineBackend:
    """The instruction-level model behind the five calls; a run takes place in the write to CTRL. It counts no
    cycles, only saturations."""

    name = "machine"

    def __init__(
        self,
        config: EngineConfig,
        size: int = 1 << 26,
        order: str = "program",
        seed: int = 1,
        after: Callable | None = None,
    ) -> None:
        self.dram = np.zeros(size, np.uint8)
        self.machine = Machine(config, self.dram, order, seed, after=after)
        self._registers: dict[int, int] = {}
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

    def write32(self, offset: int, value: int) -> None:
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

    def mem_write(self, address: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(address, data.size)
        self.dram[address : address + data.size] = data

    def wait_irq(self, timeout: float = 600.0) -> bool:
        return bool(self._irq & self._registers.get(reg.IRQ_ENABLE, 0))

    def close(self) -> None:
        """Nothing to free."""

    def _wide(self, offset: int) -> int:
        return self._registers.get(offset, 0) | self._registers.get(offset + 4, 0) << 32

    def _run(self) -> None:
        program, *bases = (self._wide(base) for base in (reg.PROG_BASE, *reg.BASE))
        odd = next((address for address in (program, *bases) if address % self.machine.config.mem_bytes), None)
        if odd is not None:
            self._error = MISALIGNED
            self._fixed[reg.ERROR_ADDR], self._fixed[reg.ERROR_ADDR + 4] = odd & 0xFFFFFFFF, odd >> 32
            return
        try:
            seed, rate = (self._registers.get(offset, reset) for offset, reset in ((reg.SEED, 0), (reg.RATE, RATE_ONE)))
            self.machine.run(program, bases, seed, rate)
        except TokenOverflow as error:
            self._error = TOKENS | error.index << 8
            return
        self._status = reg.DONE | reg.GRAD_OVERFLOW * self.machine.grad_overflow

    def _check(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > len(self.dram):
            raise ValueError(f"{size} bytes at {address:#x} are not inside the DRAM of {len(self.dram)} bytes")
