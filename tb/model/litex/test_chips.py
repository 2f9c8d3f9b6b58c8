# SPDX-License-Identifier: Apache-2.0
"""The simulated DDR3 chips, by random commands at their DFI beside a model in Python: which beat is read and written in
which cycle, and that a bank without an open row is noticed."""

import random

import pytest
from migen import run_simulation

from gradcore.litex.chips import Chips, ddr3
from tb.support.cases import seeds

COLUMN_BITS, ALIGN, ROW_BITS = 10, 3, 15
A10 = 1 << 10


class Model:
    """Commands as (phase, kind, bank, address), and what the chips show for them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rows = {}

    def commands(self):
        """Of one cycle: one of rows, one of columns, in different phases."""
        first, second = self.random.sample(range(4), 2)
        bank, found, free = self.random.randrange(8), [], [b for b in range(8) if b not in self.rows]
        if free and self.random.random() < 0.7:
            found.append((first, "activate", self.random.choice(free), self.random.randrange(1 << ROW_BITS)))
        elif self.random.random() < 0.3:
            found.append((first, "precharge", bank, self.random.choice([0, A10])))
        if self.rows and self.random.random() < 0.8:
            bank = self.random.choice(sorted(self.rows))
            column = self.random.randrange(0, 1 << COLUMN_BITS, 1 << ALIGN)
            kind = self.random.choice(["read", "write"])
            if not any(other == bank or address == A10 and name == "precharge" for _, name, other, address in found):
                found.append((second, kind, bank, column | self.random.choice([0, A10])))
        return found

    def follow(self, commands):
        """(read beat or None, written beat or None) of commands, which change the open rows."""
        beats = {"read": None, "write": None}
        for _, kind, bank, address in commands:
            if kind in beats:
                column = (address & (1 << COLUMN_BITS) - 1) >> ALIGN
                beats[kind] = (self.rows[bank] << 3 | bank) << COLUMN_BITS - ALIGN | column
                if address & A10:
                    del self.rows[bank]
            elif kind == "activate":
                self.rows[bank] = address
            elif address & A10:
                self.rows.clear()
            else:
                self.rows.pop(bank, None)
        return beats["read"], beats["write"]


def drive(phase, kind=None, bank=0, address=0):
    """The pins of a phase: a command, or none."""
    yield phase.cs_n.eq(kind is None)
    yield phase.ras_n.eq(kind not in ("activate", "precharge"))
    yield phase.cas_n.eq(kind not in ("read", "write"))
    yield phase.we_n.eq(kind not in ("write", "precharge"))
    yield phase.bank.eq(bank)
    yield phase.address.eq(address)


def together(signals):
    """The values of signals in one word, the first one lowest."""
    word, at = 0, 0
    for signal in signals:
        value = yield signal
        word, at = word | value << at, at + len(signal)
    return word


@pytest.mark.parametrize("width", [64, 128, 256, 512])
@pytest.mark.parametrize("seed", seeds(3, 1))
def test_beats_and_latencies(width, seed):
    chips = Chips(*ddr3(width))
    settings, model = chips.settings, Model(seed)
    reads, writes, given = {}, {}, {}

    def bench():
        for cycle in range(400):
            commands = model.commands()
            for number, phase in enumerate(chips.dfi.phases):
                (command,) = [c[1:] for c in commands if c[0] == number] or [()]
                yield from drive(phase, *command)
                yield phase.wrdata.eq(model.random.getrandbits(len(phase.wrdata)))
            reads[cycle], writes[cycle + settings.write_latency] = model.follow(commands)
            given[cycle] = model.random.getrandbits(width)
            yield chips.s_data.eq(given[cycle])
            yield
            # What was driven shows now, in cycle `cycle`.
            read = yield chips.m_read
            beat = yield chips.m_read_beat
            assert (beat if read else None) == reads[cycle]
            write = yield chips.m_write
            beat = yield chips.m_write_beat
            assert (beat if write else None) == writes.get(cycle)
            data = yield from together(phase.wrdata for phase in chips.dfi.phases)
            assert data == (yield chips.m_data)
            if cycle >= settings.read_latency:
                word = yield from together(phase.rddata for phase in chips.dfi.phases)
                assert word == given[cycle - settings.read_latency]
            assert not (yield chips.bad)

    run_simulation(chips, bench())
    assert sum(beat is not None for beat in reads.values()) > 50 < sum(beat is not None for beat in writes.values())


CLOSED = {
    "never opened": [],
    "precharge": [("activate", 3, 5), ("precharge", 3, 0)],
    "precharge of all": [("activate", 3, 5), ("activate", 4, 6), ("precharge", 4, A10)],
    "precharge behind a read": [("activate", 3, 5), ("read", 3, 8 | A10)],
    "precharge behind a write": [("activate", 3, 5), ("write", 3, 8 | A10)],
}


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("how", CLOSED)
def test_a_closed_bank(kind, how):
    chips = Chips(*ddr3(64))

    def bench():
        for step in CLOSED[how]:
            yield from drive(chips.dfi.phases[1], *step)
            yield
        yield from drive(chips.dfi.phases[1])
        yield
        assert not (yield chips.bad)
        yield from drive(chips.dfi.phases[1], kind, 3, 8)
        yield
        yield from drive(chips.dfi.phases[1])
        yield
        yield
        assert (yield chips.bad)

    run_simulation(chips, bench())
