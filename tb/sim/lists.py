# SPDX-License-Identifier: Apache-2.0
"""Lists of sent and expected words for gc_tb_player, the bench of the cores' targets `sim`."""

import json
import os
import random

import numpy as np

from gradcore.files.places import ROOT
from tb.support.bits import pack


class List:
    """`sent` and `expected` name the fields of the two kinds of words with their bits, highest first, as in a bench.
    A value is an integer or a list of lanes, lane 0 lowest."""

    def __init__(self, sent: dict, expected: dict):
        self.sent, self.expected, self.lines = sent, expected, []
        self.digits = -(-max(sum(sent.values()), sum(expected.values())) // 4)

    def _line(self, command: int, fields: dict, values: dict) -> None:
        assert not set(values) - set(fields), f"no fields {set(values) - set(fields)}"
        word = 0
        for name, bits in fields.items():
            value = values.get(name, 0)
            value = int(value) if np.ndim(value) == 0 else pack(value, bits // len(value))
            word = word << bits | value & ((1 << bits) - 1)
        self.lines.append(f"{command}_{word:0{self.digits}x}")

    def send(self, **values) -> None:
        """One word; fields that are not given are zero."""
        self._line(1, self.sent, values)

    def expect(self, **values) -> None:
        """The next word that comes back."""
        self._line(2, self.expected, values)

    def idle(self, cycles: int = 1) -> None:
        """Nothing is sent for some cycles."""
        self.lines += ["0" + "0" * self.digits] * cycles

    def wait(self) -> None:
        """Until all that is expected so far has come."""
        self.lines.append("3" + "0" * self.digits)

    @property
    def text(self) -> str:
        head = ["// SPDX-License-Identifier: Apache-2.0", "// Written by ci/vectors."]
        return "".join(f"{line}\n" for line in [*head, *self.lines])


class drawn_from:
    """The same random numbers every time, and a bench's parameters where the generators of the cocotb tests look for
    them; both are put back."""

    def __init__(self, parameters: dict):
        self.parameters = parameters

    def __enter__(self):
        self.saved = random.getstate(), np.random.get_state(), os.environ.get("PARAMETERS")
        random.seed(1)
        np.random.seed(1)
        os.environ["PARAMETERS"] = json.dumps(self.parameters)

    def __exit__(self, *_):
        random.setstate(self.saved[0])
        np.random.set_state(self.saved[1])
        os.environ.pop("PARAMETERS")
        if self.saved[2] is not None:
            os.environ["PARAMETERS"] = self.saved[2]


def place(core: str):
    """The file of a core's list."""
    return ROOT / "rtl" / core / "sim" / f"gc_{core}_tb.hex"
