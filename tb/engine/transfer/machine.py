# SPDX-License-Identifier: Apache-2.0
"""The instruction-level model as the other side of a unit's bench: its DRAM, its buffers, what an instruction does to
them."""

import random
from copy import deepcopy

import numpy as np
from cocotb.triggers import ReadOnly

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import encode
from gradcore.machine.machine import Machine
from gradcore.machine.skew import Access, pixel_access
from tb.dma.memory import Memory
from tb.support.access import fields
from tb.support.bench import cycles
from tb.support.runner import parameter

SIZE = 1 << 15  # bytes of DRAM


def model(grid: int, cols: int, **more) -> Machine:
    """A machine with small buffers and DRAM, garbage in all of them; words of the data width."""
    depths = dict.fromkeys(("act_depth", "wgt_depth", "grad_depth", "gate_depth"), 64)
    if "mem_bytes" not in more:
        more["mem_bytes"] = parameter("MEM_W") // 8
    config = EngineConfig(grid, cols, parameter("DW"), **(depths | more))
    rng = np.random.default_rng(random.getrandbits(32))
    machine = Machine(config, rng.integers(0, 256, SIZE, np.uint8), seed=random.getrandbits(32))
    machine.gate.words &= 1
    spare = 64 - config.data_width
    for held in (machine.weights, *(banks.words for banks in machine.buffers)):
        held[:] = held << spare >> spare
    machine.gradients[:] = machine.gradients << 64 - config.acc_width >> 64 - config.acc_width
    return machine


def dram(dut, machine: Machine, stall: float) -> Memory:
    """The machine's DRAM behind the port of a unit."""
    memory = Memory(dut, machine.config.mem_bytes, stall, latency=(1, 12))
    refill(memory, machine)
    return memory


def refill(memory: Memory, machine: Machine) -> None:
    beat = machine.config.mem_bytes
    memory.data = {
        at: int.from_bytes(machine.memory[at : at + beat].tobytes(), "little") for at in range(0, SIZE, beat)
    }


def words(machine: Machine, access: int) -> np.ndarray:
    """Where the lanes of an access lie in the flat words of a buffer."""
    row, col, address, valid = pixel_access(machine.config.grid, Access(**fields(access)))
    assert valid.all()
    return ((row * machine.config.grid + col) * 64 + address % 64).ravel()


def after(machine: Machine, work) -> Machine:
    """The machine when the instruction has been executed."""
    twin = deepcopy(machine)
    done = work(twin)
    done.drain(done.gather())
    return twin


async def begin(dut, instr) -> None:
    dut.s_instruction.value, dut.start.value = int.from_bytes(encode(instr), "little"), 1
    await cycles(dut, 1)
    dut.start.value = 0


async def end(dut, most: int = 5000) -> None:
    """Until m_done, without m_bad."""
    for _ in range(most):
        await ReadOnly()
        assert dut.m_bad.value == 0
        done = bool(dut.m_done.value)
        await cycles(dut, 1)
        if done:
            assert dut.m_bad.value == 0
            return
    raise AssertionError("not done")
