# SPDX-License-Identifier: Apache-2.0
"""Free-running pipelines (s_valid to m_valid, no ready): feeds words, checks the latency of each."""

import random
from collections.abc import Callable

from cocotb.triggers import ReadOnly

from .bench import cycles


def _noise(handle) -> int:
    return random.getrandbits(len(handle))


async def flow(
    dut,
    words: list[dict],
    latency: int,
    outputs: list[str],
    gap: float = 0.0,
    late: dict[str, int] | None = None,
    longer: Callable[[dict], int] = lambda word: 0,
) -> list[dict]:
    """Feed `words` (payload by signal name without s_), with idle cycles in between; returns one dict per word.

    m_valid must be high exactly `latency` cycles after each word (0: in the same one) and never else. Inputs are noise
    in idle cycles. `late` names inputs that come so many cycles after their word. `longer` says how many cycles a word
    takes more; a word that takes fewer than the one before follows as many cycles later.
    """
    late = late or {}
    names = list(words[0])
    handles = {n: getattr(dut, f"s_{n}") for n in names}
    schedule: list[dict | None] = []
    for word in words:
        while random.random() < gap:
            schedule.append(None)
        before = max((longer(one) - k for k, one in enumerate(schedule[:-9:-1]) if one is not None), default=0)
        schedule += [None] * (before - longer(word))
        schedule.append(word)
    leaving = {at + latency + longer(one) for at, one in enumerate(schedule) if one is not None}
    results = []
    for now in range(max(leaving) + 1):
        dut.s_valid.value = int(now < len(schedule) and schedule[now] is not None)
        for name, handle in handles.items():
            then = now - late.get(name, 0)
            word = schedule[then] if 0 <= then < len(schedule) else None
            handle.value = _noise(handle) if word is None else word[name]
        await ReadOnly()
        expected = now in leaving
        valid = dut.m_valid.value
        assert valid.is_resolvable and bool(valid) == expected, f"cycle {now}: m_valid {valid}, not {expected}"
        if expected:
            results.append({n: getattr(dut, f"m_{n}").value for n in outputs})
        await cycles(dut, 1)
    return results
