# SPDX-License-Identifier: Apache-2.0
"""A test that draws outside and inside the simulation and says what; run by test_runner.py only."""

import os
import random

from tb.support.runner import run


def test_draws():
    print(f"DRAWN={random.getrandbits(60)}")
    drawn = {"DRAWN": os.environ["DRAWN"]}
    run("ram", "gc_ram_sdp", {"DEPTH": 4}, module="tb.runner.cases", testcase="draws", env=drawn)
