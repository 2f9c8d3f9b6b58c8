# SPDX-License-Identifier: Apache-2.0
"""Waveforms of the datasheets, recorded from the bench of a core's target `sim` in Icarus Verilog.

ci/waves.json says what is shown: ports of an instance of the bench, `name ? valid` only while `valid` is not zero; the
window begins a cycle before `first` is first not zero, `after` cycles later (or earlier), and has `cycles`. Values are
those at the rising edge of the clock, in hexadecimal; of a wide port the last digits, which are lane 0."""

import json
import subprocess
import tempfile
from pathlib import Path

import wavedrom
from vcdvcd import VCDVCD

from gradcore.files.places import ROOT
from gradcore.sim.sources import sources
from tb.support.tools import tool_environment

SHOWN = json.loads((ROOT / "ci" / "waves.json").read_text())
DIGITS = 4  # of a value; of a longer one SHORT
SHORT = 2
LIMIT = 3000  # cycles in which every window has ended
EDGE, PERIOD = 5, 10  # first rising edge of the benches' clock, ns
RECORDER = """module recorder;
    initial begin
        $dumpfile("waves.vcd");
        $dumpvars(1, {bench}.{instance});
        #{limit} $finish;
    end
endmodule
"""
SKIN = '<rect width="100%" height="100%" fill="white"/>'  # readable on a dark page, too


def record(core: str, instance: str) -> dict:
    """{port of the instance: its value in binary at each rising edge}."""
    bench = f"gc_{core}_tb"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "recorder.v").write_text(RECORDER.format(bench=bench, instance=instance, limit=LIMIT * PERIOD))
        for data in sorted(ROOT.glob("tb/step/*.hex")) + sorted((ROOT / "rtl" / core / "sim").glob("*.hex")):
            (place / data.name).write_bytes(data.read_bytes())
        files = sources(core, target="sim")
        program = ["iverilog", "-g2005", "-s", bench, "-s", "recorder", "-o", "bench", *map(str, files), "recorder.v"]
        for command in (program, ["vvp", "-n", "bench"]):
            done = subprocess.run(command, cwd=place, env=tool_environment(), capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{core}: {command[0]} fails:\n{done.stdout}{done.stderr}")
        found = VCDVCD(str(place / "waves.vcd"), store_tvs=True)
    last = found.endtime
    values = {}
    for name in found.signals:
        port = name.rsplit(".", 1)[-1].split("[")[0]
        width = int(found[name].size)
        values[port] = [found[name][t - 1].rjust(width, "0") for t in range(EDGE + PERIOD, last, PERIOD)]
    return values


def label(bits: str) -> str:
    """Its last hexadecimal digits."""
    if set(bits) - {"0", "1"}:
        return "x"
    text = f"{int(bits, 2):x}"
    return text if len(text) <= DIGITS else f"…{text[-SHORT:]}"


def lane(name: str, bits: list, valid: list | None) -> dict:
    """A row of the picture."""
    wave, data, before = "", [], None
    for k, value in enumerate(bits):
        now = "x" if (valid and "1" not in valid[k]) or set(value) - {"0", "1"} else value
        if now == before:
            wave += "."
        elif now == "x" or len(value) == 1:
            wave += now
        else:
            wave += "="
            data.append(label(now))
        before = now
    return {"name": name, "wave": wave, "data": data}


def picture(core: str) -> str:
    """The SVG of a core."""
    shown = SHOWN[core]
    values = record(core, shown["instance"])
    begins = next(k for k, bits in enumerate(values[shown["first"]]) if "1" in bits and set(bits) <= {"0", "1"})
    begins += shown.get("after", 0) - 1
    rows = [{"name": "clk", "wave": "p" + "." * (shown["cycles"] - 1)}]
    for entry in shown["signals"]:
        name, _, valid = entry.partition(" ? ")
        window = slice(begins, begins + shown["cycles"])
        rows.append(lane(name, values[name][window], values[valid][window] if valid else None))
    drawing = wavedrom.render(json.dumps({"signal": rows}))
    head, tag, rest = drawing.tostring().partition(">")
    return f"{head}{tag}{SKIN}{rest}\n"


def place(core: str) -> Path:
    """Where its picture is kept."""
    return ROOT / "rtl" / core / "waves.svg"
