# SPDX-License-Identifier: Apache-2.0
"""A simulated engine that is disturbed at a chosen cycle of a run."""

from gradcore.isa import registers as reg
from gradcore.sim.backend import IRQ, Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.support.sim import ENGINES


class Injector(SimBackend):
    """A simulated engine. `plan`: (cycles, action), the action is called after so many cycles of waiting, unless the
    interrupt comes before; `at_start`: called before the next start is written; `late`: the memory answers after so
    many cycles of waiting with bus_open."""

    def __init__(self, name: str, memory: Memory):
        self.plan = self.at_start = self.late = None
        self.end = 0  # cycle of the last interrupt
        super().__init__(build_engine(ENGINES[name], backend=name)[0], memory)

    def write32(self, offset, value):
        if self.at_start and offset == reg.CTRL and value == reg.START:
            action, self.at_start = self.at_start, None
            action()
        super().write32(offset, value)

    def wait_irq(self, timeout=600.0):
        cycles = int(timeout * self.cycles_per_second)
        if self.late is not None and self.read32(reg.STATUS) & reg.BUS_OPEN:
            self.run(self.late)
            self.late = None
            self.revive()
        if self.plan:
            (wait, action), self.plan = self.plan, None
            if wait > cycles:
                self.plan = wait - cycles, action
            elif self._ends(wait):
                return True
            else:
                action()
                cycles -= wait
        if not self._ends(cycles):
            return False
        self.plan = None
        return True

    def _ends(self, cycles: int) -> bool:
        found = self.run(cycles) == IRQ
        self.end = self.cycles
        return found

    @property
    def busy(self) -> bool:
        return bool(self.read32(reg.STATUS) & reg.BUSY)
