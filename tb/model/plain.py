# SPDX-License-Identifier: Apache-2.0
"""A training step in plain Python integers, one loop per index of doc/numerics.md: slow, and written from the text
alone."""

from itertools import product

M = 1 << 32


def plain_mix32(x):
    x %= M
    x = (x + x * 1024) % M
    x ^= x // 64
    x = (x + x * 8) % M
    x ^= x // 2048
    return (x + x * 32768) % M


def plain_even(n):
    return int("".join(format(n, "016b")[1::2]), 2)


def plain_position_random(seed, tag, k, i, j):
    key = plain_mix32(plain_mix32(seed ^ (tag << 16)) + k)
    row, column = plain_mix32(i + 0x9E3779B9) % 65536, plain_mix32(j + 0x7F4A7C15) % 65536
    t = ((key % 65536 ^ row) + (key // 65536 ^ column)) % 65536
    u = (t + t * 32) % 65536
    return u ^ u // 256


def plain_round(x, s, width, mode, r=0):
    if s:
        x += {
            "truncate": 0,
            "half_up": 1 << (s - 1),
            "half_even": (1 << (s - 1)) - 1 + (x >> s & 1),
            "stochastic": (r << s) >> 16,
        }[mode]
    return min(max(x >> s, -(1 << (width - 1))), (1 << (width - 1)) - 1)


def pixels(shape):
    return product(range(shape[0]), range(shape[1]))


def plain_step(network, state, x, labels, seed):
    """(LOSS, tensors, new state) of one step on nested lists; `seed` is the register SEED. Tensors are dicts keyed by
    index tuples; those that nobody computes are left out."""
    width, images = network.data_width, range(len(x))
    tensors = {key: {} for key in ("z", "gate", "delta", "error", "grad", "grad_bias")}
    act = [
        {
            (n, c, y, i): int(x[n][c][y][i])
            for n in images
            for c in range(network.shape[0])
            for y, i in pixels(network.shape[1:])
        }
    ]
    for p, s in zip(network.parameters, state):
        z, gate, out = {}, {}, {}
        o_maps, c_maps, ky_n, kx_n = p.weight_shape
        for n, o in product(images, range(o_maps)):
            for y, i in pixels(p.conv_shape[1:]):
                acc = int(s["bias"][o]) * 2**p.bias_exp if p.bias else 0
                for c, (ky, kx) in product(range(c_maps), pixels((ky_n, kx_n))):
                    acc += act[-1].get((n, c, y + ky - p.pad[0], i + kx - p.pad[1]), 0) * int(s["weight"][o, c, ky, kx])
                r = plain_position_random(seed, 4 * p.index, o, y * 256 | plain_even(n >> 1), i * 256 | plain_even(n))
                z[n, o, y, i] = plain_round(acc, p.fa + p.fw - p.fo, width, network.mode("act"), r)
            a = {k: max(v, 0) if p.relu else v for k, v in z.items() if k[:2] == (n, o)}
            for (_, _, y, i), v in a.items():
                gate[n, o, y, i] = not p.relu or z[n, o, y, i] > 0
                if p.pool:
                    window = [(n, o, y // 2 * 2 + dy, i // 2 * 2 + dx) for dy in (0, 1) for dx in (0, 1)]
                    whole = all(k in a for k in window)
                    gate[n, o, y, i] &= whole and (n, o, y, i) == max(window, key=lambda k: a[k])  # max takes the first
                    if whole:
                        out[n, o, y // 2, i // 2] = max(a[k] for k in window)
                else:
                    out[n, o, y, i] = v
        tensors["z"][p.index], tensors["gate"][p.index] = z, gate
        act.append(out)
    last, one = network.parameters[-1], 1 << network.parameters[-1].fo
    loss, delta = 0, {}
    for (n, o, y, i), a in act[-1].items():
        hit = labels[n] == o
        if network.loss == "euclidean":
            d, factor = a - (one if hit else 0), 1
        else:
            d, factor = (-max(0, one - a) if hit else max(0, one + a)), 2
        loss += d * d
        delta[n, o, y, i] = plain_round(d * factor << 16, 16 + last.fo - last.fd, width, "half_up")
    new = [{key: plain_kept(values) for key, values in s.items()} for s in state]
    trained = [p.index for p in network.parameters if network.layers[p.layer].trainable]
    for p, s in reversed(list(zip(network.parameters, state))):
        o_maps, c_maps, ky_n, kx_n = p.weight_shape
        tensors["delta"][p.index] = delta
        if p.index in trained:
            grad = {}
            for o, c, (ky, kx) in product(range(o_maps), range(c_maps), pixels((ky_n, kx_n))):
                grad[o, c, ky, kx] = sum(
                    delta[n, o, y, i] * act[p.index].get((n, c, y + ky - p.pad[0], i + kx - p.pad[1]), 0)
                    for n in images
                    for y, i in pixels(p.conv_shape[1:])
                )
            grad_bias = {(o,): sum(v for k, v in delta.items() if k[1] == o) for o in range(o_maps)}
            tensors["grad"][p.index], tensors["grad_bias"][p.index] = grad, grad_bias
            tag, key = 4 * p.index + 2, lambda k: (k[2] * kx_n + k[3]) * c_maps + k[1]
            weight, bias = (s["weight"], s["momentum"], grad), (s["bias"], s["bias_momentum"], grad_bias)
            new[p.index] = {
                **plain_update(network, p.weight_update, *weight, "weight", "momentum", seed, tag, key),
                **plain_update(
                    network, p.bias_update, *bias, "bias", "bias_momentum", seed, tag, lambda k: ky_n * kx_n * c_maps
                ),
            }
        if p.index == trained[0]:
            break
        before, error = network.parameters[p.index - 1], {}
        for n, c, (y, i) in product(images, range(c_maps), pixels(p.in_shape[1:])):
            acc = sum(
                delta.get((n, o, y + p.pad[0] - ky, i + p.pad[1] - kx), 0) * int(s["weight"][o, c, ky, kx])
                for o in range(o_maps)
                for ky, kx in pixels((ky_n, kx_n))
            )
            r = plain_position_random(
                seed, 4 * before.index + 1, c, y * 256 | plain_even(n >> 1), i * 256 | plain_even(n)
            )
            error[n, c, y, i] = plain_round(acc, p.fd + p.fw - p.fe, width, network.mode("delta"), r)
        tensors["error"][p.index] = error
        half = 2 if before.pool else 1
        delta = {
            k: error.get((k[0], k[1], k[2] // half, k[3] // half), 0) if passes else 0
            for k, passes in tensors["gate"][before.index].items()
        }
    tensors["act"] = dict(enumerate(act[:-1]))
    tensors["out"] = dict(enumerate(act[1:]))
    return loss, tensors, new


def plain_kept(values):
    """An array as a dict keyed by index tuples."""
    return {k: int(values[k]) for k in product(*map(range, values.shape))}


def plain_update(network, u, w, v, grad, w_name, v_name, seed, tag, row_key):
    """The new tensors of one update, as dicts."""
    if u is None:
        return {w_name: {k: int(w[k]) for k in grad}, v_name: {k: int(v[k]) for k in grad}}
    width, mode, sgd = network.data_width, network.mode("param"), network.optimiser == "sgd"
    rate_m = u.rate_m if network.optimiser == "pytorch_momentum" else 1
    decay_m, shift_d = (u.decay_m, u.shift_d) if network.weight_decay else (0, 0)
    new_w, new_v = {}, {}
    for k, value in grad.items():
        r = [plain_position_random(seed, tag, row_key(k), k[0], j) for j in range(3)]
        g = plain_round(value, u.shift_g, 24, mode, r[0])
        sums = (0 if sgd else u.beta_m * int(v[k])) - u.lr_m * g
        sums = sums * 2**shift_d - decay_m * int(w[k])
        change = plain_round(sums, u.shift_v + shift_d, width, mode, r[1])
        new_w[k] = plain_round(int(w[k]) * 2**u.shift_w + rate_m * change, u.shift_w, width, mode, r[2])
        new_v[k] = int(v[k]) if sgd else change
    return {w_name: new_w, v_name: new_v}
