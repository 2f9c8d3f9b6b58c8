# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer

from tb.support.bench import cycles, reset
from tb.support.runner import run

FORWARD = {"rreq_valid": "arvalid", "rreq_addr": "araddr", "rreq_len": "arlen", "wreq_valid": "awvalid", "wreq_addr": "awaddr",
           "wreq_len": "awlen", "wdat_valid": "wvalid", "wdat_data": "wdata", "wdat_strb": "wstrb", "wdat_last": "wlast"}
BACK = {"s_rreq_ready": "arready", "s_wreq_ready": "awready", "s_wdat_ready": "wready", "m_rdat_valid": "rvalid", "m_rdat_data": "rdata",
        "m_rdat_last": "rlast", "m_wrsp_valid": "bvalid"}


async def start(dut):
    for name in ("clear", "m_axi_rvalid", "m_axi_bvalid", "m_axi_rresp", "m_axi_bresp"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await reset(dut)


def randomise(port):
    port.value = random.getrandbits(len(port))


@cocotb.test()
async def channels_pass_unchanged(dut):
    await start(dut)
    for _ in range(100):
        for name in FORWARD:
            randomise(getattr(dut, f"s_{name}"))
        for name in BACK.values():
            randomise(getattr(dut, f"m_axi_{name}"))
        await Timer(1, "ns")
        for native, axi in FORWARD.items():
            assert getattr(dut, f"s_{native}").value == getattr(dut, f"m_axi_{axi}").value, axi
        for native, axi in BACK.items():
            assert getattr(dut, native).value == getattr(dut, f"m_axi_{axi}").value, native
        size = (len(dut.m_axi_wdata) // 8).bit_length() - 1
        for channel in ("ar", "aw"):
            for field, want in (("size", size), ("burst", 1), ("lock", 0), ("prot", 0), ("id", 0), ("cache", 3)):
                assert int(getattr(dut, f"m_axi_{channel}{field}").value) == want, f"{channel}{field}"
        assert dut.m_axi_rready.value == 1 and dut.m_axi_bready.value == 1
        await cycles(dut, 1)
    assert dut.sts_error.value == 0


@cocotb.test()
@cocotb.parametrize(channel=["r", "b"], code=[0, 1, 2, 3])
async def the_first_error_is_kept_until_cleared(dut, channel, code):
    await start(dut)
    response, valid = getattr(dut, f"m_axi_{channel}resp"), getattr(dut, f"m_axi_{channel}valid")
    response.value = 3
    await cycles(dut, 2)
    assert dut.sts_error.value == 0, "a response without valid counted"
    response.value, valid.value = code, 1
    await cycles(dut, 1)
    response.value = 5 - code if code >= 2 else 0
    await cycles(dut, 1)
    valid.value = 0
    await cycles(dut, 1)
    assert bool(dut.sts_error.value) == (code >= 2)
    assert int(dut.sts_resp.value) == (code if code >= 2 else 0)
    dut.clear.value = 1
    await cycles(dut, 1)
    assert dut.sts_error.value == 0 and int(dut.sts_resp.value) == 0


@pytest.mark.parametrize("width", [64, 128, 512])
def test_axi_master(width):
    run("axi", "axi_master", {"MEM_W": width, "ADDR_W": 40})
