# SPDX-License-Identifier: Apache-2.0
"""slang as a linter for Verilog files: ``python -m tb.support.slang FILE...``, exit code 1 on any finding."""

import sys

import pyslang.driver


def main() -> int:
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    arguments = "slang --std 1364-2005 -Wextra -Wconversion -Werror " + " ".join(sys.argv[1:])
    if not driver.parseCommandLine(arguments, pyslang.driver.CommandLineOptions()):
        return 2
    if not driver.processOptions() or not driver.parseAllSources():
        return 1
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, False)
    ok = driver.reportDiagnostics(False)
    return 0 if ok else 1


sys.exit(main())
