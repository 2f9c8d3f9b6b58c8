# SPDX-License-Identifier: Apache-2.0
"""Files and pipes in the place of a board's device files, with the instruction-level model as the engine behind
them."""

import mmap
import os
import struct
import threading
import time

import numpy as np

from gradcore.host.linux import REGISTER_BYTES, UioBackend, XdmaBackend
from gradcore.isa import registers as reg
from gradcore.machine.backend import MachineBackend

COPIED = (reg.PROG_BASE, reg.PROG_BASE + 4, reg.SEED, reg.RATE, *(base + part for base in reg.BASE for part in (0, 4)))


class StandIn(threading.Thread):
    """Watches CTRL in the file of the registers, runs programs in `dram`, whose index is the engine's address, and
    raises events in the pipe."""

    def __init__(self, config, registers, dram, events):
        super().__init__(daemon=True)
        self.registers, self.model = (
            np.memmap(registers, np.uint32, "r+", shape=(REGISTER_BYTES // 4,)),
            MachineBackend(config, 0),
        )
        self.model.machine.memory = self.model.dram = dram
        self.events, self.ended = os.open(events, os.O_RDWR), False
        for offset in (reg.ID, reg.VERSION, reg.CONFIG, reg.CONFIG2, reg.CONFIG3):
            self.registers[offset // 4] = self.model.read32(offset)
        self.start()

    def run(self):
        while not self.ended:
            if self.registers[reg.CTRL // 4] & reg.START:
                self.registers[reg.IRQ_STATUS // 4] = 0
                self.registers[reg.STATUS // 4] = reg.BUSY
                self.registers[reg.CTRL // 4] = 0
                for offset in COPIED:
                    self.model.write32(offset, int(self.registers[offset // 4]))
                self.model.write32(reg.CTRL, reg.START)
                for offset in (reg.LOSS, reg.LOSS + 4):
                    self.registers[offset // 4] = self.model.read32(offset)
                self.registers[reg.STATUS // 4] = self.model.read32(reg.STATUS)
                self.registers[reg.IRQ_STATUS // 4] = reg.IRQ_DONE
                os.write(self.events, struct.pack("=I", 1))
            time.sleep(0.0002)

    def close(self):
        self.ended = True
        self.join()
        os.close(self.events)


def _ordered(backend):
    """A register of the engine acts before the next read, a file does not: wait until a start has been taken. Ones
    clear IRQ_STATUS."""
    write32 = backend.write32

    def write_and_wait(offset, value):
        write32(offset, backend.read32(offset) & ~value if offset == reg.IRQ_STATUS else value)
        while offset == reg.CTRL and backend.read32(offset):
            time.sleep(0.0001)

    backend.write32 = write_and_wait
    return backend


def uio(config, folder, size):
    """(stand-in, back end) with the memory behind the page of the registers, where map 1 of a UIO device is."""
    device, maps = folder / "uio7", folder / "class" / "uio" / "uio7" / "maps" / "map1"
    maps.mkdir(parents=True)
    (maps / "addr").write_text(f"{mmap.PAGESIZE:#x}\n")
    (maps / "size").write_text(f"{size:#x}\n")
    device.write_bytes(bytes(mmap.PAGESIZE + size))
    os.mkfifo(folder / "events")
    engine = StandIn(config, device, np.memmap(device, np.uint8, "r+"), folder / "events")
    return engine, _ordered(arming(UioBackend(7, folder, folder, folder / "events")))


def arming(backend):
    """The same UIO back end; what it writes to let interrupts through goes behind the registers: a device has no
    place where it goes, a file does."""
    arm = backend._arm

    def arm_behind_the_registers():
        os.lseek(backend._files[0], REGISTER_BYTES - 4, os.SEEK_SET)
        arm()

    backend._arm = arm_behind_the_registers
    return backend


def xdma(config, folder, size):
    """(stand-in, back end) with one file for both ways into the memory."""
    (folder / "xdma7_user").write_bytes(bytes(REGISTER_BYTES))
    (folder / "xdma7_h2c_0").write_bytes(bytes(size))
    (folder / "xdma7_c2h_0").symlink_to(folder / "xdma7_h2c_0")
    os.mkfifo(folder / "xdma7_events_0")
    engine = StandIn(
        config, folder / "xdma7_user", np.memmap(folder / "xdma7_h2c_0", np.uint8, "r+"), folder / "xdma7_events_0"
    )
    return engine, _ordered(XdmaBackend(7, folder, size))
