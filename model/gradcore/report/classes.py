# SPDX-License-Identifier: Apache-2.0
"""Pictures of what a trained network does with images: which classes it takes for which, which images it gets wrong,
how its weights lie in their formats."""

import numpy as np

from gradcore.data.input_format import real
from gradcore.files.atomic import StrPath
from gradcore.network.description import Network
from gradcore.reference.trainer import State
from gradcore.report.pictures import COLOURS, pyplot, write_picture

SHOWN = 40  # images at most
MANY = 30  # classes whose counts are not written into the picture


def confusion(labels: np.ndarray, classes: np.ndarray, count: int) -> np.ndarray:
    """(count, count): how many images of class row were taken for class column. labels, classes (N,)."""
    found = np.zeros((count, count), np.int64)
    np.add.at(found, (labels, classes), 1)
    return found


def confusion_picture(path: StrPath, found: np.ndarray) -> None:
    """`confusion` as a table in colours."""
    plt, count = pyplot(), len(found)
    side = min(3 + 0.35 * count, 12)
    figure, axis = plt.subplots(figsize=(side, side), layout="constrained")
    share = found / np.maximum(found.sum(axis=1, keepdims=True), 1)
    axis.imshow(share, vmin=0, vmax=1, cmap="Blues")
    if count <= MANY:
        for (y, x), value in np.ndenumerate(found):
            if value:
                colour = "white" if share[y, x] > 0.5 else "black"
                axis.text(x, y, str(value), ha="center", va="center", fontsize=8, color=colour)
        axis.set_xticks(range(count))
        axis.set_yticks(range(count))
    axis.set_xlabel("class that the network finds")
    axis.set_ylabel("class of the image")
    axis.set_title(f"{int(np.trace(found))} of {int(found.sum())} images right")
    write_picture(path, plt, figure)


def wrong_picture(path: StrPath, images: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> None:
    """The first SHOWN images (N, C, H, W) whose class was not found: number, class, class found."""
    plt, wrong = pyplot(), np.flatnonzero(labels != classes)
    shown = wrong[:SHOWN]
    rows = max(1, -(-len(shown) // 8))
    figure, axes = plt.subplots(rows, 8, figsize=(11, 1.6 * rows + 0.6), layout="constrained", squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, number in zip(axes.flat, shown):
        axis.imshow(_picture(real(images[number : number + 1])[0]), cmap="gray")
        axis.set_title(f"{number}: {labels[number]}, not {classes[number]}", fontsize=8)
    figure.suptitle(f"{len(wrong)} of {len(labels)} images are wrong" + (f", the first {SHOWN}" * (len(wrong) > SHOWN)))
    write_picture(path, plt, figure)


def weights_picture(path: StrPath, network: Network, state: State) -> None:
    """A histogram of each layer's weights, with the range of their format in real numbers."""
    plt, layers = pyplot(), network.parameters
    figure, axes = plt.subplots(1, len(layers), figsize=(3 * len(layers), 2.8), layout="constrained", squeeze=False)
    for axis, p, own in zip(axes.flat, layers, state):
        axis.hist(own["weight"].ravel() / 2.0**p.fw, bins=60, color=COLOURS["compute"])
        limit = 2.0 ** (network.data_width - 1 - p.fw)
        axis.set_title(f"{p.name}: {p.fw} fraction bits, within {limit:g}", fontsize=9)
        axis.set_yscale("log")
    write_picture(path, plt, figure)


def _picture(image: np.ndarray) -> np.ndarray:
    """(H, W) or (H, W, 3) of 0..1 from real (C, H, W): three maps are colours, otherwise the first is shown."""
    image = image.transpose(1, 2, 0) if len(image) == 3 else image[0]
    low, high = image.min(), image.max()
    scaled: np.ndarray = (image - low) / (high - low) if high > low else np.zeros_like(image)
    return scaled
