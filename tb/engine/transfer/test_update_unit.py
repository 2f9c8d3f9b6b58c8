# SPDX-License-Identifier: Apache-2.0
"""UPDATE between the model's gradients, weights and DRAM: the same new weights and momentum, every byte."""

import random
from collections import deque
from functools import partial

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import Opcode, instruction
from gradcore.machine.transfers import Update
from gradcore.ops.optimiser import RATE_ONE
from tb.engine.transfer.machine import after, begin, end, model
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.cases import first
from tb.support.runner import parameter, run


def _part(signal, n: int, width: int) -> int:
    """Part n of a bus; the other one may be unknown."""
    text = str(signal.value)
    return int(text[len(text) - width * (n + 1) : len(text) - width * n], 2)


class Port:
    """The memory port of two readers and two writers (index 0 weights, 1 momentum) and the rows of the buffers on
    chip."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.machine, self.memory = dut, stall, None, None
        cocotb.start_soon(self._run())

    def begin(self, machine):
        self.machine, self.memory = machine, machine.memory.copy()

    def _two(self):
        return sum((random.random() >= self.stall) << n for n in range(2))

    async def _run(self):
        dut, beat, width = self.dut, parameter("MEM_W") // 8, parameter("ADDR_W")
        reads, rows, bursts, answers, now = deque(), {"grad": deque(), "wgt": deque()}, [deque(), deque()], deque(), 0
        while True:
            dut.m_rreq_ready.value, dut.m_wreq_ready.value, dut.m_wdat_ready.value = ready, take, beats = [
                self._two() for _ in range(3)
            ]
            client, at, last = reads.popleft() if reads and random.random() >= self.stall else (None, 0, False)
            dut.s_rdat_valid.value, dut.s_rdat_last.value = 0 if client is None else 1 << client, int(last)
            read = random.randbytes(beat) if client is None else self.memory[at : at + beat].tobytes()
            dut.s_rdat_data.value = int.from_bytes(read, "little")
            answer = answers.popleft()[1] if answers and answers[0][0] <= now else None
            dut.s_wrsp_valid.value = 0 if answer is None else 1 << answer
            for name, queue in rows.items():
                asks, back = int(random.random() >= self.stall), bool(queue) and queue[0][0] <= now
                getattr(dut, f"m_{name}_ready").value, getattr(dut, f"s_{name}_valid").value = asks, int(back)
                getattr(dut, f"s_{name}_data").value = queue.popleft()[1] if back else 0
            await ReadOnly()
            if dut.rst.value:
                (
                    reads.clear(),
                    answers.clear(),
                    bursts[0].clear(),
                    bursts[1].clear(),
                    rows["grad"].clear(),
                    rows["wgt"].clear(),
                )
            elif self.machine:
                for n in range(2):
                    if _part(dut.m_rreq_valid, n, 1) and ready >> n & 1:
                        at, count = _part(dut.m_rreq_addr, n, width), _part(dut.m_rreq_len, n, 8) + 1
                        reads.extend((n, at + beat * k, k == count - 1) for k in range(count))
                    if _part(dut.m_wdat_valid, n, 1) and beats >> n & 1:
                        at, last = bursts[n].popleft()
                        word = _part(dut.m_wdat_data, n, 8 * beat)
                        self.memory[at : at + beat] = np.frombuffer(word.to_bytes(beat, "little"), np.uint8)
                        if last:
                            answers.append((now + random.randint(1, 9), n))
                    if _part(dut.m_wreq_valid, n, 1) and take >> n & 1:
                        at, count = _part(dut.m_wreq_addr, n, width), _part(dut.m_wreq_len, n, 8) + 1
                        bursts[n].extend((at + beat * k, k == count - 1) for k in range(count))
                for name, queue in rows.items():
                    if getattr(dut, f"m_{name}_valid").value and getattr(dut, f"m_{name}_ready").value:
                        queue.append(
                            (now + random.randint(3, 8), self._row(name, int(getattr(dut, f"m_{name}_addr").value)))
                        )
            await cycles(dut, 1)
            now += 1

    def _row(self, name, addr):
        cols = self.machine.config.cols
        if name == "grad":
            return pack(self.machine.gradients[addr % 64], parameter("ACC_W"))
        bank = (np.arange(cols) + int(self.dut.m_wgt_rot.value)) % cols
        return pack(self.machine.weights[bank, addr % 64], parameter("DW"))


def random_update(machine):
    config = machine.config
    n = {"n_outer": random.randint(1, 3), "n_inner": random.randint(1, 9)}
    words = n["n_outer"] * n["n_inner"]
    beats = -(-words * config.row_bytes // config.mem_bytes)
    return instruction(
        Opcode.UPDATE,
        momentum=random.getrandbits(1),
        rounding=random.randrange(4),
        resident=random.getrandbits(1),
        addr=config.mem_bytes * random.randrange(4),
        momentum_addr=config.mem_bytes * (random.randrange(4) + beats + 4),
        run_beats=beats,
        n_words=words,
        base=random.getrandbits(16),
        wgt_base=random.getrandbits(16),
        wgt_inner=random.choice([1, 3, n["n_inner"]]),
        shift_g=random.randint(0, 30),
        shift_v=random.randint(0, 20),
        shift_d=random.choice([0, random.getrandbits(4)]),
        shift_w=random.getrandbits(5),
        lr_m=random.getrandbits(15),
        beta_m=random.getrandbits(15),
        decay_m=random.choice([0, random.getrandbits(15)]),
        rate_m=random.choice([0, 1, random.getrandbits(15)]),
        rnd_tag=random.getrandbits(16),
        key=random.getrandbits(31),
        map0=random.choice([0, random.getrandbits(16), 65535]),
        **n,
    )


def random_rate():
    return random.choice([0, 1, RATE_ONE - 1, RATE_ONE, 65535, random.getrandbits(15)])


async def started(dut, stall):
    await start(
        dut,
        start=0,
        cfg_base=0,
        cfg_seed=0,
        cfg_rate=RATE_ONE,
        s_rdat_valid=0,
        s_wrsp_valid=0,
        s_grad_valid=0,
        s_wgt_valid=0,
    )
    return Port(dut, stall)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def memory_holds_what_the_model_writes(dut, stall):
    port = await started(dut, stall)
    cols = parameter("COLS")
    for _ in range(12):
        machine = model(8 if cols > 16 else 4, cols, acc_width=parameter("ACC_W"))
        machine.seed, machine.rate = random.getrandbits(32), random_rate()
        dut.cfg_seed.value, dut.cfg_rate.value = machine.seed, machine.rate
        port.begin(machine)
        instr = random_update(machine)
        wanted = after(machine, partial(Update, instr=instr))
        await begin(dut, instr)
        await end(dut)
        assert (port.memory == wanted.memory).all(), instr
        await cycles(dut, 2)


@cocotb.test()
async def lengths_that_do_not_agree_are_bad(dut):
    port = await started(dut, 0.2)
    machine = model(8 if parameter("COLS") > 16 else 4, parameter("COLS"), acc_width=parameter("ACC_W"))
    for field, wrong in (("n_words", 1), ("n_words", -1), ("n_inner", 1), ("n_outer", 1), ("run_beats", 3)):
        await reset(dut)
        port.begin(machine)
        instr = random_update(machine)
        instr[field] += wrong if instr[field] + wrong else 1
        await begin(dut, instr)
        for _ in range(600):
            if dut.m_bad.value:
                break
            await cycles(dut, 1)
        assert dut.m_bad.value, (field, wrong, instr)


@pytest.mark.parametrize("cols, width, acc_w, mem_w", first(2, [(4, 8, 24, 64), (4, 11, 40, 256), (16, 16, 48, 128)]))
def test_update_unit(cols, width, acc_w, mem_w):
    run("engine", "gc_update_unit", {"COLS": cols, "DW": width, "ACC_W": acc_w, "MEM_W": mem_w, "ADDR_W": 40})
