# SPDX-License-Identifier: Apache-2.0
"""The command train: a new run or the rest of one, in its folder."""

import json
import secrets
import shlex
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console

from gradcore import network as networks
from gradcore.cli.calibrate import real_weights, with_points
from gradcore.cli.common import (
    MISMATCH,
    OK,
    BackendOption,
    DataOption,
    EngineOption,
    JsonOption,
    OptionalNet,
    StallOption,
    UserError,
    app,
    engine_config,
    fitting,
    is_given,
    memory_of,
    screen_beside,
    write_json,
)
from gradcore.cli.progress_bar import progress_of
from gradcore.data import datasets
from gradcore.data.datasets import Dataset
from gradcore.files import atomic as files
from gradcore.host import training as runs
from gradcore.host.backends import Session, open_session
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.model_file import Model, initial_state, weights_sha256
from gradcore.host.progress import Progress as Done
from gradcore.host.progress import beginning
from gradcore.host.run_folder import REPORT, RunFolder
from gradcore.host.training_report import versions
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.net_text import text_of
from gradcore.reference.trainer import State, state_of
from gradcore.report import results, summary
from gradcore.sim.build import FRONTS


@app.command()
def train(
    context: typer.Context,
    net: OptionalNet = None,
    data: DataOption = "digits",
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="initial weights, order of images, stochastic rounding")
    ] = 1,
    check: Annotated[
        runs.Check, typer.Option(help="when every word is compared with the reference trainer")
    ] = runs.Check.epoch,
    backend: BackendOption = "sim",
    stall: StallOption = None,
    out: Annotated[Path, typer.Option(help="run folder")] = Path("build/run"),
    engine: EngineOption = "",
    weights: Annotated[Path | None, typer.Option(help="weights.npz or checkpoint to begin with")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="in the place of what NET has: train.minibatch=16"),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="choose the binary points that NET leaves open from the data")
    ] = False,
    float32: Annotated[bool, typer.Option(help="also train in floating point, to compare accuracies")] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="continue the run in the folder; with NET, begin one if there is none")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="drop an unfinished run in the folder")] = False,
    minutes: Annotated[float, typer.Option("--checkpoint-minutes", min=0, help="between checkpoints in an epoch")] = 10,
    json_file: JsonOption = "",
) -> None:
    """Train a network and compare every weight with the reference trainer."""
    if net is None and not resume:
        raise UserError("NET is missing: name a network, or give --resume")
    if changes and net is None:
        raise UserError("--set: changes a NET, and none is given")
    if resume and force:
        raise UserError("--force: drops a run, --resume continues it")
    options: dict[str, Any] = dict(
        epochs=epochs,
        seed=seed,
        check=check.value,
        backend=backend,
        float32=float32,
        data=data,
        stall=stall,
        engine=engine,
        weights=str(weights) if weights else None,
        calibrate=calibrate,
    )
    given = {name: value for name, value in options.items() if is_given(context, name)}
    screen, wanted = screen_beside(json_file), networks.load(net, changes or ()) if net else None
    with ExitStack() as stack:
        folder: RunFolder | None = None
        begun, problem = None, ""
        if resume and out.is_dir():
            folder = stack.enter_context(_folder(out))
            begun, problem = folder.latest()
        if begun:
            run = continued(begun, wanted, given, out)
        elif net and wanted:
            run = fresh(net, wanted, options, changed=bool(changes))
        else:
            raise UserError(f"{out}: there is no run to resume")
        if calibrate and not begun:
            run = calibrated(run, screen)
        network, configuration = run.model.network, run.configuration
        dataset = load_data(configuration, network, begun is not None, screen)
        if begun and folder and folder.finished and run.progress.epoch >= configuration["epochs"]:
            _complete(folder, screen, json_file)
        folder = folder or stack.enter_context(_folder(out))
        if not begun and not force:
            folder.check_free(run.model.text)
        if resume:
            _say_where(screen, out, run, problem, begun is not None)
        memory = memory_of(configuration["backend"], configuration["stall"])
        with fitting(net or out / "net.toml"):
            session = open_session(
                configuration["backend"],
                network,
                EngineConfig(**configuration["engine"]),
                configuration["seed"],
                memory,
                screen.print,
            )
        stack.callback(session.close)
        if begun and session.engine_sha256 != configuration["engine_sha256"]:
            raise UserError(f"{out}: engine_sha256: RTL or tools have changed since the run began; begin a new run")
        configuration |= {"stall": getattr(session.memory, "stall", None), "engine_sha256": session.engine_sha256}
        if begun:
            folder.resume(run, configuration != begun.configuration, problem)
        found, state, recorded = _train(network, dataset, session, run, folder, minutes, screen)
        found["run"] = configuration["run"]
        for line in summary.warnings(found):
            screen.print(f"warning: {line}", markup=False)
        results.write_run(folder.path, found, replace(run.model, state=state), recorded)
    write_json(json_file, found)
    screen.print(summary.last_line(found), markup=False)
    raise typer.Exit(MISMATCH if summary.failed(found) else OK)


def fresh(net: Path, network: Network, options: dict[str, Any], changed: bool = False) -> Checkpoint:
    """A new run by the command's options, before `calibrated`. changed: the network is not what the file says."""
    config, backend, stall = engine_config(options["engine"], network.data_width), options["backend"], options["stall"]
    memory = memory_of(backend, stall)
    configuration = {
        "run": secrets.token_hex(8),
        "command": ["gradcore", *sys.argv[1:]],
        "network": str(net),
        **options,
        "engine": dict(vars(config)),
        "stall": memory.stall if backend in FRONTS else None,
        "versions": versions(),
    }
    progress = Done()
    if options["weights"] and not options["calibrate"]:
        progress = beginning(network, initial_state(options["weights"], network))
        assert progress.state is not None
        configuration["initial_sha256"] = weights_sha256(progress.state)
    text = text_of(network) if changed else files.read_bytes(net).decode()
    return Checkpoint(
        Model(text, options["seed"], configuration["engine"], options["data"], []), configuration, progress
    )


def calibrated(run: Checkpoint, screen: Console) -> Checkpoint:
    """A new run whose network has the binary points that its data ask for. The text that it was described by is kept
    in the configuration as `described`."""
    configuration, text = run.configuration, run.model.text
    found = with_points(run.model.network, configuration["data"], configuration["seed"], configuration["weights"])
    for line in found.warnings:
        screen.print(f"warning: {line}", markup=False)
    progress, network = run.progress, found.network
    if configuration["weights"]:
        state = state_of(network, real_weights(configuration["weights"], network))
        progress = beginning(network, state)
        configuration["initial_sha256"] = weights_sha256(state)
    model = replace(run.model, text=text_of(network))
    return replace(run, model=model, configuration=configuration | {"described": text}, progress=progress)


def continued(begun: Checkpoint, network: Network | None, given: dict[str, Any], out: Path) -> Checkpoint:
    """The run of a checkpoint with the options that may be `given` anew. Raises UserError for one that contradicts
    it."""
    configuration = dict(begun.configuration)
    described = configuration.get("described")
    own = networks.parse(described, begun.configuration["network"]) if described else begun.model.network
    if network is not None and network != own:
        raise UserError(f"NET: the run in {out} has another network; leave it out, or choose another folder")
    if "engine" in given:
        given = given | {"engine": dict(vars(engine_config(given["engine"], begun.model.network.data_width)))}
    for name in ("seed", "check", "backend", "float32", "stall", "engine", "weights", "calibrate"):
        had = configuration.get(name)
        if name in given and given[name] != had:
            there = f"the run in {out} has {had}, not {given[name]}"
            raise UserError(f"--{name}: {there}; leave it out, or choose another folder")
    if given.get("epochs", begun.progress.epoch) < begun.progress.epoch:
        raise UserError(f"--epochs: {given['epochs']} are fewer than the {begun.progress.epoch} already trained")
    configuration |= {name: given[name] for name in ("epochs", "data") if name in given}
    return replace(begun, configuration=configuration)


def load_data(configuration: dict[str, Any], network: Network, begun: bool, screen: Console) -> Dataset:
    """The data set of a run, the same as before where it has `begun`; their hash goes into the configuration. Raises
    UserError, DataError."""
    name = configuration["data"]
    dataset = replace(datasets.load(name), name=name)
    for line in datasets.check(dataset, network):
        screen.print(f"warning: {line}", markup=False)
    sha256 = datasets.data_sha256(dataset)
    if begun and sha256 != configuration["data_sha256"]:
        raise UserError(f"--data {name}: data_sha256: the run began with other data")
    configuration["data_sha256"] = sha256
    return dataset


def _folder(out: Path) -> RunFolder:
    try:
        return RunFolder(out)
    except files.FileError as error:
        raise UserError(f"--out {error}") from error


def _say_where(screen: Console, out: Path, run: Checkpoint, problem: str, begun: bool) -> None:
    if problem:
        screen.print(f"{problem}; continuing from the checkpoint before", markup=False)
    if begun:
        done = run.progress
        place = f"{done.epoch} of {run.configuration['epochs']} epochs and {done.minibatch} minibatches"
        screen.print(f"{out}: continuing after {place}", markup=False)
    else:
        screen.print(f"{out}: nothing to resume, beginning", markup=False)


def _complete(folder: RunFolder, screen: Console, json_file: str) -> NoReturn:
    """Nothing is left to do."""
    found = json.loads(files.read_bytes(folder.path / REPORT))
    write_json(json_file, found)
    screen.print(f"{folder.path}: the run is complete", markup=False)
    screen.print(summary.last_line(found), markup=False)
    raise typer.Exit(MISMATCH if summary.failed(found) else OK)


def _train(
    network: Network,
    dataset: Dataset,
    session: Session,
    run: Checkpoint,
    folder: RunFolder,
    minutes: float,
    screen: Console,
) -> tuple[dict[str, Any], State, tuple[np.ndarray, int, tuple[Any, ...]] | None]:
    """`run.train` with checkpoints; an exception that ends it says how to go on."""
    configuration = run.configuration
    check = "none" if configuration["backend"] == "reference" else configuration["check"]
    options = runs.Options(configuration["epochs"], configuration["seed"], check, configuration["float32"], minutes)
    try:
        with progress_of(screen, options.epochs, len(dataset.y_train), configuration["backend"]) as progress:
            return runs.train(
                network,
                dataset,
                session,
                options,
                progress,
                run.progress if run.progress.state is not None else None,
                lambda done: folder.save(run.at(done)),
            )
    except BaseException as error:
        if folder.begun:
            error.add_note(f"to continue: gradcore train --resume --out {shlex.quote(str(folder.path))}")
        raise
