# SPDX-License-Identifier: Apache-2.0
"""Description of a network and its training, every number that follows from it, and the reader of net.toml.

A `Network` is checked when it is made: whatever the engine cannot do raises `NetworkError`, which names file, layer and
field and the nearest form that is supported.
"""

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from gradcore.files import toml_text
from gradcore.network import checks as check
from gradcore.network.checks import MAPS_MAX, NAME_MAX, NetworkError
from gradcore.numerics.fixed_point import ACC_W, COEF_MAX, FRAC_MAX, FRAC_MIN, MODES
from gradcore.ops.loss import LOSSES, loss_shift

OPTIMISERS = ("sgd", "momentum")
LAYER_FORMATS = ("act", "weight", "bias", "delta", "momentum", "bias_momentum")
LAYERS_MAX, WORDS_MAX = 1000, 1 << 28  # layers; weights and biases of all
KERNEL_MAX, IMAGES_MAX, DENSE_MAX = 11, 65535, 128
LR_MIN = 64  # smallest lr_m: below it the learning rate would be wrong by more than 1 %
GUARD = 4  # bits by which the scaled gradient is wanted to be finer than the momentum's last bit


@dataclass(frozen=True)
class Conv:
    """Convolution of stride 1, then ReLU, then 2x2 maximum pooling.

    maps: output maps; kernel and pad: (rows, columns) or one number for both, kernel 1..11, pad 0..kernel-1;
    pool: 2 or None; formats: fraction widths that differ from the network's (keys of LAYER_FORMATS).
    """

    maps: int
    kernel: tuple = (3, 3)
    pad: tuple = (0, 0)
    bias: bool = True
    relu: bool = True
    pool: int | None = None
    formats: dict = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class Dense:
    """Fully connected layer: a convolution whose kernel is the whole map, without padding. Fields as in `Conv`."""

    maps: int
    bias: bool = True
    relu: bool = False
    formats: dict = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class UpdateParameters:
    """Numbers of one weight or bias tensor's update; frac_v and frac_g are the fraction widths of momentum and scaled
    gradient."""

    lr_m: int
    beta_m: int
    shift_g: int
    shift_v: int
    shift_w: int
    frac_v: int
    frac_g: int


@dataclass(frozen=True)
class LayerParameters:
    """All numbers of one layer. Shapes without the image axis: (maps, rows, columns); symbols as in doc/numerics.md.

    in_shape: input; conv_shape: sums and gate; out_shape: after pooling; weight_shape: (O, C, KY, KX). `bias_exp` is e,
    `shift_fp` = fa + fw - fo, `shift_bp` = fd + fw - fe (None in layer 0, which has no backward pass); `bias_update` is
    None without bias.
    """

    index: int
    name: str
    dense: bool
    in_shape: tuple
    conv_shape: tuple
    out_shape: tuple
    weight_shape: tuple
    pad: tuple
    bias: bool
    relu: bool
    pool: int | None
    fa: int
    fo: int
    fw: int
    fb: int
    fd: int
    fe: int | None
    bias_exp: int
    shift_fp: int
    shift_bp: int | None
    weight_update: UpdateParameters
    bias_update: UpdateParameters | None


@dataclass(frozen=True)
class LossParameters:
    """Numbers of the loss: its name, the targets in the output's format, the shift to the local gradient."""

    loss: str
    t_pos: int
    t_neg: int
    shift: int


def default_fractions(data_width: int) -> dict:
    """Default fraction widths of every kind of tensor for a data width 8..16.

    16 bits give input 12, act 10 (+-32), weight and bias 13 (+-4), delta 12 (+-8), momentum 18 (+-1/8); 8 bits give
    input 6, act 4 (+-8), weight and bias 6 (+-2), delta 4 (+-8), momentum 9 (+-1/4). The local gradient has the range
    of the loss's difference: where it saturated, training followed float32 visibly less well.
    """
    lost = 16 - data_width
    weight = 13 - (7 * lost + 7) // 8
    return {
        "input": 12 - (6 * lost + 7) // 8,
        "act": 10 - (6 * lost + 7) // 8,
        "weight": weight,
        "bias": weight,
        "delta": data_width - 4,
        "momentum": 18 - (9 * lost + 7) // 8,
    }


@dataclass(frozen=True)
class Network:
    """A network and how it is trained.

    shape: input (maps, rows, columns); layers: Conv and Dense, the last one leaving one pixel per class; learning_rate
    belongs to the mean loss of a minibatch; momentum: beta; rounding: one mode or a dict of modes for act, delta and
    param; formats: fraction widths (keys input and LAYER_FORMATS) that replace those of `default_fractions`. Raises
    NetworkError.
    """

    name: str
    shape: tuple
    layers: tuple
    loss: str = "euclidean"
    optimiser: str = "momentum"
    learning_rate: float = 0.01
    momentum: float = 0.9
    minibatch: int = 32
    data_width: int = 16
    rounding: str | dict = "stochastic"
    formats: dict = field(default_factory=dict)

    def __post_init__(self):
        check.text("name", self.name)
        if len(self.name) > NAME_MAX or not self.name.isprintable():
            raise NetworkError("name", f"{self.name!r} is not a line of text", f"up to {NAME_MAX} characters")
        check.choice("loss", self.loss, LOSSES)
        check.choice("optimiser", self.optimiser, OPTIMISERS)
        check.number("learning_rate", self.learning_rate, 0, 1024, "a positive number", above=True)
        check.number("momentum", self.momentum, 0, 0.999, "0 to 0.999")
        check.integer("minibatch", self.minibatch, 1, IMAGES_MAX)
        check.integer("data_width", self.data_width, 8, 16)
        modes = (
            self.rounding
            if isinstance(self.rounding, dict)
            else dict.fromkeys(("act", "delta", "param"), self.rounding)
        )
        for kind, mode in modes.items():
            check.choice("rounding", kind, ("act", "delta", "param"))
            check.choice(f"rounding.{kind}" if modes is self.rounding else "rounding", mode, MODES)
        check.fractions(self.formats, ("input", *LAYER_FORMATS))
        shape = check.triple("input", self.shape)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise NetworkError("layer", "the network has no layer", "one Dense layer")
        if len(self.layers) > LAYERS_MAX:
            raise NetworkError("layer", f"the network has {len(self.layers)} layers", LAYERS_MAX)
        words = sum(math.prod(p.weight_shape) + p.bias * p.weight_shape[0] for p in self.parameters)
        if words > WORDS_MAX:
            raise NetworkError("layer", f"the network has {words} weights", WORDS_MAX)
        self.parameters, self.loss_parameters  # checks what depends on several fields

    @property
    def classes(self) -> int:
        """Number of outputs."""
        return self.parameters[-1].out_shape[0]

    @property
    def input_frac(self) -> int:
        """Fraction width of the input."""
        return self.parameters[0].fa

    def mode(self, kind: str) -> str:
        """Rounding mode of act, delta or param (weights, bias and momentum)."""
        return self.rounding.get(kind, "stochastic") if isinstance(self.rounding, dict) else self.rounding

    def with_learning_rate(self, learning_rate: float) -> "Network":
        """The same network with another learning rate; formats, and so weights and momentum, keep their meaning."""
        return replace(self, learning_rate=learning_rate)

    def with_minibatch(self, images: int) -> "Network":
        """The same network for minibatches of `images`, with the multipliers and shifts of learning rate / images;
        formats stay. Raises NetworkError when no shifts represent that."""
        return self if images == self.minibatch else replace(self, minibatch=images)

    @cached_property
    def parameters(self) -> tuple:
        """One `LayerParameters` per layer."""
        result, names = [], set()
        shape, fractions = self.shape, default_fractions(self.data_width) | self.formats
        fa, fe = fractions["input"], None
        for index, layer in enumerate(self.layers):
            name = getattr(layer, "name", "")
            try:
                check.layer_name(name)
                name = name or f"{'fc' if isinstance(layer, Dense) else 'conv'}{index}"
                if name in names:
                    raise NetworkError("name", f"'{name}' is used twice", f"'{name}_{index}'")
                names.add(name)
                own = fractions | _checked_layer(layer).formats
                result.append(self._derive(index, name, layer, shape, fa, fe, own))
            except NetworkError as error:
                error.layer, error.name = index, name if isinstance(name, str) else ""
                raise
            shape, fa, fe = result[-1].out_shape, result[-1].fo, result[-1].fd
        return tuple(result)

    @cached_property
    def loss_parameters(self) -> LossParameters:
        """`LossParameters`; refuses a last layer that does not end in one pixel of sums."""
        last = self.parameters[-1]
        try:
            if last.out_shape[1:] != (1, 1):
                raise NetworkError(
                    "type",
                    f"the last layer leaves {last.out_shape[1]}x{last.out_shape[2]} pixels per class",
                    "a Dense layer at the end",
                )
            if last.relu:
                raise NetworkError("relu", "the loss needs the sums of the last layer", "relu = false")
            if last.pool:
                raise NetworkError("pool", "the loss needs the sums of the last layer", "no pool")
            check.within("format.act", last.fo, 0, self.data_width - 2, "the target 1.0 does not fit the output")
            shift = loss_shift(self.loss, last.fo, last.fd)
            check.within(
                "format.delta",
                last.fd,
                last.fd + shift - 31,
                last.fd + shift,
                f"the loss's shift {shift} is outside 0..31",
            )
        except NetworkError as error:
            error.layer, error.name = last.index, last.name
            raise
        return LossParameters(self.loss, 1 << last.fo, 0, shift)

    def _derive(self, index, name, layer, shape, fa, fe, fractions) -> LayerParameters:
        width, dense = self.data_width, isinstance(layer, Dense)
        kernel = tuple(shape[1:]) if dense else check.pair("kernel", layer.kernel, 1, (KERNEL_MAX, KERNEL_MAX))
        pad = (0, 0) if dense else check.pair("pad", layer.pad, 0, (kernel[0] - 1, kernel[1] - 1))
        if dense and max(kernel) > DENSE_MAX:
            raise NetworkError(
                "type",
                f"a Dense layer on maps of {kernel[0]}x{kernel[1]}",
                f"maps up to {DENSE_MAX}x{DENSE_MAX}: pool before",
            )
        rows, columns = shape[1] + 2 * pad[0] - kernel[0] + 1, shape[2] + 2 * pad[1] - kernel[1] + 1
        if rows < 1 or columns < 1:
            raise NetworkError(
                "kernel",
                f"{kernel[0]}x{kernel[1]} with pad {pad[0]}, {pad[1]} does not fit maps of {shape[1]}x{shape[2]}",
                f"kernel {min(kernel[0], shape[1])}x{min(kernel[1], shape[2])}",
            )
        pool = None if dense else layer.pool
        if pool and (rows < 2 or columns < 2):
            raise NetworkError("pool", f"maps of {rows}x{columns} cannot be pooled", "no pool")
        out = (layer.maps, rows // 2, columns // 2) if pool else (layer.maps, rows, columns)
        fo, fw, fb, fd = (fractions[key] for key in ("act", "weight", "bias", "delta"))
        check.within(
            "format.act", fo, fa + fw - ACC_W + 1, fa + fw, f"fa + fw - fo = {fa + fw - fo} is outside 0..{ACC_W - 1}"
        )
        if layer.bias:
            check.within(
                "format.bias",
                fb,
                fa + fw - width + 2,
                fa + fw,
                f"fa + fw - fb = {fa + fw - fb} is outside 0..{width - 2}",
            )
        if fe is not None:
            check.within(
                "format.delta",
                fd,
                fe - fw,
                fe - fw + ACC_W - 1,
                f"fd + fw - fe = {fd + fw - fe} is outside 0..{ACC_W - 1}",
            )
        bias_exp = fa + fw - fb if layer.bias else 0
        room = (1 << (ACC_W - 1)) - 1
        for what, terms, extra in (
            ("forward", shape[0] * kernel[0] * kernel[1], (1 << (width - 1 + bias_exp)) * layer.bias),
            # No pixel meets more taps than the sums have rows and columns.
            ("backward", (fe is not None) * layer.maps * min(kernel[0], rows) * min(kernel[1], columns), 0),
        ):
            most = (room - extra) >> (2 * width - 2)
            if terms > most:
                raise NetworkError(
                    "maps",
                    f"a {what} sum of {terms} products of {width} bits could overflow {ACC_W} bits",
                    f"{most} products",
                )
        fv = fractions["momentum"]
        fvb = fractions.get("bias_momentum", fb + fv - fw)
        return LayerParameters(
            index=index,
            name=name,
            dense=dense,
            in_shape=tuple(shape),
            conv_shape=(layer.maps, rows, columns),
            out_shape=out,
            weight_shape=(layer.maps, shape[0], *kernel),
            pad=pad,
            bias=layer.bias,
            relu=layer.relu,
            pool=pool,
            fa=fa,
            fo=fo,
            fw=fw,
            fb=fb,
            fd=fd,
            fe=fe,
            bias_exp=bias_exp,
            shift_fp=fa + fw - fo,
            shift_bp=None if fe is None else fd + fw - fe,
            weight_update=self._update("format.momentum", fw, fv, fd + fa),
            bias_update=self._update("format.bias_momentum", fb, fvb, fd) if layer.bias else None,
        )

    def _update(self, where, fw, fv, grad_frac) -> UpdateParameters:
        """The multipliers and shifts of one tensor's update.

        One rounding of g is lr_m * 2^-shift_v of the momentum's last bit, and lr_m has a relative error of about 1 /
        lr_m. Wanted, in this order: g finer by GUARD bits than the momentum, yet never so fine that its 24 bits
        saturate before the momentum does; lr_m of many bits, up to 15; beta_m of many bits.
        """
        check.within(where, fv, fw, fw + 15, f"shift_w = {fv - fw} is outside 0..15")
        check.within(where, fv, FRAC_MIN, FRAC_MAX, f"{fv} is outside {FRAC_MIN}..{FRAC_MAX}")
        rate, beta = self.learning_rate / self.minibatch, self.momentum if self.optimiser == "momentum" else 0.0
        best, shifts = (
            None,
            [
                s
                for s in range(32)
                if round(beta * 2**s) <= COEF_MAX and abs(round(beta * 2**s) * 2.0**-s - beta) < 2**-8
            ],
        )
        for shift_v in shifts:
            beta_m = round(beta * 2**shift_v)
            for shift_g in range(ACC_W):
                frac_g = grad_frac - shift_g
                lr_m = math.floor(rate * 2.0 ** (fv + shift_v - frac_g) + 0.5)
                if not LR_MIN <= lr_m <= COEF_MAX:
                    continue
                guard = shift_v - lr_m.bit_length() + 1
                key = (guard <= self.data_width // 2, min(guard, GUARD), lr_m.bit_length(), shift_v, -shift_g)
                if best is None or key > best[0]:
                    best = key, UpdateParameters(lr_m, beta_m, shift_g, shift_v, fv - fw, fv, frac_g)
        if best is None:
            low, high = (
                m * 2.0 ** (grad_frac - g - fv - s)
                for m, g, s in ((LR_MIN, ACC_W - 1, shifts[-1]), (COEF_MAX, 0, shifts[0]))
            )
            raise NetworkError(
                "learning_rate",
                f"no shifts represent {self.learning_rate:g} with a momentum of {fv} and a gradient of "
                f"{grad_frac} fraction bits",
                f"{self.minibatch * min(max(rate, low), high):g}",
            )
        return best[1]


def load(path) -> Network:
    """The network of a net.toml file. Raises NetworkError, which names the file, for anything wrong in it, also when it
    cannot be read."""
    try:
        text = toml_text.read(path)
    except (OSError, ValueError) as error:
        raise NetworkError(
            "file", f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)
        ) from error
    return parse(text, path)


def parse(text: str, file="") -> Network:
    """The network of the text of a net.toml. Raises NetworkError, which names `file`."""
    try:
        return _network(toml_text.parse(text))
    except NetworkError as error:
        error.file = str(file)
        raise
    except ValueError as error:
        raise NetworkError("syntax", str(error), file=str(file)) from error


def _network(table) -> Network:
    table = dict(table)
    train, formats = check.table("train", table.pop("train", {})), check.table("format", table.pop("format", {}))
    check.known("", table, ("name", "input", "loss", "layer"))
    check.known("train.", train, ("optimiser", "learning_rate", "momentum", "minibatch"))
    check.known("format.", formats, ("data_width", "rounding", "input", *LAYER_FORMATS))
    if "input" not in table:
        raise NetworkError("input", "is missing", "input = [maps, rows, columns]")
    entries = table.get("layer", [])
    if not isinstance(entries, list):
        raise NetworkError("layer", "is not a list of tables", "[[layer]]")
    layers = []
    for index, entry in enumerate(entries):
        try:
            layers.append(_layer(entry))
        except NetworkError as error:
            error.layer, error.name = index, entry.get("name", "") if isinstance(entry, dict) else ""
            raise
    own = {key: formats.pop(key) for key in ("data_width", "rounding") if key in formats}
    return Network(
        name=table.get("name", "network"),
        shape=table["input"],
        layers=tuple(layers),
        formats=formats,
        **train,
        **own,
        **{key: table[key] for key in ("loss",) if key in table},
    )


def _layer(entry):
    entry = dict(check.table("layer", entry))
    kinds = {"conv": Conv, "dense": Dense}
    kind = entry.pop("type", None)
    check.choice("type", kind, kinds)
    if "format" in entry:
        entry["formats"] = entry.pop("format")
    keys = [f.name for f in fields(kinds[kind])]
    check.known("", entry, keys, {"formats": "format"})
    if "maps" not in entry:
        raise NetworkError("maps", "is missing", "maps = number of output maps")
    return kinds[kind](**entry)


def _checked_layer(layer):
    if not isinstance(layer, (Conv, Dense)):
        raise NetworkError("type", f"{layer!r} is not a layer", "Conv or Dense")
    check.integer("maps", layer.maps, 1, MAPS_MAX)
    for key in ("bias", "relu"):
        if not isinstance(getattr(layer, key), bool):
            raise NetworkError(key, f"{getattr(layer, key)!r} is neither true nor false", "true")
    pool = getattr(layer, "pool", None)
    if pool is not None and (isinstance(pool, bool) or pool != 2):
        raise NetworkError("pool", f"{pool!r} is not supported", "pool = 2")
    check.fractions(layer.formats, LAYER_FORMATS)
    return layer
