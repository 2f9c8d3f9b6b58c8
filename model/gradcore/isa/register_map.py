# SPDX-License-Identifier: Apache-2.0
"""The register map, rtl/engine/gradcore_regs.rdl, elaborated and written in other formats. Needs PeakRDL; nothing else
here needs this module."""

from pathlib import Path
from tempfile import TemporaryDirectory

from peakrdl_html import HTMLExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_python import PythonExporter
from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode

from gradcore.files.atomic import FileError, make_folder
from gradcore.files.places import ROOT
from gradcore.isa.c_header import c_header

SOURCE = ROOT / "rtl" / "engine" / "gradcore_regs.rdl"


def elaborate(**parameters: int) -> AddrmapNode:
    """The top node of the map; `parameters` are ADDR_W and WINDOWS."""
    compiler = RDLCompiler()
    compiler.compile_file(str(SOURCE))
    return compiler.elaborate(SOURCE.stem, parameters={**parameters}).top


def write_all(top: AddrmapNode, out: Path) -> list[Path]:
    """C header, IP-XACT, HTML pages and a Python package in the folder `out`; returns their paths. All are made
    elsewhere first: what fails leaves the old ones. Raises FileError."""
    names = f"{SOURCE.stem}.h", f"{SOURCE.stem}.xml", "html", SOURCE.stem
    make_folder(out)
    try:
        with TemporaryDirectory(prefix=".regs.", dir=out) as folder:
            header, ipxact, html, package = made = [Path(folder) / name for name in names]
            header.write_text(c_header(top, SOURCE.name))
            IPXACTExporter(vendor="gradcore", library="ip", version="0.1.0").export(top, str(ipxact))
            HTMLExporter().export(top, str(html))
            PythonExporter().export(top, str(package.parent), skip_test_case_generation=True)
            for path in made:
                if path.is_dir() and (out / path.name).exists():
                    (out / path.name).replace(Path(folder) / f"{path.name}.old")
                path.replace(out / path.name)
    except OSError as error:
        raise FileError(out, f"cannot be written: {error.strerror}") from error
    return [out / name for name in names]
