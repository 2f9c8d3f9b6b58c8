# SPDX-License-Identifier: Apache-2.0
"""What is refused of Caffe's files, by layer, type and field."""

import numpy as np
import pytest

from gradcore import from_caffe
from gradcore.files.atomic import FileError
from gradcore.files.places import ROOT
from gradcore.frontends.caffe_proto import _message
from gradcore.frontends.errors import ModelError
from gradcore.reference.calibration import ImagesError
from tb.model.frontends.test_caffe import CHAIN, SIZE, SOLVER, read, write


@pytest.mark.parametrize(
    "change, said",
    [
        (('type: "TanH"', 'type: "ELU"'), "node 'tanh1': ELU: is not supported; nearest supported: one of Conv"),
        (("pad: 1 weight", "dilation: 2 weight"), "node 'conv1': Convolution: dilation is not supported"),
        (("kernel_size: 3 pad: 1", "pad: 1"), "node 'conv1': Convolution: has no kernel_size"),
        (("kernel_size: 3 pad: 1", "kernel_size: 13 pad: 1"), "node 'conv1': Convolution: kernel"),
        (("pool: MAX", "pool: STOCHASTIC"), "node 'pool1': Pooling: pool: STOCHASTIC"),
        (("pool: MAX", "pool: AVE"), "7x6 pixels leaves 3x3 in Caffe, which rounds up, here 3x2"),
        (('bottom: "pool1"', 'bottom: "pool2"'), "node 'ip1': InnerProduct: reads 'pool2', which no layer"),
        (("param { lr_mult: 1 d", 'param { name: "w" lr_mult: 1 d'), "node 'conv1': Convolution: shared weights"),
        (('bottom: "ip2" bottom: "label" top: "loss"', 'bottom: "ip1" top: "loss"'), "does not read the last"),
        (("SoftmaxWithLoss", "HingeLoss"), "node 'loss': HingeLoss: norm: L1 is not supported"),
        (('top: "loss"', 'top: "loss" loss_weight: 0.5'), "loss_weight: 0.5"),
        (('top: "loss"', 'top: "loss" loss_param { normalization: NONE }'), "sum of the images"),
        (('type: "SoftmaxWithLoss"', 'type: "Silence"'), "net: no layer is a loss"),
        (("num_output: 5", "num_output: 5 axis: 2"), "node 'ip1': InnerProduct: axis: 2"),
        (("num_output: 5", "num_output: 5 transpose: true"), "transpose"),
        (("num_output: 5", "num_output: 0"), "node 'ip1': InnerProduct: maps"),
    ],
)
def test_refuses(tmp_path, change, said):
    assert change[0] in CHAIN
    with pytest.raises(ModelError, match=said):
        read(tmp_path, CHAIN.replace(*change, 1))


@pytest.mark.parametrize(
    "change, said",
    [
        (('type: "SGD"', 'type: "Adam"'), "solver: type: 'Adam' is not supported; nearest supported: \"SGD\""),
        (('lr_policy: "fixed"', 'lr_policy: "inv"'), "solver: lr_policy: 'inv'"),
        (("base_lr: 0.05", ""), "solver: base_lr is not there"),
        (("base_lr", 'regularization_type: "L1" base_lr'), "regularization_type: 'L1'"),
        (("base_lr", "clip_gradients: 35 base_lr"), "clip_gradients: 35"),
        (("momentum: 0.8", "momentum: 1.5"), "momentum"),
    ],
)
def test_refuses_solvers(tmp_path, change, said):
    with pytest.raises(ModelError, match=said):
        read(tmp_path, solver=SOLVER.replace(*change))


def test_the_refusal_is_the_one_shown(tmp_path):
    with pytest.raises(ModelError) as caught:
        read(tmp_path, CHAIN.replace('name: "tanh1" type: "TanH"', 'name: "norm1" type: "LRN" lrn_param { beta: 1 }'))
    assert f"```\n{caught.value}\n```" in (ROOT / "doc/caffe.md").read_text()


def test_files_that_do_not_fit(tmp_path, rng):
    write(tmp_path, "chain", rng)
    net, model = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    good = _message("NetParameter").FromString(model.read_bytes())

    def refused(said):
        model.write_bytes(good.SerializeToString())
        with pytest.raises(FileError, match=said):
            from_caffe(net, weights=model, input_shape=SIZE)

    good.layer[1].blobs[0].data.pop()
    refused("net.caffemodel: layer 'ip1': 179 words of weight, not 180")
    good.layer[1].blobs[0].data.append(np.nan)
    refused("layer 'ip1': words of weight are infinite or NaN")
    del good.layer[1].blobs[1:]
    refused("layer 'ip1' has 1 blobs, not 2")
    del good.layer[:]
    refused("no layer has blobs")
    model.write_bytes(b"\xff\xff")
    with pytest.raises(FileError, match="is no .caffemodel"):
        from_caffe(net, weights=model, input_shape=SIZE)
    with pytest.raises(FileError, match="cannot be read"):
        from_caffe(tmp_path / "none.prototxt")
    for text, said in (
        (CHAIN.replace("num_output: 5", "num_output: 5 outputs: 3"), r'line 21.*has no field named "outputs"'),
        (CHAIN.replace("num_output: 5", "num_output: five"), "line 21"),
        (CHAIN[:-3], "line "),
    ):
        with pytest.raises(FileError, match=f"net.prototxt: {said}"):
            read(tmp_path, text)
    for text in ("", 'layers { name: "x" type: CONVOLUTION }'):
        with pytest.raises((ModelError, FileError), match="has no `layer`"):
            read(tmp_path, text)
    with pytest.raises(ModelError, match="node 'images': Data: does not say how large an image is"):
        read(tmp_path, input_shape=None)
    with pytest.raises(ImagesError):
        read(tmp_path, calibration=(np.zeros((3, 1, 7, 6)), np.zeros(3, int)))
