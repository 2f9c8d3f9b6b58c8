# SPDX-License-Identifier: Apache-2.0
"""The training run: what it compares, and that it notices a single wrong word, loss or output."""

import numpy as np
import pytest

from gradcore.data.datasets import Dataset
from gradcore.host import training as run
from gradcore.host.backends import ReferenceSession, open_session
from gradcore.host.model_file import weights_sha256
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.layer_table import ideal_macs
from gradcore.ops.convolution import Conv, Dense
from gradcore.report import summary
from gradcore.sim.backend import Memory

NETWORK = Network("run", (1, 6, 6), (Conv(3, 3, 1, pool=2), Dense(3)), minibatch=8, learning_rate=0.02)


def dataset(images=20):
    rng = np.random.default_rng(1)
    return Dataset(
        rng.random((images, 1, 6, 6)),
        rng.integers(0, 3, images),
        rng.random((9, 1, 6, 6)),
        rng.integers(0, 3, 9),
        "random",
    )


class Faulty(ReferenceSession):
    """A session that goes wrong in one place."""

    name = "faulty"

    def __init__(self, fault=None, when=0):
        super().__init__(NETWORK, 1)
        self.fault, self.when = fault, when

    def step(self, x, labels, iteration, rate):
        loss = super().step(x, labels, iteration, rate)
        if iteration == self.when and self.fault in ("weight", "bias", "momentum", "bias_momentum"):
            self.trainer.state[1][self.fault].flat[-1] += 1
        return loss + (iteration == self.when and self.fault == "loss")

    def outputs(self, x):
        outputs = super().outputs(x)
        outputs[-1, -1] += self.fault == "output"
        return outputs


@pytest.mark.parametrize("check, times", [("epoch", 2), ("step", 6)])
def test_equal_run_compares_every_word(check, times):
    found, state, _ = run.train(NETWORK, dataset(), Faulty(), run.Options(epochs=2, check=check))
    words = 2 * sum(int(np.prod(p.weight_shape)) + p.weight_shape[0] for p in NETWORK.parameters)
    assert found["weights_equal"] is True and found["words_compared"] == times * words and found["losses_compared"] == 6
    assert found["differing_words"] == found["differing_losses"] == found["differing_outputs"] == 0
    assert found["train_images"] == 20 and found["epochs"] == 2 and not summary.failed(found)
    assert found["weights_sha256"] == weights_sha256(state)


@pytest.mark.parametrize("check", ["epoch", "step"])
@pytest.mark.parametrize("fault", ["weight", "bias", "momentum", "bias_momentum", "loss"])
def test_one_wrong_word_is_found_and_named(fault, check):
    found, _, _ = run.train(NETWORK, dataset(), Faulty(fault, 2), run.Options(epochs=3, check=check))
    assert found["weights_equal"] is False and summary.failed(found) and found["epochs"] == 1
    assert found["first_difference"].startswith("LOSS" if fault == "loss" else f"fc1.{fault}")
    assert found["differing_words" if fault != "loss" else "differing_losses"] == 1
    assert "NO" in summary.last_line(found)


def test_one_wrong_output_is_found():
    found, _, _ = run.train(NETWORK, dataset(), Faulty("output"), run.Options(epochs=1))
    assert found["weights_equal"] is True and found["differing_outputs"] == 1 and summary.failed(found)


def test_without_check_nothing_is_claimed():
    found, _, _ = run.train(NETWORK, dataset(), Faulty("weight"), run.Options(epochs=1, check="none", float32=False))
    assert found["weights_equal"] is None and found["words_compared"] == 0 and found["float32_test_accuracy"] is None


def test_an_engine_trains_without_check():
    """Nobody counts saturated words then."""
    config = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=1024)
    session = open_session("machine", NETWORK, config, 1)
    found, _, _ = run.train(NETWORK, dataset(), session, run.Options(epochs=1, check="none", float32=False))
    assert found["weights_equal"] is None and found["saturations"] is None and found["train_images"] == 20


def test_the_memory_grows_with_the_network():
    """The last minibatch of the epoch has 4 images."""
    config = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=1024)
    session = open_session("machine", NETWORK, config, 1, Memory(size=1))
    found, _, _ = run.train(NETWORK, dataset(), session, run.Options(epochs=1, check="none", float32=False))
    assert found["train_images"] == 20 and len(session.device.backend.dram) < Memory().size


@pytest.mark.parametrize("count", [8, 9, 15, 16, 41])
def test_every_image_is_trained_once_an_epoch(count):
    seen = run.epoch_batches(count, 8, 3, 0)
    assert sorted(np.concatenate(seen)) == list(range(count))
    assert [len(index) for index in seen] == [8] * (count // 8) + [count % 8] * (count % 8 > 0)
    other = run.epoch_batches(count, 8, 3, 1)
    assert [list(index) for index in seen] != [list(index) for index in other]


def test_hash_depends_on_every_word():
    state = ReferenceSession(NETWORK, 1).weights()
    before = weights_sha256(state)
    for layer in state:
        for key in layer:
            layer[key].flat[-1] ^= 1
            assert weights_sha256(state) != before
            layer[key].flat[-1] ^= 1
    assert weights_sha256(state) == before


def test_ideal_macs_of_a_known_network():
    # conv0: 3 maps of 6x6, 9 taps, no BP; dense: 3 x 27, all three passes.
    assert ideal_macs(NETWORK) == 2 * 3 * 36 * 9 + 3 * 3 * 27
