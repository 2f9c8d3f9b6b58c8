# SPDX-License-Identifier: Apache-2.0
"""VECTOR on the instruction-level model (doc/instructions.md): windows, tables and additions from DRAM to DRAM."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradcore.isa.fold import from_bytes, lane_images, to_bytes
from gradcore.isa.instruction import ADD, CHOOSE, INDEX, LOAD_TABLE, MAXIMUM, SLOPE, SUM, Instruction
from gradcore.machine.drain import STOCHASTIC
from gradcore.numerics.fixed_point import round_shift, saturate
from gradcore.numerics.random_numbers import even_bits, odd_bits, position_random
from gradcore.ops.activation import SEGMENT

if TYPE_CHECKING:
    from gradcore.machine.machine import Machine

SEGMENTS = 1024
POINT_BYTES = 2
ROWS = 1 << 12  # that random numbers tell apart


class Vector:
    """VECTOR."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        self.machine, self.instr, config = machine, instr, machine.config
        self.size = instr["n_beats"] * config.mem_bytes
        self.shape = instr["n_y"], instr["n_x"]

    # Sources and result

    def _words(self, base_sel: int, address: int) -> np.ndarray:
        """Words of a pixel of a source."""
        config = self.machine.config
        words = from_bytes(self._bytes(base_sel, address, self.size), config.word_bytes).astype(np.int64)
        return self._narrow(words)

    def _narrow(self, words: np.ndarray) -> np.ndarray:
        spare = 64 - self.machine.config.data_width
        return words << spare >> spare

    def _bytes(self, base_sel: int, address: int, size: int) -> np.ndarray:
        return self.machine._bytes(self.machine.address(base_sel, address) % (1 << 48), size)

    def _taps(self, y: int, x: int) -> Iterator[tuple[int, int]]:
        """(number, bytes behind `addr`) of the taps of a pixel of the result that lie in the map."""
        instr = self.instr
        for ky, row, row_bytes in self._axis("y", y):
            for kx, column, column_bytes in self._axis("x", x):
                if 0 <= row < instr["height"] and 0 <= column < instr["width"]:
                    yield ky * instr["n_kx"] + kx, row_bytes + column_bytes

    def _axis(self, name: str, at: int) -> Iterator[tuple[int, int, int]]:
        """(tap, row or column of the map, its bytes behind `addr`) along an axis."""
        instr = self.instr
        taps, step, first, stride, advance = (
            instr[key + name] for key in ("n_k", "step_", "first_", "stride_", "advance_")
        )
        if instr["transpose"]:
            windows, tap = divmod(instr["phase_" + name] + at, step)
            for j, k in enumerate(range(tap, taps, step)):
                yield k, first + windows - j, windows * advance - j * stride
        else:
            for k in range(taps):
                yield k, first + at * step + k, at * advance + k * stride

    # The machine's interface

    def gather(self) -> np.ndarray:
        """Words of the results (results, pixels, words): of a maximum with indices two; of a load of the table its
        points."""
        instr = self.instr
        if instr["operation"] == LOAD_TABLE:
            points = from_bytes(self._bytes(instr["base_sel"], instr["addr"], self.size), POINT_BYTES)[: SEGMENTS + 1]
            return np.concatenate([points, self.machine.table[len(points) :]])
        operations = (MAXIMUM, INDEX) if instr["index_behind"] else (instr["operation"],)
        pixels = [(y, x) for y in range(self.shape[0]) for x in range(self.shape[1])]
        return np.stack([[self._pixel(operation, *pixel) for pixel in pixels] for operation in operations])

    def _pixel(self, operation: int, y: int, x: int) -> np.ndarray:
        instr, config = self.instr, self.machine.config
        taps = list(self._taps(y, x))
        words = self.size // config.word_bytes
        numbers = np.array([tap for tap, _ in taps], np.int64)
        a = np.array([self._words(instr["base_sel"], instr["addr"] + at) for _, at in taps], np.int64)
        a = a.reshape(len(taps), words)
        if operation == MAXIMUM:
            return a.max(axis=0) if taps else np.zeros(words, np.int64)
        if operation == INDEX:
            if not taps:
                return np.full(words, -1)
            found = numbers[a.argmax(axis=0)]
            return self._narrow(np.where(a.max(axis=0) > 0, found, -1) if instr["relu"] else found)
        if operation == SUM:
            sums = a.sum(axis=0) * instr["multiplier"]
            if instr["keep_threshold"]:
                sums = np.where(self._random(instr["keep_tag"], y, x) >= instr["keep_threshold"], sums, 0)
            return self._rounded(sums, y, x)
        b = np.array([self._words(instr["base_sel_b"], instr["addr_b"] + at) for _, at in taps], np.int64)
        b = b.reshape(len(taps), words)
        if operation == CHOOSE:
            chosen = b == self._narrow(numbers)[:, None]
            return self._counted(np.where(chosen, a, 0).sum(axis=0))
        if not taps:  # the only pixel lies outside the map
            return np.zeros(words, np.int64)
        if operation == ADD:
            return self._rounded((a[0] << instr["shift_a"]) + (b[0] << instr["shift_b"]), y, x)
        return self._rounded(a[0] * self._table(b[0]) if operation == SLOPE else self._table(a[0]), y, x)

    def _table(self, words: np.ndarray) -> np.ndarray:
        """The table's values, 15 fraction bits."""
        shift = self.instr["shift_a"]
        place = saturate(words << shift if shift >= 0 else words >> -shift, 16)
        segment, rest = (place >> SEGMENT) + SEGMENTS // 2, place & (1 << SEGMENT) - 1
        points = self.machine.table
        rise = points[segment + 1] - points[segment]
        return points[segment] + (rise * rest + (1 << SEGMENT - 1) >> SEGMENT)

    def _rounded(self, sums: np.ndarray, y: int, x: int) -> np.ndarray:
        mode = self.instr["rounding"]
        rnd = self._random(self.instr["rnd_tag"], y, x) if mode == STOCHASTIC else None
        return self._counted(round_shift(sums, self.instr["shift"], mode, rnd))

    def _counted(self, numbers: np.ndarray) -> np.ndarray:
        """Words of the numbers of a pixel; a beat counts once, however many of its words were saturated."""
        words = saturate(numbers, self.machine.config.data_width)
        beats = (words != numbers).reshape(self.instr["n_beats"], -1).any(axis=1)
        self.machine.saturated["delta" if self.instr["gradient"] else "act"] += int(beats.sum())
        return words

    def _random(self, tag: int, y: int, x: int) -> np.ndarray:
        """Random numbers of `tag` of the words of a pixel of the result, which is a block of pixels of a map."""
        instr, config = self.instr, self.machine.config
        channel, lane = divmod(np.arange(self.size // config.word_bytes), config.lanes)
        block = 1 << instr["fold"]
        image = instr["n_base"] | lane_images(config.grid, instr["fold"], 0)[lane]
        row = (y * block + lane // config.grid % block) % ROWS
        column = (x * block + lane % block) % ROWS
        place = channel, row << 8 | odd_bits(image), column << 8 | even_bits(image)
        return position_random(self.machine.seed, tag, *place)

    def spoil(self, rng: np.random.Generator) -> None:
        if self.instr["operation"] == LOAD_TABLE:
            self.machine.table = rng.integers(-99, 99, SEGMENTS + 1)
            return
        words = self.size // self.machine.config.word_bytes
        results = 2 if self.instr["index_behind"] else 1
        self.drain(rng.integers(-99, 99, (results, self.shape[0] * self.shape[1], words)))

    def drain(self, values: np.ndarray) -> None:
        if self.instr["operation"] == LOAD_TABLE:
            self.machine.table = values
            return
        for k, result in enumerate(values):
            data, at = to_bytes(result, self.machine.config.word_bytes), self.instr["addr_out"]
            self._bytes(self.instr["base_sel_out"], at + k * self.instr["index_behind"], len(data))[:] = data
