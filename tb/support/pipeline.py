# SPDX-License-Identifier: Apache-2.0
"""Free-running pipelines (s_valid to m_valid, no ready): feeds words, checks the latency of each."""

import random

from .bench import cycles


def _noise(handle) -> int:
    return random.getrandbits(len(handle))


async def flow(
    dut, words: list[dict], latency: int, outputs: list[str], gap: float = 0.0, late: dict[str, int] | None = None
) -> list[dict]:
    """Feed `words` (payload by signal name without s_), with idle cycles in between; returns one dict per word.

    m_valid must rise exactly `latency` cycles after each word and never else. Inputs are noise in idle cycles. `late`
    names inputs that come so many cycles after their word.
    """
    late = late or {}
    names = list(words[0])
    handles = {n: getattr(dut, f"s_{n}") for n in names}
    schedule: list[dict | None] = []
    for word in words:
        while random.random() < gap:
            schedule.append(None)
        schedule.append(word)
    results = []
    for now in range(len(schedule) + latency):
        dut.s_valid.value = int(now < len(schedule) and schedule[now] is not None)
        for name, handle in handles.items():
            then = now - late.get(name, 0)
            word = schedule[then] if 0 <= then < len(schedule) else None
            handle.value = _noise(handle) if word is None else word[name]
        await cycles(dut, 1)
        entered = now - latency + 1
        expected = 0 <= entered < len(schedule) and schedule[entered] is not None
        valid = dut.m_valid.value
        assert valid.is_resolvable and bool(valid) == expected, f"cycle {now}: m_valid {valid}, not {expected}"
        if expected:
            results.append({n: getattr(dut, f"m_{n}").value for n in outputs})
    return results
