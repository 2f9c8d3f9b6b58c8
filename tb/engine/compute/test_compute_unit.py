# SPDX-License-Identifier: Apache-2.0
"""COMPUTE between the buffers of the model: it asks for the same operands, and leaves the same words, gates, gradients
and loss."""

import random
from collections import Counter, deque
from copy import deepcopy

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.compiler.operation import compute_cycles
from gradcore.isa.instruction import BP, FACTOR_GATE, FIELDS, FP, WU, Opcode, encode, instruction
from gradcore.isa.rules import problem
from gradcore.machine.compute import Compute
from gradcore.machine.skew import Access, channel_access, pixel_access, split_access
from tb.engine.transfer.machine import model
from tb.support import primitives
from tb.support.access import ACCESS_W, fields
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import parameter, run

DEPTH = 256
MOST = 20_000  # cycles of some instructions
SETTLE = 2  # the last write comes so long after m_written: no read is faster
STATUS = 12  # and then what is counted
DRAWN = ("relu", "gate_write", "scale", "rounding", "grad_first", "dst_buf", "row_buf", "signal", "signal_read")
NUMBERS = ("wgt_base", "bias_base", "rnd_tag", "factor_0", "factor_1", "keep_threshold", "factor_tag", "keep_tag")


def random_compute(config, asks_gates: bool):
    """A COMPUTE on maps that lie somewhere in the buffers, its results side by side; `asks_gates`: it reads gates if it
    wants to, else it writes them."""
    cols, mode = config.cols, random.choice([FP, BP, WU])
    n = {name: random.randint(1, 2) for name in ("n_g", "n_by", "n_bx", "n_ky", "n_kx")}
    n |= {"n_rg": random.randint(1, 2), "n_c": random.randint(1, 2 * cols), "n_last": random.randint(1, cols)}
    f = {name: random.randint(*FIELDS[Opcode.COMPUTE][name].range) for name in (*DRAWN, *NUMBERS)}
    pool = int(mode == FP and random.random() < 0.3)
    fold = random.choice([pool, random.randint(pool, config.log_grid)])
    side, channels = 1 << fold, (n["n_g"] - 1) * cols + n["n_last"]
    skip = {key: random.choice([0, random.randrange(16)]) if not fold else 0 for key in "yx"}
    most = {name: side * (n[f"n_b{key}"] * (1 + skip[key]) + 3) for name, key in (("height", "y"), ("width", "x"))}
    size = {name: random.choice([value, random.randint(1, value)]) for name, value in most.items()}
    images = (config.grid >> fold) ** 2
    f |= n | size | dict(mode=mode, pool=pool, fold=fold, bias=int(mode != BP and random.getrandbits(1)))
    f |= {name + "_fold": random.randint(0, fold) for name in ("row", "col")}
    f |= dict(gate_fold=fold, dst_fold=fold - pool)
    for name in ("row", "col"):
        f |= {f"{name}_{key}": random.choice([value, random.randint(1, value + 2)]) for key, value in most.items()}
    f |= {f"dst_{key}": value >> pool for key, value in size.items()}
    for name in ("row", "col"):
        f |= {f"{name}_{key}": random.randrange(64) for key in ("base", "stride_y", "stride_x")}
    for name in ("dst", "gate"):
        f |= {f"{name}_stride_x": channels, f"{name}_stride_y": channels * n["n_bx"]}
        f |= {f"{name}_base": random.getrandbits(8)}
    f |= {name: random.randrange(3) for name in ("by0", "bx0", "in_by0", "in_bx0")}
    f |= {f"skip_{key}": many for key, many in skip.items()}
    f |= {name: random.randint(-1, 1) for name in ("disp_y0", "disp_x0")}
    f |= {name: random.randrange(64) for name in ("wgt_stride_g", "wgt_stride_ky", "wgt_stride_kx", "wgt_stride_cg")}
    f |= dict(bias_exp=random.randrange(config.data_width), shift=random.randrange(config.data_width + 6))
    f |= dict(map0=random.randrange(1000), n_base=images * random.randrange(9), n_valid=random.randint(1, images))
    # Gradients side by side, those of the bias behind them.
    f |= dict(grad_stride_kx=channels, grad_stride_ky=channels * n["n_kx"])
    f |= dict(grad_stride_rg=f["grad_stride_ky"] * n["n_ky"], grad_base=random.getrandbits(8))
    f |= dict(grad_bias_base=f["grad_base"] + n["n_rg"] * f["grad_stride_rg"])
    f |= {name + "_channels": random.randint(1, n[key] * cols) for name, key in (("row", "n_rg"), ("col", "n_g"))}
    factor = random.choice([0, 0, 1, 2, 3]) if mode != WU else 0
    f |= dict(factor=2 if factor == FACTOR_GATE and (pool or not asks_gates) else factor, factor_shift=15)
    loss = random.randrange(3) if asks_gates and mode == FP and not pool and not f["factor"] else 0
    top = 1 << config.data_width - 1
    f |= dict(loss=loss, loss_shift=16, t_pos=random.randrange(top), t_neg=random.randrange(-top, 0))
    f["scale"] = int(f["scale"] and asks_gates and not loss and not pool)
    f["gate_write"] = int(f["gate_write"] and not asks_gates and mode != WU)
    f["split"] = int(config.split and mode == FP and random.random() < 0.3)
    instr = instruction(Opcode.COMPUTE, **f)
    assert not problem(instr, config), problem(instr, config)
    return instr


def random_program(config, asks_gates: bool, count: int) -> list:
    """Some COMPUTEs; now and then two that are parts of a reduction."""
    found = []
    for _ in range(count):
        instr = random_compute(config, asks_gates)
        if instr["mode"] != WU and random.random() < 0.3:
            instr["n_g"] = instr["n_by"] = instr["n_bx"] = 1
            before = deepcopy(instr)
            before["keep_out"] = instr["keep_in"] = 1
            found.append(before)
        found.append(instr)
    return found


class Bench:
    """The unit between buffers. What it reads is what `machine` has; `found` gets what it writes."""

    def __init__(self, dut, machine):
        self.dut, self.machine, self.found, self.config = dut, machine, deepcopy(machine), machine.config
        self.grid, self.cols, self.dw = self.config.grid, self.config.cols, self.config.data_width
        self.seen, self.reads, self.writes = Counter(), [], []
        cocotb.start_soon(self._run())

    def _places(self, banks, access, kind=pixel_access, *more):
        """(flat index into the words, validity) of the lanes of an access."""
        named = fields(access)
        named |= {key: named[key] - (named[key] >> 7 << 8) for key in ("dy", "dx")}
        sizes = (self.grid,) if kind is pixel_access else (self.grid, self.cols)
        row, col, address, valid = kind(*sizes, Access(**named), *more)
        return ((row * self.grid + col) * banks.depth + address % banks.depth).ravel(), valid.ravel()

    def _vector(self, buffer, access, kind, *more) -> int:
        banks = self.machine.buffers[buffer]
        return pack(banks.read(*self._places(banks, access, kind, *more)), self.dw)

    def _operands(self) -> dict:
        """Answers to the reads of this cycle."""
        dut, answers = self.dut, {}
        if dut.m_rd_valid.value:
            buffer, row = int(dut.m_rd_row_buf.value), int(dut.m_rd_row.value)
            if dut.m_rd_channel.value:
                step = int(dut.m_rd_step.value)
                count = int(dut.m_rd_row_channels.value), int(dut.m_rd_col_channels.value)
                other = 1 - buffer, int(dut.m_rd_col.value)
                answers[f"rd_data{buffer}"] = self._vector(buffer, row, channel_access, step, count[0])
                answers[f"rd_data{1 - buffer}"] = self._vector(*other, channel_access, step, count[1])
            else:
                kind = split_access if dut.m_rd_split.value else pixel_access
                answers[f"rd_data{buffer}"] = self._vector(buffer, row, kind)
        if dut.m_wgt_valid.value:
            addr, rot = int(dut.m_wgt_addr.value), int(dut.m_wgt_rot.value)
            group, j = np.divmod(np.arange(self.config.lanes), self.cols)
            rows = (addr + j * int(dut.m_wgt_ramp.value)) % self.config.wgt_depth
            rows = rows ^ group * self.cols * int(dut.m_rd_split.value)
            answers["wgt_data"] = pack(self.machine.weights[(j + rot) % self.cols, rows], self.dw)
        if dut.m_gate_rd_valid.value:
            gate = self.machine.gate
            answers["gate_rd_data"] = pack(gate.read(*self._places(gate, int(dut.m_gate_rd_access.value))) & 1, 1)
        return answers

    def _results(self):
        dut, found, lanes = self.dut, self.found, self.config.lanes
        into = int(dut.m_wr_valid.value)
        assert into & 3 != 3
        if into & 3:
            banks = found.buffers[into >> 1 & 1]
            index, valid = self._places(banks, int(dut.m_dst_access.value))
            enable = np.array(unpack(dut.m_dst_enable.value, 1, lanes, signed=False), bool)
            banks.write(index, np.array(unpack(dut.m_dst_data.value, self.dw, lanes)), valid & enable)
        if into & 4:
            index, valid = self._places(found.gate, int(dut.m_gate_wr_access.value))
            found.gate.write(index, np.array(unpack(dut.m_gate_wr_data.value, 1, lanes, signed=False)), valid)
        if dut.m_grad_valid.value:
            groups = np.array(unpack(dut.m_grad_acc.value, self.config.acc_width, lanes)).reshape(-1, self.cols)
            row = np.array([int(dut.m_grad_addr.value)])
            found.add_gradients(row, groups.sum(axis=0)[None], bool(dut.m_grad_first.value))

    async def _run(self):
        dut, read = self.dut, parameter("READ")
        pipe, dones = deque([{} for _ in range(read)]), deque([False] * read)
        names = ("rd_data0", "rd_data1", "wgt_data", "gate_rd_data")
        while True:
            answers = pipe.popleft()
            for name in names:
                signal = getattr(dut, f"s_{name}")
                signal.value = answers.get(name, random.getrandbits(len(signal)))
            dut.s_hold.value = int(random.random() < 0.1)
            await ReadOnly()
            pipe.append(self._operands())
            self._results()
            dones.append(bool(dut.m_done.value))
            assert bool(dut.m_read.value) == dones.popleft(), "m_read comes READ cycles after m_done"
            self.reads += [int(dut.m_read_signal.value)] * int(dut.m_read.value)
            self.writes += [int(dut.m_written_signal.value)] * int(dut.m_written.value)
            flags = int(dut.sts_saturated.value)
            self.seen.update(act=flags & 1, delta=flags >> 1, steps=int(dut.sts_step.value), done=dones[-1])
            await cycles(dut, 1)

    async def execute(self, program, alone: bool):
        """One behind the other; `alone`: the next one starts when the results are there."""
        dut, given = self.dut, len(self.writes)
        for number, instr in enumerate(program):
            await self._until(lambda: dut.m_room.value)
            dut.s_instruction.value, dut.start.value = int.from_bytes(encode(instr), "little"), 1
            done = self.seen["done"]
            await cycles(dut, 1)
            dut.start.value = 0
            await self._until(lambda: self.seen["done"] > done)
            if alone and not instr["keep_out"]:
                dut.s_instruction.value = random.getrandbits(1024)
                await self._until(lambda: len(self.writes) == given + number + 1)
        await self._until(lambda: len(self.writes) == given + len(program))

    async def _until(self, what):
        for _ in range(MOST):
            if what():
                return
            await cycles(self.dut, 1)
        raise AssertionError("it takes too long")


def executed(machine, program):
    """The machine when the results have been written; all operands are read before."""
    twin = deepcopy(machine)
    for instr in program:
        work = Compute(machine, instr)
        sums = work.gather()
        work.machine = twin
        work.drain(sums)
    return twin


@cocotb.test()
@cocotb.parametrize(alone=[True, False])
async def buffers_hold_what_the_model_writes(dut, alone):
    silent = dict.fromkeys(("start", "s_clear", "s_hold", "s_instruction"), 0)
    depths = dict.fromkeys(("act_depth", "wgt_depth", "grad_depth", "gate_depth"), DEPTH)
    machine = model(parameter("GRID"), parameter("COLS"), mem_bytes=64, acc_width=parameter("ACC_W"), **depths)
    machine.seed = random.getrandbits(32)
    await start(dut, cfg_seed=machine.seed, **silent)
    dut.s_clear.value = 1
    await cycles(dut, 1)
    dut.s_clear.value = 0
    bench, loss = Bench(dut, machine), 0
    for asks_gates in (0, 1) * 4:
        program = random_program(machine.config, asks_gates, 4)
        bench.found = deepcopy(machine)
        bench.seen.clear(), bench.reads.clear(), bench.writes.clear()
        wanted = executed(machine, program)
        await bench.execute(program, alone)
        await cycles(dut, SETTLE)
        found, loss = bench.found, loss + wanted.loss
        for name in ("buffers", "gate"):
            pairs = zip(np.atleast_1d(getattr(found, name)), np.atleast_1d(getattr(wanted, name)), strict=True)
            assert all((a.words == b.words).all() for a, b in pairs), (name, program)
        assert (found.gradients == wanted.gradients).all(), program
        await cycles(dut, STATUS)
        assert int(dut.sts_loss.value) == loss, program
        steps = sum(compute_cycles(instr, machine.config.cols)[1] for instr in program)
        counts = {name: wanted.saturated[name] for name in ("act", "delta")} | {"steps": steps, "done": len(program)}
        assert dict(bench.seen) == counts, program
        assert bench.reads == [instr["signal_read"] for instr in program]
        assert bench.writes == [instr["signal"] for instr in program]


@pytest.mark.parametrize(
    "grid, cols, width, acc_w, read",
    first(1, [(4, 8, 8, 40, 8), (4, 4, 16, 48, 9), (4, 16, 11, 48, 7), (8, 16, 16, 48, 8)]),
)
def test_compute_unit(grid, cols, width, acc_w, read):
    sizes = {"GRID": grid, "COLS": cols, "COLS_LOG": cols.bit_length() - 1, "DW": width, "ACC_W": acc_w}
    run("engine", "gc_compute_unit", sizes | {"ACCESS_W": ACCESS_W, "READ": read}, sim="verilator")


@pytest.mark.long
def test_of_mult18x18d():
    """DSP 2, whose sums come a cycle later: they must meet their places all the same."""
    sizes = {"GRID": 4, "COLS": 8, "COLS_LOG": 3, "DW": 8, "ACC_W": 40, "ACCESS_W": ACCESS_W, "READ": 8, "DSP": 2}
    models = [file for file in primitives.models() if file.stem in ("MULT18X18D", "CCU2C", "FD1S3AX")]
    run("engine", "gc_compute_unit", sizes, sim="verilator", models=models)
