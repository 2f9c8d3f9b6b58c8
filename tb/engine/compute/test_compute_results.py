# SPDX-License-Identifier: Apache-2.0
"""Every drained column of random instructions behind the array: when the gate is asked for, what goes to the buffers
and to the gradients, tokens, loss; compared with gradcore.machine.drain."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.fold import lane_images
from gradcore.isa.instruction import BP, FACTOR_GATE, FACTOR_SIGN, FIELDS, FP, WU, Opcode, instruction
from gradcore.machine import drain
from gradcore.numerics.fixed_point import wrap
from tb.support.access import ACCESS_W, record
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import parameter, run

RANDOM, GATE, SETTLE, DRAIN, LATE = 12, 4, 11, 9, 7
PLAIN = ("signal", "dst_buf", "relu", "pool", "gate_write", "scale", "loss", "grad_first", "rounding", "split")
FACTOR = ("factor_shift", "factor_0", "factor_1", "keep_threshold", "factor_tag", "keep_tag")
NUMBERS = ("fold", "shift", "t_pos", "t_neg", "loss_shift", "n_valid", "rnd_tag", "map0", "n_base", "factor", *FACTOR)


def random_instruction(grid: int, cols: int):
    """A COMPUTE as far as the results go, of any mode; single places follow word by word."""
    mode, lanes = random.choice([FP, FP, BP, WU]), grid * grid
    drawn = {name: random.randint(*FIELDS[Opcode.COMPUTE][name].range) for name in (*PLAIN, *NUMBERS)}
    pool = mode == FP and random.random() < 0.4
    fold = random.randint(int(pool), grid.bit_length() - 1)
    images = (grid >> fold) ** 2
    loss = random.choice([0, 1, 2]) if mode == FP and not pool else 0
    top = 1 << parameter("DW") - 1
    drawn |= dict(mode=mode, pool=int(pool), fold=fold, loss=loss, loss_shift=random.randrange(14, 20))
    drawn |= dict(scale=0 if loss or pool else drawn["scale"], n_valid=random.randint(1, images))
    drawn |= dict(n_base=images * random.randrange(200), t_pos=random.randrange(top), t_neg=random.randrange(-top, 0))
    drawn |= dict(shift=random.choice([0, random.randrange(20)]), map0=cols * random.randrange(50))
    factor = random.choice([0, 0, 1, 2, 3]) if mode != WU and not loss and parameter("HAS_FACTOR") else 0
    drawn |= dict(factor=factor if not (pool and factor == FACTOR_GATE) else 2, factor_shift=random.choice([12, 15]))
    drawn |= dict(split=int(mode == FP and cols < lanes and random.random() < 0.4))
    return instruction(Opcode.COMPUTE, **drawn)


class Word:
    """A column: what enters, and what must come out."""

    def __init__(self, instr, seed: int, final: bool, valid: bool):
        self.instr, self.final, self.valid = instr, final, valid
        self.grid, self.cols, self.dw, self.acc_w = (parameter(name) for name in ("GRID", "COLS", "DW", "ACC_W"))
        self.lanes = lanes = self.grid**2
        side = 1 << instr["fold"]
        self.y0, self.x0 = (side * random.randrange(6) for _ in range(2))
        self.chan, self.grad = random.randrange(200), random.getrandbits(16)
        self.height, self.width = (random.choice([first + 1, first + side, 4095]) for first in (self.y0, self.x0))
        place = dict(y0=self.y0, x0=self.x0, chan=self.chan, height=self.height, width=self.width)
        self.gate = record(addr=random.getrandbits(20), fold_a=instr["fold"], **place)
        self.dst = random.getrandbits(ACCESS_W)
        spread = random.choice([2, 300, 1 << self.dw + 2]) << instr["shift"]
        self.acc = [random.randrange(-spread, spread) for _ in range(lanes)]
        self.bits = [random.getrandbits(1) for _ in range(lanes)]
        self.loss, self.saturated = 0, (0, 0)
        if valid and instr["mode"] != WU:
            self.expect(seed)

    @property
    def wu(self) -> bool:
        return self.instr["mode"] == WU

    @property
    def asks(self) -> bool:
        gated = self.instr["factor"] == FACTOR_GATE
        return self.valid and not self.wu and bool(self.instr["scale"] or self.instr["loss"] or gated)

    @property
    def late(self) -> int:
        return LATE if self.instr["factor"] else 0

    def expect(self, seed: int):
        instr, lane, side = self.instr, np.arange(self.lanes), 1 << self.instr["fold"]
        acc = np.array(self.acc)
        if instr["split"]:
            first = wrap(acc.reshape(-1, self.cols).sum(axis=0), self.acc_w)
            acc = np.concatenate([first, np.zeros(self.lanes - self.cols, np.int64)])
        y, x = self.y0 + lane // self.grid % side, self.x0 + lane % self.grid % side
        n = lane_images(self.grid, instr["fold"], instr["n_base"] // (self.grid // side) ** 2)
        channel = np.full(self.lanes, instr["map0"] + self.chan)
        a, clipped = drain.requantise(acc, instr, y, x, n, channel, self.dw, seed)
        inside = (y < self.height) & (x < self.width)
        enable, bits = inside & (n < instr["n_base"] + instr["n_valid"]), np.array(self.bits)
        if instr["scale"]:
            a, clipped = a * bits, clipped & (bits != 0)
        late = np.zeros(1, bool)
        if instr["loss"]:
            a, late, self.loss = drain.loss(a, instr, bits, enable, self.dw)
        first = bool((clipped & enable).any())
        gate = (a > 0) & inside if instr["relu"] or instr["factor"] == FACTOR_SIGN else inside
        a = np.maximum(a, 0) if instr["relu"] else a
        self.enable = inside
        if instr["pool"]:
            whole = np.ones(self.lanes, bool)
            a, gate = drain.pool(a, gate | ~inside, inside, self.grid, instr["fold"])
            self.enable = drain.pool(inside.astype(int), whole, inside, self.grid, instr["fold"])[0] != 0
            self.enable &= _all_of_window(inside, self.grid, instr["fold"])
        if instr["factor"]:
            half = side >> instr["pool"]
            y = (self.y0 >> instr["pool"]) + lane // self.grid % half
            x = (self.x0 >> instr["pool"]) + lane % self.grid % half
            a, clipped = drain.factor(a, instr, bits, y, x, n, channel, self.dw, seed)
            first |= bool((clipped & self.enable & (n < instr["n_base"] + instr["n_valid"])).any())
        delta = instr["mode"] == BP
        self.saturated = int(first and not delta), int((first and delta) or bool(late.any()))
        self.data, self.gates = a, gate

    def entering(self) -> dict:
        instr, mask = self.instr, (1 << 16) - 1
        fields = {name: instr[name] & mask for name in (*PLAIN, *NUMBERS)}
        return fields | dict(
            valid=int(self.valid),
            final=int(self.final),
            wu=int(self.wu),
            backward=int(instr["mode"] == BP),
            grad_addr=self.grad,
            dst=self.dst,
            gate=self.gate,
        )


def _all_of_window(inside, grid, fold):
    """Lanes of pooled results whose window lies inside the map."""
    counted = [drain.pool(v, inside, np.ones_like(inside), grid, fold)[0] for v in (inside.astype(int), 1 - inside)]
    return (counted[0] != 0) & (counted[1] == 0)


@cocotb.test()
async def every_column_leaves_as_it_must(dut):
    grid, cols, join, read = (parameter(name) for name in ("GRID", "COLS", "JOIN", "GATE_READ"))
    lanes, dw, acc_w, seed = grid**2, parameter("DW"), parameter("ACC_W"), random.getrandbits(32)
    await start(dut, s_valid=0, s_final=0, clear_loss=0, cfg_seed=seed)
    dut.clear_loss.value = 1
    await cycles(dut, 1)
    dut.clear_loss.value = 0
    schedule: list[Word | None] = []
    for _ in range(40 if grid == 4 else 20):
        instr, count = random_instruction(grid, cols), random.randint(1, min(cols, 8))
        for number in range(count):
            final = number == count - 1
            schedule.append(Word(instr, seed, final, not (final and random.random() < 0.2)))
        late = LATE if instr["factor"] else 0
        schedule += [None] * (late + random.choice([0, 0, 1, 15]))

    def at(now: int, after: int) -> Word | None:
        """The word that entered `after` cycles before."""
        return schedule[now - after] if 0 <= now - after < len(schedule) else None

    def leaves(now: int, after: int) -> Word | None:
        """The same, or with a factor so much later."""
        found = [word for late in (0, LATE) if (word := at(now, after + late)) and word.late == late]
        assert len(found) < 2
        return found[0] if found else None

    ask, sums, out = RANDOM + GATE - read, RANDOM - join, RANDOM + GATE + DRAIN
    total, flags = 0, [0, 0]
    for now in range(len(schedule) + 46):
        word, asked, summed = at(now, 0), at(now, ask + read), at(now, sums)
        nothing = {"valid": 0, "final": 0, "signal": random.getrandbits(5)}
        nothing |= {name: random.getrandbits(1) for name in ("wu", "dst_buf", "gate_write")}
        for name, value in (word.entering() if word else nothing).items():
            getattr(dut, f"s_{name}").value = value
        dut.s_acc.value = pack(summed.acc if summed else [random.getrandbits(20) for _ in range(lanes)], acc_w)
        dut.s_gate_rd_data.value = pack(asked.bits, 1) if asked else random.getrandbits(lanes)
        await ReadOnly()
        asks, gradient, result, settled = at(now, ask), at(now, sums), leaves(now, out), leaves(now, RANDOM + SETTLE)
        assert bool(dut.m_gate_rd_valid.value) == bool(asks and asks.asks), now
        if asks and asks.asks:
            assert dut.m_gate_rd_access.value == asks.gate
        assert bool(dut.m_grad_valid.value) == bool(gradient and gradient.valid and gradient.wu), now
        if gradient and gradient.valid and gradient.wu:
            assert dut.m_grad_addr.value == gradient.grad
            assert bool(dut.m_grad_first.value) == bool(gradient.instr["grad_first"])
        assert bool(dut.m_written.value) == bool(settled and settled.final), now
        if settled and settled.final:
            assert dut.m_written_signal.value == settled.instr["signal"]
        writes = bool(result and result.valid and not result.wu)
        into = result.instr["gate_write"] << 2 | 1 << result.instr["dst_buf"] if writes else 0
        assert dut.m_wr_valid.value == into, now
        if writes:
            assert dut.m_dst_access.value == result.dst
            enable = np.array(unpack(dut.m_dst_enable.value, 1, lanes, signed=False)) != 0
            assert (enable == result.enable).all(), result.instr
            data = np.array(unpack(dut.m_dst_data.value, dw, lanes))
            assert (data == result.data)[enable].all(), result.instr
            if result.instr["gate_write"]:
                gate = np.array(unpack(dut.m_gate_wr_data.value, 1, lanes, signed=False)) != 0
                assert dut.m_gate_wr_access.value == result.gate
                assert (gate == result.gates).all(), result.instr
            total += result.loss
        flags = [seen + (int(dut.sts_saturated.value) >> k & 1) for k, seen in enumerate(flags)]
        await cycles(dut, 1)
    assert dut.sts_loss.value == total and total > 0
    valid = [word for word in schedule if word and word.valid and not word.wu]
    assert flags == [sum(word.saturated[k] for word in valid) for k in (0, 1)]


@pytest.mark.parametrize(
    "grid, cols, join, dw, factor",
    first(4, [(4, 4, 2, 16, 1), (4, 16, 0, 9, 1), (4, 8, 1, 8, 1), (4, 4, 2, 8, 0), (8, 8, 3, 16, 1)]),
)
def test_compute_results(grid, cols, join, dw, factor):
    sizes = {"GRID": grid, "COLS": cols, "JOIN": join, "DW": dw, "ACC_W": 48, "ACCESS_W": ACCESS_W, "GATE_READ": 7}
    run("engine", "gc_compute_results", sizes | {"HAS_FACTOR": factor})
