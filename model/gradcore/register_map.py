# SPDX-License-Identifier: Apache-2.0
"""The register map, rtl/engine/gradcore_regs.rdl, elaborated and written in other formats. Needs PeakRDL; nothing else here needs this module."""

from pathlib import Path

from peakrdl_html import HTMLExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_python import PythonExporter
from systemrdl import RDLCompiler

from gradcore.c_header import c_header
from gradcore.sources import ROOT

SOURCE = ROOT / "rtl" / "engine" / "gradcore_regs.rdl"


def elaborate(**parameters):
    """The top node of the map; `parameters` are ADDR_W and WINDOWS."""
    compiler = RDLCompiler()
    compiler.compile_file(str(SOURCE))
    return compiler.elaborate(SOURCE.stem, parameters=parameters).top


def write_all(top, out: Path) -> list:
    """C header, IP-XACT, HTML pages and a Python package in the folder `out`; returns their paths."""
    header, ipxact, html, package = paths = [out / name for name in (f"{SOURCE.stem}.h", f"{SOURCE.stem}.xml", "html", SOURCE.stem)]
    out.mkdir(parents=True, exist_ok=True)
    header.write_text(c_header(top, SOURCE.name))
    IPXACTExporter(vendor="gradcore", library="ip", version="0.1.0").export(top, str(ipxact))
    HTMLExporter().export(top, str(html))
    PythonExporter().export(top, str(package.parent), skip_test_case_generation=True)
    return paths
