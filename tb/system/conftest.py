# SPDX-License-Identifier: Apache-2.0
"""The bench of the tests in which something goes wrong: trains before and after each of them, on every front."""

import random

import pytest

from tb.support.sim import ENGINES

pytest.register_assert_rewrite("tb.support.safety")
from tb.support.safety import Bench  # noqa: E402


@pytest.fixture(params=[*((name, seed) for seed, name in enumerate(ENGINES)), ("sim", 3)], ids=str)
def bench(request):
    name, seed = request.param
    bench = Bench(name, random.Random(seed).randrange(1 << 30))
    bench.good_step()
    yield bench
    bench.good_step()
    bench.good_step()
    bench.device.close()
