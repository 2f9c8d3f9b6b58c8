# SPDX-License-Identifier: Apache-2.0
"""A Tcl interpreter for the vendors' scripts: it knows the commands it is given, records their calls, and any other
command is an error."""

from functools import partial

import pytest

tkinter = pytest.importorskip("tkinter", reason="Python without Tcl (Debian: apt-get install python3-tk)")
Error = tkinter.TclError


def bits_of(ports) -> dict:
    """Ports by the names of their bits: a vector is named bit by bit, of a port of one bit the vendors' tools show no
    index."""
    return {bit: p for p in ports for bit in ([p.name] if p.width == 1 else [f"{p.name}[{i}]" for i in range(p.width)])}


class Interpreter:
    def __init__(self, commands):
        """`commands`: names, or a dictionary of functions that answer. Without a function the answer is a name of its
        own for each call."""
        self.tcl, self.calls, self.functions = (
            tkinter.Tcl(),
            [],
            dict.fromkeys(commands) | (commands if isinstance(commands, dict) else {}),
        )
        self.tcl.eval("namespace eval ipx {}")
        for name in self.functions:
            self.tcl.createcommand(name, partial(self._call, name))

    def _call(self, name, *arguments):
        self.calls.append((name, *map(str, arguments)))
        function = self.functions[name]
        return function(*map(str, arguments)) if function else f"{name}#{len(self.calls)}"

    def source(self, file):
        self.tcl.call("source", str(file))

    def split(self, text) -> list:
        return [str(word) for word in self.tcl.splitlist(text)]

    def of(self, *start) -> list:
        """Arguments behind `start` of the calls that begin with it."""
        return [call[len(start) :] for call in self.calls if call[: len(start)] == start]
