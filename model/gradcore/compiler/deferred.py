# SPDX-License-Identifier: Apache-2.0
"""WU and UPDATE that wait: their tiles come between the strips of BP of the layers before. UPDATE of a fully connected
layer takes longer than the array's steps; so it runs beside those of other layers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gradcore.compiler.operation import Op
from gradcore.compiler.rings import Ring
from gradcore.isa.instruction import Opcode

# Emits a tile, step(fresh, beside). `fresh`: others have used the operand buffers; `beside`: a ring of the buffer for
# local gradients that keeps what it has, if there is room.
Step = Callable[[bool, Ring | None], None]


@dataclass
class Deferred:
    """steps: what is still to come. owed: beats of the last tile that came; mark: number of the operation behind it."""

    steps: deque[Step] = field(default_factory=deque)
    owed: int = 0
    mark: int = 0

    def emit(self, ops: list[Op], beside: Ring | None) -> bool:
        """The next tile, if the array's steps since the last one are as many as its beats. Did it come?"""
        taken = sum(op.cycles for op in ops[self.mark :] if op.instr.opcode == Opcode.COMPUTE) if self.steps else -1
        if taken < self.owed:
            return False
        self.next(ops, beside)
        return True

    def next(self, ops: list[Op], beside: Ring | None = None) -> None:
        """The next tile."""
        first = len(ops)
        self.steps.popleft()(True, beside)
        self.owed, self.mark = sum(op.beats for op in ops[first:]), len(ops)
