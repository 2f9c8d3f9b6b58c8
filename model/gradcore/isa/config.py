# SPDX-License-Identifier: Apache-2.0
"""Parameters of a built engine."""

from dataclasses import dataclass, fields

from gradcore.isa import registers as reg

LEGAL = {
    "grid": (4, 8),
    "cols": (4, 8, 16, 32, 64),
    "data_width": tuple(range(8, 17)),
    "mem_bytes": (8, 16, 32, 64),
    "act_depth": tuple(1 << n for n in range(6, 17)),
    "wgt_depth": tuple(1 << n for n in range(4, 17)),
    "grad_depth": tuple(1 << n for n in range(4, 17)),
    "gate_depth": tuple(1 << n for n in range(6, 21)),
    "acc_width": tuple(range(24, 49)),  # and at least 2 * data_width + 4
    "has_vector": (0, 1),
    "has_softmax": (0, 1),
    "has_factor": (0, 1),
}

WINDOWS = 4  # DMA windows


@dataclass(frozen=True)
class EngineConfig:
    """One engine: GRID x GRID lanes, `cols` columns, words of `data_width` bits, beats of `mem_bytes`.

    Depths: vectors of an operand buffer (act) and of the gate buffer, rows of the weight and gradient buffers. Parts
    that can be left out (has_* is 0): the unit of VECTOR, the softmax of LOAD, the factors of COMPUTE. Raises
    ValueError for an engine that cannot be built.
    """

    grid: int = 8
    cols: int = 16
    data_width: int = 16
    mem_bytes: int = 64
    act_depth: int = 2048
    wgt_depth: int = 8192
    grad_depth: int = 8192
    gate_depth: int = 16384
    acc_width: int = 48
    has_vector: int = 1
    has_softmax: int = 1
    has_factor: int = 1

    def __post_init__(self) -> None:
        for item in fields(self):
            value, legal = getattr(self, item.name), LEGAL[item.name]
            if value not in legal:
                raise ValueError(f"{item.name} is {value}, not one of {', '.join(map(str, legal))}")
        if not self.grid <= self.cols <= self.lanes:
            raise ValueError(f"cols is {self.cols}, not {self.grid}..{self.lanes} (grid {self.grid})")
        if self.acc_width < 2 * self.data_width + 4:
            raise ValueError(
                f"acc_width is {self.acc_width}, not {2 * self.data_width + 4}..48 (data_width {self.data_width})"
            )

    @property
    def lanes(self) -> int:
        return self.grid * self.grid

    @property
    def groups(self) -> int:
        """Groups of lanes that have column operands of their own."""
        return self.lanes // self.cols

    @property
    def split(self) -> bool:
        """Can the groups take different channels in FP? Each needs a part of the weight buffer."""
        return 1 < self.groups <= self.wgt_depth // self.cols

    @property
    def log_grid(self) -> int:
        return self.grid.bit_length() - 1

    @property
    def word_bytes(self) -> int:
        """Bytes of a word in DRAM."""
        return 1 if self.data_width == 8 else 2

    @property
    def vector_bytes(self) -> int:
        return self.lanes * self.word_bytes

    @property
    def gate_bytes(self) -> int:
        """Bytes of a packed gate vector in DRAM."""
        return self.lanes // 8

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of weights in DRAM."""
        return self.cols * self.word_bytes

    @property
    def config_registers(self) -> tuple[int, int, int]:
        """Values of the registers CONFIG, CONFIG2 and CONFIG3."""

        def log(n: int) -> int:
            return n.bit_length() - 1

        first = self.grid | self.cols << 8 | self.data_width << 16 | log(self.mem_bytes) << 24
        second = (
            log(self.act_depth) | log(self.wgt_depth) << 8 | log(self.grad_depth) << 16 | log(self.gate_depth) << 24
        )
        parts = reg.HAS_VECTOR * self.has_vector | reg.HAS_SOFTMAX * self.has_softmax | reg.HAS_FACTOR * self.has_factor
        return first, second, self.acc_width | WINDOWS << 8 | parts


# One engine for each size of the array (lanes x columns), for words of 16 bits. Their memories fit a VU9P and a 1SG280
# (gradcore.report.memories says how full).
PRESETS = {
    "64x16": EngineConfig(cols=16, act_depth=16384, wgt_depth=65536, grad_depth=32768, gate_depth=131072),
    "64x32": EngineConfig(cols=32, act_depth=16384, wgt_depth=32768, grad_depth=16384, gate_depth=131072),
    "64x64": EngineConfig(cols=64, act_depth=16384, wgt_depth=32768, grad_depth=32768, gate_depth=131072),
}
# Engines of boards: boards/<name>.
BOARDS = {
    "ulx3s": EngineConfig(
        grid=4,
        cols=4,
        data_width=8,
        mem_bytes=8,
        act_depth=2048,
        wgt_depth=2048,
        grad_depth=1024,
        gate_depth=4096,
        acc_width=24,
        has_vector=0,
        has_softmax=0,
        has_factor=0,
    ),
}
