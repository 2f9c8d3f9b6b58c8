# SPDX-License-Identifier: Apache-2.0
"""Shapes, derived numbers and refusals of network descriptions."""

import pytest

from gradcore.files.places import ROOT
from gradcore.network.description import Network, default_fractions
from gradcore.network.net_toml import load
from gradcore.numerics.fixed_point import ACC_W
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense

GOOD = (ROOT / "examples/digits/net.toml").read_text()


def test_shapes():
    network = Network(
        "t", (3, 31, 20), (Conv(4, 3, 1, pool=2), Conv(5, (1, 11), (0, 10), relu=False), Conv(6, (2, 3)), Dense(7))
    )
    assert [p.conv_shape for p in network.parameters] == [(4, 31, 20), (5, 15, 20), (6, 14, 18), (7, 1, 1)]
    assert [p.out_shape for p in network.parameters] == [(4, 15, 10), (5, 15, 20), (6, 14, 18), (7, 1, 1)]
    assert network.parameters[-1].weight_shape == (7, 6, 14, 18) and network.classes == 7
    assert [p.name for p in network.parameters] == ["conv0", "conv1", "conv2", "fc3"]


@pytest.mark.parametrize("width", range(8, 17))
@pytest.mark.parametrize("loss", ["euclidean", "square_hinge"])
def test_derived_numbers(width, loss, rng):
    assert set(default_fractions(width)) == {"input", "act", "weight", "bias", "delta", "momentum"}
    for optimiser, rate in (
        ("sgd", 0.3),
        ("momentum", 0.0075),
        ("momentum", 0.1),
        ("momentum", float(10 ** rng.uniform(-4, 0))),
    ):
        network = Network(
            "t",
            (3, 8, 8),
            (Conv(4, 3, 1, pool=2), Conv(4, 3), Dense(7)),
            loss=loss,
            data_width=width,
            optimiser=optimiser,
            learning_rate=rate,
            momentum=0.9,
            minibatch=int(rng.integers(1, 129)),
        )
        last = network.parameters[-1]
        assert network.loss_parameters.t_pos == 1 << last.fo <= (1 << (width - 1)) - 1
        assert (
            network.loss_parameters.shift == 16 + last.fo - last.fd - (loss == "square_hinge")
            and 0 <= network.loss_parameters.shift <= 31
        )
        for before, p in zip((None, *network.parameters), network.parameters):
            assert p.fa == (before.fo if before else network.input_frac) and p.fe == (before.fd if before else None)
            assert p.bias_exp == p.fa + p.fw - p.fb and 0 <= p.bias_exp <= width - 2
            assert p.shift_fp == p.fa + p.fw - p.fo and 0 <= p.shift_fp < ACC_W
            assert p.shift_bp == (p.fd + p.fw - p.fe if before else None)
            for u, frac, grad_frac in ((p.weight_update, p.fw, p.fd + p.fa), (p.bias_update, p.fb, p.fd)):
                assert 0 <= u.shift_g <= 47 and 0 <= u.shift_v <= 31 and 0 <= u.shift_w <= 15
                assert u.frac_v == frac + u.shift_w and u.frac_g == grad_frac - u.shift_g
                lr_frac = u.frac_v + u.shift_v - u.frac_g
                assert 1 <= u.lr_m <= 32767 and u.lr_m * 2.0**-lr_frac == pytest.approx(
                    rate / network.minibatch, rel=2**-9
                )
                assert u.beta_m == (0 if optimiser == "sgd" else round(0.9 * 2**u.shift_v)) <= 32767
                assert optimiser == "sgd" or abs(u.beta_m * 2.0**-u.shift_v - 0.9) < 2**-8
                assert u.shift_g == 0 or u.lr_m < 1 << (
                    u.shift_v - 3
                )  # g is exact or resolves 1/8 of the momentum's last bit


def test_learning_rate_changes_no_format():
    network = load(ROOT / "examples/digits/net.toml")
    slower = network.with_learning_rate(network.learning_rate / 10)
    assert slower.parameters[0].weight_update.frac_v == network.parameters[0].weight_update.frac_v
    assert slower.parameters[0].weight_update != network.parameters[0].weight_update


def test_example_loads():
    network = load(ROOT / "examples/digits/net.toml")
    assert network.name == "digits" and network.shape == (1, 8, 8) and network.classes == 10
    assert [p.weight_shape for p in network.parameters] == [(16, 1, 3, 3), (32, 16, 3, 3), (10, 32, 2, 2)]


def test_every_field_of_a_file(tmp_path):
    file = tmp_path / "net.toml"
    file.write_text("""
        name = "full"
        input = [3, 12, 10]
        loss = "euclidean"
        [train]
        optimiser = "sgd"
        learning_rate = 1
        minibatch = 40
        [format]
        data_width = 14
        rounding = { act = "half_up", param = "truncate" }
        act = 8
        [[layer]]
        type = "conv"
        name = "first"
        maps = 6
        kernel = [3, 1]
        pad = [2, 0]
        bias = false
        relu = false
        pool = 2
        trainable = false
        format = { act = 9, weight = 10 }
        [[layer]]
        type = "dense"
        maps = 5
        bias = true
        learning_rate = 2
        """)
    network = load(file)
    first, second = network.parameters
    assert (
        first.name == "first"
        and first.weight_shape == (6, 3, 3, 1)
        and first.pad == (2, 0)
        and first.conv_shape == (6, 14, 10)
    )
    assert (
        (first.fo, first.fw, second.fa, second.fo) == (9, 10, 9, 8)
        and first.bias_update is None
        and not first.relu
        and first.pool == 2
    )
    assert [network.mode(kind) for kind in ("act", "delta", "param")] == ["half_up", "stochastic", "truncate"]
    assert not first.trainable and first.weight_update is None and first.learning_rate == 1
    assert second.trainable and second.learning_rate == 2
    assert network.optimiser == "sgd" and network.minibatch == 40 and network.data_width == 14


# text in the example, its replacement, layer index (None: whole file), field, words of the message
BAD = [
    ('name = "digits"', "name = 3", None, "name", "is not a text"),
    ("input = [1, 8, 8]", "", None, "input", "is missing"),
    ("input = [1, 8, 8]", "input = [1, 8]", None, "input", "nearest supported: [maps, rows, columns]"),
    ("input = [1, 8, 8]", "input = [1, 8, 0]", None, "input (columns)", "0 is outside 1..1024; nearest supported: 1"),
    ('"square_hinge"', '"hinge"', None, "loss", "nearest supported: square_hinge"),
    ('"momentum"', '"adam"', None, "optimiser", "'adam' is not supported"),
    ("learning_rate = 0.0075", "learning_rate = 0", None, "learning_rate", "a positive number"),
    ("learning_rate = 0.0075", "learning_rate = nan", None, "learning_rate", "a positive number"),
    ("learning_rate = 0.0075", "learning_rate = 1e-30", 0, "learning_rate", "no shifts represent 1e-30"),
    ("learning_rate = 0.0075", "learning_rate = 2000", None, "learning_rate", "a positive number"),
    ("learning_rate", "learn_rate", None, "train.learn_rate", "nearest supported: learning_rate"),
    ("momentum = 0.9", "momentum = 1.5", None, "momentum", "0 to 0.999"),
    ("minibatch = 32", "minibatch = 0", None, "minibatch", "nearest supported: 1"),
    ("minibatch = 32", "minibatch = 3.5", None, "minibatch", "is not an integer"),
    ("minibatch = 32", "minibatch = true", None, "minibatch", "is not an integer"),
    ("data_width = 16", "data_width = 32", None, "data_width", "nearest supported: 16"),
    ('rounding = "stochastic"', 'rounding = "nearest"', None, "rounding", "'nearest' is not supported"),
    ('rounding = "stochastic"', 'rounding = { act = "up" }', None, "rounding.act", "'up' is not supported"),
    ('rounding = "stochastic"', "act = 40", None, "format.act", "nearest supported: 31"),
    ('rounding = "stochastic"', "weigth = 12", None, "format.weigth", "nearest supported: weight"),
    ("[format]", "[formats]", None, "formats", "is not a known field"),
    ("[train]", "[[train]]", None, "train", "is not a table"),
    ('type = "conv"', 'type = "convolution"', 0, "type", "nearest supported: conv"),
    ('type = "conv"', "", 0, "type", "is missing; nearest supported: one of conv, dense"),
    ("maps = 16", "maps = 0", 0, "maps", "nearest supported: 1"),
    ("maps = 16", "", 0, "maps", "is missing"),
    ("maps = 16", 'maps = "many"', 0, "maps", "is not an integer"),
    ("kernel = 3", "kernel = 12", 0, "kernel", "12 is outside 1..11; nearest supported: 11"),
    ("kernel = 3", "kernel = [3, 3, 3]", 0, "kernel", "nearest supported: [rows, columns]"),
    (
        "kernel = 3\npad = 1",
        "kernel = 9",
        0,
        "kernel",
        "9x9 with pad 0, 0 does not fit maps of 8x8; nearest supported: kernel 8x8",
    ),
    ("pad = 1", "pad = 3", 0, "pad", "3 is outside 0..2; nearest supported: 2"),
    ("pad = 1", "strides = 2", 0, "strides", "is not a known field; nearest supported: stride"),
    ("pad = 1", "stride = 12", 0, "stride", "12 is outside 1..11"),
    ("pad = 1", "groups = 2", 0, "groups", "2 groups of 1 input and 16 output maps; nearest supported: 1"),
    ("pool = 2", "pool = 3", 0, "pool", "nearest supported: pool = 2"),
    ("pool = 2", "relu = 1", 0, "relu", "neither true nor false"),
    ("pool = 2", 'name = "a"\nbias = "yes"', 0, "bias", "layer 0 'a': bias: 'yes'"),
    ("pool = 2", "trainable = 0", 0, "trainable", "0 is neither true nor false; nearest supported: true"),
    ("pool = 2", "trained = false", 0, "trained", "is not a known field; nearest supported: trainable"),
    ("pool = 2", "learning_rate = 0", 0, "learning_rate", "0 is not supported; nearest supported: a positive number"),
    ("pool = 2", "learning_rate = true", 0, "learning_rate", "a positive number"),
    ("pool = 2", "learning_rate = 1025", 0, "learning_rate", "a positive number"),
    ("pool = 2", "learning_rate = 1e-30", 0, "learning_rate", "no shifts represent 1e-30"),
    ("pool = 2", "format = { act = 26 }", 0, "format.act", "fa + fw - fo = -1 is outside 0..47; nearest supported: 25"),
    (
        "pool = 2",
        "format = { bias = 9 }",
        0,
        "format.bias",
        "fa + fw - fb = 16 is outside 0..14; nearest supported: 11",
    ),
    ("pool = 2", "format = { bias = 26 }", 0, "format.bias", "nearest supported: 25"),
    ("pool = 2", "format = { delta = 26 }", 1, "format.delta", "fd + fw - fe = -1"),
    (
        "pool = 2",
        "format = { momentum = 12 }",
        0,
        "format.momentum",
        "shift_w = -1 is outside 0..15; nearest supported: 13",
    ),
    ("pool = 2", "format = { momentum = 29 }", 0, "format.momentum", "nearest supported: 28"),
    ("pool = 2", "format = { input = 3 }", 0, "format.input", "is not a known field"),
    ("maps = 10", "maps = 10\nrelu = true", 2, "relu", "nearest supported: relu = false"),
    ("maps = 10", "maps = 10\npool = 2", 2, "pool", "is not a known field"),
    (
        "maps = 10",
        "maps = 10\nformat = { act = 15 }",
        2,
        "format.act",
        "the target 1.0 does not fit the output; nearest supported: 14",
    ),
    (
        "maps = 10",
        "maps = 10\nformat = { delta = 29 }",
        2,
        "format.delta",
        "the loss's shift -4 is outside 0..31; nearest supported: 25",
    ),
    (
        'type = "dense"',
        'type = "conv"\nrelu = false\nkernel = 1',
        2,
        "type",
        "leaves 2x2 pixels per class; nearest supported: a Dense layer",
    ),
    ("[format]", "[format", None, "syntax", "at line"),
]


@pytest.mark.parametrize(
    "old, new, layer, field, words", BAD, ids=[f"{field}-{k}" for k, (_, _, _, field, _) in enumerate(BAD)]
)
def test_refuses_with_place_and_nearest_form(old, new, layer, field, words, tmp_path):
    assert old in GOOD
    file = tmp_path / "net.toml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(NetworkError) as caught:
        load(file)
    message = str(caught.value)
    assert (caught.value.layer, caught.value.field) == (layer, field), message
    assert message.startswith(str(file)) and field in message and words in message
    assert layer is None or f"layer {layer}" in message


def test_refuses_sums_that_could_overflow():
    with pytest.raises(
        NetworkError,
        match="forward sum of 131072 products of 16 bits could overflow 48 bits; nearest supported: 131071",
    ):
        Network("t", (2048, 8, 8), (Dense(2, bias=False),))
    Network("t", (2047, 8, 8), (Dense(2),))
    Network("t", (2048, 8, 8), (Dense(2),), data_width=15)
    with pytest.raises(NetworkError, match="layer 1 'conv1': maps: a backward sum of 147456"):
        Network("t", (1, 11, 11), (Conv(1, 1), Conv(4096, 6, pool=2), Dense(2)))
    Network("t", (1, 8, 8), (Conv(1, 1), Dense(4096)))  # a pixel meets one tap of each map


def test_refuses_what_cannot_be_read(tmp_path):
    with pytest.raises(NetworkError, match="nothing.toml: file: cannot be read: No such file"):
        load(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(NetworkError, match="binary.toml: file: cannot be read"):
        load(tmp_path / "binary.toml")
    with pytest.raises(NetworkError, match="layer: the network has no layer"):
        Network("t", (1, 8, 8), ())
    with pytest.raises(NetworkError, match="'a' is used twice"):
        Network("t", (1, 8, 8), (Conv(2, name="a"), Dense(2, name="a")))
    with pytest.raises(NetworkError, match="layer 0: type: 'conv' is not a layer"):
        Network("t", (1, 8, 8), ("conv",))
