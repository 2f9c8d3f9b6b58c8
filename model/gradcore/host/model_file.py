# SPDX-License-Identifier: Apache-2.0
"""weights.npz and what a checkpoint shares with it: a network, its number formats and its weights. Nothing else is
needed to use them."""

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradcore.files import archive
from gradcore.files.atomic import FileError, StrPath, write_bytes
from gradcore.network.description import Network
from gradcore.network.net_toml import parse
from gradcore.numerics.fixed_point import fits
from gradcore.ops.checks import NetworkError
from gradcore.reference.trainer import STATE, State, real_of

WEIGHTS, CHECKPOINT, VERSION = "gradcore weights", "gradcore checkpoint", 1


@dataclass(frozen=True)
class Model:
    """A network in training or after it: text of its net.toml, seed of the training, engine (fields of `EngineConfig`)
    and data it was trained with, state as `ReferenceTrainer.weights`."""

    text: str
    seed: int
    engine: dict[str, int]
    data: str
    state: State

    @cached_property
    def network(self) -> Network:
        return parse(self.text, "net.toml")


def write(path: StrPath, model: Model) -> None:
    """Write a weights.npz. Raises FileError."""
    write_bytes(path, archive.pack(header(WEIGHTS, model), tensors(model.network, model.state)))


def read(path: StrPath) -> Model:
    """The model in a weights.npz or a checkpoint. Raises FileError, `archive.Damaged` for changed bytes."""
    return model_of(path, *archive.unpack(path, (WEIGHTS, CHECKPOINT), VERSION))


def initial_state(path: StrPath, network: Network) -> State:
    """Weights, biases and momenta of a weights.npz or a checkpoint, for another training of `network`. Raises FileError
    where its layers with weights, their shapes or the formats of their words differ from the file's."""
    model = read(path)
    theirs, ours = _words(model.network), _words(network)
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            has, wanted = (found.get(name, "no such thing") for found in (theirs, ours))
            raise FileError(path, f"{name}: has {has}, the network {wanted}")
    return model.state


def _words(net: Network) -> dict[str, str]:
    """Shapes and formats of a network's weights by layer, for messages."""
    found = {"data_width": f"{net.data_width} bits"}
    for p in net.parameters:
        fractions = f"{p.fw}, {p.fb}, {p.fv}, {p.fvb} fraction bits"
        found[f"layer {p.name}"] = f"{p.weight_shape} weights of {fractions}"
    return found


def real_npz(model: Model) -> bytes:
    """A .npz file of the weights and biases as real numbers (float64), by the name <layer>.weight and <layer>.bias.
    <layer>.weight.frac has its fraction bits: the real number times 2^frac is the engine's integer."""
    arrays: dict[str, Any] = {}
    for p, real in zip(model.network.parameters, real_of(model.network, model.state)):
        for key, frac in (("weight", p.fw), *((("bias", p.fb),) if p.bias else ())):
            arrays |= {f"{p.name}.{key}": real[key], f"{p.name}.{key}.frac": np.int64(frac)}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def header(kind: str, model: Model) -> dict:
    """Header of the archive of a model."""
    net = model.network
    return {
        "kind": kind,
        "version": VERSION,
        "network": model.text,
        "data_width": net.data_width,
        "frac": fractions(net),
        "seed": model.seed,
        "engine": model.engine,
        "data": model.data,
    }


def model_of(path: StrPath, header: dict, arrays: dict[str, np.ndarray]) -> Model:
    """The model of a header and its tensors. Raises FileError with `path` where they do not belong together."""
    try:
        model = Model(header["network"], header["seed"], header["engine"], header["data"], [])
        found = {"data_width": header["data_width"], **header["frac"]}
        net = model.network
    except (KeyError, TypeError) as error:
        raise FileError(path, f"header: {error!r}") from error
    except NetworkError as error:
        raise FileError(path, f"network: {error}") from error
    for name, frac in {"data_width": net.data_width, **fractions(net)}.items():
        if found.get(name) != frac:
            raise FileError(path, f"{name}: has {found.get(name)} bits, by its network {frac}")
    model.state.extend(state_of(path, net, arrays))
    return model


def fractions(net: Network) -> dict[str, int]:
    """Fraction bits by tensor: input, and of each layer weight, bias, momentum, bias_momentum and output."""
    found = {"input": net.input_frac}
    for p in net.parameters:
        values = {"weight": p.fw, "bias": p.fb, "momentum": p.fv, "bias_momentum": p.fvb}
        values["output"] = p.fo
        found |= {f"{p.name}.{key}": value for key, value in values.items()}
    return found


def tensors(net: Network, state: State, prefix: str = "", dtype: type[np.generic] = np.int16) -> dict[str, np.ndarray]:
    """Arrays of a state by the name <layer>.<tensor>."""
    pairs = zip(net.parameters, state, strict=True)
    return {f"{prefix}{p.name}.{key}": np.asarray(layer[key], dtype) for p, layer in pairs for key in STATE}


def state_of(
    path: StrPath, net: Network, arrays: dict[str, np.ndarray], prefix: str = "", dtype: type[np.generic] = np.int16
) -> State:
    """The opposite of `tensors`, integers as int64. Raises FileError with `path` and the tensor that is missing or of
    another form."""
    state: State = []
    for p in net.parameters:
        shapes = {"weight": p.weight_shape, "bias": p.weight_shape[:1]}
        shapes |= {"momentum": shapes["weight"], "bias_momentum": shapes["bias"]}
        state.append({})
        for key in STATE:
            name = f"{prefix}{p.name}.{key}"
            if name not in arrays:
                raise FileError(path, f"{name}: is missing")
            x = arrays[name]
            if x.dtype != dtype or x.shape != shapes[key] or (x.dtype.kind == "i" and not fits(x, net.data_width)):
                raise FileError(path, f"{name}: {x.dtype} of shape {x.shape} are not the words of its layer")
            state[-1][key] = x.astype(np.int64) if x.dtype.kind == "i" else x
    return state


def weights_sha256(state: State) -> str:
    """Hash of a state: every word as 32-bit little-endian, layer by layer, in the order weight, bias, momentum,
    bias_momentum."""
    digest = hashlib.sha256()
    for layer in state:
        for key in STATE:
            digest.update(np.ascontiguousarray(layer[key], "<i4").tobytes())
    return digest.hexdigest()
