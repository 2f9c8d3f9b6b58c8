# SPDX-License-Identifier: Apache-2.0
"""Random programs for the compiled engine and what must become of them.

A case (memory, program, windows, BASE registers) follows from the engine, the seed and its number alone. Three kinds:
*valid* (compiled training programs of tiny networks, random transfers, programs of tb.support.handmade; every defined
byte of the DRAM is known from the instruction-level model), *mutated* (some bits, fields, instructions, tokens, windows
of a valid one changed), *garbage*. One of eight of them meets a fault (`faults`). `verdict` says from the documents,
not from the RTL, whether a program completes or which (error, instruction) may end it. `Fuzzer.run` runs one case and
compares.
"""

from tb.support.fuzz.case import ENGINES, SIZE, Case, serial
from tb.support.fuzz.faults import Wrong
from tb.support.fuzz.fuzzer import Fuzzer, make, write

__all__ = ["ENGINES", "SIZE", "Case", "Fuzzer", "Wrong", "make", "serial", "write"]
