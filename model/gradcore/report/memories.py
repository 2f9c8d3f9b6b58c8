# SPDX-License-Identifier: Apache-2.0
"""How full an engine's memories make an FPGA: block counts by arithmetic, from the shapes of the memories in the
RTL."""

from dataclasses import dataclass, replace

from gradcore.isa.config import PRESETS, EngineConfig

# Blocks by depth x width, one write and one read port; how many a chip has. A RAMB36 is two RAMB18.
RAMB18 = ((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36))
ULTRARAM = ((4096, 72),)
ULTRA = {"operands": 0b0011, "weights": 0b0100, "gradients": 0b1000}  # bits of the parameter of gc_engine
M20K = ((16384, 1), (8192, 2), (4096, 5), (2048, 10), (1024, 20), (512, 40))
VU9P = {"RAMB36": 2160, "UltraRAM": 960}
KU115 = {"RAMB36": 2160}
S10_1SG280 = {"M20K": 11721}
PIXEL_DEPTH = 512  # of gc_vector_gather: beats
LOOKED_UP, TABLE_DEPTH, TABLE_WIDTH = 16, 512, 16  # of gc_vector_table: words in a cycle, pairs of points, bits


@dataclass(frozen=True)
class Memories:
    """`count` memories of `depth` words of `width` bits."""

    name: str
    count: int
    depth: int
    width: int

    def blocks(self, shapes: tuple[tuple[int, int], ...]) -> int:
        """Blocks of all of them in the best of `shapes`."""
        each = min(-(-self.depth // depth) * -(-self.width // width) for depth, width in shapes)
        return self.count * each

    def in_rows(self) -> "Memories":
        """The same words as gc_ram_ultra keeps them: several of up to 36 bits in a row of 72."""
        words = next((words for words in (8, 4, 2) if words * self.width <= 72), 1)
        return replace(self, depth=-(-self.depth // words), width=max(self.width, 72))


def memories(config: EngineConfig) -> list:
    """The engine's buffers: two operand buffers and the gate buffer have a bank for each lane, the weight buffer has
    memories of one word, the gradient buffer one of `acc_width` bits for each column. VECTOR has two for the pixels
    that it keeps and two for each word that is looked up in its table in a cycle."""
    looked_up = min(LOOKED_UP, config.mem_bytes // config.word_bytes)
    vector = [
        Memories("pixels", 2, PIXEL_DEPTH, 8 * config.mem_bytes),
        Memories("table", 2 * looked_up, TABLE_DEPTH, TABLE_WIDTH),
    ]
    parts = min(8 if config.groups > 4 else 4, max(config.wgt_depth // config.cols, 1))
    return [
        Memories("operands", 2 * config.lanes, config.act_depth, config.data_width),
        Memories("gates", config.lanes, config.gate_depth, 1),
        Memories("weights", config.cols * parts, config.wgt_depth // parts, config.data_width),
        Memories("gradients", config.cols, config.grad_depth, config.acc_width),
        *(vector if config.has_vector else ()),
    ]


def ultra(config: EngineConfig) -> int:
    """The parameter ULTRA of the engine on a VU9P: gradients fill the rows of UltraRAM; with 64 columns an operand
    buffer goes there, too, because the weights need the block RAM."""
    return ULTRA["gradients"] | (0b0010 if config.cols == 64 else 0)


def placed(found: Memories, chosen: int) -> dict[str, int]:
    """Blocks of a kind of memory on an UltraScale+ with the parameter ULTRA `chosen`."""
    bits = ULTRA.get(found.name, 0)
    there = found.count * (chosen & bits).bit_count() // max(bits.bit_count(), 1)
    block = -(-replace(found, count=found.count - there).blocks(RAMB18) // 2)
    counts = {"RAMB36": block, "UltraRAM": replace(found, count=there).in_rows().blocks(ULTRARAM)}
    return {kind: count for kind, count in counts.items() if count}


def full(used: int, kind: str, chip: dict[str, int]) -> str:
    """How much of a chip's blocks of a kind that is, and whether it has so many."""
    share = f"{100 * used / chip[kind]:.0f} %"
    return share if used <= chip[kind] else f"{share}: does not fit"


def table() -> list:
    """The presets and their blocks, as lines of Markdown."""
    rows = [
        "| preset | buffer | memories | depth x bits | VU9P, with `ULTRA` | KU115, RAMB36 | 1SG280, M20K |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, config in PRESETS.items():
        used, ramb36, m20k = dict.fromkeys(VU9P, 0), 0, 0
        for found in memories(config):
            blocks, alone = placed(found, ultra(config)), -(-found.blocks(RAMB18) // 2)
            used |= {kind: used[kind] + count for kind, count in blocks.items()}
            ramb36, m20k = ramb36 + alone, m20k + found.blocks(M20K)
            shape, text = f"{found.depth} x {found.width}", ", ".join(f"{n} {kind}" for kind, n in blocks.items())
            rows.append(
                f"| {name} | {found.name} | {found.count} | {shape} | {text} | {alone} | {found.blocks(M20K)} |"
            )
        sums = ", ".join(f"{n} {kind} ({full(n, kind, VU9P)})" for kind, n in used.items())
        rest = f"{ramb36} ({full(ramb36, 'RAMB36', KU115)})", f"{m20k} ({full(m20k, 'M20K', S10_1SG280)})"
        rows.append(
            f"| **{name}** | **sum** | | | **`ULTRA` {ultra(config)}: {sums}** | **{rest[0]}** | **{rest[1]}** |"
        )
    return rows
