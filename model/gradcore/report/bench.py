# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: complete training iterations on the compiled RTL in the steady state. The engine counts its own cycles,
and every word is checked."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.compiler.estimate import Bandwidth
from gradcore.compiler.operation import Op
from gradcore.compiler.tokens import COMPUTE, dependencies
from gradcore.data.datasets import DataError, Dataset, check, quantize_input
from gradcore.data.datasets import batches as shuffled
from gradcore.host.backends import EngineSession
from gradcore.host.cycles import by_cause, unaccounted
from gradcore.host.placement import room
from gradcore.host.progress import Comparison
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ENGINES, PRODUCERS, Opcode
from gradcore.network.description import Network
from gradcore.network.layer_table import ideal_macs
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import FRONTS, build_engine

PASSES = ("FP", "BP", "WU")


def random_batches(network: Network, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless minibatches of random images over the whole range 0..1 and random labels."""
    rng = np.random.default_rng(seed)
    while True:
        yield (
            rng.integers(0, (1 << network.input_frac) + 1, (network.minibatch, *network.shape)),
            rng.integers(0, network.classes, network.minibatch),
        )


def data_batches(network: Network, dataset: Dataset, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless minibatches of a data set's training images, in a new order in every epoch. Raises DataError at once."""
    check(dataset, network, rest=False)
    x = quantize_input(dataset.x_train, network)
    if len(x) < network.minibatch:
        raise DataError(dataset.name, "x_train", f"has {len(x)} images, a minibatch {network.minibatch}")
    order = (index for epoch in count() for index in shuffled(len(x), network.minibatch, seed, epoch))
    return ((x[index], dataset.y_train[index]) for index in order)


def measure(
    network: Network,
    config: EngineConfig,
    memory: Memory = Memory(),
    batches: Iterator[tuple[np.ndarray, np.ndarray]] | None = None,
    iterations: int = 2,
    seed: int = 1,
    say: Callable[[str], None] = lambda text: None,
    backend: str = "sim",
) -> tuple[dict[str, Any], np.ndarray, Sequence[Op]]:
    """Train `iterations` minibatches and report the last one: (report as a dict, recorded events, operations of the
    program).

    `batches` yields (images as integers, labels); default: random ones. The reference trainer works beside the
    simulation.
    """
    library, sha256 = build_engine(config, say, backend)
    batches, reference = (
        batches or random_batches(network, seed),
        ReferenceTrainer(network, seed, acc_width=config.acc_width),
    )
    compared, seconds, cycles, overflows = Comparison(), 0.0, 0, []
    memory = memory.at_least(room(compile_network(network, config)))
    session = EngineSession(SimBackend(library, memory), network, config, seed, sha256)
    try:
        with ThreadPoolExecutor(1) as beside:
            for iteration in range(iterations):
                x, labels = next(batches)
                expected = beside.submit(reference.step, x, labels, iteration)
                session.record()
                started = time.perf_counter()
                loss = session.step(x, labels, iteration)
                seconds += time.perf_counter() - started
                counters = session.counters()
                cycles += counters["cycles"]
                events, _, ops = session.recorded()
                compared.loss(loss, expected.result(), f"iteration {iteration}")
                flag = session.overflowed()
                compared.overflow(flag, reference.overflow_agrees(flag), f"iteration {iteration}")
                overflows += [iteration] * flag
        compared.weights(network, session.weights(), reference.weights(), f"{iterations} iterations")
    finally:
        session.close()
    bandwidth = Bandwidth(memory.bytes_per_cycle, memory.latency, config.mem_bytes)
    latency = None if FRONTS[backend].made else memory.latency  # a controller's is not set
    expected_cycles = session.device.compiled.train.expected(bandwidth)
    return (
        _report(network, config, memory, counters, compared, expected_cycles)
        | {
            "overflowed_minibatches": len(overflows),
            "first_overflow": overflows[0] if overflows else None,
            "backend": backend,
            "memory": {"bytes_per_cycle": memory.bytes_per_cycle, "latency": latency},
            "stall": memory.stall,
            "iterations": iterations,
            "seed": seed,
            "engine_sha256": sha256,
            "per_phase": phases(events, ops, counters["cycles"], config.cols),
            "simulated_cycles_per_second": round(cycles / seconds),
            "seconds": round(seconds, 1),
        },
        events,
        ops,
    )


def _report(
    network: Network,
    config: EngineConfig,
    memory: Memory,
    counters: Mapping[str, int],
    compared: Comparison,
    expected: int,
) -> dict[str, Any]:
    images, cycles, macs = network.minibatch, counters["cycles"], ideal_macs(network)
    moved = (counters["read_beats"] + counters["write_beats"]) * config.mem_bytes
    causes = by_cause(counters)
    stalls = {cause: n for cause, n in causes["compute"].items() if cause != "busy" and n}
    stalls |= {cause: counters[f"compute.{cause}"] for cause in ("padding", "turn_round", "yield")}
    return {
        "network": network.name,
        "minibatch": images,
        "engine": {name: getattr(config, name) for name in config.__dataclass_fields__},
        "cycles": cycles,
        "cycles_per_image": cycles / images,
        "ideal_cycles_per_image": macs / (config.lanes * config.cols),
        "expected_cycles_per_image": expected / images,
        "expected_deviation_percent": 100 * (expected - cycles) / cycles,
        "macs_per_image": macs,
        "mac_utilisation": macs * images / (config.lanes * config.cols * cycles),
        "mac_busy_cycles": counters["compute.mac_busy"],
        "stall_cycles": stalls,
        "engine_cycles": causes,
        "unaccounted_cycles": unaccounted(causes, cycles) | _rest(counters["compute.mac_busy"], stalls, cycles),
        "dram_bytes_per_image": moved / images,
        "dram_bound_cycles_per_image": moved / memory.bytes_per_cycle / images,
        "words_compared": compared.words,
        "differing_words": compared.differing,
        "losses_compared": compared.losses,
        "differing_losses": compared.differing_losses,
        "differing_overflows": compared.differing_overflows,
        "first_difference": compared.first or None,
    }


def _rest(busy: int, stalls: dict[str, int], cycles: int) -> dict[str, int]:
    rest = cycles - busy - sum(stalls.values())
    return {"array": rest} if rest else {}


def phases(events: np.ndarray, ops: Sequence[Op], total: int, cols: int) -> list[dict[str, Any]]:
    """What each layer and pass took of the array's time: {layer, pass, cycles, busy, stalls}, in the order of the first
    start.

    Every cycle of the program belongs to one phase: a COMPUTE's from the end of the one before to its own end, those
    after the last one to the end of the program to the pass "end". A wait before a COMPUTE counts for what it needed
    last. The updates run beside the array: their cycles, of the update engine, are marked `beside`.
    """
    spans = spans_of(events, ops)
    needs = dependencies(ops)
    origin = min(start for start, _ in spans.values())
    found: dict[tuple[str, str], dict[str, Any]] = {}
    before = origin
    for index in (k for k, op in enumerate(ops) if op.engine == COMPUTE):
        op, (start, end) = ops[index], spans[index]
        row = _phase(found, op.layer, PASSES[op.instr["mode"]])
        row["cycles"] += end - before
        row["busy"] += min(op.cycles, end - start)
        stalls = {"in_pass": end - start - min(op.cycles, end - start)}
        given = [(spans[source][1], PRODUCERS[producer]) for producer, source in needs[index].items()]
        stalls[f"wait_{max(given)[1]}" if given and max(given)[0] > before else "turn_round"] = start - before
        for cause, cycles in stalls.items():
            if cycles:
                row["stalls"][cause] = row["stalls"].get(cause, 0) + cycles
        before = end
    rest = _phase(found, "", "end")
    rest["cycles"] = total - (before - origin)
    rest["stalls"] = {"idle": rest["cycles"]}
    for index in (k for k, op in enumerate(ops) if op.instr.opcode == Opcode.UPDATE):
        row = _phase(found, ops[index].layer, "update")
        row["beside"] = True
        row["cycles"] += spans[index][1] - spans[index][0]
        row["busy"] += spans[index][1] - spans[index][0]
    return list(found.values())


def _phase(found: dict[tuple[str, str], dict[str, Any]], layer: str, name: str) -> dict[str, Any]:
    new: dict[str, Any] = {"layer": layer, "pass": name, "cycles": 0, "busy": 0, "stalls": {}}
    return found.setdefault((layer, name), new)


def spans_of(events: np.ndarray, ops: Sequence[Op]) -> dict[int, tuple[int, int]]:
    """(start, end) of every operation by its index: each engine runs its operations in order."""
    spans: dict[int, tuple[int, int]] = {}
    for engine in range(len(ENGINES)):
        mine = [k for k, op in enumerate(ops) if op.engine == engine]
        seen = events[events["engine"] == engine]
        if len(seen) != len(mine) or any(ops[k].instr["tag"] != tag for k, tag in zip(mine, seen["tag"])):
            raise RuntimeError(f"{len(seen)} recorded instructions of {ENGINES[engine]}, the program has {len(mine)}")
        spans |= {k: (int(event["start"]), int(event["end"])) for k, event in zip(mine, seen)}
    return spans
