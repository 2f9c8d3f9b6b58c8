# SPDX-License-Identifier: Apache-2.0
"""LOAD, LOADW, STORE and UPDATE on the instruction-level model: `gather` reads, `drain` writes, `spoil` leaves garbage
where results will be."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradcore.isa.fold import from_bytes, lane_images, to_bytes
from gradcore.isa.instruction import GATE_BUFFER, READINGS, SHIFT_AT_0, Instruction
from gradcore.machine.banks import Banks
from gradcore.machine.drain import loss_gradient
from gradcore.numerics.fixed_point import saturate
from gradcore.numerics.random_numbers import position_random
from gradcore.ops import softmax
from gradcore.ops.optimiser import UpdateParameters, saturates, update

if TYPE_CHECKING:
    from gradcore.machine.machine import Machine

Fields = Instruction | Mapping[str, int]
NUMBERS = ("lr_m", "beta_m", "shift_g", "shift_v", "shift_w", "decay_m", "shift_d")


class Transfer:
    """Words of `size` bytes in DRAM, as a transfer instruction describes them: `bytes` views of its runs. Packed ones
    are a bit per element."""

    def __init__(self, machine: "Machine", instr: Fields, size: int, packed: bool = False) -> None:
        self.machine, self.instr, self.size, self.packed = machine, instr, size, packed
        start = machine.address(instr["base_sel"], instr["addr"])
        beat = machine.config.mem_bytes
        assert start % beat == 0, "address is not a multiple of the beat"
        self.runs = [
            machine._bytes(start + k2 * instr["stride2"] + k1 * instr["stride1"], instr["run_beats"] * beat)
            for k2 in range(instr["n2"])
            for k1 in range(instr["n1"])
        ]
        assert instr["n_words"] * size <= sum(len(run) for run in self.runs) < instr["n_words"] * size + beat, (
            "n_words and runs differ"
        )

    def read(self) -> np.ndarray:
        """(words, elements) as integers of the data width, packed ones as 0 and 1."""
        data = np.concatenate(self.runs)[: self.instr["n_words"] * self.size]
        config = self.machine.config
        if self.packed:
            return np.unpackbits(data, bitorder="little").reshape(self.instr["n_words"], -1).astype(np.int64)
        words = from_bytes(data, config.word_bytes).reshape(self.instr["n_words"], -1)
        spare = 64 - config.data_width
        return words << spare >> spare

    def write(self, words: np.ndarray) -> None:
        data, at = np.zeros(sum(map(len, self.runs)), np.uint8), 0
        if self.packed:
            used = np.packbits((words & 1).astype(np.uint8), bitorder="little")
        else:
            used = to_bytes(words, self.machine.config.word_bytes)
        data[: len(used)] = used
        for run in self.runs:
            run[:] = data[at : at + len(run)]
            at += len(run)


class _Vectors:
    """Vectors between DRAM and a buffer: what LOAD and STORE share."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        self.machine, self.instr, config = machine, instr, machine.config
        packed = bool(instr["packed"])
        self.transfer = Transfer(machine, instr, config.gate_bytes if packed else config.vector_bytes, packed)
        self.banks, self.base = (
            (machine.gate, instr["gate_base"])
            if instr["buffer"] == GATE_BUFFER
            else (machine.buffers[instr["buffer"]], instr["base"])
        )
        self.counts = tuple(instr[name] for name in ("n_b", "n_y", "n_x", "n_c"))
        self.readings = READINGS if instr.fields.get("softmax") else 1
        assert instr["n_words"] == self.readings * np.prod(self.counts), "n_words is not the product of the loop counts"
        self.strides = tuple(instr[name] for name in ("stride_b", "stride_y", "stride_x"))
        self.rot = instr["rot_y"], instr["rot_x"]


class Load(_Vectors):
    """LOAD."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        super().__init__(machine, instr)
        self.quarters = [(qy, qx) for qy in (0, 1) for qx in (0, 1)] if instr["upsample"] else [(0, 0)]

    def _index(self, banks: Banks, base: int, qy: int, qx: int) -> np.ndarray:
        base += qy * self.instr["stride_qy"] + qx * self.instr["stride_qx"]
        return banks.natural(base, self.counts, self.strides, self.instr["fold"], self.rot)

    def _spread(self, vectors: np.ndarray, qy: int, qx: int) -> np.ndarray:
        """Up-sampled vector (qy, qx): lane row r takes pooled lane row insert(r >> 1, bit pool_bit, qy)."""
        grid, bit = self.machine.config.grid, self.instr["pool_bit"]
        half = np.arange(grid) >> 1
        low = half & ((1 << bit) - 1)
        row, col = ((half >> bit << (bit + 1)) | q << bit | low for q in (qy, qx))
        shaped = vectors.reshape(*vectors.shape[:-1], grid, grid)
        return shaped[..., row[:, None], col[None, :]].reshape(vectors.shape)

    def gather(self) -> list[np.ndarray]:
        if self.instr["softmax"]:
            return [self._softmax()]
        vectors, results = self.transfer.read().reshape(*self.counts, -1), []
        for q in self.quarters:
            values = self._spread(vectors, *q) if self.instr["upsample"] else vectors
            if self.instr["scale"]:
                gate = self.machine.gate
                values = np.where(gate.read(self._index(gate, self.instr["gate_base"], *q)) & 1, values, 0)
            results.append(values & 1 if self.banks is self.machine.gate else values)
        return results

    def _softmax(self) -> np.ndarray:
        """The local gradient of outputs that come in three readings; LOSS gets its share."""
        instr, config, gate = self.instr, self.machine.config, self.machine.gate
        readings = self.transfer.read().reshape(READINGS, -1, config.lanes)
        assert (readings == readings[0]).all(), "the readings differ"
        classes, (row, col) = instr["classes"], np.divmod(np.arange(config.lanes), config.grid)
        block = 1 << instr["fold"]
        kept = (row % block == 0) & (col % block == 0) & (lane_images(config.grid, instr["fold"], 0) < instr["n_valid"])
        bits = gate.read(self._index(gate, instr["gate_base"], 0, 0)).reshape(-1, config.lanes) & 1
        labelled = (bits[:classes] & kept).T.astype(bool)
        d, loss = softmax.difference(readings[0, :classes].T, labelled, instr["u_shift"] - SHIFT_AT_0)
        delta, saturated = loss_gradient(np.where(kept[:, None], d, 0), instr["loss_shift"], config.data_width)
        self.machine.loss += loss
        self.machine.saturated["delta"] += int(saturated.any(axis=0).sum())
        vectors = np.zeros((*self.counts[:3], instr["n_c"], config.lanes), np.int64)
        vectors[0, 0, 0, :classes] = delta.T
        return vectors

    def spoil(self, rng: np.random.Generator) -> None:
        self.drain([rng.integers(-99, 99, (*self.counts, self.machine.config.lanes))] * len(self.quarters))

    def drain(self, results: list[np.ndarray]) -> None:
        # The quarters of a vector one after the other: where vectors meet, the last one stays.
        index = np.stack([self._index(self.banks, self.base, *q) for q in self.quarters], axis=-2)
        self.banks.write(index, np.stack(results, axis=-2))
        if self.instr["derive"]:
            gate = self.machine.gate
            gate.write(self._index(gate, self.instr["gate_base"], 0, 0), results[0] > 0)


class Store(_Vectors):
    """STORE."""

    def gather(self) -> np.ndarray:
        values = self.banks.read(self.banks.natural(self.base, self.counts, self.strides, self.instr["fold"], self.rot))
        return np.where(self._kept(), values, 0)

    def _kept(self) -> np.ndarray:
        """Lanes of a pixel of the map and of an image that is not padding."""
        instr, grid, fold = self.instr, self.machine.config.grid, self.instr["fold"]
        b, by, bx, _ = np.ogrid[tuple(slice(n) for n in self.counts)]
        row, col = np.divmod(np.arange(grid * grid), grid)
        y, x = (by[..., None] << fold & 0xFFF) + row % (1 << fold), (bx[..., None] << fold & 0xFFF) + col % (1 << fold)
        image = (b[..., None] + 1 < instr["n_b"]) | (lane_images(grid, fold, 0) < instr["n_valid"])
        return (y < instr["height"]) & (x < instr["width"]) & image

    def spoil(self, rng: np.random.Generator) -> None:
        self.transfer.write(rng.integers(-99, 99, self.instr["n_words"] * self.machine.config.lanes))

    def drain(self, values: np.ndarray) -> None:
        self.transfer.write(saturate(values, self.machine.config.data_width))


class LoadWeights:
    """LOADW."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        self.machine, self.instr = machine, instr
        self.transfer = Transfer(machine, instr, machine.config.row_bytes)
        assert instr["n_words"] == instr["n_outer"] * instr["n_inner"], "n_words is not the product of the loop counts"

    def gather(self) -> np.ndarray:
        return self.transfer.read()

    def spoil(self, rng: np.random.Generator) -> None:
        self.drain(rng.integers(-99, 99, (self.instr["n_words"], self.machine.config.cols)))

    def drain(self, rows: np.ndarray) -> None:
        cols = self.machine.config.cols
        inner = np.arange(len(rows)) % self.instr["n_inner"]
        bank = (np.arange(cols) + inner[:, None]) % cols
        self.machine.weights[
            bank, ((self.instr["base"] + np.arange(len(rows))) % self.machine.config.wgt_depth)[:, None]
        ] = rows


class Update:
    """UPDATE."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        self.machine, self.instr = machine, instr
        part = dict(
            base_sel=instr["base_sel"],
            run_beats=instr["run_beats"],
            n_words=instr["n_words"],
            n1=1,
            n2=1,
            stride1=0,
            stride2=0,
        )
        self.weights = Transfer(machine, part | {"addr": instr["addr"]}, machine.config.row_bytes)
        self.momentum = (
            Transfer(machine, part | {"addr": instr["momentum_addr"]}, machine.config.row_bytes)
            if instr["momentum"]
            else None
        )
        assert instr["n_words"] == instr["n_outer"] * instr["n_inner"], "n_words is not the product of the loop counts"

    def gather(self) -> tuple[np.ndarray, np.ndarray, int]:
        instr, machine = self.instr, self.machine
        row = np.arange(instr["n_words"])
        outer, inner = row // instr["n_inner"], row % instr["n_inner"]
        of = instr["map0"] + outer[:, None] * machine.config.cols + np.arange(machine.config.cols)
        rnd = [position_random(machine.seed, instr["rnd_tag"], instr["key"] + inner[:, None], of, j) for j in range(3)]
        weights = self._held(row) if instr["resident"] else self.weights.read()
        before = self.momentum.read() if self.momentum else np.zeros_like(weights)
        grads = machine.gradients[(instr["base"] + row) % machine.config.grad_depth]
        numbers = UpdateParameters(
            **{name: instr[name] for name in NUMBERS}, rate_m=instr["rate_m"] or 1, frac_v=0, frac_g=0
        )
        more = numbers.at_rate(machine.rate), machine.config.data_width, instr["rounding"], rnd
        saturated = saturates(weights, before, grads, *more).any(axis=1).sum()
        return *update(weights, before, grads, *more), int(saturated)

    def _held(self, row: np.ndarray) -> np.ndarray:
        """Weight rows from the weight buffer."""
        cols = self.machine.config.cols
        bank = (np.arange(cols) + (row % self.instr["wgt_inner"])[:, None]) % cols
        return self.machine.weights[bank, ((self.instr["wgt_base"] + row) % self.machine.config.wgt_depth)[:, None]]

    def spoil(self, rng: np.random.Generator) -> None:
        self.weights.write(rng.integers(-99, 99, (self.instr["n_words"], self.machine.config.cols)))

    def drain(self, values: tuple[np.ndarray, np.ndarray, int]) -> None:
        self.machine.saturated["update"] += values[2]
        self.weights.write(values[0])
        if self.momentum:
            self.momentum.write(values[1])
