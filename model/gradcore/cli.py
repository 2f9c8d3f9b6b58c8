# SPDX-License-Identifier: Apache-2.0
"""The command line. Exit codes: 0 ok, 1 mismatch or failed check, 2 user's error, 3 tool missing."""

import json
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from gradcore import bench as benches
from gradcore import bench_table
from gradcore import data as datasets
from gradcore import doctor as checks
from gradcore import network as networks
from gradcore import report as reports
from gradcore import run as runs
from gradcore.compiler import CompileError, compile_network
from gradcore.config import EngineConfig
from gradcore.driver import EngineError
from gradcore.linux import DeviceError
from gradcore.machine import Deadlock
from gradcore.session import BACKENDS, open_session
from gradcore.sim.backend import Memory, MemoryRuleBroken
from gradcore.sim.build import FRONTS, BuildFailed, ToolMissing
from gradcore.sources import ROOT

OK, MISMATCH, USER, MISSING = 0, 1, 2, 3
EXAMPLES = ROOT / "examples"

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, help=__doc__)
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)
Check = Enum("Check", {name: name for name in runs.CHECKS}, type=str)

Net = Annotated[Path, typer.Argument(metavar="NET", help="network description: a net.toml file or the name of an example", callback=lambda net: net and network_file(net))]
EngineOption = Annotated[str, typer.Option("--engine", metavar="KEY=VALUE,..", help="engine that differs from the default: grid, cols, act_depth, ..")]
JsonOption = Annotated[str, typer.Option("--json", metavar="FILE", help="write the result as JSON, - for the standard output")]


def backend_name(name: str) -> str:
    """`name`, if there is such a back end."""
    if name not in BACKENDS and not re.fullmatch(r"(uio|xdma):\d+", name):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(BACKENDS)}, uio:N, xdma:N")
    return name


BackendOption = Annotated[str, typer.Option(metavar="NAME", callback=backend_name, help="sim: simulated RTL; sim-axi, sim-avalon: through a bus front; machine: "
                                            "machine model; reference: the reference trainer alone; uio:N, xdma:N: a board")]
StallOption = Annotated[float, typer.Option(metavar="P", min=0, max=0.99, help="simulated RTL: probability of back-pressure per cycle and channel; with it "
                                            "each burst's latency is random, too [default: 0.2 with a bus front, else 0]")]


def memory_of(backend: str, stall: float | None, **figures) -> Memory:
    """The simulated memory of a back end."""
    if stall is None:
        stall = 0.2 if backend in FRONTS and backend != "sim" else 0.0
    elif backend not in FRONTS:
        raise UserError(f"--stall: the back end {backend} has no simulated memory")
    memory = Memory(stall=stall, **figures)
    return replace(memory, jitter=memory.latency) if stall else memory


class UserError(Exception):
    """Something the user can put right; the text names it."""


def network_file(net: Path) -> Path:
    """The file of a network: `net` itself, or the net.toml of the example of that name."""
    named = EXAMPLES / str(net) / "net.toml"
    if net.exists() or net.suffix == ".toml" or len(net.parts) > 1:
        return net
    if not named.exists():
        names = ", ".join(sorted(path.parent.name for path in EXAMPLES.glob("*/net.toml")))
        raise UserError(f"{net}: no such file, and no example; there are {names}")
    return named


def run(arguments=None):
    """Run the command line and return the exit code; no exception of the user's making ends in a traceback."""
    try:
        app(args=arguments, prog_name="gradcore")
    except SystemExit as end:
        return end.code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (UserError, networks.NetworkError, datasets.DataError, DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USER
    except (EngineError, MemoryRuleBroken, Deadlock) as error:
        print(f"failed: {error}", file=sys.stderr)
        return MISMATCH
    except (ToolMissing, BuildFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return MISSING


def engine_config(text, data_width):
    """`EngineConfig` of an option like grid=4,cols=8; the words are as wide as the network's unless it says otherwise."""
    values = {"data_width": data_width}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key not in EngineConfig.__dataclass_fields__:
            raise UserError(f"--engine: {key!r} is not one of {', '.join(EngineConfig.__dataclass_fields__)}")
        if not value.isdigit():
            raise UserError(f"--engine: {key} is {value!r}, not a number")
        values[key] = int(value)
    try:
        return EngineConfig(**values)
    except ValueError as error:
        raise UserError(f"--engine: {error}") from error


@contextmanager
def fitting(net):
    """Name the file of a network that does not fit the engine."""
    try:
        yield
    except CompileError as error:
        raise UserError(f"{net}: {error}") from error


def write_json(target, content):
    """Write `content` to the file, or to the standard output for -."""
    text = json.dumps(content, indent=1, default=str)
    if target == "-":
        print(text)
    elif target:
        try:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).write_text(text + "\n")
        except OSError as error:
            raise UserError(f"{target}: cannot be written: {error.strerror}") from error


@app.command()
def train(
    net: Net,
    data: Annotated[str, typer.Option(help="digits, a .npz file with x_train, y_train, x_test, y_test, or a folder of CIFAR-10 or MNIST files")] = "digits",
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="initial weights, order of the images, stochastic rounding")] = 1,
    check: Annotated[Check, typer.Option(help="when every word is compared with the reference trainer")] = Check.epoch,
    backend: BackendOption = "sim",
    stall: StallOption = None,
    out: Annotated[Path, typer.Option(help="run folder")] = Path("build/run"),
    engine: EngineOption = "",
    float32: Annotated[bool, typer.Option(help="train in floating point beside it, to compare accuracies")] = True,
    json_file: JsonOption = "",
):
    """Train a network and compare every weight with the reference trainer."""
    network = networks.load(net)
    config, memory = engine_config(engine, network.data_width), memory_of(backend, stall)
    dataset = replace(datasets.load(data), name=data)
    datasets.check(dataset, network)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be made: {error.strerror}") from error
    # With the JSON on the standard output everything else goes to the other one.
    screen = Console(stderr=True, highlight=False, soft_wrap=True) if json_file == "-" else console
    with fitting(net):
        session = open_session(backend, network, config, seed, memory, screen.print)
    try:
        shutil.copyfile(net, out / "net.toml")
        configuration = {
            "command": ["gradcore", *sys.argv[1:]], "network": str(net), "data": data, "epochs": epochs, "seed": seed, "check": check.value,
            "backend": backend, "stall": getattr(session.memory, "stall", None), "engine": vars(config), "engine_sha256": session.engine_sha256, "versions": runs.versions(),
        }  # fmt: skip
        write_json(out / "run.json", configuration)
        options = runs.Options(epochs, seed, "none" if backend == "reference" else check.value, float32)
        with progress_of(screen, epochs, len(dataset.y_train)) as progress:
            found, state, recorded = runs.train(network, dataset, session, options, progress)
    finally:
        session.close()
    reports.write_run(out, found, state, recorded)
    write_json(json_file, found)
    screen.print(reports.last_line(found), markup=False)
    raise typer.Exit(MISMATCH if reports.failed(found) else OK)


@contextmanager
def progress_of(screen, epochs, images):
    """A function that shows minibatches and epochs: a bar on a terminal, a line per epoch everywhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("training", total=epochs * images)
        accuracy = ""

        def show(entry):
            nonlocal accuracy
            done = (entry["epoch"] - 1) * images + entry["images"]
            if "test_accuracy" in entry:
                accuracy = f"  accuracy {entry['test_accuracy']:.3f}"
                screen.print(reports.epoch_line(entry, epochs), markup=False)
            bar.update(task, completed=done, description=f"epoch {entry['epoch']}/{epochs}  loss {entry['loss']:.4f}{accuracy}")

        yield show


@app.command()
def bench(
    net: Annotated[Path, typer.Argument(metavar="NET", help="a net.toml file or the name of an example")] = None,
    lanes: Annotated[str, typer.Option(metavar="ROWSxCOLUMNS", help="lane grid, 4x4 or 8x8")] = "8x8",
    cols: Annotated[int, typer.Option(help="columns of the array")] = 16,
    minibatch: Annotated[int, typer.Option(min=1, help="default: the network's")] = None,
    bytes_per_cycle: Annotated[int, typer.Option("--dram-bytes-per-cycle", min=1, help="shared by reads and writes")] = 64,
    latency: Annotated[int, typer.Option("--dram-latency", min=0, help="cycles")] = 60,
    backend: BackendOption = "sim",
    stall: StallOption = None,
    iterations: Annotated[int, typer.Option(min=1, help="the last one is reported")] = 2,
    data: Annotated[str, typer.Option(help="as for train; default: random images")] = "",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1)] = 1,
    engine: EngineOption = "",
    out: Annotated[Path, typer.Option(help="folder for report.json, trace.json, timeline.png and roofline.png")] = None,
    everything: Annotated[bool, typer.Option("--all", help="run the whole table and write doc/benchmarks.md")] = False,
    only: Annotated[str, typer.Option(help="with --all: only runs whose name holds this text")] = "",
    json_file: JsonOption = "",
):
    """Measure a training iteration on the compiled RTL: cycles and stalls by the engine's counters, all weights compared."""
    if everything:
        cases = [case for case in bench_table.CASES if only in bench_table.name_of(case)]
        if not cases:
            raise UserError(f"--only: {only!r} is in no name of {', '.join(map(bench_table.name_of, bench_table.CASES))}")
    elif net is None:
        raise UserError("NET is missing: name a network, or give --all")
    else:
        cases = [(net, cols, minibatch, bytes_per_cycle, latency)]
    if everything and (backend != "sim" or stall):
        raise UserError("--all: the table is of the back end sim without back-pressure")
    grids = {"4x4": 4, "8x8": 8}
    if lanes not in grids:
        raise UserError(f"--lanes: {lanes!r} is not one of {', '.join(grids)}")
    if backend not in FRONTS:
        raise UserError(f"--backend: {backend!r} is not one of {', '.join(FRONTS)}")
    screen = Console(stderr=True, highlight=False, soft_wrap=True) if json_file == "-" else console
    wrong = False
    for name, columns, images, *memory in cases:
        file = network_file(Path(name))
        network = networks.load(file)
        network = replace(network, minibatch=images or network.minibatch)
        own = ",".join(filter(None, [f"grid={grids[lanes]},cols={columns},act_depth=4096", bench_table.ENGINES.get(name, "") * everything, engine]))
        config = engine_config(own, network.data_width)
        with fitting(file):
            config = benches.engine_for(network, config)
        batches = benches.data_batches(network, datasets.load(data), seed) if data else None
        dram = memory_of(backend, stall, bytes_per_cycle=memory[0], latency=memory[1])
        found, events, ops = benches.measure(network, config, dram, batches, iterations, seed, screen.print, backend)
        wrong |= reports.failed(found)
        if everything:
            bench_table.store((name, columns, images, *memory), found)
        if out:
            reports.write_bench(out, found, events, ops)
        screen.print(reports.bench_line(found), markup=False)
    write_json(json_file, found)
    raise typer.Exit(MISMATCH if wrong else OK)


@app.command("compile")
def compile_command(
    net: Net,
    engine: EngineOption = "",
    images: Annotated[int, typer.Option(min=1, help="images of the minibatch, default the network's")] = None,
    json_file: JsonOption = "",
):
    """Print the memory map and the programs of a network."""
    network = networks.load(net)
    with fitting(net):
        compiled = compile_network(network, engine_config(engine, network.data_width), images)
    write_json(json_file, reports.compiled_figures(compiled))
    if json_file != "-":
        print(compiled.listing, end="")


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")], json_file: JsonOption = ""):
    """Show the figures of a run or of a benchmark and draw its pictures again."""
    try:
        found = json.loads((folder / "report.json").read_text())
        line = reports.last_line(found) if "history" in found else reports.bench_line(found)
    except OSError as error:
        raise UserError(f"{folder / 'report.json'}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / 'report.json'}: is not a report: {error!r}") from error
    if "history" in found:
        reports.loss_picture(folder / "loss.png", found["history"])
    else:
        reports.roofline_picture(folder / "roofline.png", found)
    write_json(json_file, found)
    if json_file != "-":
        for title, rows in reports.tables(found):
            table = Table(title, *rows[0], title_justify="left")
            for row in rows[1:]:
                table.add_row(*map(str, row))
            console.print(table)
        print(line)
    raise typer.Exit(MISMATCH if reports.failed(found) else OK)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="NET.toml|WEIGHTS.npz", help="a network description or the weights of a run")],
    json_file: JsonOption = "",
):
    """Show the layers and number formats of a network, or the range of trained weights."""
    if file.suffix == ".npz":
        try:
            rows = reports.weights_table(file)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise UserError(f"{file}: cannot be read: {error}") from error
    else:
        rows = reports.network_table(networks.load(file))
    write_json(json_file, rows)
    if json_file != "-":
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        console.print(table)


@app.command()
def regs(
    out: Annotated[Path, typer.Option(help="folder")] = Path("build/regs"),
    addr_w: Annotated[int, typer.Option(min=32, max=48, help="ADDR_W of the engine")] = 48,
):
    """Write the register map as C header, IP-XACT, HTML pages and Python package."""
    try:
        from gradcore import register_map
    except ModuleNotFoundError as error:
        raise ToolMissing(f"{error.name} is not installed: pip install peakrdl peakrdl-python") from error
    try:
        for path in register_map.write_all(register_map.elaborate(ADDR_W=addr_w), out):
            print(path)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror}") from error


@app.command()
def doctor(json_file: JsonOption = ""):
    """Say what is installed and what is missing."""
    rows = checks.examine()
    write_json(json_file, rows)
    if json_file != "-":
        for row in rows:
            state = "ok     " if row["found"] else "MISSING" if row["needed"] else "absent "
            print(f"{state} {row['name']:10} {row['detail']}")
    raise typer.Exit(MISSING if any(row["needed"] and not row["found"] for row in rows) else OK)
