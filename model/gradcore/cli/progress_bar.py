# SPDX-License-Identifier: Apache-2.0
"""How far a training is, on the screen."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gradcore.report import summary
from gradcore.sim.build import FRONTS

LONG = 600  # seconds of a simulation that are worth a word


def forecast(seconds: float) -> str:
    """What is said of a simulation that takes so long."""
    long = f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"
    return f"about {long} of simulation; --backend machine and --backend reference leave the same words and are faster"


@contextmanager
def progress_of(screen: Console, epochs: int, images: int, backend: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that shows minibatches and epochs: a bar on a terminal, a line per epoch everywhere; after the second
    minibatch how long a simulation takes, if that is long."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("training", total=epochs * images)
        accuracy, seen = "", list[tuple[float, int]]()

        def show(entry: dict[str, Any]) -> None:
            nonlocal accuracy
            done = (entry["epoch"] - 1) * images + entry["images"]
            if len(seen) < 2:
                seen.append((time.monotonic(), done))
                if len(seen) == 2 and backend in FRONTS:
                    (first, before), (now, _) = seen
                    seconds = (now - first) / max(1, done - before) * (epochs * images - done)
                    if seconds > LONG:
                        screen.print(forecast(seconds), markup=False)
            if "test_accuracy" in entry:
                accuracy = f"  accuracy {entry['test_accuracy']:.3f}"
                screen.print(summary.epoch_line(entry, epochs), markup=False)
            text = f"epoch {entry['epoch']}/{epochs}  loss {entry['loss']:.4f}{accuracy}"
            bar.update(task, completed=done, description=text)

        yield show
