# SPDX-License-Identifier: Apache-2.0
"""Quantised ONNX models: their scales become formats, and the reference trainer computes what ONNX's reference
evaluator does, in every bit; what has no equal is refused."""

import numpy as np
import pytest

from gradcore.frontends.errors import ModelError
from gradcore.numerics.fixed_point import Format, dequantize, quantize
from gradcore.reference.trainer import ReferenceTrainer

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: the extra [onnx]")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402

from gradcore import from_onnx  # noqa: E402
from tb.model.frontends.onnx_models import Graph  # noqa: E402

DOMAIN = "qonnx.custom_op.general"


class Quant(OpRun):
    """After the definition of QONNX (Pappalardo et al., 2022, section IV)."""

    op_domain = DOMAIN

    def _run(self, x, scale, zero, bits, signed=1, narrow=0, rounding_mode="ROUND"):
        high = 2 ** (int(bits) - signed) - 1
        low = -high - 1 + narrow if signed else 0
        return ((np.clip(np.round(x / scale + zero), low, high) - zero) * scale,)


class Quantised(Graph):
    """A graph whose tensors are quantised as QCDQ or QONNX say it."""

    def __init__(self, style, *given, **options):
        super().__init__(*given, **options)
        self.style = style

    def quant(self, x, frac, bits=8, signed=True, narrow=False, clip=False, name=""):
        scale = self.const(2.0**-frac)
        if self.style == "qonnx":
            given = (x, scale, self.const(0.0), self.const(float(bits)))
            return self.op(
                "Quant", *given, domain=DOMAIN, signed=int(signed), narrow=int(narrow), rounding_mode="ROUND", name=name
            )
        kind = (np.int8 if signed else np.uint8) if bits <= 8 else (np.int16 if signed else np.uint16)
        zero = self.const(np.zeros((), kind))
        x = self.op("QuantizeLinear", x, scale, zero, name=name)
        if narrow or clip or bits not in (8, 16):
            high = 2 ** (bits - signed) - 1
            low = -high - (not narrow) if signed else 0
            x = self.op("Clip", x, self.const(np.array(low, kind)), self.const(np.array(high, kind)))
        return self.op("DequantizeLinear", x, scale, zero)


def network(style, rng, bits=8, signed=False, narrow=False, stored=False):
    """Convolution, ReLU, pooling, matrix product; every tensor of `bits` bits. stored: weights as integers."""
    # float32 does not hold sums of products of 16 bits.
    graph = Quantised(style, (2, 6, 6), 21, np.float64 if bits > 8 else np.float32, "N", rng)
    x = graph.quant(graph.x, bits - 3, bits)
    weight = graph.quant(graph.weights(3, 2, 3, 3, name="conv.weight"), bits - 2, bits, narrow=narrow)
    bias = graph.quant(graph.weights(3, name="conv.bias"), bits - 2, bits)
    x = graph.op("Relu", graph.op("Conv", x, weight, bias, name="first"))
    x = graph.quant(x, bits - 4, bits - (not signed), signed)
    x = graph.op("Flatten", graph.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    if stored:
        words = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (4, 12)).astype(np.int8 if bits <= 8 else np.int16)
        weight = graph.op("DequantizeLinear", graph.const(words, "fc.weight"), graph.const(2.0 ** (2 - bits)))
    else:
        weight = graph.quant(graph.weights(4, 12, name="fc.weight"), bits - 2, bits)
    x = graph.op("Gemm", x, weight, graph.quant(graph.weights(4, name="fc.bias"), bits - 2, bits), transB=1)
    return graph.model(graph.quant(x, bits - 5, bits))


def evaluated(model, x):
    evaluator = ReferenceEvaluator(ir.to_proto(model), new_ops=[Quant])
    kind = model.graph.inputs[0].dtype.numpy()
    (found,) = evaluator.run(None, {"image": x.astype(kind)})
    return found


def imported(model, **options):
    return from_onnx(model, data_width=options.pop("data_width", 8), rounding="half_even", minibatch=4, **options)


def forward(found, x):
    """Outputs of the reference trainer as real numbers, and how many saturated."""
    trainer = ReferenceTrainer(found.network, 1, found.state)
    words = quantize(x, Format(found.network.data_width, found.network.input_frac), "half_even")
    return dequantize(trainer.forward(words), Format(found.network.data_width, found.network.graph.output.frac))


CASES = [
    dict(style=style, **more)
    for style in ("qcdq", "qonnx")
    for more in (dict(), dict(signed=True), dict(narrow=True), dict(bits=16, signed=True), dict(stored=True))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_bit_is_that_of_onnx(case):
    rng = np.random.default_rng(5)
    bits = case.get("bits", 8)
    model = network(rng=rng, **case)
    x = rng.normal(0, 1.5, (40, 2, 6, 6))
    found = imported(model, data_width=bits)
    first, last = found.network.parameters
    assert found.network.input_frac == bits - 3 and (first.fw, first.fb, first.fo) == (bits - 2, bits - 2, bits - 4)
    assert (last.fw, last.fo) == (bits - 2, bits - 5) and not found.notes
    ours, theirs = forward(found, x), evaluated(model, x)
    assert (ours == theirs).all() and len(np.unique(ours)) > 20


def test_it_goes_red():
    """Another rounding of one tensor is seen."""
    rng = np.random.default_rng(5)
    model, x = network("qcdq", rng), rng.normal(0, 1.5, (40, 2, 6, 6))
    found = from_onnx(model, data_width=8, rounding="truncate", minibatch=4)
    assert (forward(found, x) != evaluated(model, x)).any()


@pytest.mark.parametrize("style", ["qcdq", "qonnx"])
def test_fewer_bits_are_told(style):
    """Words of 16 bits with the steps of 8: the same where nothing is clipped."""
    rng = np.random.default_rng(6)
    model, x = network(style, rng), rng.normal(0, 0.2, (40, 2, 6, 6))
    found = imported(model, data_width=16)
    assert any("quantised tensors have fewer than 16 bits: the same steps, more range" in note for note in found.notes)
    assert (forward(found, x) == evaluated(model, x)).all()


@pytest.mark.parametrize("stored", [False, True])
def test_trained_weights_come_back(stored):
    rng = np.random.default_rng(7)
    model = network("qcdq", rng, stored=stored)
    found = imported(model)
    trainer = ReferenceTrainer(found.network, 1, found.state)
    for iteration in range(3):
        trainer.step(rng.integers(-128, 128, (4, 2, 6, 6)), rng.integers(0, 4, 4), iteration)
    x = rng.normal(0, 1.5, (20, 2, 6, 6))
    before = evaluated(model, x)
    again = imported(found.to_onnx(trainer.weights()))
    for ours, theirs in zip(again.state, trainer.weights()):
        assert all((ours[key] == theirs[key]).all() for key in ("weight", "bias"))
    assert (evaluated(model, x) == forward(again, x)).all() and (evaluated(model, x) != before).any()


def test_what_does_not_fit_the_model_stays_out():
    """Trained in 16 bits, weights may leave the 8 bits of the model."""
    model = network("qcdq", np.random.default_rng(8))
    found = imported(model, data_width=16)
    state = [dict(layer) for layer in found.state]
    state[0]["weight"] = state[0]["weight"] + 200
    with pytest.raises(ModelError, match="words of 'conv.weight' are outside -2..1.98438; .* words of 8 bits"):
        found.to_onnx(state)


def test_wide_biases_are_rounded():
    """Exporters keep biases in 32 bits."""
    graph = Quantised("qcdq", (1, 2, 2), 21)
    x = graph.op("Flatten", graph.quant(graph.x, 5))
    bias = graph.op("DequantizeLinear", graph.const(np.array([40000, -7], np.int32), "b"), graph.const(2.0**-16))
    x = graph.op("Gemm", x, graph.quant(graph.weights(2, 4, name="fc.weight"), 6), bias, transB=1)
    found = imported(graph.model(graph.quant(x, 4)))
    (p,) = found.network.parameters
    assert p.fb == 6 and (found.state[0]["bias"] == np.rint(np.array([40000, -7]) * 2.0**-10)).all()


def refused(graph, x, said, **options):
    with pytest.raises(ModelError, match=said):
        imported(graph.model(x), **options)


def ended(graph, x):
    """A matrix product behind `x`."""
    return graph.op("Gemm", graph.op("Flatten", x), graph.weights(2, 16), transB=1)


def linear(graph, scale, zero, more=()):
    """QuantizeLinear and DequantizeLinear of the image."""
    scale, zero = graph.const(scale), graph.const(zero)
    x = graph.op("QuantizeLinear", graph.x, scale, zero, name="q")
    for kind, *limits in more:
        x = graph.op(kind, x, *map(graph.const, limits), name="clip")
    return graph.op("DequantizeLinear", x, scale, zero)


BYTE = np.zeros((), np.int8)
LINEAR = {
    "not a power of two": ((0.1, BYTE), "'q': QuantizeLinear: has the scale 0.1; nearest supported: 2\\^-3 = 0.125"),
    "zero point": ((0.125, BYTE + np.int8(3)), "'q': QuantizeLinear: has a zero point; nearest supported: 0"),
    "scales": ((np.array([0.5, 0.25]), np.zeros(2, np.int8)), "'q': QuantizeLinear: has 2 scales"),
    "negative": ((-0.5, BYTE), "has the scale -0.5"),
    "clip": ((0.5, BYTE, [("Clip", BYTE - 100, BYTE + 100)]), "'clip': Clip: to -100..100; .* as -8..7"),
    "narrow": ((0.5, BYTE, [("Clip", BYTE - 127, BYTE + 127)]), "'clip': Clip: to -127..127; .*-128..127"),
}


@pytest.mark.parametrize("name", LINEAR)
def test_refuses_linear(name):
    given, said = LINEAR[name]
    graph = Graph((1, 4, 4), 21)
    refused(graph, ended(graph, linear(graph, *given)), said)


@pytest.mark.parametrize(
    "given, said",
    [
        (dict(rounding_mode="FLOOR"), "rounding_mode FLOOR; nearest supported: ROUND"),
        (dict(narrow=1), "narrow=1 of a tensor that is computed"),
        (dict(signed=2, other=1), "has the attribute other"),
    ],
)
def test_refuses_quant(given, said):
    graph = Graph((1, 4, 4))
    numbers = map(graph.const, (0.5, 0.0, 8.0))
    refused(graph, ended(graph, graph.op("Quant", graph.x, *numbers, domain=DOMAIN, **given)), said)


def test_refuses_the_rest():
    graph = Quantised("qonnx", (1, 4, 4))
    refused(graph, ended(graph, graph.quant(graph.x, 3, bits=12)), "input of 12 bits; nearest supported: data_width=12")
    graph = Quantised("qonnx", (1, 4, 4))
    refused(graph, ended(graph, graph.quant(graph.x, 3, bits=8, signed=False)), "input of 9 bits")
    graph = Quantised("qcdq", (1, 4, 4), 21)
    x = graph.op("Conv", graph.x, graph.weights(1, 1, 1, 1))
    refused(graph, ended(graph, graph.op("Add", graph.quant(x, 3), x)), "others read '.*' as it is")
    graph = Quantised("qcdq", (1, 4, 4), 21)
    x = graph.quant(graph.op("Relu", graph.quant(graph.op("Conv", graph.x, graph.weights(1, 1, 1, 1)), 3)), 4)
    refused(graph, ended(graph, x), "the scale is 2\\^-4, before it 2\\^-3")
    graph = Graph((1, 4, 4), 21)
    x = graph.op("QuantizeLinear", graph.x, graph.const(0.5), graph.const(BYTE))
    refused(graph, ended(graph, x), "reads integers; nearest supported: DequantizeLinear before it")
    graph = Graph((1, 4, 4), 21)
    refused(graph, ended(graph, graph.op("BipolarQuant", graph.x, graph.const(1.0), domain=DOMAIN)), "Quant of 2 bits")
