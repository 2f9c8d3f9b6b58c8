#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a Yosys script, line by line; a line that begins with abc9 runs on one module at a time, with black boxes for the modules in it.

Yosys 0.70 goes through the whole design before and after each module that abc9 maps, so that its time grows with modules times cells; the results
are the same. The native library of Yosys is used because the WebAssembly build, which lint and proofs run, ends at 4 GB of memory: the
engine with 64 columns takes more. Usage: yosys_script.py FILE, the list of modules goes to FILE.modules.
"""

import sys
from pathlib import Path

from pyosys import libyosys


def module_by_module(command: str, listing: Path) -> None:
    libyosys.run_pass(f"tee -q -o {listing} select -list-mod")
    libyosys.run_pass("design -stash whole")
    for name in listing.read_text().split():
        libyosys.run_pass(f"design -copy-from whole {name} {name}/c:* %M =A:blackbox =A:whitebox")
        libyosys.run_pass(f"blackbox {name}/c:* %M")
        libyosys.run_pass(command)
        libyosys.run_pass(f"design -copy-to whole {name}")
        libyosys.run_pass("design -reset")
    libyosys.run_pass("design -load whole")


def main() -> None:
    file = Path(sys.argv[1])
    for line in filter(None, file.read_text().splitlines()):
        if line.startswith("abc9"):
            module_by_module(line, file.with_suffix(".modules"))
        else:
            libyosys.run_pass(line)


if __name__ == "__main__":
    main()
