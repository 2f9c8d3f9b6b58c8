# SPDX-License-Identifier: Apache-2.0
"""Models of PyTorch: what the tests of the front end import. `MODELS`: by name a function that makes one, and the shape
of its images."""

import torch
from torch import nn
from torch.nn import functional


class Own(nn.Module):
    """A forward method of functions and methods, every form that is read."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding="same", bias=False)
        self.third, self.relu = nn.Conv2d(4, 6, (3, 2), (2, 1), padding="valid"), nn.ReLU()
        self.fc1, self.fc2, self.fc3 = nn.Linear(42, 10), nn.Linear(10, 10), nn.Linear(10, 4)

    def forward(self, x):
        x = functional.relu(self.first(x))
        x = torch.relu(self.second(x) + x)
        x = self.third(x).relu()
        x = functional.max_pool2d(functional.leaky_relu(x, 0.2), 2, stride=1)
        x = functional.avg_pool2d(x, (2, 1), (1,))
        x = functional.dropout(self.relu(x), 0.0, self.training)
        x = x.contiguous().view(x.size(0), -1)
        x = torch.tanh(self.fc1(x))
        x = torch.add(torch.sigmoid(self.fc2(x)), x)
        return self.fc3(self.relu(x.flatten(1)))


class Block(nn.Module):
    """A residual block that halves the maps."""

    def __init__(self, maps, out):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(maps, out, 3, 2, 1), nn.ReLU(), nn.Conv2d(out, out, 3, padding=1))
        self.side, self.end = nn.Conv2d(maps, out, 1, 2, bias=False), nn.ReLU()

    def forward(self, x):
        return self.end(self.body(x) + self.side(x))


class Reshaped(nn.Module):
    """The other forms of flattening."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 3, 3), nn.Linear(48, 4)

    def forward(self, x):
        x = self.conv(x)
        x = torch.reshape(x, (x.shape[0], -1)).view(-1, 48)
        return self.fc(torch.flatten(x, 1).view(x.size()[0], 48))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
    )


def vgg():
    def block(maps, out):
        return [nn.Conv2d(maps, out, 3, padding=1), nn.ReLU(), nn.Conv2d(out, out, 3, padding=1), nn.ReLU()]

    features = nn.Sequential(*block(3, 4), nn.MaxPool2d(2), *block(4, 8), nn.MaxPool2d(2, 2))
    classifier = nn.Sequential(nn.Linear(8 * 3 * 2, 12), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(12, 5))
    return nn.Sequential(features, nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten(), classifier)


def end(*layers, words, classes=4):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(words, classes))


MODELS = {
    "lenet5": (lenet5, (1, 28, 28)),
    "vgg": (vgg, (3, 12, 8)),
    "own forward": (Own, (2, 8, 9)),
    "residual": (
        lambda: nn.Sequential(Block(2, 4), Block(4, 6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)),
        (2, 8, 8),
    ),
    "other reshapes": (Reshaped, (2, 6, 6)),
    "strides": (lambda: end(nn.Conv2d(2, 3, (3, 4), (2, 3), (1, 2)), nn.ReLU(), words=36), (2, 8, 7)),
    "groups": (lambda: end(nn.Conv2d(4, 8, 3, groups=4), nn.ReLU(), nn.Conv2d(8, 4, 1, groups=2), words=48), (4, 5, 6)),
    "overlapping pooling": (lambda: end(nn.Conv2d(2, 3, 3, 1, 1), nn.MaxPool2d(3, 2, 1), words=48), (2, 8, 7)),
    "pooling in ceil mode": (lambda: end(nn.Conv2d(2, 3, 1), nn.MaxPool2d(3, 2, ceil_mode=True), words=36), (2, 6, 9)),
    "mean pooling": (lambda: end(nn.Conv2d(2, 3, 1), nn.AvgPool2d((3, 2), (2, 1), (1, 0)), words=60), (2, 8, 6)),
    "leaky": (lambda: end(nn.Conv2d(2, 3, 3), nn.LeakyReLU(0.3), words=36), (2, 5, 6)),
    "sigmoid": (lambda: end(nn.Conv2d(2, 3, 3), nn.Sigmoid(), nn.Identity(), nn.Sigmoid(), words=36), (2, 5, 6)),
    "two layers": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(60, 9), nn.ReLU(), nn.Linear(9, 4, bias=False)),
        (2, 5, 6),
    ),
}


def random_model(rng):
    """(a chain of what is read, shape of its images)."""
    shape = (int(rng.integers(1, 4)), *map(int, rng.integers(6, 10, 2)))
    layers, example = [], torch.zeros(1, *shape)
    for _ in range(int(rng.integers(1, 4))):
        maps, out = example.shape[1], int(rng.integers(1, 4))
        groups = maps if rng.random() < 0.3 else 1
        kernel, stride = (int(k) for k in rng.integers(1, 4, 2)), (int(s) for s in rng.integers(1, 3, 2))
        kernel = tuple(kernel)
        pad = tuple(int(rng.integers(0, k)) for k in kernel)
        layers.append(nn.Conv2d(maps, out * groups, kernel, tuple(stride), pad, 1, groups, bool(rng.integers(2))))
        kinds = [nn.ReLU(), nn.LeakyReLU(0.1), nn.Sigmoid(), nn.Tanh(), nn.Identity(), nn.Dropout(0.0)]
        layers += [kinds[k] for k in rng.integers(0, len(kinds), 2)]
        if min(layers[-3](example).shape[2:]) >= 3:
            layers.append(
                [nn.MaxPool2d(2), nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(2, 1), nn.AvgPool2d(3, 1)][rng.integers(4)]
            )
        example = nn.Sequential(*layers)(torch.zeros(1, *shape))
        if min(example.shape[2:]) < 3:
            break
    return end(*layers, words=example.numel()), shape
