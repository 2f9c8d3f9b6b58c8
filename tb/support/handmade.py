# SPDX-License-Identifier: Apache-2.0
"""Programs made by hand, not by the compiler, with the bytes that must be in the DRAM afterwards: reductions in parts,
gates derived by LOAD, gates that were in DRAM. The expected numbers come from NumPy, not from the machine model."""

import numpy as np

from gradcore.isa import instruction as isa
from gradcore.isa.fold import ceil_div, lane_images, to_bytes
from gradcore.isa.instruction import BP, FP, GATE_BUFFER, Opcode
from gradcore.numerics.fixed_point import requantize
from gradcore.numerics.random_numbers import even_bits, odd_bits, position_random
from tb.support.program import Program


def _lanes(config, fold: int):
    """Row and column of the lanes' pixels in their block, and of their images."""
    row, col = np.divmod(np.arange(config.lanes), config.grid)
    py = 1 << fold
    return row % py, col % py, row // py, col // py


def _cut(rng, channels: int, kernel: int, parts: int, step: int) -> list:
    """[(first channel, end, first kernel row, end)]: `parts` pieces of a reduction, cut at multiples of `step` channels
    or between kernel rows, in any order."""
    pieces = [(0, channels, 0, kernel)]
    while len(pieces) < parts:
        c0, c1, k0, k1 = piece = pieces[rng.integers(len(pieces))]
        if rng.random() < 0.5 and k1 - k0 > 1:
            k = int(rng.integers(k0 + 1, k1))
            pieces += [(c0, c1, k0, k), (c0, c1, k, k1)]
        elif c1 - c0 > step:
            c = c0 + step * int(rng.integers(1, (c1 - c0) // step))
            pieces += [(c0, c, k0, k1), (c, c1, k0, k1)]
        else:
            continue
        pieces.remove(piece)
    rng.shuffle(pieces)
    return [tuple(map(int, piece)) for piece in pieces]


def reductions(config, rng, parts: int, count: int = 2, split: bool = False, alone: bool = False) -> Program:
    """Up to `count` reductions over channels and taps of one block, each in `parts` parts, all COMPUTEs behind each
    other; the last one drains while the next begins. `alone`: each part is loaded just before it."""
    program, computes, stores, act_at, wgt_at, dst_at = Program(config), [], [], 0, 0, 0
    program.seed = int(rng.integers(1 << 32))
    for _ in range(count):
        mode = FP if split else int(rng.choice([FP, BP]))
        fold = 0 if split else int(rng.integers(config.log_grid + 1))
        py, limit = 1 << fold, 1 << config.data_width - 3
        kernel = 1 if split else int(rng.integers(1, 3))
        step = config.lanes if split else 1
        channels = step * (parts if split else int(rng.integers(parts, parts + 5)))
        rows = kernel**2 * (channels + parts * max(step, config.cols)) + config.lanes  # of weights, at most
        if stores and wgt_at + rows > config.wgt_depth:
            break
        height, width = (int(n) for n in rng.integers(1, py + 1, 2))
        pad, n_last = int(rng.integers(kernel)), int(rng.integers(1, config.cols + 1))
        y, x, ih, ix = _lanes(config, fold)
        images = config.grid // py
        maps = rng.integers(-limit, limit, (channels, images, images, py, py))
        maps[:, :, :, height:] = maps[..., width:] = 0
        weights = rng.integers(-limit, limit, (channels, kernel, kernel, config.cols))
        weights[..., n_last:] = 0
        total = np.zeros((config.lanes, n_last), np.int64)
        sign = -1 if mode == BP else 1
        padded = np.pad(maps, ((0, 0), (0, 0), (0, 0), (kernel, kernel), (kernel, kernel)))
        for ky, kx in np.ndindex(kernel, kernel):
            dy, dx = sign * (ky - pad) + kernel, sign * (kx - pad) + kernel
            total += padded[:, ih, ix, y + dy, x + dx].T @ weights[:, ky, kx, :n_last]
        vectors = maps[:, ih, ix, y, x]
        bias_part = int(rng.integers(parts + 1)) if mode == FP else parts  # in one of them or in none
        common = dict(
            mode=mode,
            split=int(split),
            dst_buf=1,
            fold=fold,
            row_fold=fold,
            dst_fold=fold,
            gate_fold=fold,
            shift=int(rng.integers(4, config.data_width + 4)),
            rounding=int(rng.integers(4)),
            rnd_tag=int(rng.integers(1 << 16)),
            map0=int(rng.choice([0, rng.integers(1 << 16), (1 << 16) - 1])),
            row_height=height,
            row_width=width,
            dst_height=height,
            dst_width=width,
            height=height,
            width=width,
            n_g=1,
            n_by=1,
            n_bx=1,
            n_kx=kernel,
            n_last=n_last,
            n_valid=images**2,
            dst_base=dst_at,
            disp_x0=-sign * pad,
        )
        for number, (c0, c1, k0, k1) in enumerate(_cut(rng, channels, kernel, parts, step)):
            n_c, taps = c1 - c0, (k1 - k0) * kernel
            fields = dict(
                row_base=act_at,
                wgt_base=wgt_at,
                n_ky=k1 - k0,
                disp_y0=sign * (k0 - pad),
                keep_in=int(number > 0),
                keep_out=int(number < parts - 1),
                n_c=n_c,
            )
            place = program.transfer(program.words(vectors[c0:c1]), (1, 1, 1, n_c), fold)
            load = isa.instruction(Opcode.LOAD, buffer=0, base=act_at, **place)
            taps_first = weights[c0:c1, k0:k1].reshape(n_c, taps, config.cols).transpose(1, 0, 2)
            if mode == FP:
                rows, inner = taps_first.reshape(-1, config.cols), n_c
                wgt = dict(wgt_stride_ky=kernel * n_c, wgt_stride_kx=n_c, wgt_stride_cg=config.cols)
                if split:
                    wgt |= dict(wgt_stride_cg=config.lanes)
                    fields["n_c"] = n_c // config.groups
            else:
                groups, inner = ceil_div(n_c, config.cols), config.cols
                rows = np.pad(taps_first, ((0, 0), (0, groups * config.cols - n_c), (0, 0)))
                rows = rows.reshape(taps, groups, config.cols, config.cols).transpose(1, 0, 3, 2)
                rows = rows.reshape(-1, config.cols)
                wgt = dict(wgt_stride_ky=kernel * inner, wgt_stride_kx=inner, wgt_stride_cg=taps * inner)
            if alone or not computes:
                program.instructions.append(load)
            else:
                program.instructions.insert(0, load)
            program.rows(rows, wgt_at, inner)
            wgt_at += len(rows)
            if split:
                wgt_at = ceil_div(wgt_at, config.lanes) * config.lanes
            if number == bias_part:
                bias = rng.integers(-limit, limit, (1, config.cols))
                program.rows(bias, wgt_at, 1)
                fields |= dict(bias=1, bias_base=wgt_at, bias_exp=int(rng.integers(config.data_width - 1)))
                total += bias[0, :n_last] << fields["bias_exp"]
                wgt_at += config.lanes if split else 1
            compute = isa.instruction(Opcode.COMPUTE, **common, **fields, **wgt)
            (program.instructions if alone else computes).append(compute)
            act_at += n_c
        n, channel = lane_images(config.grid, fold, 0)[:, None], common["map0"] + np.arange(n_last)
        place = y[:, None] << 8 | odd_bits(n), x[:, None] << 8 | even_bits(n)
        rnd = position_random(program.seed, common["rnd_tag"], channel, *place)
        result = requantize(total, common["shift"], config.data_width, common["rounding"], rnd).T
        inside = (y < height) & (x < width)
        row = np.arange(config.lanes) // config.grid
        result = np.where(inside & (row < config.cols // config.grid if split else True), result, 0)
        data = to_bytes(result, config.word_bytes)
        address = program.room(len(data))
        program.expected.append((address, data))
        kept = dict(height=height, width=width, n_valid=images**2)
        place = program.transfer(address, (1, 1, 1, n_last), fold)
        stores.append(isa.instruction(Opcode.STORE, buffer=1, base=dst_at, **place, **kept))
        dst_at += n_last
    assert act_at <= config.act_depth and wgt_at <= config.wgt_depth and dst_at <= config.act_depth
    program.instructions += computes + stores
    return program


def gates(config, rng) -> Program:
    """A ReLU layer of one weight per channel, the gates kept in FP, derived from the stored activation, and both
    brought to DRAM and back as bits. The gates that came back scale a map. In the end LOAD, STORE and the drain read
    gates at once."""
    program, fold = Program(config), int(rng.integers(config.log_grid + 1))
    py, limit, cols = 1 << fold, 1 << config.data_width - 2, config.cols
    channels = int(rng.integers(1, min(6, cols + 1)))
    height, width = (int(n) for n in rng.integers(1, 2 * py + 1, 2))
    n = (1, ceil_div(height, py), ceil_div(width, py), channels)
    vectors, images = int(np.prod(n)), (config.grid // py) ** 2
    rot_y, rot_x = (py * int(k) for k in rng.integers(8 // py, size=2))  # the map begins anywhere in a larger one
    y, x, *_ = _lanes(config, fold)
    by, bx = np.mgrid[: n[1], : n[2]]
    inside = (by[..., None] * py + y < height) & (bx[..., None] * py + x < width)
    inside = np.broadcast_to(inside[None, :, :, None], (*n, config.lanes))
    maps = np.where(inside, rng.integers(-limit, limit, (*n, config.lanes)) * rng.integers(0, 2, inside.shape), 0)
    other = rng.integers(-limit, limit, maps.shape)
    base, gate = (int(rng.integers(size)) for size in (config.act_depth, config.gate_depth))
    window = dict(height=height, width=width, n_valid=images)

    def load(address, buffer, packed=False, move=0, **fields):
        program.add(
            Opcode.LOAD,
            buffer=buffer,
            base=base + move & 0xFFFF,
            rot_y=rot_y,
            rot_x=rot_x,
            **program.transfer(address, n, fold, packed),
            **fields,
        )

    def store(buffer, wanted, packed=False, **fields):
        data = np.packbits(wanted.astype(bool), bitorder="little") if packed else to_bytes(wanted, config.word_bytes)
        data = np.pad(data, (0, -len(data) % config.mem_bytes))
        address = program.room(len(data))
        place = program.transfer(address, n, fold, packed)
        program.add(Opcode.STORE, buffer=buffer, rot_y=rot_y, rot_x=rot_x, **place, **window, **fields)
        program.expected.append((address, data))
        return address

    load(program.words(maps), 0)
    program.rows(np.eye(cols, dtype=np.int64)[:channels], 0, channels)
    layer = dict(
        dst_buf=1,
        fold=fold,
        row_fold=fold,
        dst_fold=fold,
        gate_fold=fold,
        n_g=1,
        n_by=n[1],
        n_bx=n[2],
        n_ky=1,
        n_kx=1,
        n_c=channels,
        n_last=channels,
        n_valid=images,
        wgt_stride_cg=cols,
        dst_base=base,
        gate_stride_y=n[2] * n[3],
        gate_stride_x=n[3],
        **{
            f"{name}_{key}": value
            for name in ("row", "dst")
            for key, value in (("height", height), ("width", width), ("stride_y", n[2] * n[3]), ("stride_x", n[3]))
        },
        **{
            f"{name}_{key}": value
            for name in ("row", "dst", "gate")
            for key, value in (("rot_y", rot_y), ("rot_x", rot_x))
        },
        height=height,
        width=width,
    )
    program.add(Opcode.COMPUTE, **layer, mode=FP, relu=1, gate_write=1, row_base=base, gate_base=gate)
    activation, places = np.maximum(maps, 0), [gate + k * vectors & 0xFFFFF for k in range(4)]
    stored = store(1, activation, base=base)
    load(stored, 0, derive=1, gate_base=places[1])
    store(0, activation, base=base)  # derive leaves the words as they are
    kept = store(GATE_BUFFER, activation > 0, True, gate_base=places[0])
    derived = store(GATE_BUFFER, activation > 0, True, gate_base=places[1], urgent=int(rng.integers(2)))
    for address, place in zip(rng.permutation([kept, derived]), places[2:]):
        load(int(address), GATE_BUFFER, True, gate_base=place)
        store(GATE_BUFFER, activation > 0, True, gate_base=place)
        load(program.words(other), 0, scale=1, gate_base=place)
        store(0, np.where(activation > 0, other, 0), base=base)
    address, scaled = program.words(other), np.where(activation > 0, other, 0)
    load(address, 0)
    for _ in range(3):
        load(address, 0, move=vectors, scale=1, gate_base=places[2], tag=1)
        store(GATE_BUFFER, activation > 0, True, gate_base=places[3], tag=1)
        program.add(Opcode.COMPUTE, **layer, mode=BP, scale=1, row_base=base, gate_base=places[1], tag=1)
    store(1, scaled, base=base)
    store(0, scaled, base=base + vectors & 0xFFFF)
    return program
