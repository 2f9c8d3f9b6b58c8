# SPDX-License-Identifier: Apache-2.0
"""Train the digits on the simulated LiteX system, and compare every weight with the reference trainer.

Needs the extra [litex] and a compiler for RISC-V. Exit code 0: the loss of each minibatch and all weights are those of
the reference trainer; 1: something differs or the firmware has failed; 2: an illegal option; 3: no compiler, or it
has failed.
"""

import argparse
import contextlib
import logging
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.export import get_csr_header, get_mem_header
from system import System

from gradcore.compiler.compile import CompiledNetwork, compile_network
from gradcore.data import datasets
from gradcore.files.places import ROOT
from gradcore.host.board_image import BoardImage, board_image, c_text
from gradcore.isa.config import EngineConfig
from gradcore.network import net_toml
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.build import build_program

HERE = Path(__file__).resolve().parent
COMPILERS = ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc")
FLAGS = (
    "-march=rv32i_zicsr -mabi=ilp32 -O2 -std=gnu11 -ffreestanding -nostdlib -Wall -Wextra -Wno-unused-const-variable"
)
ENGINE = EngineConfig(grid=4, cols=4, mem_bytes=16)
MINIBATCH = 16
CYCLES = 2_000_000  # of each minibatch, at most; copying the network takes 300 000


def natural(text: str) -> int:
    """A number of minibatches; their images have to fit the ROM."""
    if not 1 <= int(text) <= 8:
        raise argparse.ArgumentTypeError(f"{text} is not 1..8")
    return int(text)


def seed(text: str) -> int:
    if not 0 <= int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is not 0..4294967295")
    return int(text)


def c_arrays(**arrays: np.ndarray) -> str:
    """C text of arrays (minibatches, bytes), as words."""
    text = f"#include <stdint.h>\n#define MINIBATCHES {len(next(iter(arrays.values())))}u\n"
    for name, rows in arrays.items():
        lines = (", ".join(f"0x{word:08x}" for word in row.view("<u4")) for row in rows)
        text += f"static const uint32_t {name}[][{rows.shape[1] // 4}] = {{\n"
        text += "".join(f"    {{{line}}},\n" for line in lines) + "};\n"
    return text


def compiled_by(*words: str | Path) -> None:
    """Run a compiler or objcopy; it says itself what is wrong. Raises SystemExit when it fails."""
    if subprocess.run(words).returncode:
        print(f"error: {words[0]} cannot make the firmware", file=sys.stderr)
        raise SystemExit(3)


def firmware(system: System, folder: Path, headers: dict[str, str]) -> list[int]:
    """Words of the ROM: firmware.c with `headers` and those of a finalised system."""
    compilers = [name for name in COMPILERS if shutil.which(name)]
    if not compilers:
        print(f"error: none of {', '.join(COMPILERS)} is installed (Debian: gcc-riscv64-unknown-elf)", file=sys.stderr)
        raise SystemExit(3)
    regions = system.bus.regions
    places = (f"{n} : ORIGIN = {regions[n].origin:#x}, LENGTH = {regions[n].size:#x}\n" for n in ("rom", "sram"))
    texts = headers | {
        "csr.h": get_csr_header(system.csr_regions, system.constants, with_access_functions=False),
        "mem.h": get_mem_header(regions),
        "soc.h": f"#define GRADCORE_INTERRUPT {system.irq.locs['gradcore']}\n",
        "regions.ld": f"MEMORY {{\n{''.join(places)}}}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    words = [*FLAGS.split(), "-I", folder, "-I", ROOT / "rtl" / "engine", "-L", folder, "-T", HERE / "firmware.ld"]
    files = [HERE / "start.S", HERE / "firmware.c"]
    compiled_by(compilers[0], *words, *files, "-lgcc", "-o", folder / "firmware.elf")
    objcopy = compilers[0].replace("gcc", "objcopy")
    compiled_by(objcopy, "-O", "binary", folder / "firmware.elf", folder / "firmware.bin")
    return list(get_mem_data(str(folder / "firmware.bin"), endianness="little", data_width=32))


def build(folder: Path, headers: dict[str, str]) -> Path:
    """The simulation of the system as a program; what its memories begin with lies in `folder`. What LiteX says goes
    to system.log."""
    logging.getLogger().setLevel(logging.WARNING)
    with (folder / "system.log").open("w") as log, contextlib.redirect_stdout(log), contextlib.chdir(folder):
        system = System(ENGINE)
        system.finalize()
        system.init_rom("rom", firmware(system, folder, headers), auto_size=False)
        system.platform.get_verilog(system, name="system").write("system.v")
    verilog = [Path(file) for file, *_ in system.platform.sources]
    return build_program([*verilog, folder / "system.v", HERE / "simulate.cpp"], {}, "system", print)


def same(compiled: CompiledNetwork, image: BoardImage, dram: np.ndarray, trainer: ReferenceTrainer) -> bool:
    """Are weights, biases and momenta in the DRAM those of the trainer?"""
    state = dram[image.state[0] :]
    found = compiled.unpack_state(lambda tensor: state[tensor.addr : tensor.end])
    pairs = zip(found, trainer.weights(), strict=True)
    return all(np.array_equal(ours[key], theirs[key]) for ours, theirs in pairs for key in theirs)


def main() -> int:
    parser = argparse.ArgumentParser(description="Train the digits on a simulated LiteX system.")
    parser.add_argument("--minibatches", type=natural, default=3, help="1..8")
    parser.add_argument("--seed", type=seed, default=1, help="of the first weights and of the rounding")
    parser.add_argument("--out", type=Path, default=Path("build/litex"), help="folder for all that is made")
    options = parser.parse_args()
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)

    network = replace(net_toml.load(ROOT / "examples" / "digits" / "net.toml"), minibatch=MINIBATCH)
    compiled, data = compile_network(network, ENGINE), datasets.load("digits")
    images = options.minibatches * MINIBATCH
    x = datasets.quantize_input(data.x_train[:images], network).reshape(-1, MINIBATCH, *network.shape)
    labels = data.y_train[:images].reshape(-1, MINIBATCH)
    trainer = ReferenceTrainer(network, options.seed)
    image = board_image(compiled, trainer.weights())
    packed = {
        "images": np.array([compiled.pack_images(one) for one in x]),
        "targets": np.array([compiled.pack_targets(one) for one in labels]),
    }
    headers = {"net.h": c_text(image, compiled, options.seed), "minibatches.h": c_arrays(**packed)}
    program = build(folder, headers)

    words = [program, "dram.bin", str(image.memory), str(options.minibatches * CYCLES)]
    ran = subprocess.run(words, cwd=folder, text=True, stdout=subprocess.PIPE)
    print(ran.stdout, end="")
    if ran.returncode:
        print("error: the firmware has failed or did not end", file=sys.stderr)
        return 1
    losses = [trainer.step(*one, iteration) for iteration, one in enumerate(zip(x, labels))]
    losses_equal = losses == [int(line.split()[1], 16) for line in ran.stdout.splitlines()]
    equal = same(compiled, image, np.fromfile(folder / "dram.bin", np.uint8), trainer)
    print(f"losses equal: {'yes' if losses_equal else 'no'}, weights equal: {'yes' if equal else 'no'}")
    return 0 if equal and losses_equal else 1


if __name__ == "__main__":
    sys.exit(main())
