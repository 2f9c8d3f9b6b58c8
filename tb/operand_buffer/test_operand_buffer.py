# SPDX-License-Identifier: Apache-2.0
"""Two tensors in one buffer, written and read in every fold at the same time: each lane must hold the element that its
coordinates name.

The bench knows elements [image, channel, y, x] and nothing of banks. A read is expected to see the writes of earlier
cycles and of no other."""

import random

import cocotb
import numpy as np
import pytest

from gradcore.isa.fold import ceil_div, image_place, lane_images
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 7  # of a read
WRITE_LATENCY = 3  # cycles that a write is under way: one that meets a reset there is lost
PORTS = [
    "addr",
    "y0",
    "x0",
    "dy",
    "dx",
    "chan",
    "stride_y",
    "stride_x",
    "fold_a",
    "fold_s",
    "rot_y",
    "rot_x",
    "height",
    "width",
]
PIXELS = dict(channel=0, split=0, step=0, channels=0)  # of a read by pixel


class Tensor:
    """Elements of some image groups of a storage fold, and the place of their vectors."""

    def __init__(self, grid, fold, base, room):
        self.grid, self.fold, self.base, self.py = grid, fold, base, 1 << fold
        self.group_images = (grid >> fold) ** 2
        limit = 2 * grid + 3 if fold else 4
        self.h, self.w = random.randint(1, limit), random.randint(1, limit)
        if not fold and random.random() < 0.5:  # a line, to whose ends a displacement crosses many blocks
            self.h, self.w = random.sample([1, random.randint(20, min(120, room))], 2)
        self.bh, self.bw = ceil_div(self.h, self.py), ceil_div(self.w, self.py)
        if self.bh * self.bw > room:
            self.h, self.w, self.bh, self.bw = min(self.h, self.py), min(self.w, self.py), 1, 1
        self.groups = random.randint(1, 2) if 2 * self.bh * self.bw <= room else 1
        self.c = random.randint(
            1, min(random.choice([3 * grid + 3, grid**2 + 9]), room // (self.groups * self.bh * self.bw))
        )
        self.size = self.groups * self.bh * self.bw * self.c
        self.data = np.zeros((self.groups * self.group_images, self.c, self.h, self.w), np.int64)

    def origins(self, fold_a):
        """First images, block rows and columns of all accesses of a fold."""
        side, images = 1 << fold_a, (self.grid >> fold_a) ** 2
        return [
            (n, y, x)
            for n in range(0, len(self.data), images)
            for y in range(0, self.h, side)
            for x in range(0, self.w, side)
        ]

    def fields(self, fold_a, n, y0, x0, chan, dy=0, dx=0):
        """An access of fold_a to images from n on, block origin (y0, x0)."""
        group, nh, nx = (int(k) for k in image_place(self.grid, self.fold, n))
        block = (group * self.bh + y0 // self.py) * self.bw + x0 // self.py
        return dict(
            addr=(self.base + block * self.c + chan) % parameter("DEPTH"),
            y0=y0,
            x0=x0,
            dy=dy,
            dx=dx,
            chan=chan,
            fold_a=fold_a,
            fold_s=self.fold,
            stride_y=self.bw * self.c,
            stride_x=self.c,
            rot_y=self.py * nh,
            rot_x=self.py * nx,
            height=self.h,
            width=self.w,
        )

    def lanes(self, fold_a, n, y0, x0, chan=None, group=None, split=None):
        """Index arrays (image, channel, y, x) of the lanes of a block displaced to (y0, x0), and which of them are
        elements.

        `group`: (step, R) of a channel access; `split`: R of a split one."""
        row, col = np.divmod(np.arange(self.grid**2), self.grid)
        chan = np.full(len(row), chan)
        if group:
            step, rows = group
            chan += self.grid * (row % rows) + col
            row, col = step // self.grid + row // rows * rows, np.full(len(row), step % self.grid)
        if split:
            chan += self.grid * split * (row // split)
            row = row % split
        image = n + lane_images(self.grid, fold_a, 0)[row * self.grid + col]
        index = image, chan, y0 + row % (1 << fold_a), x0 + col % (1 << fold_a)
        return index, np.all([(i >= 0) & (i < size) for i, size in zip(index, self.data.shape)], axis=0)

    def read(self, index, inside):
        lanes = np.zeros(len(inside), np.int64)
        lanes[inside] = self.data[tuple(i[inside] for i in index)]
        return lanes.tolist()

    def write(self, index, mask, values):
        self.data[tuple(i[mask] for i in index)] = values[mask]


def displacement():
    """Mostly a tap, sometimes any."""
    return random.randint(-128, 127) if random.random() < 0.2 else random.randint(-10, 10)


def read_access(tensor):
    """Fields of a random access and the lanes it must give now."""
    log, rows = tensor.grid.bit_length() - 1, parameter("CHANNEL_R")
    fold_a = random.randint(tensor.fold, log)
    n, y0, x0 = random.choice(tensor.origins(fold_a))
    dy, dx = displacement(), displacement()
    cols, kind = tensor.grid * rows, random.choice(["pixel", "channel", "split"])
    last = tensor.c - tensor.grid**2 + cols  # of the channels with which a split access may begin
    split = None
    if kind == "channel":
        chan, step = random.randrange(0, tensor.c, cols), random.randrange(cols)
        more, group = PIXELS | dict(channel=1, step=step, channels=tensor.c), (step, rows)
    elif kind == "split" and last > 0:
        chan, more, group, split = random.randrange(last), PIXELS | dict(split=1), None, rows
    else:
        chan, more, group = random.randrange(tensor.c), PIXELS, None
    return tensor.fields(fold_a, n, y0, x0, chan, dy, dx) | more, tensor.read(
        *tensor.lanes(fold_a, n, y0 + dy, x0 + dx, chan, group, split)
    )


def write_access(tensor, width, origin=None):
    """Fields of a write; the tensor changes at once. Without origin (fold, n, y0, x0, chan) a random, perhaps a partial
    one."""
    log, lanes = tensor.grid.bit_length() - 1, tensor.grid**2
    if origin:
        fold_a, n, y0, x0, chan = origin
        kind, dy, dx = "whole", 0, 0
    else:
        kind = random.choice(["whole", "some lanes", "pooled", "pooled, same fold"])
        fold_a = random.randint(tensor.fold + (kind == "pooled" and tensor.fold < log), log)
        n, y0, x0 = random.choice(tensor.origins(fold_a))
        chan, dy, dx = random.randrange(tensor.c), displacement(), displacement()
    values = np.array([random.getrandbits(width) for _ in range(lanes)])
    enable = np.ones(lanes, bool)
    side = 1 << fold_a
    if kind == "some lanes":
        enable = np.array([random.random() < 0.5 for _ in range(lanes)])
    if kind.startswith("pooled") and side > 1:  # results in lanes {image, 0, pixel} of a computation in fold_a
        row, col = np.divmod(np.arange(lanes), tensor.grid)
        enable = (row % side < side // 2) & (col % side < side // 2)
        dy, dx = (random.choice([0, side // 2]) for _ in range(2))
    if kind == "pooled" and fold_a > tensor.fold:  # of a map whose access fold is one less
        y0, x0 = (random.randrange(0, size, side // 2) for size in (tensor.h, tensor.w))
        fields, dy, dx = tensor.fields(fold_a - 1, n, y0, x0, chan), 0, 0
    else:
        fields = tensor.fields(fold_a, n, y0, x0, chan, dy, dx)
    index, inside = tensor.lanes(fold_a, n, y0 + dy, x0 + dx, chan)
    tensor.write(index, inside & enable, values)
    return fields | dict(enable=pack(enable, 1), data=pack(values, width))


class Buffer:
    """Drives both ports cycle by cycle, noise where nothing is valid, and checks every vector in its cycle."""

    def __init__(self, dut):
        self.dut, self.pipe = dut, []
        self.grid, self.width = parameter("GRID"), parameter("DW")
        ports = {
            prefix: PORTS + more
            for prefix, more in (
                ("s_wr_", ["enable", "data"]),
                ("s_rd_", ["channel", "split", "step", "channels", "user"]),
            )
        }
        self.ports = {
            prefix: {name: (handle := getattr(dut, prefix + name), len(handle)) for name in names}
            for prefix, names in ports.items()
        }
        self.valids = {prefix: getattr(dut, prefix + "valid") for prefix in ports}

    def drive(self, prefix, fields):
        self.valids[prefix].value = int(fields is not None)
        for name, (handle, bits) in self.ports[prefix].items():
            handle.value = random.getrandbits(bits) if fields is None else int(fields[name]) & ((1 << bits) - 1)

    async def cycle(self, write=None, read=None, rst=0):
        """One cycle with an access of each port; read is (fields, lanes)."""
        dut = self.dut
        dut.rst.value = rst
        self.drive("s_wr_", write)
        user = random.getrandbits(parameter("USER_W"))
        self.drive("s_rd_", read and read[0] | dict(user=user))
        self.pipe = [None] * LATENCY if rst else [read and (user, read[1]), *self.pipe, *[None] * LATENCY][:LATENCY]
        await cycles(dut, 1)
        assert bool(dut.m_rd_valid.value) == (self.pipe[-1] is not None)
        if self.pipe[-1]:
            user, lanes = self.pipe[-1]
            assert int(dut.m_rd_user.value) == user
            assert unpack(dut.m_rd_data.value, self.width, self.grid**2, signed=False) == lanes

    async def settle(self):
        for _ in range(LATENCY):
            await self.cycle()


async def fill(dut):
    """A buffer with two new tensors, written completely in random folds and random order."""
    buffer, depth = Buffer(dut), parameter("DEPTH")
    log, first = buffer.grid.bit_length() - 1, random.randrange(depth)
    folds = [random.randint(0, log) for _ in range(2)]
    tensors = [Tensor(buffer.grid, fold, first + k * depth // 2, min(depth // 2, 128)) for k, fold in enumerate(folds)]
    dut._log.info("tensors %s", [(t.fold, t.data.shape) for t in tensors])
    for tensor in tensors:
        fold = random.randint(tensor.fold, log)
        places = [(fold, *origin, chan) for origin in tensor.origins(fold) for chan in range(tensor.c)]
        random.shuffle(places)
        for place in places:
            await buffer.cycle(write_access(tensor, buffer.width, place))
    return buffer, tensors


@cocotb.test()
@cocotb.parametrize(bubbles=[0.0, 0.3])
async def every_lane_reads_its_element_while_others_are_written(dut, bubbles):
    await start(dut)
    for _ in range(1 if "Icarus" in cocotb.SIM_NAME else 10):
        buffer, tensors = await fill(dut)
        for _ in range(200):
            read = read_access(random.choice(tensors)) if random.random() >= bubbles else None
            write = write_access(random.choice(tensors), buffer.width) if random.random() >= bubbles else None
            await buffer.cycle(write, read)
        await buffer.settle()


@cocotb.test()
async def a_write_is_seen_from_the_next_cycle_on(dut):
    await start(dut)
    buffer, (tensor, _) = await fill(dut)
    fold = tensor.fold
    n, y0, x0 = random.choice(tensor.origins(fold))
    for _ in range(40):
        chan = random.randrange(min(2, tensor.c))
        read = tensor.fields(fold, n, y0, x0, chan) | PIXELS, tensor.read(*tensor.lanes(fold, n, y0, x0, chan))
        write = write_access(tensor, buffer.width, (fold, n, y0, x0, chan)) if random.getrandbits(1) else None
        await buffer.cycle(write, read)
    await buffer.settle()


@cocotb.test()
async def reset_drops_what_is_under_way_and_keeps_the_words(dut):
    await start(dut)
    buffer, tensors = await fill(dut)
    for _ in range(6):
        before = []
        for _ in range(random.randint(5, 20)):
            read = read_access(random.choice(tensors))
            before = [*before, [t.data.copy() for t in tensors]][-WRITE_LATENCY:]
            await buffer.cycle(write_access(random.choice(tensors), buffer.width), read)
        length = random.randint(1, 3)
        for _ in range(length):
            read = read_access(random.choice(tensors))
            before = [*before, [t.data.copy() for t in tensors]]
            await buffer.cycle(write_access(random.choice(tensors), buffer.width), read, rst=1)
        # The writes of the last cycles before the first cycle of reset and all since are lost.
        for tensor, data in zip(tensors, before[-length - WRITE_LATENCY + 1]):
            tensor.data = data
        for tensor in tensors:
            for n, y0, x0 in tensor.origins(tensor.fold):
                for chan in range(tensor.c):
                    lanes = tensor.read(*tensor.lanes(tensor.fold, n, y0, x0, chan))
                    await buffer.cycle(None, (tensor.fields(tensor.fold, n, y0, x0, chan) | PIXELS, lanes))
    await buffer.settle()


@pytest.mark.parametrize(
    "grid, width, rows",
    first(5, [(4, 1, 2), (4, 8, 1), (4, 16, 4), (4, 32, 2), (8, 11, 1), (8, 1, 4), (8, 8, 8), (8, 16, 2)]),
)
def test_operand_buffer(grid, width, rows):
    parameters = {
        "GRID": grid,
        "DW": width,
        "DEPTH": 64 if grid == 4 else 256 if width > 1 else 1 << 20,
        "CHANNEL_R": rows,
        "USER_W": 1 if width == 1 else 3,
        "ULTRA": random.randint(0, 1),
    }
    run("operand_buffer", "gc_operand_buffer", parameters, sim="icarus" if grid == 4 else "verilator")


@pytest.mark.parametrize(
    "bad, text",
    [
        ({"GRID": 5}, "GRID_must"),
        ({"GRID": 2, "CHANNEL_R": 1}, "GRID_must"),
        ({"CHANNEL_R": 3}, "CHANNEL_R_must"),
        ({"CHANNEL_R": 16}, "CHANNEL_R_must"),
        ({"DEPTH": 100}, "DEPTH_must"),
        ({"DEPTH": 32}, "DEPTH_must"),
        ({"DEPTH": 1 << 21}, "DEPTH_must"),
        ({"DW": 33}, "DW_must"),
        ({"ULTRA": 2}, "ULTRA_not_0_or_1"),
        ({"DW": 0}, "DW_must"),
    ],
)
def test_refuses(bad, text):
    expect_elaboration_error("operand_buffer", "gc_operand_buffer", bad, text)
