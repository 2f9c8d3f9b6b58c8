# SPDX-License-Identifier: Apache-2.0
"""Binary points chosen from what a network's tensors hold, instead of guessed (doc/numerics.md, "Calibration").

Some hundred minibatches are trained in floating point, far enough to see how values grow. Each tensor gets the fraction
width that loses least there: rounding on one side, saturation on the other. Then the first minibatches are trained in
integers, and the two compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gradcore.data.input_format import real as real_images
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import FRAC_MAX, FRAC_MIN, Format, quantize
from gradcore.ops.checks import NetworkError
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.saturation import Saturations
from gradcore.reference.trainer import STATE, ReferenceTrainer, State, real_of, state_of

STEPS = 4  # that are compared
AHEAD = 200  # in floating point, unless another number is asked for
WARN_ABOVE = 0.01  # distance of a layer's weights from those in float64, relative to their norm
# Room above the largest values of all steps. The first that keeps all layers below WARN_ABOVE is taken.
ROOMS = (2.0, 1.0, 0.5, 0.25)
DIVERGES = 4.0  # growth of the norm of all weights in a step
MOMENTA, IN_MOMENTUM = STATE[2:], ("learning_rate", "weight_decay", "minibatch")
SAMPLES, SAMPLES_AHEAD = 1 << 16, 1 << 10  # of a tensor in one of the first steps, in a later one
Minibatches = Iterable[tuple[np.ndarray, np.ndarray]]  # real images (N, C, H, W), labels (N,)


class ImagesError(ValueError):
    """Images or labels that do not belong to the network."""


@dataclass(frozen=True)
class Calibration:
    """network: with the chosen formats; errors: by layer with trained weights the distance of its weights and biases
    after STEPS from those in float64, relative to their norm; saturations: of these steps in integers; diverges: the
    step in which the training in floating point ran away, or None."""

    network: Network
    errors: dict[str, float]
    saturations: Saturations
    diverges: int | None

    @property
    def worst(self) -> float:
        """The largest error."""
        return max(error if np.isfinite(error) else np.inf for error in self.errors.values())

    @property
    def warnings(self) -> list[str]:
        """What the user should know before training: lines of text."""
        lines = []
        if self.diverges is not None:
            number = self.diverges + 1
            lines = [f"in floating point the weights run away in step {number}: the learning rate is too large"]
        if self.diverges is None or self.diverges >= STEPS:
            lines += [
                f"layer '{name}': after {STEPS} steps its weights are {100 * error:.1f} % off those in float64"
                for name, error in self.errors.items()
                if not error <= WARN_ABOVE
            ]
        return lines


def calibrate(
    network: Network,
    images: np.ndarray,
    labels: ArrayLike,
    seed: int = 1,
    real: State | None = None,
    ahead: int = AHEAD,
) -> Calibration:
    """Choose the binary points that `network` leaves open: those that it or its layers have in `formats` stay.

    images (N, C, H, W), of which `seed` draws `ahead` minibatches (at least STEPS), and their labels (N,): bytes mean
    0..1, all others themselves. real: the weights, biases and momenta to begin with, None for the initial ones of
    `seed`. Raises ImagesError for images that the network does not read, NetworkError where no formats fit each other.
    """
    labels = np.asarray(labels)
    chosen = _chosen(network, images, labels, seed, max(ahead, STEPS))
    found, diverges = _values(network, _minibatches(images, labels, chosen), seed, real)
    first = list(_minibatches(images, labels, chosen[:STEPS]))
    tried, refused = list[Calibration](), None
    for room in ROOMS:
        try:
            fitting = _fitting(network, found.fractions(room))
        except NetworkError as error:
            refused = error
            continue
        tried.append(Calibration(fitting, *_compare(fitting, first, seed, real), diverges))
        if tried[-1].worst <= WARN_ABOVE or (diverges is not None and diverges < STEPS):
            return tried[-1]
    if refused and not tried:
        raise refused
    return min(tried, key=lambda one: one.worst)


def _chosen(network: Network, images: np.ndarray, labels: np.ndarray, seed: int, count: int) -> np.ndarray:
    """The images of `count` minibatches by number, different ones as far as there are enough; then they come again."""
    if images.ndim != 4 or images.shape[1:] != network.shape or not len(images):
        raise ImagesError(f"images of shape {images.shape} where the network reads (N, {network.shape})")
    if labels.shape != images.shape[:1] or labels.min() < 0 or labels.max() >= network.classes:
        raise ImagesError(f"labels of shape {labels.shape} are not a class 0..{network.classes - 1} for each image")
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(images))
    return np.resize(order, (count, network.minibatch))


def _minibatches(images: np.ndarray, labels: np.ndarray, chosen: np.ndarray) -> Minibatches:
    """One after the other: all of them may be too large for the memory."""
    for index in chosen:
        x = real_images(images[index])
        if not np.isfinite(x).all():
            raise ImagesError("images with infinite or NaN pixels")
        yield x, labels[index]


class _Values:
    """What has been seen, by layer number (None: the input) and kind of format: samples and the largest magnitude."""

    def __init__(self, network: Network) -> None:
        self.network, self.most = network, SAMPLES
        self.samples: dict[tuple[int | None, str], list[np.ndarray]] = {}
        self.largest: dict[tuple[int | None, str], float] = {}

    def add(self, layer: int | None, kind: str, values: np.ndarray) -> None:
        values = np.abs(values.ravel())
        values = values[np.isfinite(values)]
        if not values.size:
            return
        key = layer, kind
        self.largest[key] = max(self.largest.get(key, 0.0), float(values.max()))
        self.samples.setdefault(key, []).append(
            values[:: -(-values.size // self.most)].copy()
        )  # no view: it would keep all of them

    def add_state(self, trainer: FloatTrainer) -> None:
        """Weights, biases and momenta as they are. Biases begin at zero and get the range of the weights at least."""
        for p, state in zip(self.network.parameters, trainer.state):
            for key in STATE if p.bias else STATE[::2]:
                self.add(p.layer, key, state[key])
            if p.bias:
                self.add(p.layer, "bias", state["weight"])

    def add_step(self, x: np.ndarray, trainer: FloatTrainer) -> None:
        """The activations and local gradients of the last step."""
        self.add(None, "input", x)
        graph = self.network.graph
        for node in graph.nodes:
            if node.operator.rounded:
                self.add(node.layer, "act", trainer.last["words"][node.name])
                if node.name in trainer.last["deltas"]:
                    self.add(node.layer, "delta", trainer.last["deltas"][node.name])

    def fractions(self, room: float) -> dict[tuple[int | None, str], int]:
        """The best fraction width of everything that was not zero throughout, with `room` above the largest values."""
        best = {}
        for (layer, kind), largest in self.largest.items():
            if largest:
                values, above = np.concatenate(self.samples[layer, kind]), 1.0 if kind == "input" else room
                best[layer, kind] = best_fraction(values, largest, above, self.network.data_width)
        return best


def _values(network: Network, batches: Minibatches, seed: int, real: State | None) -> tuple[_Values, int | None]:
    """(what the steps in floating point see, the step in which they run away). The first ones are in float64."""
    trainer, found = FloatTrainer(network, seed, np.float64), _Values(network)
    if real is not None:
        trainer.state = [dict(layer) for layer in real]
    found.add_state(trainer)
    for step, (x, labels) in enumerate(batches):
        if step == STEPS:
            trainer.dtype = np.float32
            trainer.state = [{key: x.astype(np.float32) for key, x in layer.items()} for layer in trainer.state]
            found.most = SAMPLES_AHEAD
        before = _norm(trainer)
        trainer.step(x, labels, step)
        runs_away = not _norm(trainer) <= DIVERGES * before
        if not runs_away or step < STEPS:
            found.add_step(x, trainer)
        if runs_away:
            return found, step
        found.add_state(trainer)
    return found, None


def best_fraction(values: np.ndarray, largest: float, room: float, width: int) -> int:
    """The fraction width that loses least of magnitudes `values` that may become `room` times as large: the mean square
    of what stochastic rounding changes and of what saturation takes away."""
    holds = width - 1 - int(np.ceil(np.log2(largest * room)))
    losses = {}
    for frac in range(holds, holds + width):
        limit, step = 2.0 ** (width - 1 - frac), 2.0**-frac
        part = values / step % 1
        losses[frac] = float((np.maximum(values * room - limit, 0) ** 2 + part * (1 - part) * step**2).mean())
    return int(np.clip(min(losses, key=losses.__getitem__), FRAC_MIN, FRAC_MAX))


def _fitting(network: Network, wanted: dict[tuple[int | None, str], int]) -> Network:
    """`network` with the `wanted` formats, as near to them as its shifts and sums allow. Raises NetworkError."""
    given = network.formats
    top = {"input": wanted[None, "input"]} if (None, "input") in wanted else {}
    formats, moves = list[dict[str, int]](), [0] * len(network.layers)
    for place, layer in enumerate(network.layers):
        kinds = [kind for kind in layer.own_formats if (place, kind) in wanted and kind not in given]
        formats.append({kind: wanted[place, kind] for kind in kinds} | layer.formats)
    while True:
        layers = tuple(replace(x, formats=own) if own else x for x, own in zip(network.layers, formats))
        try:
            return replace(network, layers=layers, formats=top | given)
        except NetworkError as error:
            kind = error.field.removeprefix("format.")
            if error.layer is None or moves[error.layer] == 4 * network.data_width:
                raise
            number = error.layer
            moves[number] += 1
            own, layer = formats[number], network.layers[number]
            free = set(layer.own_formats) - set(given) - set(layer.formats)
            if error.field in IN_MOMENTUM:
                # No shifts represent it: the momenta go to either side of what was wanted, further each time.
                by = (moves[number] + 1) // 2 * (-1) ** moves[number]
                own |= {key: wanted[number, key] + by for key in MOMENTA if key in free & set(own)}
            elif kind in free and error.nearest.lstrip("-").isdigit():
                own[kind] = int(error.nearest)
            else:
                raise


def _norm(trainer: FloatTrainer) -> float:
    """Of all weights and biases; infinite or NaN where one of them is."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(sum((layer[key] ** 2).sum() for layer in trainer.state for key in ("weight", "bias"))))


def _compare(
    network: Network, batches: Minibatches, seed: int, real: State | None
) -> tuple[dict[str, float], Saturations]:
    """(errors, saturations) of the steps in integers."""
    integers = ReferenceTrainer(network, seed, None if real is None else state_of(network, real))
    floats = FloatTrainer(network, seed, np.float64)
    floats.state = real_of(network, integers.weights())
    form = Format(network.data_width, network.input_frac)
    for step, (x, labels) in enumerate(batches):
        integers.step(quantize(x, form, "half_even"), labels, step)
        floats.step(x, labels, step)
    errors = {}
    for p, ours, theirs in zip(network.parameters, real_of(network, integers.weights()), floats.state):
        if p.trainable:
            keys = ("weight", "bias")[: 1 + p.bias]
            square = {key: float(((ours[key] - theirs[key]) ** 2).sum()) for key in keys}
            norm = sum(float((theirs[key] ** 2).sum()) for key in keys)
            errors[p.name] = float(np.sqrt(sum(square.values()) / norm)) if norm else 0.0
    return errors, integers.saturations
