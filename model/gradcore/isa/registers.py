# SPDX-License-Identifier: Apache-2.0
"""Register map of the engine: byte offsets of 32-bit registers and the meaning of the counters."""

from gradcore.isa.instruction import ENGINES, PRODUCERS

ID_VALUE = 0x47524144
VERSION_VALUE = 0x00000100

ID, VERSION, CONFIG, CONFIG2 = 0x00, 0x04, 0x08, 0x0C
CTRL, STATUS, IRQ_ENABLE, ERROR = 0x10, 0x14, 0x18, 0x1C
PROG_BASE, SEED, PROG_LENGTH = 0x20, 0x28, 0x2C
BASE = (0x30, 0x38, 0x40, 0x48)
LOSS, ERROR_ADDR = 0x50, 0x58
IRQ_STATUS, WATCHDOG, CONFIG3, LOCK = 0x60, 0x64, 0x68, 0x6C
RATE = 0x70
WINDOW, WINDOW_BYTES = 0x80, 16  # base with rights, end
COUNTERS = 0x100  # 64 bits each, latched by reading the low word

START, STOP, FORCE, SCRUB = 1, 2, 4, 8  # CTRL
READ, WRITE = 1, 2  # rights of a window
IRQ_DONE, IRQ_FAILED = 1, 2  # IRQ_ENABLE, IRQ_STATUS
BUSY, DONE, FAILED, GRAD_OVERFLOW, BUS_OPEN, LOCKED_WRITE = 1, 2, 4, 8, 16, 32  # STATUS
LOCK_WINDOWS = 1  # LOCK
HAS_VECTOR, HAS_SOFTMAX, HAS_FACTOR = 1 << 16, 1 << 17, 1 << 18  # CONFIG3

ERRORS = {
    1: "unknown opcode",
    2: "program without END",
    3: "malformed instruction",
    4: "deadlock: every instruction waits for a token",
    5: "watchdog: no progress",
    6: "stopped by the host",
    7: "read outside the windows",
    8: "write outside the windows",
    9: "PROG_BASE or BASE is no multiple of the beat",
    10: "token overflow: a counter stood at 4095 and got one more",
    18: "error response to a read (SLVERR)",
    19: "error response to a read (DECERR)",
    34: "error response to a write (SLVERR)",
    35: "error response to a write (DECERR)",
}
WITH_ADDRESS = {code for code in ERRORS if code > 6} - {10}  # ERROR_ADDR tells it
SATURATIONS = ("act", "delta", "update")  # counters saturated.act, ..


def window(number: int, first: int, end: int, rights: int) -> dict[int, int]:
    """Values by offset that open DMA window `number` from address `first` up to `end`, multiples of 4 KiB."""
    base = WINDOW + WINDOW_BYTES * number
    return {base: first & 0xFFFFFFFF | rights, base + 4: first >> 32, base + 8: end & 0xFFFFFFFF, base + 12: end >> 32}


def _counter_names() -> dict[int, str]:
    names = {0: "cycles", 1: "read_beats", 2: "write_beats"} | {
        3 + n: f"saturated.{kind}" for n, kind in enumerate(SATURATIONS)
    }
    for e, engine in enumerate(ENGINES):
        names[8 + 8 * e] = f"{engine}.busy"
        names |= {9 + 8 * e + p: f"{engine}.wait_{producer}" for p, producer in enumerate(PRODUCERS)}
        names[15 + 8 * e] = f"{engine}.idle"
    return names | {48: "compute.mac_busy", 49: "compute.padding", 50: "compute.turn_round", 51: "compute.yield"}


COUNTER_NAMES = _counter_names()
