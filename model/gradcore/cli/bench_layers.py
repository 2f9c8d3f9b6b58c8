# SPDX-License-Identifier: Apache-2.0
"""What `gradcore bench` does with single layers."""

from dataclasses import replace
from pathlib import Path

from gradcore import network as networks
from gradcore.cli.common import UserError, engine_config, fitting, screen_beside, write_json
from gradcore.compiler.compile import compile_network
from gradcore.isa.config import PRESETS
from gradcore.report import bench, bench_table, large_layers, layer_by_layer, summary
from gradcore.sim.backend import Memory


def large(name: str, iterations: int, seed: int, json_file: str) -> bool:
    """Measure the large layer `name`, or all and write their table; has a check failed?"""
    if name not in ("all", *large_layers.LAYERS):
        raise UserError(f"--layer: {name!r} is not one of all, {', '.join(large_layers.LAYERS)}")
    screen = screen_beside(json_file)
    wrong = False
    for one in large_layers.LAYERS if name == "all" else [name]:
        network = large_layers.LAYERS[one]()
        found, _, _ = bench.measure(
            network, PRESETS[large_layers.PRESET], Memory(), None, iterations, seed, screen.print
        )
        wrong |= summary.failed(found)
        if name == "all":
            bench_table.store_layer(one, found)
        screen.print(summary.bench_line(found), markup=False)
    write_json(json_file, found)
    return wrong


def by_layers(
    file: Path, cols: int, minibatch: int | None, only: str, iterations: int, seed: int, json_file: str
) -> bool:
    """Measure the layers of a network alone that are not yet measured, or the one called `only`, and write their table;
    has a check failed?"""
    preset = f"64x{cols}"
    if preset not in PRESETS:
        raise UserError(f"--cols: with --by-layers there are the presets {', '.join(PRESETS)}, not {preset}")
    network = networks.load(file)
    network = replace(network, minibatch=minibatch or network.minibatch)
    if only and only not in (names := [p.name for p in network.parameters]):
        raise UserError(f"--only: {only!r} is not one of {', '.join(names)}")
    config = engine_config(preset, network.data_width)
    screen = screen_beside(json_file)
    key = layer_by_layer.key_of(network.name, preset, network.minibatch)
    wrong = False
    with fitting(file):
        screen.print(f"{key}: the whole network and its layers are compiled", markup=False)
        whole = compile_network(network, config)
        layers = layer_by_layer.take_apart(whole)
        table = layer_by_layer.store_plans(key, whole, [layer_by_layer.plan(alone, config) for alone in layers])
        missing = [alone for alone in layers if table["layers"][alone.name]["run"] is None]
        for alone in [alone for alone in layers if only in alone.names] if only else missing:
            found, run = layer_by_layer.measure(alone, config, iterations, seed, screen.print)
            screen.print(summary.bench_line(found), markup=False)
            if summary.failed(found):
                wrong = True
                continue
            table = layer_by_layer.store_run(key, alone.name, run)
            bench_table.write_page()
    bench_table.write_page()
    screen.print("\n".join(layer_by_layer.table_lines(key, table)), markup=False)
    write_json(json_file, table)
    return wrong
