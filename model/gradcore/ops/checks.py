# SPDX-License-Identifier: Apache-2.0
"""Checks of the fields of a network description, and the error that names place, field and the nearest supported
form."""

import difflib
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gradcore.files import toml_text
from gradcore.numerics.fixed_point import FRAC_MAX, FRAC_MIN

if TYPE_CHECKING:
    from gradcore.ops.layer import Shape

NAME_MAX, MAPS_MAX, SIZE_MAX = 64, 4096, 1024  # characters of a name; maps; rows and columns of the input
RATE_MAX = 1024  # largest learning rate


class NetworkError(ValueError):
    """A network that the engine cannot run. Attributes: file, layer (index or None), field, nearest (supported form or
    '')."""

    def __init__(
        self,
        field: str,
        problem: str,
        nearest: object = "",
        layer: int | None = None,
        name: str = "",
        file: str | None = None,
    ) -> None:
        self.field, self.problem, self.nearest = field, problem, str(nearest)
        self.layer, self.name, self.file = layer, name, file
        super().__init__(field, problem)

    def __str__(self) -> str:
        parts = [str(self.file)] if self.file else []
        if self.layer is not None:
            parts.append(
                f"layer {self.layer}" + (f" '{toml_text.printable(str(self.name), NAME_MAX)}'" if self.name else "")
            )
        text = ": ".join([*parts, toml_text.printable(self.field), toml_text.printable(self.problem)])
        return text + (f"; nearest supported: {toml_text.printable(self.nearest)}" if self.nearest else "")


def table(where: str, value: Any) -> dict:
    """A copy of the table `value` of the field `where`. Raises NetworkError, as all checks here."""
    if not isinstance(value, dict):
        raise NetworkError(where, f"{value!r} is not a table", f"[{where}]")
    return dict(value)


def known(
    prefix: str, table: Mapping[str, Any], keys: Collection[str], shown: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Refuse fields of `table` that are not among `keys`; `shown`: how a key is written, where that differs."""
    for key in table:
        if key not in keys:
            names = [shown.get(k, k) for k in keys]
            close = difflib.get_close_matches(key, names, 1)
            raise NetworkError(
                prefix + key, "is not a known field", close[0] if close else "one of " + ", ".join(names)
            )


def text(where: str, value: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise NetworkError(where, f"{value!r} is not a text", f'"{value}"')


def layer_name(name: Any) -> None:
    """Refuse a layer's name that could not be that of an array and of a file; "" is none."""
    text("name", name)
    if name and not re.fullmatch(r"[\w-][\w.-]*", name) or ".." in name or len(name) > NAME_MAX:
        raise NetworkError(
            "name", f"{name!r} is not a layer's name", f"up to {NAME_MAX} letters, digits, _, - and single dots"
        )


def choice(where: str, value: Any, choices: Collection[str]) -> None:
    """Refuse what is none of `choices`."""
    if not isinstance(value, str) or value not in choices:
        close = difflib.get_close_matches(value[:NAME_MAX], list(choices), 1, 0.4) if isinstance(value, str) else []
        raise NetworkError(
            where,
            f"{value!r} is not supported" if value is not None else "is missing",
            close[0] if close else "one of " + ", ".join(choices),
        )


def integer(where: str, value: Any, low: int, high: int) -> None:
    """Refuse what is no integer of low..high."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise NetworkError(where, f"{value!r} is not an integer", f"an integer {low}..{high}")
    within(where, value, low, high, f"{value} is outside {low}..{high}")


def number(where: str, value: Any, low: float, high: float, nearest: object, above: bool = False) -> None:
    """Refuse what is no number of low..high, or above `low`; `nearest` describes them."""
    good = (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and low <= value <= high
        and not (above and value == low)
    )
    if not good:
        raise NetworkError(where, f"{value!r} is not supported", nearest)


def learning_rate(value: Any) -> None:
    """Refuse what is no learning rate."""
    number("learning_rate", value, 0, RATE_MAX, "a positive number", above=True)


def within(where: str, value: Any, low: float, high: float, problem: str) -> None:
    """Refuse a number outside low..high for the reason `problem`."""
    if not low <= value <= high:
        raise NetworkError(where, problem, min(max(value, low), high))


def fractions(entries: Any, keys: Collection[str]) -> None:
    """Refuse fraction widths that do not exist, or of other tensors than `keys`."""
    for key, value in table("format", entries).items():
        known("format.", {key: value}, keys)
        integer(f"format.{key}", value, FRAC_MIN, FRAC_MAX)


def triple(where: str, value: Any) -> "Shape":
    """`value` as input shape (maps, rows, columns)."""
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise NetworkError(where, f"{value!r} is not a list of three numbers", "[maps, rows, columns]")
    for size, most, part in zip(value, (MAPS_MAX, SIZE_MAX, SIZE_MAX), ("maps", "rows", "columns")):
        integer(f"{where} ({part})", size, 1, most)
    return tuple(value)


def pair(where: str, value: Any, low: int, high: tuple[int, int]) -> tuple[int, int]:
    """`value`, one number or two, as (rows, columns), each of low..high[k]."""
    pair = value if isinstance(value, (list, tuple)) else (value, value)
    if len(pair) != 2:
        raise NetworkError(where, f"{value!r} is not one number or two", "[rows, columns]")
    for number, most in zip(pair, high):
        integer(where, number, low, most)
    return tuple(pair)
