# SPDX-License-Identifier: Apache-2.0
"""The site of `make docs`."""

import os
import re
import subprocess
import sys
from pathlib import Path

from gradcore.files.places import ROOT


def make(source: Path, out: Path) -> subprocess.CompletedProcess:
    """As the Makefile does it."""
    (command,) = re.findall(
        r"^\t\$\(PY\) (-m sphinx .*) -c doc/site \. build/docs$", (ROOT / "Makefile").read_text(), re.M
    )
    words = [
        sys.executable,
        *command.split(),
        "-c",
        source / "doc" / "site",
        "-d",
        out / "doctrees",
        source,
        out / "html",
    ]
    env = os.environ | {"PYTHONPATH": str(ROOT / "model")}
    return subprocess.run(words, capture_output=True, text=True, env=env, timeout=600)
