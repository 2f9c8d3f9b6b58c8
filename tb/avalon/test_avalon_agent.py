# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.avalon.bus import AvalonHost
from tb.support.bench import cycles, reset, start
from tb.support.runner import run

INPUTS = dict(avs_address=0, avs_read=0, avs_write=0, avs_writedata=0, avs_byteenable=0, s_reg_rdata=0)


def merged(old, new, strobes):
    """The word `old` with the bytes of `new` whose strobe is set."""
    mask = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1)
    return old & ~mask | new & mask


class Registers:
    """Behind the native port: a write takes one cycle, read data come in the cycle after the read."""

    def __init__(self, dut):
        self.dut, self.values = dut, {}
        cocotb.start_soon(self._serve())

    async def _serve(self):
        dut, data = self.dut, 0
        while True:
            dut.s_reg_rdata.value = data
            await ReadOnly()
            address = int(dut.m_reg_addr.value) if dut.m_reg_read.value or dut.m_reg_write.value else 0
            data = self.values.get(address, 0) if dut.m_reg_read.value else random.getrandbits(32)
            if dut.m_reg_write.value:
                self.values[address] = merged(
                    self.values.get(address, 0), int(dut.m_reg_wdata.value), int(dut.m_reg_strb.value)
                )
            await cycles(dut, 1)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def accesses_one_behind_the_other_keep_their_order(dut):
    await start(dut, **INPUTS)
    registers, host, model = Registers(dut), AvalonHost(dut, dut, "avs_"), {}
    for _ in range(20):
        pending = []
        for _ in range(random.randint(1, 15)):
            offset = 4 * random.choice([0, 1, 2, 63, 512, 1023])
            if random.random() < 0.5:
                pending.append((await host.begin("read", offset), 0, model.get(offset, 0)))
            else:
                value, enable = random.getrandbits(32), random.choice([0, 15, random.randrange(16)])
                model[offset] = merged(model.get(offset, 0), value, enable)
                pending.append((await host.begin("write", offset, value, enable), 0, None))
            await cycles(dut, 1 + random.choice([0, 0, 3])) if random.random() < 0.3 else None
        await cycles(dut, 3)
        for done, response, data in pending:
            assert done == [response, data]
    assert registers.values == model


@cocotb.test(timeout_time=200, timeout_unit="us")
async def an_answer_comes_two_cycles_after_its_access(dut):
    await start(dut, **INPUTS)
    Registers(dut)
    for kind, valid in (("read", dut.avs_readdatavalid), ("write", dut.avs_writeresponsevalid)):
        getattr(dut, f"avs_{kind}").value = 1
        await cycles(dut, 1)
        getattr(dut, f"avs_{kind}").value = 0
        assert valid.value == 0
        await cycles(dut, 1)
        assert valid.value == 1
        await cycles(dut, 1)
        assert valid.value == 0


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reset_forgets_an_access(dut):
    await start(dut, **INPUTS)
    for kind in ("read", "write"):
        getattr(dut, f"avs_{kind}").value = 1
        await cycles(dut, 1)
        getattr(dut, f"avs_{kind}").value, dut.rst.value = 0, 1
        await ReadOnly()
        assert dut.avs_waitrequest.value == 1
        await cycles(dut, 1)
        assert not dut.avs_readdatavalid.value and not dut.avs_writeresponsevalid.value
        await reset(dut)
        for _ in range(3):
            await cycles(dut, 1)
            busy = (
                dut.avs_readdatavalid,
                dut.avs_writeresponsevalid,
                dut.m_reg_read,
                dut.m_reg_write,
                dut.avs_waitrequest,
            )
            assert not any(pin.value for pin in busy)


@pytest.mark.parametrize("sim", ["icarus", "verilator"])
def test_avalon_agent(sim):
    run("avalon", "gc_avalon_agent", sim=sim)
