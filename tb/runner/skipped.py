# SPDX-License-Identifier: Apache-2.0
"""A bench whose only test is skipped."""

import cocotb


@cocotb.test(skip=True)
async def is_skipped(dut):
    pass
