# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.runner import run

FORWARD = {"rreq_valid": "arvalid", "rreq_addr": "araddr", "rreq_len": "arlen", "wreq_valid": "awvalid", "wreq_addr": "awaddr",
           "wreq_len": "awlen", "wdat_valid": "wvalid", "wdat_data": "wdata", "wdat_strb": "wstrb", "wdat_last": "wlast"}
BACK = {"s_rreq_ready": "arready", "s_wreq_ready": "awready", "s_wdat_ready": "wready", "m_rdat_valid": "rvalid", "m_rdat_data": "rdata",
        "m_rdat_last": "rlast", "m_rdat_resp": "rresp", "m_wrsp_valid": "bvalid", "m_wrsp_resp": "bresp"}


def randomise(port):
    port.value = random.getrandbits(len(port))


@cocotb.test()
async def channels_pass_unchanged(dut):
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


@pytest.mark.parametrize("width", [64, 128, 512])
def test_axi_master(width):
    run("axi", "axi_master", {"MEM_W": width, "ADDR_W": 40})
