# SPDX-License-Identifier: Apache-2.0
"""Run a Yosys script, line by line; a line that begins with abc9 runs on each module by itself, in a process of its
own, with black boxes for the modules in it.

Yosys 0.70 goes through the whole design before and after each module that abc9 maps, so that its time grows with
modules times cells. The cells are nearly the same: of operand_buffer 18 674 LUTs, mapped as a whole 18 677. Usage:
yosys_script.py FILE; the parts go to a folder FILE.parts.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyosys import libyosys

LIBRARIES = (
    "-lib -specify +/xilinx/cells_sim.v",
    "-lib +/xilinx/cells_xtra.v",
    "-icells -lib -specify +/xilinx/abc9_model.v",
)


def run(*commands: str) -> None:
    for command in commands:
        libyosys.run_pass(command)


def map_parts(command: str, folder: Path) -> None:
    """Write each module with those in it, let a process map it, read the results."""
    folder.mkdir(exist_ok=True)
    run(f"tee -q -o {folder / 'modules'} select -list-mod")
    names = (folder / "modules").read_text().split()
    for number, name in enumerate(names):
        run(f"select {name} {name}/c:* %M", f"write_rtlil -selected {folder / str(number)}.il")
    run("select -clear")

    def part(number: int) -> str:
        """What Yosys said, if it failed."""
        done = subprocess.run(
            [sys.executable, __file__, folder, str(number), names[number], command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.stdout if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        failed = next(filter(None, workers.map(part, range(len(names)))), None)
    if failed:
        sys.exit(failed)
    for number in range(len(names)):
        run(f"read_rtlil -overwrite {folder / str(number)}.out.il")
    shutil.rmtree(folder)


def map_part(folder: Path, number: str, name: str, command: str) -> None:
    run(
        *(f"read_verilog {library}" for library in LIBRARIES),
        f"read_rtlil {folder / number}.il",
        f"blackbox {name}/c:* %M",
        command,
    )
    run(f"select {name}", f"write_rtlil -selected {folder / number}.out.il")


def main() -> None:
    if len(sys.argv) > 2:
        return map_part(Path(sys.argv[1]), *sys.argv[2:])
    file = Path(sys.argv[1])
    for line in filter(None, file.read_text().splitlines()):
        if line.startswith("abc9"):
            map_parts(line, file.with_suffix(".parts"))
        else:
            run(line)


if __name__ == "__main__":
    main()
