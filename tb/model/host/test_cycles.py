# SPDX-License-Identifier: Apache-2.0
"""Counters by cause."""

import numpy as np

from gradcore.host.cycles import by_cause, unaccounted
from gradcore.isa.instruction import ENGINES
from gradcore.isa.registers import COUNTER_NAMES


def test_causes_sum_to_the_cycles():
    rng = np.random.default_rng(3)
    values = [100_000, *range(1, 8)]
    for _ in ENGINES:
        values += list(rng.multinomial(100_000, np.ones(8) / 8))
    counters = {name: int(values[index]) for index, name in COUNTER_NAMES.items() if index < 48}
    causes = by_cause(counters)
    assert list(causes) == list(ENGINES)
    assert all(sum(parts.values()) == 100_000 for parts in causes.values())
    assert (
        causes["store"]["busy"] == values[32]
        and causes["compute"]["wait_wload"] == values[26]
        and causes["load"]["idle"] == values[15]
    )
    assert unaccounted(causes, 100_000) == {}
    counters["store.wait_load"] += 1
    assert unaccounted(by_cause(counters), 100_000) == {"store": -1}
