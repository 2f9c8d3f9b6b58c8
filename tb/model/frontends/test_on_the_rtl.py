# SPDX-License-Identifier: Apache-2.0
"""Models of other frameworks on the RTL: one call brings them in, they go to the engine as they are, and their weights
are those of the reference trainer in every bit."""

from importlib.util import find_spec

import pytest

from gradcore import from_caffe, from_darknet, from_onnx, from_torch
from gradcore.host.device import Device
from gradcore.host.model_file import weights_sha256
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.frontends import test_darknet as darknet
from tb.support.cases import first
from tb.support.engines import WIDE

CHOSEN = {}
if find_spec("torch"):  # an error in what is imported is none of its absence
    import torch
    from torch import nn

    from tb.model.frontends.models import MODELS, end

    class Branched(nn.Module):
        """A residual block behind a first convolution, and functions in the forward method."""

        def __init__(self):
            super().__init__()
            self.stem, self.body = nn.Conv2d(2, 5, 3, padding=1), nn.Conv2d(5, 5, 3, padding=1)
            self.end = nn.Linear(45, 4)

        def forward(self, x):
            x = torch.relu(self.stem(x))
            x = torch.relu(self.body(x) + x)
            return self.end(torch.flatten(nn.functional.avg_pool2d(x, 2), 1))

    FURTHER = {
        "branched": (Branched, (2, 6, 6)),
        "dropout": (lambda: end(nn.Conv2d(2, 5, 3), nn.ReLU(), nn.Dropout(0.4), words=60), (2, 5, 6)),
        "tanh": (lambda: end(nn.Conv2d(2, 5, 3), nn.Tanh(), nn.AvgPool2d(2), words=10), (2, 5, 6)),
        "softmax": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(12, 7)), (3, 2, 2)),
    }
    # Groups of fewer maps than columns, a second convolution of the input and a leaky ReLU elsewhere than behind a
    # convolution are the reference trainer's alone.
    CHOSEN = {
        name: model for name, model in (MODELS | FURTHER).items() if name not in ("groups", "residual", "own forward")
    }
needs_torch = pytest.mark.skipif(not CHOSEN, reason="PyTorch is not installed: the extra [torch]")


def trains(found, rng, steps: int = 2) -> None:
    """Some minibatches, the last of fewer images."""
    network = found.network
    reference = ReferenceTrainer(network, 1, found.state)
    with Device(SimBackend(build_engine(WIDE)[0], Memory(1 << 26)), network, WIDE, 1, found.state) as device:
        for iteration in range(steps):
            images = network.minibatch if iteration < steps - 1 else max(1, network.minibatch - 1)
            x = rng.integers(-4096, 4096, (images, *network.shape))
            labels = rng.integers(0, network.classes, images)
            assert device.step(x, labels, iteration) == reference.step(x, labels, iteration), "LOSS"
        trained = weights_sha256(device.weights())
    assert trained == weights_sha256(reference.weights()) != weights_sha256(found.state)


@needs_torch
def test_there_are_twelve():
    assert len(CHOSEN) >= 12


@needs_torch
@pytest.mark.parametrize("name", CHOSEN)
def test_pytorch(name, rng):
    torch.manual_seed(1)
    make, shape = CHOSEN[name]
    model = make()
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    trains(from_torch(model, shape, nn.CrossEntropyLoss(), sgd, minibatch=4), rng)


@needs_torch
@pytest.mark.filterwarnings("ignore:.*legacy TorchScript")
@pytest.mark.parametrize("name", CHOSEN)
def test_onnx(name, rng, tmp_path):
    """As PyTorch exports them."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: the extra [onnx]")
    torch.manual_seed(1)
    make, shape = CHOSEN[name]
    model, file = make().eval(), tmp_path / "model.onnx"
    names = {"input_names": ["x"], "dynamic_axes": {"x": {0: "images"}}}
    training = torch.onnx.TrainingMode.PRESERVE if name == "dropout" else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, (torch.zeros(1, *shape),), file, dynamo=False, training=training, **names)
    trains(from_onnx(file, loss="softmax_cross_entropy", minibatch=4), rng)


@pytest.mark.parametrize("name", first(1, ["plain", "branched"]))
def test_darknet(name, rng, tmp_path):
    """Without the groups."""
    text = {"plain": darknet.PLAIN, "branched": darknet.BRANCHED}[name]
    (tmp_path / "net.cfg").write_text(darknet.NET + text.replace("groups=2\n", ""))
    trains(from_darknet(tmp_path / "net.cfg"), rng)


@pytest.mark.parametrize("name", ["chain", "branched"])
def test_caffe(name, rng, tmp_path):
    """Without the groups."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed: the extra [caffe]")
    from tb.model.frontends import test_caffe as caffe

    (tmp_path / "net.prototxt").write_text(caffe.NETS[name].replace("group: 2", ""))
    (tmp_path / "solver.prototxt").write_text(caffe.SOLVER)
    size = caffe.SIZE if name == "chain" else None
    trains(from_caffe(tmp_path / "net.prototxt", tmp_path / "solver.prototxt", input_shape=size), rng)
