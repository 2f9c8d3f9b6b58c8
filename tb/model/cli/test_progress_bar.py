# SPDX-License-Identifier: Apache-2.0
"""What a training says of the time it takes."""

import pytest

from gradcore.cli import progress_bar
from tb.model.cli.test_weights import SMALL, place, train  # noqa: F401 (place is a fixture)


class Screen:
    """Takes the lines that are printed."""

    is_terminal = False

    def __init__(self):
        self.lines = []

    def print(self, text, **options):
        self.lines.append(text)


def lines_of(monkeypatch, seconds, backend, minibatches=10):
    """What is said of 2 epochs of 100 images, 10 a minibatch, each of which takes so long."""
    now, screen = [0.0], Screen()
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress_bar, "Progress", lambda *columns, **options: Bar())
    with progress_bar.progress_of(screen, 2, 100, backend) as show:
        for number in range(minibatches):
            now[0] += seconds
            show({"epoch": 1, "images": 10 * (number + 1), "loss": 1.0})
    return screen.lines


class Bar:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_task(self, *_, **options):
        pass

    def update(self, *_, **options):
        pass


@pytest.mark.parametrize(
    "seconds, said", [(33, None), (34, "about 10 minutes"), (60, "about 18 minutes"), (600, "about 3.0 hours")]
)
def test_a_long_simulation_is_told(monkeypatch, seconds, said):
    """After the second of 20 minibatches 18 are left."""
    lines = lines_of(monkeypatch, seconds, "sim")
    if said is None:
        assert lines == []
    else:
        (line,) = lines
        assert line.startswith(f"{said} of simulation; --backend machine and --backend reference")
    assert lines_of(monkeypatch, seconds, "sim", minibatches=1) == []


@pytest.mark.parametrize("backend", ["machine", "reference", "uart:/dev/ttyUSB0"])
def test_others_are_not(monkeypatch, backend):
    assert lines_of(monkeypatch, 600, backend) == []


def test_it_stands_before_the_epochs(place, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(progress_bar, "LONG", 0)
    assert train("a", "--engine", SMALL, backend="sim") == 0
    assert "of simulation; --backend machine" in capsys.readouterr().out.split("epoch 1/1")[0]
