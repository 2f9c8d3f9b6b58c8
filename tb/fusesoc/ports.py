# SPDX-License-Identifier: Apache-2.0
"""Ports of a Verilog top as `ci/package` reads them."""

from tb.ci.scripts import script

package = script("package")


def ports_of(name, file):
    """Ports of the module `name` of a file, by name."""
    return {p.name: p for p in package.read_top(name, file).ports}
