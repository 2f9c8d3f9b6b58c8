# SPDX-License-Identifier: Apache-2.0
"""The list of each core: stimulus and expected words as its cocotb tests make them, parameters of its bench."""

import itertools
import random

import numpy as np

from gradcore.files.places import ROOT
from gradcore.numerics.fixed_point import requantize
from gradcore.numerics.random_numbers import even_bits, odd_bits, position_random
from tb.dma.memory import addresses, transfer
from tb.drain import test_drain
from tb.loss import test_loss
from tb.operand_buffer import test_operand_buffer
from tb.requantise import test_requantise
from tb.softmax import tables, test_softmax
from tb.support.folds import image_of_lane
from tb.update import test_update
from tb.upsample import test_upsample

from . import step
from .lists import List, drawn_from, place
from .vector import vector

FILES = {  # name: file and function that gives what it has to hold
    "step": (step.PLACE, step.text),
    "softmax_powers": (ROOT / "rtl" / "softmax" / "gc_softmax_powers.v", tables.powers),
    "softmax_log": (ROOT / "rtl" / "softmax" / "gc_softmax_log.v", tables.log),
}


def bench(**parameters):
    """Register a function that fills the list of the core of its name."""

    def register(function):
        def text() -> str:
            with drawn_from(parameters):
                return function().text

        FILES[function.__name__] = place(function.__name__), text
        return function

    return register


def numbers(bits: int, count: int) -> list[int]:
    """Signed numbers with extremes among them."""
    top = 1 << (bits - 1)
    return [random.choice([-top, top - 1, -1, 0, random.randrange(-top, top)]) for _ in range(count)]


@bench()
def ram():
    """A read beside a write of its address gives the old word."""
    found, words = List(dict(wr=1, wr_addr=4, wr_data=12, rd=1, rd_addr=4), dict(data=12)), {}
    for k in range(60):
        wr, addr, read = k < 16 or random.random() < 0.5, k if k < 16 else random.randrange(16), random.choice([0, 5])
        data = random.getrandbits(12)
        rd = int(read in words)
        found.send(wr=wr, wr_addr=addr, wr_data=data, rd=rd, rd_addr=read)
        if rd:
            found.expect(data=words[read])
        words |= {addr: data} if wr else {}
    return found


@bench()
def stream():
    """Frames of every length up to three beats come back as they were."""
    found = List(dict(last=1, data=8), dict(data=8))
    for length in [*range(1, 13), 1, 1, 12]:
        for k in range(length):
            data = random.getrandbits(8)
            found.send(last=k == length - 1, data=data)
            found.expect(data=data)
            found.idle(random.choice([0, 0, 1]))
    return found


@bench()
def mac_array():
    """4 x 4 lanes in two groups, 8 columns: NumPy's matrix product."""
    lanes, cols, acc_w = 16, 8, 24
    sent = dict(first=1, last=1, columns=4, sum=1, row=lanes * 8, col=lanes * 8)
    found = List(sent, dict(index=4, last=1, acc=lanes * acc_w))
    for steps, columns, add in [(1, 8, 0), (3, 8, 1), (5, 3, 0), (2, 1, 1), (8, 8, 1)]:
        row, col = (np.array(numbers(8, steps * lanes)).reshape(steps, lanes) for _ in range(2))
        for k in range(steps):
            found.send(first=k == 0, last=k == steps - 1, columns=columns, sum=add, row=row[k], col=col[k])
        a, b = (x.reshape(steps, 2, cols) for x in (row, col))
        sums = np.concatenate([a[:, g].T @ b[:, g] for g in range(2)])
        for j in range(columns):
            found.expect(index=j, last=j == columns - 1 and not add, acc=sums[:, j])
        if add:
            found.expect(index=cols, last=1, acc=row.sum(0))
        found.idle(cols + 2)
    return found


@bench(GRID=4, DW=8, DEPTH=128, CHANNEL_R=2, USER_W=3)
def operand_buffer():
    """A tensor written in blocks, then read in every way while another is written."""
    access = dict(
        addr=7,
        y0=12,
        x0=12,
        dy=8,
        dx=8,
        chan=16,
        stride_y=7,
        stride_x=7,
        fold_a=2,
        fold_s=2,
        rot_y=3,
        rot_x=3,
        height=12,
        width=12,
    )
    assert list(access) == test_operand_buffer.PORTS
    sent = {"wr": 1} | {f"wr_{k}": w for k, w in (access | dict(enable=16, data=128)).items()}
    more = dict(channel=1, split=1, step=3, channels=16, user=3)
    sent |= {"rd": 1} | {f"rd_{k}": w for k, w in (access | more).items()}
    found = List(sent, dict(user=3, data=128))
    tensors = []
    while len(tensors) < 2:  # of several blocks and channels, so that every address and rotation matters
        tensor = test_operand_buffer.Tensor(4, len(tensors), 64 * len(tensors), 64)
        if min(tensor.bh, tensor.bw, tensor.c) > 2:
            tensors.append(tensor)
    for tensor in tensors:
        for origin in tensor.origins(tensor.fold):
            for chan in range(tensor.c):
                write = test_operand_buffer.write_access(tensor, 8, (tensor.fold, *origin, chan))
                found.send(wr=1, **{f"wr_{k}": v for k, v in write.items()})
    for _ in range(60):
        user, (read, lanes) = random.getrandbits(3), test_operand_buffer.read_access(random.choice(tensors))
        write = test_operand_buffer.write_access(random.choice(tensors), 8)
        both = {f"wr_{k}": v for k, v in write.items()} | {f"rd_{k}": v for k, v in read.items()}
        found.send(wr=1, rd=1, rd_user=user, **both)
        found.expect(user=user, data=lanes)
    return found


@bench()
def weight_buffer():
    """Blocks of 4 x 4 weights, by row, by column and through port b."""
    cols, depth = 4, 16
    sent = dict(wr=1, wr_addr=4, wr_rot=2, wr_data=32, rd=1, rd_addr=4, rd_rot=2, rd_ramp=1, b=1, b_addr=4, b_rot=2)
    found = List(sent, dict(data=32))
    weights = np.array([numbers(8, cols) for _ in range(depth)])
    for row in range(depth):
        found.send(wr=1, wr_addr=row, wr_rot=row % cols, wr_data=weights[row])
    for row in range(depth):
        found.send(rd=1, rd_addr=row, rd_rot=row % cols)
        found.expect(data=weights[row])
    for row, out in itertools.product(range(0, depth, cols), range(cols)):
        found.send(rd=1, rd_addr=row, rd_rot=out, rd_ramp=1)
        found.expect(data=weights[row : row + cols, out])
    found.wait()
    for row in random.sample(range(depth), depth):
        found.send(b=1, b_addr=row, b_rot=row % cols)
        found.expect(data=weights[row])
    return found


@bench()
def gradient_buffer():
    """Rows that grow, wrap around and begin anew."""
    lanes, cols, bits = 16, 8, 24
    sent, rows = dict(row=1, addr=4, first=1, acc=lanes * bits, rd=1, rd_addr=4), {}
    found = List(sent, dict(overflow=1, data=cols * bits))
    overflow, half = 0, 1 << (bits - 1)
    for turn in range(60):
        addr = turn % 5
        first = turn < 5 or turn % 7 == 0
        acc = numbers(bits if turn > 40 else 16, lanes)
        exact = np.array(acc).reshape(2, cols).sum(0) + (0 if first else rows[addr])
        overflow |= int((exact < -half).any() or (exact >= half).any())
        rows[addr] = (exact + half) % (2 * half) - half
        found.send(row=1, addr=addr, first=first, acc=acc)
        if addr == 4:
            found.idle(6)
            for k in random.sample(range(5), 5):
                found.send(rd=1, rd_addr=k)
                found.expect(overflow=overflow, data=rows[k])
    return found


@bench(GRID=4, ACC_W=32, DW=12)
def requantise():
    """Every mode and many shifts, the random numbers from coordinates, which are the same for a whole map."""
    lanes = 16
    sent = dict(shift=6, mode=2, acc=lanes * 32, seed=32, tag=16, k=32, y0=12, x0=12, fold=2, image=16)
    found = List(sent, dict(data=lanes * 12))
    for mode, _ in itertools.product(range(4), range(10)):
        shift, fold = random.randrange(32), random.randrange(3)
        acc = test_requantise.sums(lanes, 32, 12, shift)
        seed, tag, k = random.getrandbits(32), random.getrandbits(16), random.getrandbits(32)
        y0, x0 = (random.randrange(1 << 12 - fold) << fold for _ in range(2))
        image = random.randrange(16) * (4 >> fold) ** 2
        n = np.array([image + image_of_lane(row, col, fold, 4) for row in range(4) for col in range(4)])
        row, col = np.divmod(np.arange(lanes), 4)
        i, j = (y0 + row % (1 << fold)) << 8 | odd_bits(n), (x0 + col % (1 << fold)) << 8 | even_bits(n)
        rnd = position_random(seed, tag, k, i, j)
        found.send(shift=shift, mode=mode, acc=acc, seed=seed, tag=tag, k=k, y0=y0, x0=x0, fold=fold, image=image)
        found.expect(data=requantize(acc, shift, 12, mode, rnd))
        found.wait()
    return found


@bench(GRID=4, DW=12)
def loss():
    """Local gradients of both losses, and LOSS when all words are through."""
    found = List(dict(look=1, kind=2, t_pos=12, t_neg=12, shift=5, target=16, enable=16, data=192), dict(value=192))
    words = [test_loss.word(kind) for kind in range(3) for _ in range(16)]
    for payload, (delta, _), _ in words:
        found.send(**payload)
        found.expect(value=delta)
    found.idle(12)
    found.send(look=1)
    found.expect(value=sum(value for *_, value in words))
    return found


@bench(GRID=4, ACC_W=32, DW=12, USER_W=4, GATE_LATENCY=4, HAS_FACTOR=1)
def drain():
    """Words of every kind; lanes that are not enabled are masked. LOSS at the end. A word with a factor takes longer:
    the next one without waits for it."""
    sums = dict(look=1, acc=512, rnd=256, shift=6, mode=2, relu=1, pool=1, fold=2, scale=1, loss=2, delta=1)
    lanes = dict(t_pos=12, t_neg=12, loss_shift=5, img_enable=16, lane_valid=16, gate=16)
    factor = dict(factor=2, factor_0=16, factor_1=16, factor_shift=5, threshold=16, draw=256, factor_rnd=256)
    found = List(sums | lanes | factor | dict(user=4), dict(user=4, enable=16, gate=16, data=192))
    total, late = 0, False
    for _ in range(40):
        payload, result = test_drain.word()
        if late and not payload["factor"]:
            found.wait()
        late = bool(payload["factor"])
        found.send(**payload)
        masked = [data * enable for data, enable in zip(result["data"], result["enable"])]
        found.expect(**{k: result[k] for k in ("user", "enable", "gate")}, data=masked)
        total += result["loss"]
    found.idle(20)
    found.send(look=1)
    found.expect(data=total)
    return found


@bench(GRID=4, DW=8)
def upsample():
    """Frames of every mode; a gate is sent as a word of its own, before its data."""
    found = List(dict(upsample=1, scale=1, pool_bit=2, is_gate=1, gate=16, data=128), dict(data=128))
    for up, scale, bit in [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]:
        words, gates, expected = test_upsample.frame(up, scale, bit, 3)
        each = len(gates) // len(words)
        for k, word in enumerate(words):
            for gate in gates[k * each : (k + 1) * each]:
                found.send(upsample=up, scale=scale, pool_bit=bit, is_gate=1, **gate)
            found.send(upsample=up, scale=scale, pool_bit=bit, **word)
        for lanes in expected:
            found.expect(data=lanes)
        found.wait()
    return found


@bench(LANES=16, DW=8, SLICE=4)
def softmax():
    """Frames of a few classes; a frame begins with its numbers, a gate is sent before its data, at last comes LOSS."""
    sent = dict(start=1, is_gate=1, sum=1, vectors=8, classes=8, u_shift=6, loss_shift=5, gate=16, data=128)
    found, loss = List(sent, dict(data=128)), 0
    for classes, spare in [(1, 0), (3, 1), (10, 0), (5, 2)]:
        frame = test_softmax.Frame(classes, spare, random.randrange(8))
        numbers = {name.removeprefix("cfg_"): value for name, value in frame.fields.items()}
        numbers["gate"] = numbers.pop("kept")
        found.send(start=1, **numbers)
        for k, word in enumerate(frame.words):
            if k >= 2 * (classes + spare):
                found.send(is_gate=1, **numbers | frame.gates[k - 2 * (classes + spare)])
            found.send(**numbers | word)
        for lanes in frame.delta:
            found.expect(data=lanes)
        found.wait()
        loss += frame.loss
        found.send(sum=1, **numbers)
        found.expect(data=loss)
        found.wait()
    return found


bench()(vector)


@bench(COLS=4, DW=8, ACC_W=24)
def update():
    """Rows in every rounding, with and without momentum, with weight decay."""
    multipliers = dict(lr_m=15, beta_m=15, decay_m=15, rate_m=15)
    coefficients = dict(momentum=1, mode=2, shift_g=6, shift_v=5, shift_d=4, shift_w=5) | multipliers
    found = List(coefficients | dict(seed=32, tag=16, grad=96, wgt=32, mom=32, key=32, of=32), dict(wgt=32, mom=32))
    for mode, momentum in itertools.product(test_update.MODES, (0, 1)):
        shifts = dict(shift_v=random.randrange(8, 24), shift_g=random.randrange(12))
        setting = test_update.Setting(mode, momentum, **shifts, lr_m=random.randrange(1, 32768))
        values = setting.fields | dict(
            momentum=momentum, mode=test_update.MODES[mode], seed=setting.seed, tag=setting.tag
        )
        for _ in range(5):
            word, wgt, mom = setting.row()
            found.send(**values, **word)
            found.expect(wgt=wgt, mom=mom)
        found.wait()
    return found


@bench()
def dma():
    """Transfers from one pattern of addresses to another; the bench's memory holds in each beat its own address."""
    fields = dict(addr=33, run_beats=32, n1=16, stride1=32, n2=16, stride2=32)
    found = List({f"{side}_{k}": w for side in ("from", "to") for k, w in fields.items()}, dict(addr=33, data=64))
    one_run = [(n, n, 1, 8 * n, 1, 0) for n in (1, 7, 40)]
    patterns = [*one_run, (24, 4, 3, 56, 2, 4096), (30, 5, 2, 400, 3, 4000), (12, 1, 12, 8, 1, 0)]
    for beats, run, n1, stride1, n2, stride2 in patterns:
        start = [8 * random.randrange(1 << 20) for _ in range(2)]
        descriptors = random.sample([transfer(start[0], beats), transfer(start[1], run, n1, stride1, n2, stride2)], 2)
        found.send(**{f"{side}_{k}": v for side, d in zip(("from", "to"), descriptors) for k, v in zip(fields, d)})
        for source, target in zip(*(addresses(d, 8) for d in descriptors)):
            found.expect(addr=target, data=source)
        found.wait()
    return found


@bench()
def sequencer():
    """Programs whose instructions are nests of three loops, run by two engines; at last the state of the program."""
    found = List(dict(start=1, instruction=28), dict(finished=1, engine=1, code=8, index=24))
    for program, code in [((1, 2, 1, 0), 0), ((2, 2), 2), ((1, 3, 1, 0), 1), ((0, 1), 0)]:
        found.send(start=1, instruction=len(program))
        stopped = next((k for k, opcode in enumerate(program) if opcode not in (1, 2)), len(program))
        for k, opcode in enumerate(program):
            counts = [random.choice([0, 1, 2, 3]) for _ in range(3)]
            found.send(instruction=sum(count << 8 * level + 4 for level, count in enumerate(counts)) | opcode)
            for index in itertools.product(*(range(max(count, 1)) for count in counts)) if k < stopped else ():
                found.expect(engine=opcode - 1, index=list(index))
        found.expect(finished=1, code=code, index=stopped)
        found.wait()
    return found
