# SPDX-License-Identifier: Apache-2.0
"""A network learns the digits 0 to 4 in PyTorch. Its last layer then learns 5 to 9 on the engine, all others frozen.

The same is done in PyTorch alone, for comparison. Needs the extra [torch].
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

MINIBATCH, RATE, MOMENTUM = 16, 0.02, 0.9


def digits(classes: range) -> dict[str, np.ndarray]:
    """Images and labels of some digits; the labels begin with zero."""
    data, found = datasets.load("digits"), {}
    for part, x, y in (("train", data.x_train, data.y_train), ("test", data.x_test, data.y_test)):
        chosen = np.isin(y, classes)
        found |= {f"x_{part}": x[chosen], f"y_{part}": y[chosen] - classes.start}
    return found


def sgd(model: nn.Module) -> torch.optim.SGD:
    """The optimiser of everything that is not frozen."""
    return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE, momentum=MOMENTUM)


def train(model: nn.Module, data: dict[str, np.ndarray], epochs: int, seed: int) -> None:
    """Train in PyTorch, with the minibatches of gradcore train."""
    x, y = torch.tensor(data["x_train"]).float(), torch.tensor(data["y_train"])
    optimiser = sgd(model)
    for epoch in range(epochs):
        for part in epoch_batches(len(x), MINIBATCH, seed, epoch):
            optimiser.zero_grad()
            nn.CrossEntropyLoss()(model(x[part]), y[part]).backward()
            optimiser.step()


def accuracy(model: nn.Module, data: dict[str, np.ndarray]) -> float:
    """Per cent of the test images."""
    with torch.no_grad():
        found = model(torch.tensor(data["x_test"]).float()).argmax(1).numpy()
    return 100 * float((found == data["y_test"]).mean())


def main() -> int:
    """Exit code: that of gradcore train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="sim", help="as of gradcore train")
    parser.add_argument("--epochs", type=int, default=10, help="of the second task")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fine_tuning"), help="folder")
    options = parser.parse_args()
    torch.manual_seed(options.seed)

    first, second = digits(range(0, 5)), digits(range(5, 10))
    body = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    body += [nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    model = nn.Sequential(*body, nn.Linear(64, 5))
    train(model, first, 20, options.seed)
    print(f"digits 0 to 4, PyTorch: {accuracy(model, first):.1f} %")

    model.requires_grad_(False)
    model[-1] = nn.Linear(64, 5)
    alone = copy.deepcopy(model)
    images = first["x_train"].shape[1:]
    found = gradcore.from_torch(
        model,
        images,
        nn.CrossEntropyLoss(),
        sgd(model),
        minibatch=MINIBATCH,
        calibration=(second["x_train"], second["y_train"]),
    )
    for note in found.notes:
        print(note)
    found.save(options.out)
    np.savez(options.out / "data.npz", **second)
    words = ["train", options.out / "net.toml", "--weights", options.out / "weights.npz", "--force", "--no-float32"]
    words += ["--data", options.out / "data.npz", "--out", options.out / "run", "--backend", options.backend]
    code = cli.run([*map(str, words), "--epochs", str(options.epochs), "--seed", str(options.seed)])
    if code == 0:
        gradcore.to_torch(options.out / "run" / "weights.npz", model)
        train(alone, second, options.epochs, options.seed)
        print(f"digits 5 to 9, last layer trained by gradcore: {accuracy(model, second):.1f} % in PyTorch")
        print(f"digits 5 to 9, last layer trained by PyTorch:  {accuracy(alone, second):.1f} %")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
