# SPDX-License-Identifier: Apache-2.0
"""gradcore.isa.registers and doc/registers.md say what rtl/engine/gradcore_regs.rdl says."""

import os
import random
import re
import subprocess
import sys

from gradcore import __version__
from gradcore.files.places import ROOT
from gradcore.isa import registers as reg
from gradcore.isa.config import LEGAL, EngineConfig
from gradcore.isa.instruction import ENGINES
from gradcore.isa.register_map import elaborate
from tb.support.register_map import words

DOCUMENT = (ROOT / "doc" / "registers.md").read_text()
WORDS = words()
OFFSETS = {word.path: offset for offset, word in WORDS.items()}
CODES = {
    code.value: code.rdl_name for code in elaborate().find_by_path("ERROR.code").get_property("encode") if code.value
}
SINGLE = (
    "ID",
    "VERSION",
    "CONFIG",
    "CONFIG2",
    "CTRL",
    "STATUS",
    "IRQ_ENABLE",
    "ERROR",
    "SEED",
    "PROG_LENGTH",
    "IRQ_STATUS",
    "WATCHDOG",
    "CONFIG3",
    "LOCK",
    "RATE",
)
WIDE = {
    "PROG_BASE": reg.PROG_BASE,
    "LOSS": reg.LOSS,
    "ERROR_ADDR": reg.ERROR_ADDR,
    **{f"BASE[{n}]": offset for n, offset in enumerate(reg.BASE)},
}
WINDOWS = range(4)


def field(path, name):
    return next(bits for bits in WORDS[OFFSETS[path]].bits if bits.name == name)


def counter(name):
    """Path of a counter of the package; load.busy is COUNTERS.load.busy, but compute.mac_busy
    COUNTERS.compute_mac_busy."""
    flat = f"COUNTERS.{name.replace('.', '_')}"
    return flat if f"{flat}.low" in OFFSETS else f"COUNTERS.{name}"


def test_names_and_offsets_of_the_package():
    mine = {name: getattr(reg, name) for name in SINGLE}
    wide = WIDE | {counter(name): reg.COUNTERS + 8 * index for index, name in reg.COUNTER_NAMES.items()}
    wide |= {
        f"WINDOW[{n}].{part}": reg.WINDOW + reg.WINDOW_BYTES * n + place
        for n in WINDOWS
        for part, place in (("base", 0), ("end", 8))
    }
    for path, offset in wide.items():
        mine |= {path + ".low": offset, path + ".high": offset + 4}
    assert mine == OFFSETS


def test_bits_and_values_of_the_package():
    mine = {
        ("CTRL", "start"): reg.START,
        ("CTRL", "stop"): reg.STOP,
        ("STATUS", "busy"): reg.BUSY,
        ("STATUS", "done"): reg.DONE,
        ("CTRL", "force"): reg.FORCE,
        ("CTRL", "scrub"): reg.SCRUB,
        ("STATUS", "failed"): reg.FAILED,
        ("STATUS", "gradient_overflow"): reg.GRAD_OVERFLOW,
        ("STATUS", "bus_open"): reg.BUS_OPEN,
        ("STATUS", "locked_write"): reg.LOCKED_WRITE,
        ("LOCK", "windows"): reg.LOCK_WINDOWS,
        ("CONFIG3", "has_vector"): reg.HAS_VECTOR,
        ("CONFIG3", "has_softmax"): reg.HAS_SOFTMAX,
        ("CONFIG3", "has_factor"): reg.HAS_FACTOR,
    }
    for name in ("IRQ_ENABLE", "IRQ_STATUS"):
        mine |= {(name, "done"): reg.IRQ_DONE, (name, "failed"): reg.IRQ_FAILED}
    mine |= {
        (f"WINDOW[{n}].base.low", name): bit
        for n in WINDOWS
        for name, bit in (("read", reg.READ), ("write", reg.WRITE))
    }
    flags = [(word.path, bits) for word in WORDS.values() for bits in word.bits if bits.kind != "const"]
    assert {(path, bits.name): bits.mask for path, bits in flags if bits.width == 1} == mine | {
        (path, bits.name): 1 << bits.low for path, bits in flags if path.endswith(".high") and bits.width == 1
    }
    resets = {name: {bits.name: bits.reset for bits in WORDS[OFFSETS[name]].bits} for name in ("ID", "VERSION")}
    assert resets["ID"]["value"] == reg.ID_VALUE
    assert sum(bits.reset << bits.low for bits in WORDS[reg.VERSION].bits) == reg.VERSION_VALUE
    assert __version__ == "{major}.{minor}.{patch}".format(**resets["VERSION"])
    assert CODES == reg.ERRORS


def test_windows_of_the_package():
    for n in WINDOWS:
        first, end, rights = random.getrandbits(36) << 12, random.getrandbits(36) << 12, random.randrange(4)
        base, behind = f"WINDOW[{n}].base", f"WINDOW[{n}].end"
        wanted = {
            base + ".low": (first >> 12 & 0xFFFFF) << field(base + ".low", "address").low
            | (rights & reg.READ > 0) << field(base + ".low", "read").low
            | (rights & reg.WRITE > 0) << field(base + ".low", "write").low,
            base + ".high": first >> 32,
            behind + ".low": (end >> 12 & 0xFFFFF) << field(behind + ".low", "address").low,
            behind + ".high": end >> 32,
        }
        assert reg.window(n, first, end, rights) == {OFFSETS[path]: value for path, value in wanted.items()}


def test_configuration_of_the_package():
    drawn = {
        name: random.choice(LEGAL[name])
        for name in LEGAL
        if name.endswith("_depth") or name.startswith("has_") or name == "mem_bytes"
    }
    config = EngineConfig(data_width=random.choice(range(8, 17)), acc_width=random.randint(36, 48), **drawn)
    values = {
        "CONFIG": {
            "grid": config.grid,
            "cols": config.cols,
            "dw": config.data_width,
            "beat": config.mem_bytes.bit_length() - 1,
        },
        "CONFIG2": {name: getattr(config, f"{name}_depth").bit_length() - 1 for name in ("act", "wgt", "grad", "gate")},
        "CONFIG3": {"acc_w": config.acc_width, "windows": len(WINDOWS)}
        | {name: getattr(config, name) for name in ("has_vector", "has_softmax", "has_factor")},
    }
    assert config.config_registers == tuple(
        sum(fields[bits.name] << bits.low for bits in WORDS[OFFSETS[name]].bits) for name, fields in values.items()
    )


def test_the_driver_needs_numpy_alone():
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in sys.stdlib_module_names | {"numpy", "gradcore"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import gradcore.compiler, gradcore.host.device, gradcore.host.linux, gradcore.isa.registers
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "model")),
    )
    assert done.returncode == 0, done.stderr


def rows(pattern):
    return re.findall(rf"^\| {pattern}\| (r|w|rw) \| (.+) \|$", DOCUMENT, re.M)


def says(word, access, text):
    """A row's access is that of the register, and it names every field with its place; one whole field may go
    without."""
    assert access == word.access
    places = re.findall(r"\[(\d+)(?::(\d+))?\] ([^\[]+)", text)
    named = {(int(low or high), int(high)): meaning.lower() for high, low, meaning in places}
    if not places:
        assert [bits.low for bits in word.bits] == [0] and word.bits[0].name == "value", word.path
        return
    assert {(bits.low, bits.low + bits.width - 1) for bits in word.bits} == set(named), word.path
    for bits in word.bits:
        meaning = named[bits.low, bits.low + bits.width - 1]
        assert bits.name in meaning or bits.name.replace("_", " ") in meaning, (
            f"{word.path}: {bits.name} is not in {meaning!r}"
        )


def test_registers_of_the_document():
    found, last = {}, ""
    for offset, name, access, text in rows(r"(0x\w\w) \| (?:`(\w+)` )?"):
        path = re.sub(r"^BASE(\d)$", r"BASE[\1]", name)
        path = path if path in OFFSETS else f"{path}.low" if name else last.replace(".low", ".high")
        found[path], last = int(offset, 16), path
        says(WORDS[OFFSETS[path]], access, text)
    assert found == {path: offset for path, offset in OFFSETS.items() if not path.startswith(("WINDOW", "COUNTERS"))}


def test_windows_of_the_document():
    found = {}
    for n in WINDOWS:
        last = ""
        for offset, name, access, text in rows(r"0x(\w\w) \+ 16n \| (?:(\w+) )?"):
            path = f"WINDOW[{n}].{name}.low" if name else last.replace(".low", ".high")
            found[path], last = int(offset, 16) + 16 * n, path
            says(WORDS[OFFSETS[path]], access, text)
    assert found == {path: offset for path, offset in OFFSETS.items() if path.startswith("WINDOW")}


def test_what_a_reset_leaves():
    """Zero everywhere but in the words that the document names."""
    sentence = re.search(
        r"After\sa reset everything reads as zero but (ID), (VERSION), the three (CONFIG) and (RATE)\.", DOCUMENT
    )
    others = {path for path in OFFSETS if re.match("|".join(sentence.groups()), path)}
    assert others == {"ID", "VERSION", "CONFIG", "CONFIG2", "CONFIG3", "RATE"}
    resets = {bits.reset for word in WORDS.values() for bits in word.bits if word.path not in others}
    assert resets == {0}


def test_counters_and_errors_of_the_document():
    found = {name: int(offset, 16) for offset, name in re.findall(r"^\| (0x\w{3}) \| `([a-z._]+)` \|", DOCUMENT, re.M)}
    head = re.search(r"^\| cause \|(.*)\|$", DOCUMENT, re.M)[1]
    assert re.findall(r"`(\w+)`", head) == list(ENGINES)
    for cause, cells in re.findall(r"^\| `(busy|idle|wait_\w+)` \|(.*)\|$", DOCUMENT, re.M):
        found |= {f"{engine}.{cause}": int(cell, 16) for engine, cell in zip(ENGINES, cells.split("|"), strict=True)}
    assert {counter(name) + ".low": offset for name, offset in found.items()} == {
        path: offset for path, offset in OFFSETS.items() if re.match(r"COUNTERS.*low", path)
    }
    assert {int(code): text for code, text in re.findall(r"^\| (\d+) \| (.+) \|$", DOCUMENT, re.M)} == CODES
