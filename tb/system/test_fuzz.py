# SPDX-License-Identifier: Apache-2.0
"""Random programs on the compiled engine, some hundred of those that ci/fuzz runs by the hundred thousand; `SEED`
chooses others."""

import os

import numpy as np
import pytest

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.instruction import Opcode
from tb.support import fuzz
from tb.support.cases import long
from tb.support.fuzz import Case, Fuzzer, Wrong, faults
from tb.support.fuzz import fuzzer as runner

SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture
def fuzzer(request):
    fuzzer = Fuzzer(getattr(request, "param", "small"), SEED)
    yield fuzzer
    fuzzer.close()


@pytest.mark.parametrize(
    "fuzzer, count", [("small", 400), ("narrow", 200), ("bare", 100), long("default", 80)], indirect=["fuzzer"]
)
def test_random_programs(fuzzer, count):
    for number in range(count):
        fuzzer.run(number)
    completed = {
        kind: fuzzer.tally[f"{kind}: completes"] / fuzzer.tally[f"{kind}: programs"] for kind in ("valid", "mutated")
    }
    assert completed["valid"] > 0.9 and 0.1 < completed["mutated"] < 0.6
    assert {text.split(": ", 1)[1] for text in fuzzer.tally if ": " in text} > {
        reg.ERRORS[code] for code in (1, 3, 4, 7)
    }


@pytest.mark.parametrize("fuzzer", ["small", "narrow"], indirect=True)
def test_random_programs_with_every_fault(fuzzer):
    for number in range(320):
        kind = faults.KINDS[number % len(faults.KINDS)]
        fuzzer.check(fuzz.make(fuzzer.config, SEED, number), f"{SEED}:{number}:fault", kind)
    ends = {text for text in fuzzer.tally if fuzzer.tally[text]}
    wanted = {f"response: {reg.ERRORS[code]}" for code in (18, 19, 34, 35)} | {
        f"silence: {reg.ERRORS[code]}" for code in (5, 6)
    }
    wanted |= {f"impatience: {reg.ERRORS[5]}", f"stop: {reg.ERRORS[6]}", "reset: reset", f"misaligned: {reg.ERRORS[9]}"}
    assert ends > wanted | {
        f"{name}: compared with the model" for name in ("response", "silence", "impatience", "writes", "lock")
    }


@pytest.mark.parametrize(
    "kind, call, message",
    [
        (faults.Silence, "revive", "BUS_OPEN stays"),
        (faults.Silence, "force", "BUS_OPEN stays"),
        (faults.Reset, "reset", "not 0 after a reset"),
        (faults.Response, "errors", "should"),
        (faults.Impatience, "errors", "should"),
        (faults.Stop, "errors", "should"),
        (faults.Misaligned, "errors", "should"),
    ],
)
def test_judges_faults(fuzzer, monkeypatch, kind, call, message):
    """Without its effect, or with one that must not be, each is wrong sooner or later."""
    if call == "errors":
        monkeypatch.setattr(
            kind, "arm", lambda self, values, arm=kind.arm: (arm(self, values), setattr(self, "errors", frozenset()))
        )
    else:
        for owner in (fuzzer, fuzzer.backend, kind):
            if hasattr(owner, call):
                monkeypatch.setattr(owner, call, lambda *_: None)
    with pytest.raises(Wrong, match=message):
        for number in range(1, 200, 2):
            fuzzer.check(fuzz.make(fuzzer.config, SEED, number), f"{SEED}:{number}:fault", kind)


def test_sees_a_burst_without_the_right(fuzzer, monkeypatch):
    allow = fuzzer.backend.allow
    monkeypatch.setattr(fuzzer.backend, "allow", lambda rights: allow(np.zeros_like(rights)))
    with pytest.raises(Wrong, match="without the right"):
        fuzzer.run(1)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda what: what.errors.add((3, 0)), "the oracle refuses"),
        (lambda what: what.spans.clear(), "no instruction writes"),
        (lambda what: setattr(what, "cycles", 20), "no interrupt"),
    ],
)
def test_sees_what_must_not_be(fuzzer, monkeypatch, change, message):
    real = runner.verdict

    def other(case, config):
        what = real(case, config)
        change(what)
        return what

    monkeypatch.setattr(runner, "verdict", other)
    with pytest.raises(Wrong, match=message):
        fuzzer.run(1)


def test_update_with_momentum_after_one_without(fuzzer):
    """The words of the first do not reach the momentum of the second."""
    image, config = np.random.default_rng(SEED).integers(0, 256, fuzz.SIZE, np.uint8), fuzzer.config
    beats = 4
    words = beats * config.mem_bytes // config.row_bytes
    shape = dict(n_outer=1, n_inner=words, n_words=words, run_beats=beats, beta_m=1 << 14, shift_v=14)
    updates = [
        isa.instruction(Opcode.UPDATE, momentum=m, addr=4096 + 2048 * m, momentum_addr=4096 + 2048 * m + 1024, **shape)
        for m in (0, 1)
    ]
    program = [isa.encode(instr) for instr in (*updates, isa.instruction(Opcode.END))]
    image[: len(program) * isa.BYTES] = np.frombuffer(b"".join(program), np.uint8)
    fuzzer.check(Case("valid", image, 0, program, (0, 0, 0, 0), [(0, 8192, reg.READ | reg.WRITE)]), 1, lambda *_: None)
    assert fuzzer.tally["valid: compared with the model"] == 1
