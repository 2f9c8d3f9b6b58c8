# SPDX-License-Identifier: Apache-2.0
"""Source files of a FuseSoC core: the one place that turns a core's name into files."""

import tempfile
from functools import cache
from pathlib import Path

from gradcore.files.places import ROOT


@cache
def sources(core: str, root: Path = ROOT, target: str = "default") -> tuple[Path, ...]:
    """Verilog files of ``gradcore:ip:<core>:0.1.0`` and everything it depends on, dependencies first. `target`: of that
    core.

    Raises RuntimeError when FuseSoC does not know the core.
    """
    from fusesoc.config import Config
    from fusesoc.fusesoc import Fusesoc
    from fusesoc.librarymanager import Library

    with tempfile.NamedTemporaryFile(suffix=".conf") as empty:
        library = Fusesoc(Config(empty.name))
    library.add_library(Library("gradcore", str(root)))
    try:
        top = library.get_core(f"gradcore:ip:{core}:0.1.0")
    except Exception as error:
        raise RuntimeError(f"FuseSoC finds no core gradcore:ip:{core}:0.1.0 below {root}: {error}") from error
    flags = {"is_toplevel": True, "target": target}
    files = []
    for part in library.cm.get_depends(top.name, flags):
        part_flags = {"is_toplevel": str(part.name) == str(top.name), "target": target}
        files += [
            Path(part.core_root) / f["name"]
            for f in part.get_files(part_flags)
            if f["file_type"].startswith("verilogSource")
        ]
    return tuple(files)


def core_names(root: Path = ROOT) -> list[str]:
    """Names of all IP cores in ``rtl/``, sorted."""
    return sorted(path.stem for path in (root / "rtl").glob("*/*.core"))
