# SPDX-License-Identifier: Apache-2.0
"""The run that the command train begins or continues: its configuration, its network, its data."""

import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from gradcore import network as networks
from gradcore.cli.calibrate import real_weights, with_points
from gradcore.cli.common import UserError, engine_config, memory_of
from gradcore.data import datasets
from gradcore.data.datasets import Dataset
from gradcore.files import atomic as files
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.model_file import Model, initial_state, weights_sha256
from gradcore.host.progress import Progress, beginning
from gradcore.host.training_report import versions
from gradcore.network.description import Network
from gradcore.network.net_text import text_of
from gradcore.reference.calibration import AHEAD
from gradcore.reference.trainer import state_of
from gradcore.sim.build import FRONTS

LIMITS = (-8, 8)  # of images whose format nobody has given
FIXED = ("seed", "check", "backend", "float32", "stall", "engine", "weights", "calibrate", "ahead", "validation")
CHANGEABLE = ("epochs", "data", "patience", "tensorboard")  # when a run goes on
ADDED = {"ahead": AHEAD, "validation": 0, "patience": 0, "tensorboard": False}  # not in older checkpoints


def fresh(net: Path, network: Network, options: dict[str, Any], changed: bool = False) -> Checkpoint:
    """A new run by the command's options, before `calibrated`. changed: the network is not what the file says."""
    config, backend, stall = engine_config(options["engine"], network.data_width), options["backend"], options["stall"]
    if options["calibrate"] is None:
        options = options | {"calibrate": not network.formats}
    memory = memory_of(backend, stall)
    configuration = {
        "run": secrets.token_hex(8),
        "command": ["gradcore", *sys.argv[1:]],
        "network": str(net),
        **options,
        "engine": dict(vars(config)),
        "stall": memory.stall if backend in FRONTS and not FRONTS[backend].made else None,
        "versions": versions(),
    }
    progress = Progress()
    if options["weights"] and not options["calibrate"]:
        progress = beginning(network, initial_state(options["weights"], network))
        assert progress.state is not None
        configuration["initial_sha256"] = weights_sha256(progress.state)
    text = text_of(network) if changed else files.read_bytes(net).decode()
    return Checkpoint(
        Model(text, options["seed"], configuration["engine"], options["data"], []), configuration, progress
    )


def calibrated(run: Checkpoint, data: Dataset, screen: Console) -> Checkpoint:
    """A new run whose network has the binary points that its data ask for. The text that it was described by is kept
    in the configuration as `described`."""
    configuration, text = run.configuration, run.model.text
    datasets.check_shapes(data, run.model.network)
    if "input" not in run.model.network.formats:
        for key in ("x_train", "x_test"):  # calibration would take pixels of 0..255 as they are
            datasets.check_range(data.name, key, getattr(data, key), run.model.network, LIMITS)
    options = (configuration[name] for name in ("seed", "weights", "ahead"))
    found = with_points(run.model.network, data, *options)
    screen.print("binary points chosen from the training images (--no-calibrate takes the defaults)", markup=False)
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
    configuration = ADDED | begun.configuration
    described = configuration.get("described")
    own = networks.parse(described, begun.configuration["network"]) if described else begun.model.network
    if network is not None and network != own:
        raise UserError(f"NET: the run in {out} has another network; leave it out, or choose another folder")
    if "engine" in given:
        given = given | {"engine": dict(vars(engine_config(given["engine"], begun.model.network.data_width)))}
    for name in (
        "seed",
        "check",
        "backend",
        "float32",
        "stall",
        "engine",
        "weights",
        "calibrate",
        "ahead",
        "validation",
    ):
        had = configuration.get(name)
        if name in given and given[name] != had:
            there = f"the run in {out} has {had}, not {given[name]}"
            raise UserError(f"--{name}: {there}; leave it out, or choose another folder")
    if given.get("epochs", begun.progress.epoch) < begun.progress.epoch:
        raise UserError(f"--epochs: {given['epochs']} are fewer than the {begun.progress.epoch} already trained")
    configuration |= {name: given[name] for name in CHANGEABLE if name in given}
    return replace(begun, configuration=configuration)


def load_data(configuration: dict[str, Any]) -> Dataset:
    """The data set of a run, with the validation images set aside. Raises DataError."""
    name = configuration["data"]
    dataset = replace(datasets.load(name), name=name)
    return datasets.with_validation(dataset, configuration["validation"], configuration["seed"])


def check_data(dataset: Dataset, configuration: dict[str, Any], network: Network, begun: bool, screen: Console) -> None:
    """Is it the same as before, where the run has `begun`? Its hash goes into the configuration. Raises UserError,
    DataError."""
    for line in datasets.check(dataset, network):
        screen.print(f"warning: {line}", markup=False)
    sha256 = datasets.data_sha256(dataset)
    if begun and sha256 != configuration["data_sha256"]:
        raise UserError(f"--data {dataset.name}: data_sha256: the run began with other data")
    configuration["data_sha256"] = sha256
