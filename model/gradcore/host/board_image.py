# SPDX-License-Identifier: Apache-2.0
"""What a host program without Python needs of a network: programs and trained weights as the engine reads them, in one
image, and where in it everything lies (doc/programming.md, "Without Python"). Every region begins on a page, since
windows do."""

import textwrap
from dataclasses import dataclass

import numpy as np

from gradcore.compiler.compile import CompiledNetwork
from gradcore.host.placement import PAGE
from gradcore.isa.fold import round_up
from gradcore.reference.trainer import State

GUARD = "GRADCORE_NETWORK_H"
WORDS = 8  # of the array in a line


@dataclass(frozen=True)
class BoardImage:
    """The image as bytes, and byte offsets from its place in memory: regions as (begin, end), memory: the end of all.
    train_length, infer_length: instructions."""

    data: np.ndarray
    train: tuple[int, int]
    infer: tuple[int, int]
    state: tuple[int, int]
    images: tuple[int, int]
    targets: tuple[int, int]
    train_length: int
    infer_length: int

    @property
    def memory(self) -> int:
        """Bytes that the engine needs from the image's place on."""
        return round_up(self.targets[1], PAGE)


def board_image(compiled: CompiledNetwork, state: State) -> BoardImage:
    """The image of a compiled network with the weights `state`."""
    memory, programs = compiled.memory, (compiled.train, compiled.infer)
    places, free = list[tuple[int, int]](), 0
    for size in (*(p.binary.size for p in programs), memory.size, memory.act[0].end, memory.target.end):
        places.append((free, free + size))
        free = round_up(free + size, PAGE)
    initial = compiled.initial_image(state)
    written = max(t.end for held in (memory.weight, memory.momentum, memory.tables) for t in held)
    data = np.zeros(round_up(places[2][0] + written, compiled.config.mem_bytes), np.uint8)
    for (begin, _), part in zip(places, (*(p.binary for p in programs), initial[:written])):
        data[begin : begin + part.size] = part
    train, infer, used, images, targets = places
    lengths = (len(p.instructions) for p in programs)
    return BoardImage(data, train, infer, used, images, targets, *lengths)


def hex_text(image: BoardImage, mem_bytes: int) -> str:
    """For $readmemh: a line for each beat, its highest byte first."""
    beats = image.data.reshape(-1, mem_bytes)[:, ::-1]
    return "".join(f"{beat.tobytes().hex()}\n" for beat in beats)


def c_text(image: BoardImage, compiled: CompiledNetwork, seed: int) -> str:
    """A C header: macros of all places and of the engine that the programs are for, the image as words."""
    network, config = compiled.network, compiled.config
    values: dict[str, int] = {"BYTES": image.data.size, "MEMORY": image.memory}
    for name in ("train", "infer", "state", "images", "targets"):
        values[name.upper()], values[f"{name.upper()}_END"] = getattr(image, name)
    values |= {"TRAIN_LENGTH": image.train_length, "INFER_LENGTH": image.infer_length}
    values |= {"MINIBATCH": compiled.images, "CLASSES": network.classes, "SEED": seed}
    values |= dict(zip(("CONFIG", "CONFIG2", "CONFIG3"), config.config_registers))
    macros = "\n".join(f"#define GC_NETWORK_{name} {value:#x}u" for name, value in values.items())
    words = [f"0x{word:08x}" for word in image.data.view("<u4")]
    lines = ",\n".join(", ".join(words[at : at + WORDS]) for at in range(0, len(words), WORDS))
    about = textwrap.fill(
        f"Network {ascii(network.name)}, by `gradcore export`: programs, weights and momenta for an engine of "
        f"{config.lanes}x{config.cols}, words of {config.data_width} bits. Offsets are in bytes from the place of the "
        "image, a multiple of 4096; lengths of programs in instructions. The words are little-endian.",
        100,
    )
    return f"""/* SPDX-License-Identifier: Apache-2.0 */
/* {about.replace("*/", "* /")} */
#ifndef {GUARD}
#define {GUARD}

#include <stdint.h>

{macros}

static const uint32_t gc_network_image[] = {{
{textwrap.indent(lines, "    ")}
}};

#endif
"""
