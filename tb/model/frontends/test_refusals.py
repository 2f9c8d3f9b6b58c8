# SPDX-License-Identifier: Apache-2.0
"""What is refused of a model of PyTorch, by node, module, operator and nearest supported form: nothing is dropped."""

import operator
from collections import OrderedDict

import pytest

from gradcore.frontends.errors import ModelError
from gradcore.network import NetworkError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")

from gradcore import from_torch  # noqa: E402

nn, functional, schedulers = torch.nn, torch.nn.functional, torch.optim.lr_scheduler
SHAPE = (2, 6, 6)


class Of(nn.Module):
    """A model of one function: of itself and x, behind a convolution of 2 maps; what it gives is flattened if it is
    one tensor of maps."""

    def __init__(self, function):
        super().__init__()
        self.conv, self.other, self.function = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1), function
        self.fc, self.act = nn.Linear(72, 3), nn.ReLU()
        self.register_buffer("mean", torch.zeros(1))

    def forward(self, x):
        return self.fc(self.function(self, self.conv(x)).flatten(1))


def behind(*layers, words=72):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(words, 3))


class Two(nn.Module):
    """Two inputs or two outputs."""

    def __init__(self, forward):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 2, 1), nn.Linear(72, 3)
        self.own = forward

    def forward(self, x):
        return self.own(self, x)


class Second(Two):
    def forward(self, x, y):
        return self.fc((self.conv(x) + y).flatten(1))


def shared():
    model = behind(nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1))
    model[1].weight = model[0].weight
    return model


def twice():
    layer = nn.Conv2d(2, 2, 1)
    return behind(layer, layer)


def spoiled(value, key="weight"):
    model = behind(nn.Conv2d(2, 2, 1))
    with torch.no_grad():
        getattr(model[0], key).flatten()[1] = value
    return model


def hooked():
    model = behind(nn.Conv2d(2, 2, 1))
    model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    return model


def always_training(self, x):
    return x.tanh() if self.training else x.sigmoid()


MODELS = {
    "operator": (lambda: behind(nn.Conv2d(2, 2, 1), nn.GELU()), "node '_1': module '1': GELU: .*supported: ReLU"),
    "nested": (lambda: behind(nn.Sequential(nn.Softmax(1))), "node '_0_0': module '0.0': Softmax: .*CrossEntropyLoss"),
    "normalisation": (lambda: behind(nn.BatchNorm2d(2)), "module '0': BatchNorm2d: .*Conv2d with the normalisation"),
    "unknown": (lambda: behind(nn.PixelShuffle(1)), "module '0': PixelShuffle: is not supported; .*one of Conv2d, Lin"),
    "function": (lambda: Of(lambda m, x: functional.gelu(x)), "node 'gelu': torch._C._nn.gelu: is not supported"),
    "of others": (lambda: Of(lambda m, x: operator.matmul(x, x)), "_operator.matmul: is not supported; nearest"),
    "method": (lambda: Of(lambda m, x: x.abs()), "node 'abs_1': Tensor.abs: is not supported; nearest supported: one"),
    "dilation": (lambda: behind(nn.Conv2d(2, 2, 3, dilation=2)), r"Conv2d: dilation \(2, 2\).*dilation=1"),
    "padding": (lambda: behind(nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")), "padding_mode 'reflect'"),
    "even same": (lambda: behind(nn.Conv2d(2, 2, 2, padding="same")), "even kernel"),
    "wide padding": (lambda: behind(nn.Conv2d(2, 2, 1, padding=1)), "module '0': Conv2d: pad: .*nearest supported: 0"),
    "kernel": (lambda: behind(nn.Conv2d(2, 2, 13, padding=6)), "module '0': Conv2d: kernel: .*nearest supported: 11"),
    "too large": (lambda: behind(nn.Conv2d(2, 2, 7)), "7x7 with pad 0, 0 does not fit maps of 6x6"),
    "maps": (lambda: behind(nn.Conv2d(3, 2, 1)), "reads 3 maps and gets 2; nearest supported: in_channels=2"),
    "words": (lambda: behind(nn.Conv2d(2, 2, 1), words=70), "module '2': Linear: reads 70 words and gets 72"),
    "no flatten": (lambda: nn.Sequential(nn.Linear(6, 3), nn.Flatten()), "Linear: reads maps of 6x6; .*Flatten"),
    "flattened": (lambda: behind(nn.Flatten(), nn.MaxPool2d(2)), "MaxPool2d: reads a flattened tensor"),
    "dilated pool": (lambda: behind(nn.MaxPool2d(2, dilation=2)), "module '0': MaxPool2d: dilation"),
    "indices": (
        lambda: Two(lambda m, x: functional.max_pool2d(x, 2, return_indices=True)[0]),
        "max_pool2d_with_indices: is not",
    ),
    "indices of a module": (lambda: behind(nn.MaxPool2d(2, return_indices=True)), "return_indices=False"),
    "ceil mode": (
        lambda: behind(nn.AvgPool2d(4, ceil_mode=True)),
        "AvgPool2d: ceil_mode; .*ceil_mode=False",
    ),
    "divisor": (lambda: behind(nn.AvgPool2d(2, divisor_override=3)), "divisor_override"),
    "uncounted": (lambda: behind(nn.AvgPool2d(3, 1, 1, count_include_pad=False)), "count_include_pad=True"),
    "parts": (lambda: behind(nn.AdaptiveAvgPool2d(4)), r"6x6 in 4x4 parts.*\(3, 3\) or \(6, 6\)"),
    "other flatten": (lambda: behind(nn.Flatten(2)), "start_dim 2"),
    "flatten of images": (lambda: Of(lambda m, x: torch.flatten(x)), "node 'flatten': torch.flatten: start_dim 0"),
    "view": (lambda: Of(lambda m, x: x.view(x.size(0), 2, 36)), "Tensor.view: gives the shape .'batch', 2, 36."),
    "size": (lambda: Of(lambda m, x: x.view(x.size(9), -1)), "node 'size': Tensor.size: has unusual arguments: tuple"),
    "arguments": (
        lambda: Of(lambda m, x: functional.max_pool2d(x, (2, 2, 2))),
        "max_pool2d: has unusual argum",
    ),
    "permuted": (lambda: Of(lambda m, x: x.permute(0, 2, 3, 1)), "Tensor.permute: is not supported"),
    "part": (lambda: Of(lambda m, x: x[:, :1]), "node 'getitem': _operator.getitem: takes a part of a tensor"),
    "number": (lambda: Of(lambda m, x: x + 1), "_operator.add: adds something else than two tensors"),
    "buffer": (lambda: Of(lambda m, x: x + m.mean), "reads the tensor 'mean' itself; .*a module that holds it"),
    "weights": (
        lambda: Of(lambda m, x: functional.conv2d(x, m.other.weight)),
        "the tensor 'other.weight' itself",
    ),
    "alpha": (lambda: Of(lambda m, x: torch.add(x, x, alpha=2)), "torch.add: alpha=2; nearest supported: alpha=1"),
    "broadcast": (
        lambda: Of(lambda m, x: x + functional.avg_pool2d(x, 6)),
        r"shapes \(2, 6, 6\) and \(2, 1, 1\)",
    ),
    "flat and not": (lambda: Two(lambda m, x: m.conv(x).flatten(1) + x), "both flattened or not"),
    "unread": (lambda: Of(lambda m, x: (m.act(x), x)[1]), "module 'act'.*nobody reads it"),
    "dropout of maps": (lambda: behind(nn.Dropout2d()), "module '0': Dropout2d: .*nearest supported: Dropout"),
    "much dropout": (lambda: behind(nn.Dropout(0.95)), "module '0': Dropout: p: 0.95 is not supported"),
    "dropout always": (lambda: Of(lambda m, x: functional.dropout(x, 0.5)), "drops always or never; .*self.training"),
    "dropout never": (
        lambda: Of(lambda m, x: functional.dropout(x, 0.5, False)),
        "'dropout'.*drops always or never",
    ),
    "training": (lambda: Of(always_training), "is not the same in train"),
    "data": (lambda: Of(lambda m, x: x if x.sum() > 0 else -x), "torch.fx cannot trace it: .*without branches on data"),
    "used twice": (twice, "module '0': Conv2d: is used twice: shared weights"),
    "shared": (shared, "node '_1': module '1': Conv2d: shares weights with '0'"),
    "two inputs": (lambda: Second(None), "node 'y': placeholder: is a second input"),
    "two outputs": (lambda: Two(lambda m, x: (m.fc(m.conv(x).flatten(1)), x)), "output: the model does not return one"),
    "maps at the end": (lambda: nn.Sequential(nn.Conv2d(2, 3, 6)), "the model returns maps of 1x1; .*Flatten at the"),
    "behind the output": (
        lambda: Two(lambda m, x: (m.fc(x.flatten(1)), m.conv(x))[0]),
        "has no reader",
    ),
    "relu at the end": (
        lambda: nn.Sequential(*behind(nn.Tanh()), nn.ReLU()),
        "module '3'.*loss needs",
    ),
    "hook": (hooked, "gives other outputs than its graph: a hook"),
    "in place": (lambda: Of(lambda m, x: x + x.relu_()), "or an operation in place"),
    "nan": (lambda: spoiled(float("nan")), "module '0': Conv2d: 1 of 4 words of weight are infinite or NaN"),
    "infinite": (lambda: spoiled(float("inf"), "bias"), "1 of 2 words of bias are infinite or NaN"),
    "huge": (lambda: spoiled(1e6, "bias"), "module '0': format.bias"),
    "half": (lambda: behind(nn.Conv2d(2, 2, 1)).half(), "module '0': Conv2d: weight is float16; .*float32"),
    "name": (lambda: nn.Sequential(OrderedDict(flat=nn.Flatten(), input=nn.Linear(72, 3))), "is not a layer's name"),
    "no module": (lambda: lambda x: x, "function is no torch.nn.Module"),
}


def used(model):
    """The parameters of a model but those of `other`, which only some models use."""
    other = [id(p) for p in model.other.parameters()] if isinstance(model, Of) else []
    return [p for p in model.parameters() if id(p) not in other]


def call(model, shape=SHAPE, loss=None, optimiser=None, **options):
    if optimiser is None:
        optimiser = torch.optim.SGD(used(model if isinstance(model, nn.Module) else small()), lr=0.1)
    return from_torch(model, shape, loss or nn.CrossEntropyLoss(), optimiser, **options)


def small():
    return behind(nn.Conv2d(2, 2, 1))


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    make, message = MODELS[name]
    with pytest.raises(ModelError, match=message) as caught:
        call(make())
    assert isinstance(caught.value, NetworkError) and caught.value.nearest


@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 0), (2, 6, 6, 1), "266", (2, 6, 6.0)])
def test_shapes(shape):
    with pytest.raises(ModelError, match="input_shape"):
        call(small(), shape)


LOSSES = {
    "sum": (lambda: nn.CrossEntropyLoss(reduction="sum"), "reduction='sum'; nearest supported: reduction='mean'"),
    "classes": (lambda: nn.CrossEntropyLoss(weight=torch.ones(3)), "has weights of classes"),
    "smooth": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), "label_smoothing=0.1"),
    "ignored": (lambda: nn.CrossEntropyLoss(ignore_index=0), "ignore_index=0"),
    "squares": (nn.MSELoss, "MSELoss: the mean over 3 outputs is not the euclidean loss; .*CrossEntropyLoss"),
    "other": (nn.NLLLoss, "NLLLoss: is not supported; nearest supported: CrossEntropyLoss"),
    "function": (lambda: functional.cross_entropy, "function: is not supported"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    make, message = LOSSES[name]
    with pytest.raises(ModelError, match=message):
        call(small(), loss=make())


def groups(**second):
    def make(model):
        rest = [{"params": model[0].parameters()}, {"params": model[2].parameters(), **second}]
        return torch.optim.SGD(rest, lr=0.1, momentum=0.5)

    return make


OPTIMISERS = {
    "adam": (lambda m: torch.optim.Adam(m.parameters()), "Adam: is not supported; nearest supported: torch.optim.SGD"),
    "nesterov": (lambda m: torch.optim.SGD(m.parameters(), 0.1, 0.9, nesterov=True), "nesterov=True; .*nesterov=False"),
    "dampening": (lambda m: torch.optim.SGD(m.parameters(), 0.1, 0.9, 0.1), "dampening=0.1"),
    "maximize": (lambda m: torch.optim.SGD(m.parameters(), 0.1, maximize=True), "maximize=True"),
    "others": (lambda m: torch.optim.SGD([*m.parameters(), torch.zeros(1)], 0.1), "none of the model's;"),
    "another model": (lambda m: torch.optim.SGD(small().parameters(), 0.1), "none of the model's;"),
    "momenta": (groups(momentum=0.9), r"momentum differs between the groups: \[0.5, 0.9\]"),
    "decays": (groups(weight_decay=0.1), "weight_decay differs"),
    "weights alone": (
        lambda m: torch.optim.SGD([m[0].weight, *m[2].parameters()], 0.1),
        "module '0': SGD: trains weight and bias with different rates",
    ),
    "negligible": (lambda m: torch.optim.SGD(m.parameters(), 0.0), "learning_rate"),
    "great momentum": (lambda m: torch.optim.SGD(m.parameters(), 0.1, 0.9999), "momentum: 0.9999"),
    "none": (lambda m: "sgd", "str: is not supported"),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(name):
    model, (make, message) = small(), OPTIMISERS[name]
    with pytest.raises(ModelError, match=message):
        call(model, optimiser=make(model))


def test_what_is_not_in_use():
    model = Of(lambda m, x: x)
    with pytest.raises(ModelError, match="SGD: trains 'other.weight', 'other.bias', which the outputs do not need"):
        call(model, optimiser=torch.optim.SGD(model.parameters(), 0.1))


def test_all_frozen():
    model = small().requires_grad_(False)
    with pytest.raises(ModelError, match="trains no layer"):
        call(model, optimiser=torch.optim.SGD(model.parameters(), 0.1))


def stepped(one):
    found = schedulers.StepLR(one, 2)
    one.step()
    found.step()
    return found


SCHEDULERS = {
    "exponential": (lambda one: schedulers.ExponentialLR(one, 0.9), None, "ExponentialLR: is not supported; .*StepLR"),
    "plateau": (lambda one: schedulers.ReduceLROnPlateau(one), None, "ReduceLROnPlateau: is not supported"),
    "stepped": (stepped, None, "has made 1 steps; nearest supported: a new scheduler"),
    "rising": (lambda one: schedulers.StepLR(one, 2, 1.5), None, "factor"),
    "part of an epoch": (lambda one: schedulers.StepLR(one, 10), 7, "10 minibatches are no whole epochs of 7; .*7 min"),
    "long": (
        lambda one: schedulers.CosineAnnealingLR(one, 101),
        None,
        "T_max=101 epochs; .*: T_max=100",
    ),
    "by epoch": (lambda one: schedulers.LinearLR(one), None, "LinearLR: rises epoch by epoch"),
    "other warm-up": (lambda one: schedulers.LinearLR(one, 0.1, 1.0, 5), 7, "rises from 0.1 to 1.0 in 5.*=1/6"),
    "other optimiser": (
        lambda one: schedulers.StepLR(torch.optim.SGD(small().parameters(), 0.1), 2),
        None,
        "belongs to another optimiser",
    ),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name):
    model, (make, per_epoch, message) = small(), SCHEDULERS[name]
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ModelError, match=message):
        call(model, optimiser=sgd, scheduler=make(sgd), minibatches_per_epoch=per_epoch)


def test_least_rate_of_several():
    model = small()
    sgd = groups(lr=0.2)(model)
    with pytest.raises(ModelError, match="eta_min with several learning rates"):
        call(model, optimiser=sgd, scheduler=schedulers.CosineAnnealingLR(sgd, 3, 0.01))
