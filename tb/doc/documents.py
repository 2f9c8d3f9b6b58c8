# SPDX-License-Identifier: Apache-2.0
"""The documents of the repository as text: their code, their tables, the commands and names in them."""

import re
from dataclasses import dataclass
from pathlib import Path

from gradcore.files.places import ROOT

DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tb/support/README.md")]
DOCUMENTS += [
    file
    for pattern in ("doc/*.md", "doc/site/*.md", "rtl/*/README.md", "examples/*/README.md", "boards/*/README.md")
    for file in sorted(ROOT.glob(pattern))
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
COMMANDS = {
    "make",
    "python",
    "build/venv/bin/python",
    "gradcore",
    "fusesoc",
    "pip",
    "vivado",
    "qsys-script",
    "cd",
    "export",
}


@dataclass(frozen=True)
class Command:
    """A command of a document: the words as a shell takes them, without settings of the environment."""

    document: str
    words: tuple

    def __str__(self):
        return f"{self.document}: {' '.join(self.words)}"


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def prose(text: str) -> str:
    """A document without its fenced code."""
    return FENCE.sub("", text)


def quoted(text: str) -> list:
    """What stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", prose(text))


def rows(text: str) -> list:
    """The rows of all tables as lists of cells; a table's first row is its heading."""
    lines = [line for line in prose(text).splitlines() if line.startswith("|") and not re.fullmatch(r"[|:\s-]+", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _command(file: Path, line: str) -> Command | None:
    """The command of a line that may begin with $ and settings and end in a remark; None if it is none."""
    line = re.sub(r"\s+#.*", "", line.removeprefix("$ ").strip()).replace("[", "").replace("]", "")
    words = line.split()
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    script = words and re.fullmatch(r"ci/\w+", words[0])
    if not (script or words[:2] == ["..", "-m"] or len(words) > 1 and words[0] in COMMANDS):
        return None
    if words[0] == "build/venv/bin/python" or words[:2] == ["..", "-m"]:
        words[0] = "python"
    if words[:3] == ["python", "-m", "gradcore"]:
        words = words[2:]
    if words[0] == "python" and len(words) > 1 and words[1].startswith("ci/"):
        words = words[1:]
    return Command(name_of(file), tuple(word.strip("'") for word in words))


def commands() -> list:
    """Every command in code without a language, in indented lines and between backticks; each once."""
    found = {}
    for file in DOCUMENTS:
        text = file.read_text()
        lines = [line for language, block in FENCE.findall(text) if not language for line in block.splitlines()]
        lines += [line for line in prose(text).splitlines() if line.startswith("    ")] + quoted(text)
        found |= {str(command): command for command in (_command(file, line) for line in lines) if command}
    return list(found.values())
