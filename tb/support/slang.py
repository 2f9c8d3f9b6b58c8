# SPDX-License-Identifier: Apache-2.0
"""slang as a linter for Verilog files: ``python -m tb.support.slang FILE...``, exit code 1 on any finding. The files
are read as Verilog-2005 and once more as what slang takes them for by default,
SystemVerilog; the first to find something speaks."""

import sys

import pyslang.driver


def findings(standard: str) -> int:
    """0: none, 1: some, printed, 2: wrong arguments."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    arguments = f"slang {standard} -Wextra -Wconversion -Werror {' '.join(sys.argv[1:])}"
    if not driver.parseCommandLine(arguments, pyslang.driver.CommandLineOptions()):
        return 2
    if not driver.processOptions() or not driver.parseAllSources():
        return 1
    driver.reportCompilation(driver.createCompilation(), False)
    return 0 if driver.reportDiagnostics(False) else 1


sys.exit(findings("--std 1364-2005") or findings(""))
