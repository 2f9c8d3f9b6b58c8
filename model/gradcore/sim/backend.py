# SPDX-License-Identifier: Apache-2.0
"""The simulated engine as a device: registers, DRAM as a NumPy view, interrupt, event recording."""

import ctypes
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gradcore.files.atomic import StrPath

LIMIT, IRQ = 0, 1
FAULTS: dict[int | str, int] = {2: 2, 3: 3, "silent": 4, "deaf": 5}
RULES = {
    1: "read outside the DRAM at address {:#x}",
    2: "write outside the DRAM at address {:#x}",
    3: "burst not aligned to a beat at address {:#x}",
    4: "burst crosses 4 KiB at address {:#x}",
    5: "last in the wrong beat of the write burst at address {:#x}",
    6: "read request withdrawn in cycle {}",
    7: "read request changed while it waited in cycle {}",
    8: "write request withdrawn in cycle {}",
    9: "write request changed while it waited in cycle {}",
    10: "write data withdrawn in cycle {}",
    11: "write data changed while they waited in cycle {}",
    12: "burst of 0 or too many beats at address {:#x}",
    13: "bytes left out of the write burst at address {:#x}",
    14: "size, kind or other constants of the burst at address {:#x}",
    15: "address or burstcount changed inside the write burst at address {:#x}",
    16: "read data or write response refused in cycle {}",
    17: "register access at {:#x} answered with an error or not at all",
    18: "register answer withdrawn in cycle {}",
    19: "register answer changed while it waited in cycle {}",
    20: "register answer that nothing asked for in cycle {}",
    21: "read without the right at address {:#x}",
    22: "write without the right at address {:#x}",
    23: "DRAM command to a bank without an open row before cycle {}",
}
EVENT = np.dtype([("start", "<u8"), ("end", "<u8"), ("engine", "<u4"), ("tag", "<u4")])


class MemoryRuleBroken(RuntimeError):
    """The engine or its front broke a rule of the bus or left the DRAM."""


@dataclass(frozen=True)
class Memory:
    """The DRAM behind the port: reads and writes share `bytes_per_cycle`; `stall` is the probability of back-pressure
    per cycle and channel; each burst waits `latency` cycles and up to `jitter` more."""

    size: int = 1 << 28
    bytes_per_cycle: int = 64
    latency: int = 60
    outstanding: int = 16
    stall: float = 0.0
    seed: int = 1
    jitter: int = 0

    def at_least(self, size: int) -> "Memory":
        """The same, of `size` bytes if it is smaller. What nobody writes takes no memory of the computer."""
        return replace(self, size=max(self.size, size))

    def __post_init__(self) -> None:
        if not 1 <= self.outstanding <= 64:
            raise ValueError(f"outstanding is {self.outstanding}, not 1..64")
        if self.bytes_per_cycle < 1 or min(self.latency, self.jitter) < 0 or not 0 <= self.stall < 1:
            raise ValueError(f"impossible memory {self}")


def _load(path: StrPath) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    u, u64, p = ctypes.c_uint, ctypes.c_uint64, ctypes.c_void_p
    for name, result, *arguments in (
        ("new", p, u64),
        ("free", None, p),
        ("beat_bytes", u),
        ("dram", p, p),
        ("name", ctypes.c_char_p, p),
        ("most", u64, p),
        ("memory", None, p, u, u, u, u, u, u64),
        ("reset", None, p, u),
        ("write32", None, p, u, u),
        ("read32", u, p, u),
        ("run", ctypes.c_int, p, u64),
        ("record", None, p, u),
        ("event_count", u64, p),
        ("events", p, p),
        ("figure", u64, p, u),
        ("fault", None, p, ctypes.c_bool, u64, u),
        ("revive", None, p),
        ("forget", None, p),
        ("outstanding", u, p),
        ("rights", None, p, p),
        ("words", ctypes.c_bool, p, ctypes.c_char_p, u64, u64, p),
    ):
        function = getattr(library, f"gc_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class SimBackend:
    """The five calls of a back end on a library made by `gradcore.sim.build`; `name` tells its front: sim, sim-axi,
    sim-avalon or sim-litedram, whose memory knows nothing of a `Memory` but its size, and of `fault`.

    `cycles_per_second` turns the timeout of `wait_irq` into a limit on simulated cycles, so that a hang is found after
    the same cycle on every computer. While the clock runs the interpreter's lock is free: another Python thread can
    work beside it.
    """

    def __init__(self, library: StrPath, memory: Memory = Memory(), cycles_per_second: float = 100_000) -> None:
        self.cycles_per_second = cycles_per_second
        self._lib: Any = _load(library)
        self._sim = self._lib.gc_new(memory.size)
        if not self._sim:
            raise MemoryError(f"no {memory.size} bytes for the simulated DRAM")
        self.name, self.beat_bytes = self._lib.gc_name(self._sim).decode(), self._lib.gc_beat_bytes()
        if memory.size > self._lib.gc_most(self._sim):
            raise MemoryError(f"no {memory.size} bytes in the DRAM of {self.name}")
        self.tune(memory)
        pointer = ctypes.cast(self._lib.gc_dram(self._sim), ctypes.POINTER(ctypes.c_uint8))
        self.dram = np.ctypeslib.as_array(pointer, (memory.size,))
        self.reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the simulation; views of its DRAM become invalid."""
        if self._sim:
            del self.dram
            self._lib.gc_free(self._sim)
            self._sim = self._lib = None

    def tune(self, memory: Memory) -> None:
        """Another bandwidth, latency and back-pressure from now on; nothing may be outstanding, the size stays."""
        self.memory = memory
        stall = int(memory.stall * 65536)
        self._lib.gc_memory(
            self._sim, memory.bytes_per_cycle, memory.latency, memory.jitter, memory.outstanding, stall, memory.seed
        )

    def allow(self, rights: ArrayLike | None) -> None:
        """Bursts only where `rights`, one byte per 4 KiB page (1 read, 2 write), allow them; others break a rule. None:
        everywhere."""
        pages = None if rights is None else np.ascontiguousarray(rights, np.uint8)
        if pages is not None and len(pages) != self.memory.size // 4096:
            raise ValueError(f"{len(pages)} rights for {self.memory.size // 4096} pages")
        self._lib.gc_rights(self._sim, None if pages is None else pages.ctypes.data)

    def reset(self, cycles: int = 4) -> None:
        """Hold `rst` for some cycles; the DRAM keeps its contents."""
        self._lib.gc_reset(self._sim, cycles)

    def read32(self, offset: int) -> int:
        value: int = self._lib.gc_read32(self._sim, offset)
        self._check_rules()
        return value

    def write32(self, offset: int, value: int) -> None:
        self._lib.gc_write32(self._sim, offset, int(value) & 0xFFFFFFFF)
        self._check_rules()

    def mem_read(self, address: int, size: int) -> np.ndarray:
        self._check(address, size)
        return self.dram[address : address + size].copy()

    def mem_write(self, address: int, data: np.ndarray | bytes | bytearray | memoryview) -> None:
        if isinstance(data, (bytes, bytearray, memoryview)):
            data = np.frombuffer(data, np.uint8)
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(address, data.size)
        self.dram[address : address + data.size] = data

    def wait_irq(self, timeout: float = 600.0) -> bool:
        """Run until the interrupt; False when `timeout` seconds of simulated clock went by without it."""
        return self.run(int(timeout * self.cycles_per_second)) == IRQ

    def run(self, cycles: int, chunk: int = 20_000) -> int:
        """Run up to `cycles` cycles; stop at the interrupt. Returns to Python now and then, so that Ctrl-C works."""
        while True:
            stop: int = self._lib.gc_run(self._sim, min(cycles, chunk))
            self._check_rules()
            cycles -= chunk
            if stop == IRQ or cycles <= 0:
                return stop

    @property
    def cycles(self) -> int:
        return self._figure(0)

    @property
    def traffic(self) -> tuple[int, int]:
        """Beats read and written since the start."""
        return self._figure(1), self._figure(2)

    @property
    def executing(self) -> dict[int, int]:
        """Tag of the instruction that each active engine executes, by the engine's number."""
        active, tags = self._figure(5), self._figure(6)
        return {engine: tags >> 11 * engine & 0x7FF for engine in range(5) if active >> engine & 1}

    def gradients(self, first: int, count: int, cols: int, acc_width: int) -> np.ndarray:
        """Rows first.. of the gradient buffer, (count, cols) as int64."""
        rows = np.empty((cols, count), np.uint64)
        for column in range(cols):
            place = f"u_update.u_gradients.g_word[{column}].u_lane.u_ram.g_apart"
            if not self._lib.gc_words(self._sim, place.encode(), first, count, rows[column].ctypes.data):
                raise KeyError(f"no rows {first}..{first + count - 1} in {place}")
        spare = 64 - acc_width
        gradients: np.ndarray = (rows.T << np.uint64(spare)).view(np.int64) >> spare
        return gradients

    def fault(self, kind: str, after: int, response: int | str) -> None:
        """What meets the burst of `kind` ("read" or "write") before which `after` others go well: `response` 2 SLVERR,
        3 DECERR; "silent": it is never answered, nor any later one of its kind; "deaf": from it on no request and no
        write beat of its kind is taken."""
        if kind not in ("read", "write") or response not in FAULTS:
            raise ValueError(f"no fault {response!r} of kind {kind!r}")
        self._lib.gc_fault(self._sim, kind == "write", after, FAULTS[response])
        self._struck = self._figure(9)

    @property
    def struck(self) -> int:
        """Bursts that met an error response or got no answer since the last `fault`; one that was not even taken does
        not count."""
        return self._figure(9) - self._struck

    def until_fault(self, kind: str) -> int:
        """Bursts of `kind` up to and with the one that meets the fault set, 0: no fault is to come."""
        return self._figure(8 if kind == "write" else 7)

    def revive(self) -> None:
        """The memory answers what it has left unanswered, takes what it has refused, and has no fault to come."""
        self._lib.gc_revive(self._sim)

    def forget(self) -> None:
        """The memory is reset: it owes nothing, writes that it has not answered never happen, no fault is to come. A
        request that stands on the bus is not taken; the next one after its withdrawal (forced reset of the engine)
        is."""
        self._lib.gc_forget(self._sim)

    @property
    def outstanding(self) -> int:
        """Bursts that the memory has not yet answered."""
        bursts: int = self._lib.gc_outstanding(self._sim)
        return bursts

    def record(self, capacity: int = 1 << 16) -> None:
        """Record up to `capacity` newest instruction events from now on; 0 stops and forgets."""
        self._lib.gc_record(self._sim, capacity)
        self._capacity = capacity

    def events(self) -> tuple[np.ndarray, int]:
        """Recorded events (start, end, engine, tag), oldest first, and the number of those overwritten."""
        total = self._lib.gc_event_count(self._sim)
        if not total:
            return np.zeros(0, EVENT), 0
        size = self._capacity
        raw = np.ctypeslib.as_array(
            ctypes.cast(self._lib.gc_events(self._sim), ctypes.POINTER(ctypes.c_uint8)), (size * EVENT.itemsize,)
        )
        ring = raw.view(EVENT)
        if total <= size:
            return ring[:total].copy(), 0
        return np.roll(ring, -(total % size)), total - size

    def _figure(self, which: int) -> int:
        figure: int = self._lib.gc_figure(self._sim, which)
        return figure

    def _check_rules(self) -> None:
        rule = self._figure(3)
        if rule:
            raise MemoryRuleBroken(RULES[rule].format(self._figure(4)))

    def _check(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > self.memory.size:
            raise ValueError(f"{size} bytes at {address:#x} are not inside the DRAM of {self.memory.size} bytes")
