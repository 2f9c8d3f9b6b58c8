# SPDX-License-Identifier: Apache-2.0
"""What every front end gives: a network, the weights it begins with, and what was not taken over exactly."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gradcore.files.atomic import StrPath, make_folder, write_text
from gradcore.frontends.errors import ModelError
from gradcore.host import model_file
from gradcore.host.model_file import Model
from gradcore.network.description import Network, default_fractions
from gradcore.network.net_text import text_of
from gradcore.numerics.fixed_point import FRAC_MIN
from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Layer
from gradcore.reference.calibration import calibrate
from gradcore.reference.trainer import STATE, State, initial_weights, real_of, state_of

Arrays = Mapping[str, Mapping[str, np.ndarray]]  # by layer, by key of STATE
Calibration = tuple[np.ndarray, ArrayLike]  # images (N, maps, rows, columns) and labels (N,)


@dataclass(frozen=True)
class Imported:
    """network: the description; real: weights, biases and momenta as real numbers, by layer in the order of the
    network; notes: sentences on formats that were changed and words that were clipped."""

    network: Network
    real: State
    notes: tuple[str, ...]

    @cached_property
    def state(self) -> State:
        """`real` in integers, as `ReferenceTrainer.weights` has them: rounded to the nearest."""
        return state_of(self.network, self.real)

    def save(self, folder: StrPath, seed: int = 1) -> None:
        """Write net.toml and weights.npz, which `gradcore train NET --weights FILE` takes. Raises FileError."""
        path, text = make_folder(Path(folder)), text_of(self.network)
        write_text(path / "net.toml", text)
        model_file.write(path / "weights.npz", Model(text, seed, {}, "", self.state))


def holding(
    layers: Sequence[Layer],
    arrays: Arrays,
    width: int,
    formats: Mapping[str, int],
    calibration: Calibration | None,
) -> tuple[tuple[Layer, ...], list[str]]:
    """The layers with formats of their own where weights or biases do not fit the network's: the most fraction bits
    that hold them. (layers, sentences on what was changed); nothing is, where a calibration will choose."""
    found, notes = list[Layer](), list[str]()
    if calibration is not None:
        return tuple(layers), notes
    base = default_fractions(width) | dict(formats)
    for layer in layers:
        own, given = {}, base | layer.formats
        for key in ("weight", "bias"):
            values, frac = arrays.get(layer.name, {}).get(key, np.zeros(0)), given[key]
            outside = _outside(values, width, frac)
            while _outside(values, width, frac) and frac > FRAC_MIN:
                frac -= 1
            if outside:
                own[key] = frac
                limit = 2.0 ** (width - 1 - given[key])
                what = f"{outside} of {values.size} words of {key} are outside +-{limit:g}"
                notes.append(f"layer '{layer.name}': {what}: {frac} instead of {given[key]} fraction bits")
        found.append(replace(layer, formats=layer.formats | own) if own else layer)
    return tuple(found), notes


def real_state(network: Network, arrays: Arrays) -> tuple[State, list[str]]:
    """(`Imported.real` from the arrays that there are, the rest zeros; sentences on momenta that are clipped)."""
    state: State = []
    notes = []
    for p in network.parameters:
        shapes = (p.weight_shape, p.weight_shape[:1]) * 2
        given = arrays[p.name]
        state.append({key: given.get(key, np.zeros(shape)).reshape(shape) for key, shape in zip(STATE, shapes)})
        for key, frac in (("momentum", p.fv), ("bias_momentum", p.fvb)):
            if outside := _outside(state[-1][key], network.data_width, frac):
                notes.append(f"layer '{p.name}': {outside} words of {key} are clipped")
    return state, notes


def begun(network: Network, arrays: Arrays, calibration: Calibration | None) -> tuple[Network, State, list[str]]:
    """(network, `Imported.real`, sentences): with a `calibration` the network has the formats that it gives
    (gradcore.reference.calibration). Raises as that does."""
    real, notes = real_state(network, arrays)
    if calibration is not None:
        found = calibrate(network, *calibration, real=real)
        network, notes = found.network, found.warnings
    return network, real, notes


def described(
    network: Callable[[], Network], arrays: Arrays, seed: int, calibration: Calibration | None
) -> tuple[Network, State, list[str]]:
    """`begun` for a file that describes a network: `network` makes it, and without `arrays` the weights are the initial
    ones of `seed`. Raises ModelError in the place of NetworkError, and ImagesError."""
    try:
        made = network()
        if not arrays:
            drawn = real_of(made, initial_weights(made, seed))
            arrays = {p.name: layer for p, layer in zip(made.parameters, drawn)}
        return begun(made, arrays, calibration)
    except NetworkError as error:
        raise ModelError(f"{error.field}: {error.problem}", error.nearest, module=error.name) from error


def _outside(values: np.ndarray, width: int, frac: int) -> int:
    """Number of values that a format does not hold."""
    scaled = np.rint(values * 2.0**frac)
    return int(np.count_nonzero((scaled < -(1 << width - 1)) | (scaled >= 1 << width - 1)))
