# SPDX-License-Identifier: Apache-2.0
"""The command train: a new run or the rest of one, in its folder."""

import json
import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console

from gradcore import network as networks
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
    fitting,
    is_given,
    memory_of,
    screen_beside,
    write_json,
)
from gradcore.cli.progress_bar import progress_of
from gradcore.cli.run_setup import calibrated, check_data, continued, fresh, load_data
from gradcore.data.datasets import Dataset
from gradcore.files import atomic as files
from gradcore.host import model_file
from gradcore.host import training as runs
from gradcore.host.backends import Session, open_session
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.progress import Progress
from gradcore.host.run_folder import REPORT, RunFolder
from gradcore.host.validation import stops
from gradcore.isa.config import EngineConfig
from gradcore.reference.calibration import AHEAD, STEPS
from gradcore.reference.trainer import State
from gradcore.report import results, summary
from gradcore.report.epochs import Scalars, write_epochs


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
        bool | None,
        typer.Option(
            help="choose the binary points that NET leaves open from the data [default: if its [format] has none]"
        ),
    ] = None,
    ahead: Annotated[int, typer.Option(min=STEPS, help="minibatches in floating point to calibrate by")] = AHEAD,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=0.9, help="of the training images, set aside")
    ] = 0,
    patience: Annotated[
        int, typer.Option(min=0, help="epochs without a smaller validation loss, then stop [default: never]")
    ] = 0,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="write scalars for TensorBoard, too")] = False,
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
        ahead=ahead,
        validation=validation,
        patience=patience,
        tensorboard=tensorboard,
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
        if run.configuration["patience"] and not run.configuration["validation"]:
            raise UserError("--patience: needs images to see it by: --validation 0.1")
        dataset = load_data(run.configuration)
        if run.configuration["calibrate"] and not begun:
            run = calibrated(run, dataset, screen)
        network, configuration = run.model.network, run.configuration
        check_data(dataset, configuration, network, begun is not None, screen)
        if begun and folder and folder.finished and _ends(run):
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
        found, state, recorded = _train(dataset, session, run, folder, minutes, screen)
        found["run"] = configuration["run"]
        if found["epochs"] < configuration["epochs"] and not summary.failed(found):
            screen.print(f"no smaller validation loss since epoch {found['best_epoch']}: stopped", markup=False)
        for line in summary.warnings(found):
            screen.print(f"warning: {line}", markup=False)
        results.write_run(folder.path, found, replace(run.model, state=state), recorded)
    write_json(json_file, found)
    screen.print(summary.last_line(found), markup=False)
    raise typer.Exit(MISMATCH if summary.failed(found) else OK)


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


def _ends(run: Checkpoint) -> bool:
    """Is nothing left to train?"""
    done, configuration = run.progress, run.configuration
    return done.epoch >= configuration["epochs"] or stops(done.history, configuration["patience"])


def _train(
    dataset: Dataset, session: Session, run: Checkpoint, folder: RunFolder, minutes: float, screen: Console
) -> tuple[dict[str, Any], State, tuple[np.ndarray, int, tuple[Any, ...]] | None]:
    """`runs.train` with checkpoints and what is written after each epoch; an exception that ends it says how to go
    on."""
    configuration, network, begun = run.configuration, run.model.network, run.progress.state is not None
    check = "none" if configuration["backend"] == "reference" else configuration["check"]
    epochs, seed, float32, patience = (configuration[name] for name in ("epochs", "seed", "float32", "patience"))
    options = runs.Options(epochs, seed, check, float32, minutes, patience)

    def write(done: Progress) -> None:
        if done.history:
            write_epochs(folder.path, done.history)
        if done.best:
            model_file.write(folder.path / "best.npz", replace(run.model, state=done.best))

    def save(done: Progress) -> None:
        folder.save(run.at(done))
        if not done.minibatch:
            write(done)

    scalars = _scalars(run, folder)
    try:
        write(run.progress)  # the folder of a run that goes on has lost them
        with progress_of(screen, epochs, len(dataset.y_train), configuration["backend"]) as show:

            def progress(entry: dict[str, Any]) -> None:
                if scalars and "test_accuracy" in entry:
                    scalars.add(entry)
                show(entry)

            return runs.train(network, dataset, session, options, progress, run.progress if begun else None, save)
    except BaseException as error:
        if folder.begun:
            error.add_note(f"to continue: gradcore train --resume --out {shlex.quote(str(folder.path))}")
        raise
    finally:
        if scalars:
            scalars.close()


def _scalars(run: Checkpoint, folder: RunFolder) -> Scalars | None:
    """Where TensorBoard finds the run's numbers, if that is wanted."""
    if not run.configuration["tensorboard"]:
        return None
    try:
        return Scalars(folder.path)
    except ImportError as error:
        raise UserError("--tensorboard: tensorboardX is not installed: pip install 'gradcore[tensorboard]'") from error
