# SPDX-License-Identifier: Apache-2.0
"""`gradcore regs`: each format says what the register map says. The C header: test_c_header.py."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from gradcore.files.places import ROOT
from gradcore.isa import registers as reg
from tb.model.cli.test_cli import gradcore, refused
from tb.support.register_map import words

WORDS = words()


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regs") / "new"
    done = gradcore("regs", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        str(folder / name) for name in ("gradcore_regs.h", "gradcore_regs.xml", "html", "gradcore_regs")
    ]
    return folder


def test_ip_xact(out):
    def text(node, name, default=None):
        return node.findtext(f"{{*}}{name}", default)

    def registers(block, path="", base=0):
        for node in block:
            name, place = text(node, "name"), base + int(text(node, "addressOffset", "'h0")[2:], 16)
            if node.tag.endswith("}register"):
                yield (
                    path + name,
                    place,
                    [
                        tuple(int(text(bits, key)) for key in ("bitOffset", "bitWidth"))
                        for bits in node.iterfind("{*}field")
                    ],
                )
            elif node.tag.endswith("}registerFile"):
                for n in range(count := int(text(node, "dim", "1"))):
                    index = f"[{n}]" if count > 1 else ""
                    yield from registers(node, f"{path}{name}{index}.", place + n * int(text(node, "range")[2:], 16))

    block = ET.parse(out / "gradcore_regs.xml").getroot().find(".//{*}addressBlock")
    assert list(registers(block)) == [
        (word.path, offset, [(bits.low, bits.width) for bits in word.bits]) for offset, word in WORDS.items()
    ]


def test_python_package(out):
    """Its registers and fields through callbacks; the last one written is that of the map."""
    program = "\n".join(
        [
            "from gradcore_regs.lib import NormalCallbackSet",
            "from gradcore_regs.reg_model.gradcore_regs import gradcore_regs_cls",
            "memory = {}",
            "def read(addr, width, accesswidth): return memory.get(addr, 0)",
            "def write(addr, width, accesswidth, data): memory[addr] = data",
            "m = gradcore_regs_cls(callbacks=NormalCallbackSet(read_callback=read, write_callback=write))",
            *(f"print(m.{word.path}.address)" for word in WORDS.values()),
            "m.CTRL.stop.write(1)",
            "m.WINDOW[3].end.high.write(0x1234)",
            "print(memory)",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *offsets, memory = done.stdout.splitlines()
    assert list(map(int, offsets)) == list(WORDS)
    assert memory == str({reg.CTRL: reg.STOP, reg.WINDOW + 3 * reg.WINDOW_BYTES + 12: 0x1234})


def test_pages(out):
    assert (out / "html" / "index.html").is_file()
    assert "DECERR" in "".join(
        page.read_text() for page in (out / "html").rglob("*") if page.suffix in (".html", ".js", ".json")
    )


def test_parameter_and_refusals(tmp_path):
    done = gradcore("regs", "--out", tmp_path, "--addr-w", 33)
    assert done.returncode == 0 and re.search(r"GC_PROG_BASE_HIGH +0x1u ", (tmp_path / "gradcore_regs.h").read_text())
    done = gradcore("regs", "--out", tmp_path, "--addr-w", 32)
    header = (tmp_path / "gradcore_regs.h").read_text()
    assert done.returncode == 0 and re.findall(r"define GC_REG_(\w+)_HIGH", header) == ["LOSS"], (
        "no high words of addresses"
    )
    (tmp_path / "file").touch()
    refused(gradcore("regs", "--out", tmp_path / "file"), "--out", "file")
    for width in (31, 49):
        refused(gradcore("regs", "--out", tmp_path, "--addr-w", width), "--addr-w")


def test_without_peakrdl():
    program = (
        "import sys; sys.modules['peakrdl_html'] = None; from gradcore.cli.main import run; sys.exit(run(['regs']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "model")),
    )
    assert done.returncode == 3 and done.stderr.startswith("error: peakrdl_html is not installed: pip install ")


def test_a_failed_write_leaves_the_old_files(tmp_path, monkeypatch):
    from gradcore.files.atomic import FileError
    from gradcore.isa import register_map

    top = register_map.elaborate(ADDR_W=48)
    first, second = (sorted(path.name for path in register_map.write_all(top, tmp_path)) for _ in range(2))
    assert first == second == sorted(os.listdir(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(register_map.PythonExporter, "export", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        register_map.write_all(top, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
