# SPDX-License-Identifier: Apache-2.0
"""The command line: its commands, and what becomes of exceptions (exit codes: doc/simulation.md)."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gradcore import __version__
from gradcore import network as networks
from gradcore.cli import bench_layers, calibrate, convert, evaluate, train  # noqa: F401 (they are commands)
from gradcore.cli import doctor as checks
from gradcore.cli.common import (
    MISMATCH,
    MISSING,
    OK,
    PIPE,
    USER,
    BackendOption,
    EngineOption,
    JsonOption,
    Net,
    StallOption,
    UserError,
    app,
    console,
    engine_config,
    fitting,
    is_given,
    memory_of,
    network_file,
    screen_beside,
    write_json,
)
from gradcore.compiler.compile import compile_network
from gradcore.data import datasets
from gradcore.files import atomic as files
from gradcore.files.places import INSTALLED, ROOT
from gradcore.host.control import EngineError
from gradcore.host.interrupt import Interrupted
from gradcore.host.linux import DeviceError
from gradcore.host.run_folder import CHECKPOINT, RESULTS
from gradcore.machine.machine import Deadlock
from gradcore.network import layer_table
from gradcore.network import schema as net_schema
from gradcore.report import bench as benches
from gradcore.report import bench_table, memories, pictures, results, summary, tables
from gradcore.sim.backend import MemoryRuleBroken
from gradcore.sim.build import FRONTS, BuildFailed, ToolMissing


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code; no exception of the user's making ends in a traceback."""
    try:
        app(args=arguments, prog_name="gradcore")
    except SystemExit as end:
        return PIPE if isinstance(end.__context__, BrokenPipeError) else int(end.code or OK)
    except Interrupted as error:
        return _end("interrupted", error, error.code)
    except (UserError, files.FileError, networks.NetworkError, datasets.DataError, DeviceError) as error:
        return _end(f"error: {error}", error, USER)
    except (EngineError, MemoryRuleBroken, Deadlock) as error:
        return _end(f"failed: {error}", error, MISMATCH)
    except (ToolMissing, BuildFailed) as error:
        return _end(f"error: {error}", error, MISSING)
    except ModuleNotFoundError as error:
        return _end(f"error: {error.name} is not installed: pip install {error.name}", error, MISSING)
    except MemoryError as error:
        return _end("error: there is not enough memory for this", error, USER)
    except OSError as error:
        return _end(f"error: {error.filename or 'standard output'}: {error.strerror}", error, USER)
    return OK


def _end(text: str, error: BaseException, code: int) -> int:
    """Print what ended the command and how to go on; returns the exit code."""
    print("; ".join([text, *getattr(error, "__notes__", [])]), file=sys.stderr)
    return code


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gradcore {__version__}")
        raise typer.Exit


@app.callback()
def of_all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that stand before the command."""


@app.command()
def bench(
    context: typer.Context,
    net: Annotated[Path | None, typer.Argument(metavar="NET", help="a net.toml file or the name of an example")] = None,
    lanes: Annotated[str, typer.Option(metavar="ROWSxCOLUMNS", help="lane grid, 4x4 or 8x8")] = "8x8",
    cols: Annotated[int, typer.Option(help="columns of the array")] = 16,
    minibatch: Annotated[int | None, typer.Option(min=1, help="default: the network's")] = None,
    bytes_per_cycle: Annotated[
        int, typer.Option("--dram-bytes-per-cycle", min=1, help="shared by reads and writes")
    ] = 64,
    latency: Annotated[int, typer.Option("--dram-latency", min=0, help="cycles")] = 60,
    backend: BackendOption = "sim",
    stall: StallOption = None,
    iterations: Annotated[
        int, typer.Option(min=1, help="the last one is reported; with --all: the row's")
    ] = bench_table.ITERATIONS,
    data: Annotated[str, typer.Option(help="as for train; default: random images")] = "",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1)] = 1,
    engine: EngineOption = "",
    out: Annotated[
        Path | None, typer.Option(help="folder for report.json, trace.json, timeline.png and roofline.png")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="run the whole table and write doc/benchmarks.md")] = False,
    layers: Annotated[
        bool, typer.Option("--by-layers", help="the layers of NET alone that doc/benchmarks.md does not have yet")
    ] = False,
    only: Annotated[
        str, typer.Option(help="with --all: only runs whose name holds this text; with --by-layers: this layer")
    ] = "",
    layer: Annotated[str, typer.Option(help="a large layer of doc/benchmarks.md instead of NET; all: the table")] = "",
    json_file: JsonOption = "",
) -> None:
    """Measure a training iteration on the compiled RTL: cycles and stalls by the engine's counters, all weights
    compared."""
    given = {name for name in context.params if is_given(context, name)}
    for option, wanted in (("--all", everything), ("--by-layers", layers), ("--layer all", layer == "all")):
        if wanted and INSTALLED:
            raise UserError(f"{option}: writes doc/benchmarks.md of a checkout, and this is an installed package")
    if layer:
        if given - {"layer", "iterations", "seed", "json_file"}:
            raise UserError(
                "--layer: has its own network, engine and memory; only --iterations, --seed and --json go with it"
            )
        raise typer.Exit(MISMATCH if bench_layers.large(layer, iterations, seed, json_file) else OK)
    if only and not (everything or layers):
        raise UserError("--only: goes with --all or --by-layers alone")
    if layers:
        if given - {"layers", "net", "cols", "minibatch", "only", "iterations", "seed", "json_file"}:
            raise UserError(
                "--by-layers: has a preset, the memory of the table and the back end sim; only NET, --cols, "
                "--minibatch, --only, --iterations, --seed and --json go with it"
            )
        if net is None:
            raise UserError("NET is missing: name the network for --by-layers")
        file = network_file(net)
        wrong = bench_layers.by_layers(file, cols, minibatch, only, iterations, seed, json_file)
        raise typer.Exit(MISMATCH if wrong else OK)
    if everything and given - {"everything", "only", "iterations", "seed", "out", "json_file"}:
        raise UserError(
            "--all: the table has its own networks, engines and memories, random images and the back end sim; "
            "only --only, --iterations, --seed, --out and --json go with it"
        )
    if everything:
        cases: list[bench_table.Case] = [case for case in bench_table.CASES if only in bench_table.name_of(case)]
        if not cases:
            raise UserError(
                f"--only: {only!r} is in none of the names {', '.join(map(bench_table.name_of, bench_table.CASES))}"
            )
    elif net is None:
        raise UserError("NET is missing: name a network, or give --all")
    else:
        cases = [(str(net), cols, minibatch, bytes_per_cycle, latency)]
    grids = {"4x4": 4, "8x8": 8}
    if lanes not in grids:
        raise UserError(f"--lanes: {lanes!r} is not one of {', '.join(grids)}")
    if backend not in FRONTS:
        raise UserError(f"--backend: {backend!r} is not one of {', '.join(FRONTS)}")
    own = {"bytes_per_cycle": "--dram-bytes-per-cycle", "latency": "--dram-latency"}
    if FRONTS[backend].made and given & set(own):
        raise UserError(f"{own[min(given & set(own))]}: the back end {backend} has a memory of its own")
    screen = screen_beside(json_file)
    wrong = False
    if out:
        clear_for_bench(out)
    for case in cases:
        name, columns, images, bandwidth, cycles = case
        file = network_file(Path(name))
        network = networks.load(file)
        network = replace(network, minibatch=images or network.minibatch)
        config = engine_config(bench_table.engine(grids[lanes], columns, engine), network.data_width)
        batches = benches.data_batches(network, datasets.load(data), seed) if data else None
        if FRONTS[backend].made:
            bandwidth = config.mem_bytes
        dram = memory_of(backend, stall, bytes_per_cycle=bandwidth, latency=cycles)
        runs = bench_table.iterations(case) if everything and "iterations" not in given else iterations
        with fitting(file):
            found, events, ops = benches.measure(network, config, dram, batches, runs, seed, screen.print, backend)
        wrong |= summary.failed(found)
        if everything:
            bench_table.store(case, found)
        if out:
            results.write_bench(out, found, events, ops)
        for line in summary.warnings(found):
            screen.print(f"warning: {line}", markup=False)
        screen.print(summary.bench_line(found), markup=False)
    write_json(json_file, found)
    raise typer.Exit(MISMATCH if wrong else OK)


def clear_for_bench(folder: Path) -> None:
    """Make the folder of a benchmark and remove the results of an older one."""
    if (files.make_folder(folder) / CHECKPOINT).exists():
        raise UserError(f"--out {folder}: holds a training run")
    for name in RESULTS:
        files.remove(folder / name)


@app.command("compile")
def compile_command(
    net: Net,
    engine: EngineOption = "",
    images: Annotated[int | None, typer.Option(min=1, help="images of the minibatch, default the network's")] = None,
    json_file: JsonOption = "",
) -> None:
    """Print the memory map and the programs of a network."""
    network = networks.load(net)
    with fitting(net):
        compiled = compile_network(network, engine_config(engine, network.data_width), images)
    write_json(json_file, tables.compiled_figures(compiled))
    if json_file != "-":
        print(compiled.listing, end="")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".png, .svg or .pdf [default: loss.png or roofline.png in the folder]"),
    ] = None,
    json_file: JsonOption = "",
) -> None:
    """Show the figures of a run or of a benchmark and draw its loss or its roofline again."""
    file = folder / "report.json"
    if picture and picture.suffix not in pictures.KINDS:
        raise UserError(f"--picture {picture}: is none of {', '.join(pictures.KINDS)}")
    if not file.exists() and (folder / CHECKPOINT).exists():
        raise UserError(f"{file}: is missing: the run is not finished; gradcore train --resume continues it")
    try:
        found = json.loads(files.read_bytes(file))
        line = summary.last_line(found) if "history" in found else summary.bench_line(found)
    except files.FileError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{file}: is not a report: {error!r}") from error
    write_json(json_file, found)
    if json_file != "-":
        for title, rows in tables.tables(found):
            table = Table(title, *rows[0], title_justify="left")
            for row in rows[1:]:
                table.add_row(*map(str, row))
            console.print(table)
        for warning in summary.warnings(found):
            print(f"warning: {warning}")
        print(line, flush=True)
    if "history" in found:
        pictures.loss_picture(picture or folder / "loss.png", found["history"])
    else:
        pictures.roofline_picture(picture or folder / "roofline.png", found)
    raise typer.Exit(MISMATCH if summary.failed(found) else OK)


@app.command()
def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="NET|WEIGHTS.npz", help="a net.toml, the name of an example, or weights or checkpoint of a run"
        ),
    ],
    json_file: JsonOption = "",
) -> None:
    """Show the layers and number formats of a network, or the range of trained weights."""
    rows = (
        tables.weights_table(file)
        if file.suffix == ".npz"
        else layer_table.network_table(networks.load(network_file(file)))
    )
    write_json(json_file, rows)
    if json_file != "-":
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        console.print(table)


@app.command()
def presets() -> None:
    """Print the engines that have a name, and how full their memories make an FPGA."""
    print("\n".join(memories.table()))


@app.command()
def cores() -> None:
    """Print the folder with the cores, for fusesoc library add gradcore FOLDER."""
    print(ROOT / "rtl")


@app.command()
def schema() -> None:
    """Print the JSON schema of net.toml."""
    print(json.dumps(net_schema.schema(), indent=2))


@app.command()
def regs(
    out: Annotated[Path, typer.Option(help="folder")] = Path("build/regs"),
    addr_w: Annotated[int, typer.Option(min=32, max=48, help="ADDR_W of the engine")] = 48,
) -> None:
    """Write the register map as C header, IP-XACT, HTML pages and Python package."""
    try:
        from gradcore.isa import register_map
    except ModuleNotFoundError as error:
        raise ToolMissing(f"{error.name} is not installed: pip install peakrdl peakrdl-python") from error
    try:
        for path in register_map.write_all(register_map.elaborate(ADDR_W=addr_w), out):
            print(path)
    except files.FileError as error:
        raise UserError(f"--out {error}") from error


@app.command()
def doctor(
    device: Annotated[
        str, typer.Option(metavar="uio:N|xdma:N|uart:PORT", help="examine the engine of a board instead")
    ] = "",
    stop: Annotated[bool, typer.Option("--stop", help="with --device: stop a program that was left running")] = False,
    json_file: JsonOption = "",
) -> None:
    """Show what is installed and what is missing, or the state of a board's engine."""
    if stop and not device:
        raise UserError("--stop: name the --device")
    rows = checks.examine_device(device, stop) if device else checks.examine()
    write_json(json_file, rows)
    if json_file != "-":
        for row in rows:
            state = "ok     " if row["found"] else "NOT OK " if device else "MISSING" if row["needed"] else "absent "
            print(f"{state} {row['name']:10} {row['detail']}")
    bad = any(row["needed"] and not row["found"] for row in rows)
    raise typer.Exit((MISMATCH if device else MISSING) if bad else OK)
