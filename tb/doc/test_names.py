# SPDX-License-Identifier: Apache-2.0
"""Names in documents and in the comments of the Verilog exist: modules, ports, Python names, files."""

import importlib
import re

from gradcore.files.places import ROOT
from tb.doc.documents import DOCUMENTS, name_of, quoted

FOLDERS = "rtl|tb|ci|doc|model|formal|constraints|examples|boards"
VERILOG = [file for folder in FOLDERS.split("|") for file in sorted((ROOT / folder).rglob("*.v"))]
PORT = re.compile(r"\b(?:input|output|inout)\s+(?:wire|reg)?\s*(?:signed\s*)?(?:\[[^\]]*\]\s*)*(\w+)")
PORT_NAME = re.compile(r"(?<![\w.])(?:s|m|cfg|sts)_\w*[a-z0-9]\b(?!\*|_\*|\.)")
MODULE_NAME = re.compile(r"(?<![\w.])gc_\w+\b(?![\w.]*\.)")


def ports() -> dict:
    """Ports by module; the core's own before a stand-in of the same name."""
    found = {}
    for file in VERILOG:
        for name, body in re.findall(r"^module\s+(\w+)(.*?)^endmodule", file.read_text(), re.M | re.S):
            found.setdefault(name, set(PORT.findall(body)))
    return found


PORTS = ports()


def comment(text: str) -> str:
    """The comments of a file in one line each."""
    return "\n".join(re.findall(r"//(.*)", text))


def wrong_in_verilog(text: str) -> list:
    """Ports and modules that the comments of a file name and that do not exist.

    A port in the header belongs to the file's modules or to one named there; further down it may be any signal.
    """
    header, body = text[: text.index("\nmodule ")], text[text.index("\nmodule ") :]
    signals = set(re.findall(r"\b\w+\b", re.sub(r"//.*", "", body)))
    wrong = []
    for part in (header, body):
        named = {*re.findall(r"^module\s+(\w+)", body, re.M), *re.findall(r"\bgc_\w+", part)}
        known = set().union(*(PORTS.get(name, ()) for name in named), signals if part is body else ())
        wrong += [name for name in PORT_NAME.findall(comment(part)) if name not in known]
    return wrong + [name for name in MODULE_NAME.findall(comment(text)) if name not in PORTS]


def test_comments_of_verilog():
    assert len(VERILOG) > 100
    assert {name_of(file): wrong for file in VERILOG if (wrong := wrong_in_verilog(file.read_text()))} == {}


def test_a_port_that_does_not_exist_goes_red():
    text = (ROOT / "rtl" / "engine" / "control" / "gc_supervisor.v").read_text()
    text = text.replace("// Runs a program", "// m_abrot, gc_superviser: s_quiet")
    assert wrong_in_verilog(text) == ["m_abrot", "gc_superviser"]


def python_names(text: str) -> list:
    return re.findall(r"\bgradcore(?:\.[A-Za-z_]\w*)+", text)


def missing(dotted: str) -> bool:
    """Whether a dotted name is neither a module nor an attribute of one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            if not hasattr(found, part):
                return True
            found = getattr(found, part)
        return False
    return True


def test_python_names():
    texts = {name_of(file): comment(file.read_text()) for file in VERILOG}
    texts |= {name_of(file): " ".join(quoted(file.read_text())) for file in DOCUMENTS}
    assert {(file, name) for file, text in texts.items() for name in python_names(text) if missing(name)} == set()
    assert missing("gradcore.nothing") and missing("gradcore.numerics.fixed_point.nothing")


FUNCTIONS = set(re.findall(r"static inline \w+ (gc_\w+)", (ROOT / "rtl" / "engine" / "gradcore_regs.h").read_text()))


def wrong_in_document(file, text: str) -> list:
    """Modules, ports and paths between backticks that do not exist.

    A datasheet's ports are those of its core or of a module that it names, other documents' those of any module.
    """
    words = " ".join(quoted(text))
    own = {*(path.stem for path in file.parent.rglob("*.v")), *MODULE_NAME.findall(words)}
    known = set().union(*(PORTS.get(name, ()) for name in (own if ROOT / "rtl" in file.parents else PORTS)))
    wrong = [name for name in MODULE_NAME.findall(words) if name not in PORTS and name not in FUNCTIONS]
    known |= {port[:n] for port in known for n in range(len(port)) if port[n] == "_"}  # m_axi of m_axi_awaddr
    wrong += [name for name in PORT_NAME.findall(words) if name not in known]
    paths = re.findall(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./*-]*(?![\w<])", words)
    return wrong + [path for path in paths if not list(ROOT.glob(path))]


def wrong_links(file, text: str) -> list:
    """Relative links to what does not exist: a file, a heading of it."""
    wrong = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)", text):
        place = (file.parent / target).resolve() if target else file
        headings = re.findall(r"^#+ (.*)", place.read_text(), re.M) if place.is_file() else []
        anchors = {"#" + re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        if not place.exists() or anchor and anchor not in anchors:
            wrong.append(target + anchor)
    return wrong


def test_documents():
    texts = {file: file.read_text() for file in DOCUMENTS}
    wrong = {name_of(file): wrong_in_document(file, text) + wrong_links(file, text) for file, text in texts.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_wrong_document_goes_red():
    text = "`gc_no_module`, `m_acc`, `m_sum` and `tb/nowhere`, [a](b.md), [c](../../README.md#limits)"
    text += ", [d](../../README.md#limit)"
    file = ROOT / "rtl" / "mac_array" / "README.md"
    assert wrong_in_document(file, text) == ["gc_no_module", "m_sum", "tb/nowhere"]
    assert wrong_links(file, text) == ["b.md", "../../README.md#limit"]
