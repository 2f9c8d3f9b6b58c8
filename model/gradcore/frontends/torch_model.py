# SPDX-License-Identifier: Apache-2.0
"""From a model of PyTorch to a network with weights, and back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcore.files.atomic import StrPath
from gradcore.frontends.errors import ModelError
from gradcore.frontends.imported import Calibration, Imported, begun, holding
from gradcore.frontends.torch_graph import read
from gradcore.frontends.torch_training import loss_of, training_of
from gradcore.host import model_file
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import Format, dequantize
from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import State

BOUND = 1e-3  # of the largest output: how far the two may be apart in floating point


@dataclass(frozen=True)
class TorchModel(Imported):
    """An `Imported` and the model that it comes from."""

    model: Any

    def to_torch(self, state: State | None = None) -> Any:
        """Put a state (None: the imported one) into the model; returns it. Every weight is then within half a unit of
        its layer's format of what was trained or imported."""
        return put(self.network, self.state if state is None else state, self.model)


def from_torch(
    model: Any,
    input_shape: tuple[int, int, int],
    loss: Any,
    optimiser: Any,
    scheduler: Any = None,
    minibatch: int = 32,
    name: str = "network",
    minibatches_per_epoch: int | None = None,
    data_width: int = 16,
    rounding: str | dict[str, str] = "stochastic",
    formats: Mapping[str, int] | None = None,
    calibration: Calibration | None = None,
) -> TorchModel:
    """The network, the training and the weights of a torch.nn.Module that reads images of `input_shape` (maps, rows,
    columns).

    loss: a module of torch.nn; optimiser: torch.optim.SGD over the model's parameters; scheduler: of
    torch.optim.lr_scheduler, not stepped yet, which is stepped after every epoch, or, with `minibatches_per_epoch`,
    after every minibatch; calibration: images `(N, *input_shape)` and labels (N,), from which the binary points are
    chosen that `formats` leaves open; the rest as in `Network`. Raises ModelError for whatever would not train in the
    same way, ImagesError for a calibration of other shapes, ImportError without PyTorch.
    """
    torch = _torch()
    if not isinstance(model, torch.nn.Module):
        raise ModelError(f"{type(model).__name__} is no torch.nn.Module", "nn.Sequential")
    try:
        shape = check.triple("input_shape", input_shape)
        found = read(model, shape)
        arrays = {path: _arrays(path, module, optimiser) for path, module in found.modules.items()}
        training = training_of(model, found.modules, optimiser, scheduler, minibatches_per_epoch)
        fields = training.fields | {"loss": loss_of(loss, found.output.shape[0])}
        formats = dict(formats or {})
        layers, notes = holding(found.layers, arrays, data_width, formats, calibration)
        for layer, rate in training.rates.items():
            own = {"trainable": False} if rate is None else {"learning_rate": rate}
            same = rate == fields["learning_rate"]
            layers = tuple(replace(x, **own) if x.name == layer and not same else x for x in layers)
        fields |= {"minibatch": minibatch, "data_width": data_width, "rounding": rounding, "formats": formats}
        network = Network(name, shape, layers, **fields)
        network, real, more = begun(network, arrays, calibration)
    except ModelError:
        raise
    except NetworkError as error:
        raise ModelError(error.problem, error.nearest, module=error.name, operator=error.field) from error
    _agree(model, network, real)
    return TorchModel(network, real, (*notes, *more), model)


def to_torch(weights: StrPath, model: Any) -> Any:
    """Put the weights of a weights.npz or a checkpoint into the model whose import was trained; returns it. Raises
    FileError, ModelError."""
    _torch()
    found = model_file.read(weights)
    return put(found.network, found.state, model)


def put(network: Network, state: State, model: Any) -> Any:
    """Put the weights and biases of a state, as real numbers, into the modules of `model` that the layers are called
    after. Raises ModelError, before anything is changed, where they do not fit."""
    torch = _torch()
    modules, new = dict(model.named_modules()), []
    for p, layer in zip(network.parameters, state, strict=True):
        for key, frac in (("weight", p.fw), ("bias", p.fb))[: 1 + p.bias]:
            tensor = getattr(modules.get(p.name), key, None)
            if tensor is None or tensor.numel() != layer[key].size or tensor.shape[0] != len(layer[key]):
                there = "nothing" if tensor is None else f"the shape {tuple(tensor.shape)}"
                problem = f"the {key} of shape {layer[key].shape} finds {there}"
                raise ModelError(problem, "the model that was imported", module=p.name)
            new.append((tensor, dequantize(layer[key], Format(network.data_width, frac))))
    with torch.no_grad():
        for tensor, values in new:
            tensor.copy_(torch.from_numpy(values.reshape(tuple(tensor.shape))))
    return model


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("PyTorch is not installed: pip install 'gradcore[torch]'", name="torch") from error
    return torch


def _arrays(path: str, module: Any, optimiser: Any) -> dict[str, np.ndarray]:
    """Weight, bias and their momenta of a module, as float64. Raises ModelError."""
    found = {}
    for key in ("weight", "bias"):
        if (tensor := getattr(module, key)) is None:
            continue
        kind = str(tensor.dtype).removeprefix("torch.")
        if kind not in ("float32", "float64"):
            raise ModelError(f"{key} is {kind}", "float32", module=path, operator=type(module).__name__)
        buffer = optimiser.state.get(tensor, {}).get("momentum_buffer") if hasattr(optimiser, "state") else None
        momentum = "momentum" if key == "weight" else "bias_momentum"
        given = {key: tensor} | ({} if buffer is None else {momentum: -buffer})
        for name, values in given.items():
            found[name] = values.detach().cpu().double().numpy()
            if not np.isfinite(found[name]).all():
                wrong = int(np.count_nonzero(~np.isfinite(found[name])))
                text = f"{wrong} of {values.numel()} words of {name} are infinite or NaN"
                raise ModelError(text, "finite numbers", module=path, operator=type(module).__name__)
    return found


def _agree(model: Any, network: Network, real: State) -> None:
    """Refuse a model that computes something else than its network: hooks, operations in place on what others read."""
    import torch

    image = np.random.default_rng(1).standard_normal((1, *network.shape))
    trainer = FloatTrainer(network, 1, np.float64)
    trainer.state = [dict(layer) for layer in real]
    ours, like = trainer.forward(image), next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            theirs = model(torch.from_numpy(image).to(like)).cpu().double().numpy()
    finally:
        for module, mode in modes:
            module.training = mode
    if ours.shape != theirs.shape or not np.abs(ours - theirs).max() <= BOUND * max(1.0, np.abs(ours).max()):
        problem = "the model gives other outputs than its graph: a hook, or an operation in place on what others read"
        raise ModelError(problem, "inplace=False, no hooks")
