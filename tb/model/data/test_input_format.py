# SPDX-License-Identifier: Apache-2.0
"""Images on their way into the input format: bytes through a table, in pieces, few bytes of memory for each image."""

import json
import subprocess
import sys

import numpy as np
import pytest

from gradcore.data import datasets as data
from gradcore.data.datasets import DataError
from gradcore.files.places import ROOT
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import Format, quantize
from gradcore.ops.convolution import Dense

MEASURE = """
import json, resource, sys
from gradcore.data import datasets as data
from gradcore.network import Dense, Network
network = Network("t", (3, 32, 32), (Dense(10),))
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = data.load(sys.argv[1])
data.check(found, network)
arrays = [data.quantize_input(x, network) for x in (found.x_train, found.x_test)]
grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start)
print(json.dumps([len(found.x_train) + len(found.x_test), grown]))
"""


@pytest.mark.parametrize("width, frac", [(16, 12), (16, 15), (8, 6), (8, 7), (12, 0), (16, 20)])
def test_bytes_and_floats_give_the_same_words(width, frac, rng):
    network = Network("t", (1, 16, 16), (Dense(2, bias=False),), data_width=width, formats={"input": frac})
    images = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16).repeat(3, axis=0)
    want = quantize(images / 255.0, Format(width, frac))
    found = data.quantize_input(images, network)
    assert (
        found.dtype == np.int16
        and (found == want).all()
        and (data.quantize_input(images / 255.0, network) == want).all()
    )
    assert (data.quantize_input(images[:, :, ::2, ::-1], network) == want[:, :, ::2, ::-1]).all()


def test_pieces_join(rng):
    network = Network("t", (3, 32, 32), (Dense(2),))
    for images in (
        rng.integers(0, 256, (300, 3, 32, 32), dtype=np.uint8),
        rng.normal(0, 4, (300, 3, 32, 32)).astype(np.float32),
    ):
        want = quantize(images / 255.0 if images.dtype == np.uint8 else images, Format(16, 12))
        assert (data.quantize_input(images, network) == want).all()


@pytest.mark.parametrize(
    "values, count",
    [([8.0, -8.0], 0), ([np.nextafter(8, 9), -8], 1), ([8, np.nextafter(-8, -9)], 1), ([9, -9], 2), ([0, 7.99], 0)],
)
def test_words_outside_are_counted(values, count):
    """One step beyond the largest word is rounding, not a wrong range: 1.0 in a format that ends just below."""
    network = Network("t", (1, 16, 16), (Dense(2),))
    images = np.zeros((1, 1, 16, 16))
    images.flat[:2] = values
    assert data.outside(images, network) == count
    assert len(data.check_range("file", "x_train", images, network)) == (count > 0)


def test_more_than_a_hundredth_outside_is_refused():
    network = Network("t", (1, 10, 10), (Dense(2),))
    images = np.zeros((3, 1, 10, 10))
    images.flat[:3] = -8.5
    assert data.check_range("file", "x", images, network) == [
        "file: x: 3 of 300 words are outside the input format's range -8..8, "
        "they reach from -8.5 to 0 and are saturated"
    ]
    images.flat[3] = 255
    with pytest.raises(DataError, match="file: x: 4 of 300 words .* from -8.5 to 255; scale them"):
        data.check_range("file", "x", images, network)
    with pytest.raises(DataError, match="divide them by 255, or save them as uint8"):
        data.check_range("file", "x", np.abs(images), network)


def test_bytes_of_memory_for_each_image(tmp_path):
    """CIFAR-10 takes 3 KiB in the file, 3 KiB as bytes and 6 KiB in the input format; a fifth of the set, so that all
    else is small."""
    rng = np.random.default_rng(1)
    for name in [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]:
        records = rng.integers(0, 256, (2000, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        records.tofile(tmp_path / f"{name}.bin")
    done = subprocess.run([sys.executable, "-c", MEASURE, tmp_path], cwd=ROOT, capture_output=True, text=True)
    images, taken = json.loads(done.stdout)
    print(f"{taken / images:.0f} bytes for each of {images} images")
    assert images == 12000 and taken < 14_000 * images
