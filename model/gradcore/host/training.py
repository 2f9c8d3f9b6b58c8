# SPDX-License-Identifier: Apache-2.0
"""One training run: a session, the reference trainer that it is compared with word by word, and the float trainer."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from gradcore.data.datasets import Dataset, batches, quantize_input, real
from gradcore.files.atomic import FileError
from gradcore.host import interrupt
from gradcore.host.backends import EngineSession, ReferenceSession, Session
from gradcore.host.progress import Progress
from gradcore.host.training_report import training_report
from gradcore.host.validation import LOSS, best_epoch, stops
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import ACC_W
from gradcore.ops.loss import evaluate, loss_value
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.saturation import Saturations
from gradcore.reference.trainer import ReferenceTrainer, State


class Check(StrEnum):
    """When every word is compared."""

    epoch = "epoch"
    step = "step"
    none = "none"


@dataclass(frozen=True)
class Options:
    """How to train: number of epochs, seed of weights, order and roundings, when to compare, whether to train in
    floating point beside it, minutes between checkpoints, epochs without a smaller validation loss after which it ends
    (0: never)."""

    epochs: int = 10
    seed: int = 1
    check: str = "epoch"
    float32: bool = True
    minutes: float = 10.0
    patience: int = 0


def epoch_batches(count: int, minibatch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Index arrays of an epoch: the whole minibatches, then the images that are left over as a smaller one."""
    whole = batches(count, minibatch, seed, epoch)
    left = np.setdiff1d(np.arange(count), np.concatenate(whole)) if whole else np.arange(count)
    return [*whole, left] if left.size else whole


def train(
    network: Network,
    data: Dataset,
    session: Session,
    options: Options,
    progress: Callable[[dict], None] | None = None,
    begin: Progress | None = None,
    save: Callable[[Progress], None] | None = None,
) -> tuple[dict[str, Any], State, tuple[np.ndarray, int, tuple[Any, ...]] | None]:
    """Train and compare. `progress` is called with a dict after every minibatch (key `images`) and every epoch (all
    keys).

    `begin`: a `Progress` to continue from, or what `beginning` makes of weights. `save` is called with a `Progress`
    before the first minibatch, after every epoch, every `options.minutes`, and with the last complete minibatch when an
    exception (an engine error, `Interrupted`) ends the training; it may keep it. Returns (report as a dict, final
    state, what `session.recorded` gave or None).
    """

    def nothing(_: object) -> None:
        pass

    return _Run(network, data, session, options, progress or nothing, begin, save or nothing).train()


class _Run:
    def __init__(
        self,
        network: Network,
        data: Dataset,
        session: Session,
        options: Options,
        progress: Callable[[dict], None],
        begin: Progress | None,
        save: Callable[[Progress], None],
    ) -> None:
        self.network, self.data, self.session = network, data, session
        self.options, self.progress, self.save = options, progress, save
        self.x_train, self.x_test = quantize_input(data.x_train, network), quantize_input(data.x_test, network)
        aside = data.x_validation
        self.x_validation = None if aside is None else quantize_input(aside, network)
        self.checking = options.check != "none"
        acc_width = session.config.acc_width if session.config else ACC_W
        self.reference = ReferenceTrainer(network, options.seed, acc_width=acc_width) if self.checking else None
        self.counting = self.reference  # who counts saturated words, if anybody does
        if not self.checking and isinstance(session, ReferenceSession):
            self.counting = session.trainer
        self.float32 = FloatTrainer(network, options.seed) if options.float32 else None
        self.begin, self.now = begin, begin.kept() if begin else Progress()
        if begin:
            assert begin.state is not None
            session.load(begin.state)
            if self.reference:
                assert begin.reference is not None
                self.reference.load(begin.reference)
            if self.float32:
                assert begin.float32 is not None
                self.float32.state = [dict(layer) for layer in begin.float32]
        self.saved: Progress | None = None  # what the last checkpoint holds
        self.done: Progress  # up to the last complete minibatch
        self.seconds, self.recoveries = self.now.seconds, self.now.recoveries  # before this session
        self.started = time.perf_counter()

    def train(self) -> tuple[dict[str, Any], State, tuple[np.ndarray, int, tuple[Any, ...]] | None]:
        self._complete(self.session.weights())
        if self.begin and self.begin.iteration:
            self.saved, self.last_save = self.done, time.monotonic()
        else:
            self._save()
        # The simulation runs without the interpreter's lock: one thread beside it is a second core for the reference.
        beside = ThreadPoolExecutor(1)
        try:
            while not self._ends():
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
        seed, check, counted = self.options.seed, self.options.check, self.counting is not None
        found = training_report(self.network, self.data, self.session, seed, check, self.done, counted)
        return found, self.state, self._recorded()

    def _ends(self) -> bool:
        now, options = self.now, self.options
        # Everything after the first difference differs.
        differs = bool(now.history) and self.checking and not now.comparison.equal
        return differs or now.epoch >= options.epochs or stops(now.history, options.patience)

    def _complete(self, state: State) -> None:
        """A minibatch or an epoch is complete: keep it. An exception anywhere leaves this or the one before."""
        self.now.seconds = self.seconds + time.perf_counter() - self.started
        self.now.recoveries = self.recoveries + self.session.recoveries
        self.state = state
        self.done = self.now.kept(
            state=state,
            reference=self.reference and self.reference.weights(),
            float32=self.float32 and [dict(layer) for layer in self.float32.state],
        )
        interrupt.check()

    def _save(self) -> None:
        self.save(self.done)
        self.saved, self.last_save = self.done, time.monotonic()

    def _epoch(self, beside: ThreadPoolExecutor) -> None:
        now, options, epoch = self.now, self.options, self.now.epoch + 1
        for index in epoch_batches(len(self.x_train), self.network.minibatch, options.seed, now.epoch)[now.minibatch :]:
            if options.check == "step" and now.comparison.differing:
                break
            self._minibatch(index, beside)
            if time.monotonic() - self.last_save >= 60 * options.minutes:
                self._save()
        expected = beside.submit(self._reference_results)
        outputs, validated = self.session.outputs(self.x_test), self._validation()
        theirs = expected.result()
        if self.reference and options.check == "epoch":
            now.comparison.weights(self.network, self.state, self.reference.state, f"epoch {epoch}")
        entry: dict[str, Any] = {
            "epoch": epoch,
            "images": now.images,
            "loss": self._loss(now.loss) / now.images,
            "test_accuracy": float((outputs.argmax(axis=1) == self.data.y_test).mean()),
            **self._validated(validated),
            "weights_equal": now.comparison.equal if self.checking else None,
            **theirs,
            "saturations": [row for row in Saturations(now.epoch_saturated).rows() if row["clipped"]]
            if self.counting
            else None,
        }
        if self.float32:
            entry["float32_loss"] = now.float32_loss / now.images
        if "reference_outputs" in entry:
            pairs = ((entry.pop("reference_outputs"), outputs), (entry.pop("reference_validation"), validated))
            entry["differing_outputs"] = sum(int(np.count_nonzero(a != b)) for a, b in pairs if b is not None)
        now.history.append(entry)
        if best_epoch(now.history) == epoch:
            now.best = self.state
        now.epoch, now.minibatch, now.images, now.loss, now.float32_loss = epoch, 0, 0, 0, 0.0
        self._complete(self.state)
        self._save()
        self.progress(entry)

    def _validation(self) -> np.ndarray | None:
        """Outputs of the images that were set aside."""
        return None if self.x_validation is None else self.session.outputs(self.x_validation)

    def _validated(self, outputs: np.ndarray | None) -> dict[str, float]:
        """Loss per image and accuracy of these outputs."""
        labels = self.data.y_validation
        if outputs is None or labels is None:
            return {}
        _, total = evaluate(self.network.loss_parameters, outputs, labels, self.network.data_width)
        right = (outputs.argmax(axis=1) == labels).mean()
        return {LOSS: self._loss(total) / len(labels), "validation_accuracy": float(right)}

    def _minibatch(self, index: np.ndarray, beside: ThreadPoolExecutor) -> None:
        now = self.now
        if not now.minibatch:
            now.epoch_saturated = {}
        per_epoch = -(-len(self.x_train) // self.network.minibatch)
        rate = self.network.schedule.rate(now.iteration, per_epoch)
        expected = beside.submit(self._references, index, now.iteration, rate)
        loss = self._step(index, rate)
        theirs, float32_loss = expected.result()
        state = self.session.weights()
        if self.reference:
            now.comparison.loss(loss, theirs, f"minibatch {now.iteration}")
            flag = self.session.overflowed()
            now.comparison.overflow(flag, self.reference.overflow_agrees(flag), f"minibatch {now.iteration}")
        if self.reference and self.options.check == "step":
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

    def _step(self, index: np.ndarray, rate: int) -> int:
        now, session, labels = self.now, self.session, self.data.y_train[index]
        # A minibatch in the steady state, when there is one.
        steady = now.iteration == min(1, len(self.x_train) // self.network.minibatch - 1)
        recorder = session if steady and isinstance(session, EngineSession) and session.can_record else None
        if recorder:
            recorder.record()
        loss = session.step(self.x_train[index], labels, now.iteration, rate)
        if recorder:
            now.events, now.lost_events, _ = recorder.recorded()
            first = now.events["start"].min(initial=np.iinfo(np.uint64).max)
            for when in ("start", "end"):
                now.events[when] -= first  # cycles of the minibatch, whatever has been simulated before
        for name, value in session.counters().items():
            now.counters[name] = now.counters.get(name, 0) + value
        return loss

    def _recorded(self) -> tuple[np.ndarray, int, tuple[Any, ...]] | None:
        """Events, how many older ones were lost, operations of the training program; None when nothing was recorded."""
        if self.now.events is None or not isinstance(self.session, EngineSession):
            return None
        return self.now.events, self.now.lost_events, self.session.operations

    def _references(self, index: np.ndarray, iteration: int, rate: int) -> tuple[int | None, float]:
        labels, more = self.data.y_train[index], (iteration, rate)
        loss = self.reference.step(self.x_train[index], labels, *more) if self.reference else None
        return loss, self.float32.step(real(self.data.x_train[index]), labels, *more) if self.float32 else 0.0

    def _reference_results(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.reference:
            found["reference_outputs"] = self.reference.forward(self.x_test)
            aside = self.x_validation
            found["reference_validation"] = None if aside is None else self.reference.forward(aside)
        if self.float32:
            size, x, y = self.network.minibatch, self.data.x_test, self.data.y_test
            right = sum(
                int((self.float32.predict(real(x[n : n + size])) == y[n : n + size]).sum())
                for n in range(0, len(x), size)
            )
            found["float32_test_accuracy"] = right / len(x)
        return found

    def _loss(self, total: int) -> float:
        return loss_value(self.network.loss, int(total), self.network.graph.output.frac)
