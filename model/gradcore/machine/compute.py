# SPDX-License-Identifier: Apache-2.0
"""COMPUTE on the instruction-level model: `gather` reads operands and makes sums, `drain` turns them into results in
the buffers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gradcore.isa.fold import lane_images
from gradcore.isa.instruction import BP, FACTOR_GATE, FACTOR_SIGN, FP, WU, Instruction
from gradcore.machine import drain as arithmetic
from gradcore.machine.banks import Banks, Map, Places
from gradcore.numerics.fixed_point import fits, wrap

if TYPE_CHECKING:
    from gradcore.machine.machine import Machine


def operand(instr: Instruction, name: str) -> Map:
    """The map of operand `name` (row, col, dst or gate) of a COMPUTE."""
    size = ("height", "width") if name == "gate" else (f"{name}_height", f"{name}_width")
    stride_y, stride_x, fold, storage = (
        instr[key] for key in (f"{name}_stride_y", f"{name}_stride_x", "fold", f"{name}_fold")
    )
    # The base is the place of the first block of the window, of which pooling leaves half.
    half, mode = name == "dst" and instr["pool"], instr["mode"]
    of_input = name == "col" or (mode == FP and name == "row") or (mode == BP and name != "row")
    by0, bx0 = (instr[at] << fold >> storage >> half for at in (("in_by0", "in_bx0") if of_input else ("by0", "bx0")))
    # A stride that a tap is displaced by is that of a pixel.
    every = (1 + instr["skip_y"], 1 + instr["skip_x"]) if mode == BP and name != "row" else (1, 1)
    return Map(
        instr[f"{name}_base"],
        stride_y,
        stride_x,
        instr[size[0]],
        instr[size[1]],
        storage,
        fold,
        instr[f"{name}_rot_y"],
        instr[f"{name}_rot_x"],
        (by0, bx0),
        every,
    )


class Compute:
    """One COMPUTE on the buffers of a machine."""

    def __init__(self, machine: "Machine", instr: Instruction) -> None:
        self.machine, self.instr, self.config = machine, instr, machine.config
        self.wu = instr["mode"] == WU
        py = 1 << instr["fold"]
        by, bx = np.mgrid[: instr["n_by"], : instr["n_bx"]].reshape(2, -1)
        outside = instr["by0"] + by, instr["bx0"] + bx  # blocks of the convolution's output map
        inside = instr["in_by0"] + by * (1 + instr["skip_y"]), instr["in_bx0"] + bx * (1 + instr["skip_x"])
        # Of what the taps displace, of the results, of the local gradient in WU.
        self.y0, self.x0 = (at * py for at in (outside if instr["mode"] == BP else inside))
        self.by, self.bx = inside if instr["mode"] == BP else outside
        step = -1 if instr["mode"] == BP else 1
        ky, kx = np.mgrid[: instr["n_ky"], : instr["n_kx"]].reshape(2, -1)
        self.ky, self.kx = ky, kx
        self.dy, self.dx = instr["disp_y0"] + step * ky, instr["disp_x0"] + step * kx
        cols = self.config.cols
        self.channels = np.concatenate(
            [g * cols + np.arange(instr["n_last"] if g == instr["n_g"] - 1 else cols) for g in range(instr["n_g"])]
        )
        # Sums are kept in all columns of the array, whichever are drained in the end.
        self.columns = np.arange(cols) if instr["keep_in"] or instr["keep_out"] else self.channels

    # Sums

    def gather(self) -> Any:
        """Operands to sums: FP, BP (blocks, lanes, channels), nothing where they are kept in the array; WU (rg, taps,
        input maps, output maps of the group) and the sum column."""
        kept, self.machine.kept = self.machine.kept, None
        if self.wu:
            return self._gradients()
        sums = self._maps()
        if self.instr["keep_in"] and kept is not None:
            sums = sums + kept
        if self.instr["keep_out"]:
            self.machine.kept = sums
            return ()
        return self._joined(sums[..., : len(self.channels)])

    def _maps(self) -> np.ndarray:
        instr, machine = self.instr, self.machine
        banks, cols, lanes = machine.buffers[instr["row_buf"]], self.config.cols, self.config.lanes
        c, groups = np.arange(instr["n_c"]), self.config.groups if instr["split"] else 1
        place = (
            operand(instr, "row"),
            self.y0[:, None, None] + self.dy[:, None],
            self.x0[:, None, None] + self.dx[:, None],
        )
        index, inside = banks.pixels(*place, c // cols * cols * groups + c % cols, groups)
        rows = banks.read(index, inside).reshape(len(self.y0), -1, lanes).transpose(0, 2, 1)
        weights = [self._weights(c, g).reshape(-1, len(self.columns)) for g in range(groups)]
        acc = [arithmetic.exact_matmul(row, wgt) for row, wgt in zip(np.split(rows, groups, axis=1), weights)]
        if instr["bias"] and instr["mode"] != BP:  # once, with split in the first group's lanes
            at = (instr["bias_base"] + self.columns // cols) % machine.config.wgt_depth
            one = wrap(1 << instr["bias_exp"], self.config.data_width)  # a word, as the array takes it
            acc[0] = acc[0] + machine.weights[self.columns % cols, at] * one
        return np.concatenate(acc, axis=1)

    def _joined(self, acc: np.ndarray) -> np.ndarray:
        """The sums of the lanes; with split those of all groups in the lanes of the first, zero in the others."""
        if self.instr["split"]:
            joined = np.sum(np.split(acc, self.config.groups, axis=1), axis=0)
            acc = np.pad(joined, ((0, 0), (0, self.config.lanes - joined.shape[1]), (0, 0)))
        assert fits(acc, self.config.acc_width), "a sum does not fit the accumulator"
        return acc

    def _weights(self, c: np.ndarray, group: int = 0) -> np.ndarray:
        """(taps, channels of the reduction, columns) through the banks of the weight buffer; `group`: of lanes, with
        split."""
        instr, cols = self.instr, self.config.cols
        g, j = self.columns // cols, self.columns % cols
        row = (
            instr["wgt_base"]
            + g * instr["wgt_stride_g"]
            + (self.ky * instr["wgt_stride_ky"] + self.kx * instr["wgt_stride_kx"])[:, None, None]
        )
        row = row + (c // cols * instr["wgt_stride_cg"])[:, None]
        row = row + (j if instr["mode"] == BP else (c % cols)[:, None])
        bank = (
            j + c[:, None]
        ) % cols  # FP: word j of the row with inner index c; BP: word c of the row with inner index j
        return self.machine.weights[bank, row % self.config.wgt_depth ^ group * cols]

    def _gradients(self) -> tuple[np.ndarray, np.ndarray]:
        instr, machine, cols, py = self.instr, self.machine, self.config.cols, 1 << self.instr["fold"]
        rows, columns = machine.buffers[instr["row_buf"]], machine.buffers[1 - instr["row_buf"]]
        rg, g = np.arange(instr["n_rg"]) * cols, np.arange(instr["n_g"]) * cols
        index, inside = rows.channels(
            operand(instr, "row"), self.by[None] * py, self.bx[None] * py, rg[:, None], cols, instr["row_channels"]
        )
        delta = rows.read(index, inside).reshape(len(rg), -1, cols)
        y, x = self.y0 + self.dy[:, None, None], self.x0 + self.dx[:, None, None]
        index, inside = columns.channels(operand(instr, "col"), y, x, g[:, None], cols, instr["col_channels"])
        act = columns.read(index, inside).reshape(len(self.dy), len(g), -1, cols)
        # Each group of lanes sums pixels of its own; the gradient buffer joins them exactly.
        steps = delta.shape[1] // self.config.groups
        assert steps * int(np.abs(delta).max()) * int(np.abs(act).max()) < 1 << self.config.acc_width - 1, (
            "a sum may not fit the accumulator"
        )
        sums = arithmetic.exact_matmul(act.transpose(0, 1, 3, 2)[None], delta[:, None, None])
        sums = sums.reshape(len(rg), len(self.dy), -1, cols)[:, :, : len(self.channels)]
        return sums, delta.sum(axis=1)

    # Results

    def drain(self, sums: Any) -> None:
        if self.wu:
            self._accumulate(*sums)
        elif not self.instr["keep_out"]:
            self._results(sums)

    def spoil(self, rng: np.random.Generator) -> None:
        if self.wu:
            if self.instr["grad_first"]:
                sums = np.zeros((self.instr["n_rg"], len(self.dy), len(self.channels), self.config.cols), np.int64)
                overflow = self.machine.grad_overflow
                self._accumulate(
                    sums + rng.integers(-99, 99), np.zeros((self.instr["n_rg"], self.config.cols), np.int64) + 7
                )
                self.machine.grad_overflow = overflow
            return
        for banks, index, mask in self.targets():
            banks.write(index, rng.integers(-99, 99, index.shape), mask)

    def _accumulate(self, sums: np.ndarray, column: np.ndarray) -> None:
        instr, machine = self.instr, self.machine
        rg = np.arange(instr["n_rg"])
        row = (self.ky * instr["grad_stride_ky"] + self.kx * instr["grad_stride_kx"])[:, None] + self.channels
        row = instr["grad_base"] + rg[:, None, None] * instr["grad_stride_rg"] + row
        machine.add_gradients(row, sums, bool(instr["grad_first"]))
        if instr["bias"]:
            machine.add_gradients(instr["grad_bias_base"] + rg, column, bool(instr["grad_first"]))

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """y, x (blocks, channels, lanes) of the computed map, image of each lane, channel."""
        grid, py = self.config.grid, 1 << self.instr["fold"]
        n = lane_images(grid, self.instr["fold"], self.instr["n_base"] // (grid // py) ** 2)
        return *self._pixels(self.instr["fold"]), n, self.instr["map0"] + self.channels[:, None]

    def _pixels(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """y, x (blocks, channels, lanes) of the map that has the blocks in a fold."""
        lane, grid, py = np.arange(self.config.lanes), self.config.grid, 1 << fold
        return (self.by * py)[:, None, None] + lane // grid % py, (self.bx * py)[:, None, None] + lane % grid % py

    def targets(self) -> list[tuple[Banks, np.ndarray, np.ndarray]]:
        """[(banks, index, mask)] of the vectors that the results go to: destination and gate; none of sums that stay in
        the array."""
        if self.instr["keep_out"]:
            return []
        instr, half = self.instr, 1 << self.instr["fold"] >> 1
        c = self.channels[None]
        banks = self.machine.buffers[instr["dst_buf"]]
        if instr["pool"]:
            dest = banks.pooled(operand(instr, "dst"), (self.by * half)[:, None], (self.bx * half)[:, None], c)
        else:
            dest = banks.pixels(operand(instr, "dst"), *self._blocks(), c)
        found = [(banks, *dest)]
        if instr["gate_write"]:
            found.append((self.machine.gate, *self._gate()))
        return found

    def _gate(self) -> Places:
        return self.machine.gate.pixels(operand(self.instr, "gate"), *self._blocks(), self.channels[None])

    def _blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """First row and column of pixels of the blocks of the results, (blocks, channels)."""
        return self.by[:, None] << self.instr["fold"], self.bx[:, None] << self.instr["fold"]

    def _results(self, acc: np.ndarray) -> None:
        instr, machine, width = self.instr, self.machine, self.config.data_width
        y, x, n, channel = self._coordinates()
        inside = np.broadcast_to(
            (y < instr["height"]) & (x < instr["width"]), (len(self.by), len(self.channels), self.config.lanes)
        )
        a, saturated = arithmetic.requantise(acc.transpose(0, 2, 1), instr, y, x, n, channel, width, machine.seed)
        enable = inside & (n < instr["n_base"] + instr["n_valid"])
        bits = np.ones(a.shape, np.int64)
        if instr["scale"] or instr["loss"] or instr["factor"] == FACTOR_GATE:
            bits = machine.gate.read(*self._gate()) & 1
        if instr["scale"]:
            a, saturated = np.where(bits != 0, a, 0), saturated & (bits != 0)
        if instr["loss"]:
            a, clipped, total = arithmetic.loss(a, instr, bits, enable, width)
            machine.loss += total
        gate = np.ones(a.shape, bool)
        if instr["relu"] or instr["factor"] == FACTOR_SIGN:
            gate = a > 0
        if instr["relu"]:
            a = np.maximum(a, 0)
        if instr["pool"]:
            a, gate = arithmetic.pool(a, gate, inside, self.config.grid, instr["fold"])
        # A vector counts once, however many of its lanes were saturated.
        vectors = (saturated & enable).any(axis=-1)
        if instr["factor"]:
            y, x = self._pixels(instr["fold"] - instr["pool"])
            if instr["pool"]:
                enable = arithmetic.pooled_lanes(inside, self.config.grid, instr["fold"])
                enable = enable & (n < instr["n_base"] + instr["n_valid"])
            a, saturated = arithmetic.factor(a, instr, bits, y, x, n, channel, width, machine.seed)
            vectors = vectors | (saturated & enable).any(axis=-1)
        delta = vectors if instr["mode"] == BP else np.zeros_like(vectors)
        machine.saturated["act"] += int((vectors & ~delta).sum())
        machine.saturated["delta"] += int((delta | clipped.any(axis=-1) if instr["loss"] else delta).sum())
        for (banks, index, mask), values in zip(self.targets(), (a, gate.astype(np.int64))):
            banks.write(index, values, mask)


def add(gradients: np.ndarray, rows: np.ndarray, values: np.ndarray, first: bool, width: int) -> bool:
    """Add `values` to rows of a gradient buffer (or replace them); returns whether a sum did not fit `width` bits."""
    total = values if first else gradients[rows] + values
    gradients[rows] = wrap(total, width)
    return not fits(total, width)
