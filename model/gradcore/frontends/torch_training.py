# SPDX-License-Identifier: Apache-2.0
"""Loss, optimiser and scheduler objects of PyTorch as fields of a network."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradcore.frontends.errors import ModelError
from gradcore.network.schedule import STEPS_MAX, Cosine, Piecewise, Schedule, Step
from gradcore.ops.loss import SOFTMAX


@dataclass(frozen=True)
class Training:
    """Fields of a network, and by layer its rate (None: frozen)."""

    fields: dict[str, Any]
    rates: dict[str, float | None]


def refuse(what: object, wrong: object, problem: str, nearest: object = "", module: str = "") -> None:
    """Raise ModelError for the object `what` if `wrong`."""
    if wrong:
        raise ModelError(problem, nearest, module=module, operator=type(what).__name__)


LOSSES = ("CrossEntropyLoss", "MSELoss")


def loss_of(loss: Any, classes: int) -> str:
    """Name of the loss that a module of torch.nn is. Raises ModelError."""
    kind = type(loss).__name__
    nearest = "CrossEntropyLoss()"
    refuse(loss, kind not in LOSSES, "is not supported", nearest)
    refuse(loss, loss.reduction != "mean", f"reduction='{loss.reduction}'", "reduction='mean'")
    if kind == "MSELoss":
        # The mean over images and classes of squares is that of half the squares' sum only where there are two.
        refuse(loss, classes != 2, f"the mean over {classes} outputs is not the euclidean loss", nearest)
        return "euclidean"
    refuse(loss, loss.weight is not None, "has weights of classes", "weight=None")
    refuse(loss, loss.label_smoothing != 0, f"label_smoothing={loss.label_smoothing}", "label_smoothing=0")
    refuse(loss, loss.ignore_index >= 0, f"ignore_index={loss.ignore_index}", "ignore_index=-100")
    return SOFTMAX


def training_of(
    model: Any, modules: Mapping[str, Any], optimiser: Any, scheduler: Any, per_epoch: int | None
) -> Training:
    """What optimiser and scheduler say of the modules of `model` with weights, by layer. Raises ModelError."""
    kind = type(optimiser)
    known = kind.__name__ == "SGD" and kind.__module__.startswith("torch.optim")
    refuse(optimiser, not known, "is not supported", "torch.optim.SGD")
    if scheduler is not None:
        _check_scheduler(scheduler, optimiser)
    key = "lr" if scheduler is None else "initial_lr"
    owners = {id(p): group for group in optimiser.param_groups for p in group["params"]}
    ours = {id(p) for module in modules.values() for p in (module.weight, module.bias) if p is not None}
    names = [f"'{path}'" for path, p in model.named_parameters() if id(p) in owners and id(p) not in ours]
    refuse(
        optimiser, names, f"trains {', '.join(names[:3])}, which the outputs do not need", "parameters of layers in use"
    )
    refuse(optimiser, set(owners) - ours, "has tensors that are none of the model's", "model.parameters()")
    for group in optimiser.param_groups:
        for name in ("nesterov", "maximize", "dampening"):
            refuse(optimiser, group[name], f"{name}={group[name]}", f"{name}={type(group[name])()}")
    rates = {name: _rate(optimiser, name, module, owners, key) for name, module in modules.items()}
    trained = [rate for rate in rates.values() if rate is not None]
    refuse(optimiser, not trained, "trains no layer", "one layer with requires_grad")
    fields: dict[str, Any] = {"learning_rate": trained[0]}
    for name in ("momentum", "weight_decay"):
        values = sorted({float(group[name]) for group in optimiser.param_groups})
        refuse(optimiser, len(values) > 1, f"{name} differs between the groups: {values}", f"one {name}")
        fields[name] = values[0]
    if fields["momentum"]:
        fields["optimiser"] = "pytorch_momentum"
    else:
        fields["optimiser"] = "sgd"
        del fields["momentum"]
    if scheduler is not None:
        fields["schedule"] = schedule_of(scheduler, sorted(set(trained)), per_epoch)
    return Training(fields, rates)


def _rate(optimiser: Any, name: str, module: Any, owners: Mapping[int, Any], key: str) -> float | None:
    """Learning rate of a layer, None where it is frozen or not the optimiser's."""
    tensors = [p for p in (module.weight, module.bias) if p is not None]
    groups = [owners.get(id(p)) if p.requires_grad else None for p in tensors]
    rates = {None if group is None else float(group[key]) for group in groups}
    problem = "trains weight and bias with different rates, or one of them alone"
    refuse(optimiser, len(rates) > 1, problem, "both or none, in one group", name)
    return rates.pop()


def _check_scheduler(scheduler: Any, optimiser: Any) -> None:
    known = type(scheduler).__module__ == "torch.optim.lr_scheduler" and type(scheduler).__name__ in SCHEDULERS
    refuse(scheduler, not known, "is not supported", "one of " + ", ".join(SCHEDULERS))
    refuse(scheduler, scheduler.optimizer is not optimiser, "belongs to another optimiser", "the one given")
    refuse(scheduler, scheduler.last_epoch != 0, f"has made {scheduler.last_epoch} steps", "a new scheduler")


def schedule_of(scheduler: Any, rates: list[float], per_epoch: int | None) -> Schedule:
    """The schedule that a scheduler is, stepped after every epoch, or after each of `per_epoch` minibatches. Raises
    ModelError."""
    found: Schedule = SCHEDULERS[type(scheduler).__name__](scheduler, rates, per_epoch)
    return found


def _epochs(scheduler: Any, steps: int, per_epoch: int | None) -> int:
    whole = per_epoch or 1
    near = max(1, round(steps / whole)) * whole
    refuse(scheduler, steps % whole, f"{steps} minibatches are no whole epochs of {whole}", f"{near} minibatches")
    return steps // whole


def _step(scheduler: Any, rates: list[float], per_epoch: int | None) -> Schedule:
    return Step(every=_epochs(scheduler, scheduler.step_size, per_epoch), factor=float(scheduler.gamma))


def _multi_step(scheduler: Any, rates: list[float], per_epoch: int | None) -> Schedule:
    steps = sorted(scheduler.milestones.elements())
    factors = {_epochs(scheduler, step, per_epoch): float(scheduler.gamma**k) for k, step in enumerate(steps, 1)}
    return Piecewise(epochs=tuple(factors), factors=tuple(factors.values()))


def _cosine(scheduler: Any, rates: list[float], per_epoch: int | None) -> Schedule:
    least = float(scheduler.eta_min)
    refuse(scheduler, least and len(rates) > 1, "eta_min with several learning rates", "eta_min=0")
    last = least / rates[0]
    if per_epoch is not None:
        return Cosine(epochs=_epochs(scheduler, scheduler.T_max, per_epoch), last=last)
    refuse(scheduler, scheduler.T_max > STEPS_MAX, f"T_max={scheduler.T_max} epochs", f"T_max={STEPS_MAX}")
    epochs = tuple(range(1, scheduler.T_max + 1))
    factors = (last + (1 - last) * (1 + math.cos(math.pi * epoch / scheduler.T_max)) / 2 for epoch in epochs)
    return Piecewise(epochs=epochs, factors=tuple(factors))


def _linear(scheduler: Any, rates: list[float], per_epoch: int | None) -> Schedule:
    refuse(scheduler, per_epoch is None, "rises epoch by epoch", "minibatches_per_epoch, stepped after each minibatch")
    steps = scheduler.total_iters + 1
    exact = scheduler.end_factor == 1 and math.isclose(scheduler.start_factor, 1 / steps, rel_tol=1e-6)
    problem = f"rises from {scheduler.start_factor} to {scheduler.end_factor} in {scheduler.total_iters} steps"
    refuse(scheduler, not exact, problem, f"start_factor=1/{steps}, end_factor=1")
    assert per_epoch is not None
    return Schedule(warm_up=steps / per_epoch)


SCHEDULERS = {"StepLR": _step, "MultiStepLR": _multi_step, "CosineAnnealingLR": _cosine, "LinearLR": _linear}
