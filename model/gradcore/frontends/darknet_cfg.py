# SPDX-License-Identifier: Apache-2.0
"""The text of a Darknet .cfg file: sections of options, each of which is asked for or refused."""

import math
from dataclasses import dataclass, field

from gradcore.files import toml_text
from gradcore.files.atomic import FileError, StrPath
from gradcore.frontends.errors import ModelError


@dataclass
class Section:
    """A section `[kind]` that begins in a line of the file. options: text by name, those that were asked for taken
    out."""

    kind: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    def error(self, problem: str, nearest: object = "") -> ModelError:
        """An error that names the section."""
        return ModelError(problem, nearest, operator=f"line {self.line}: [{self.kind}]")

    def text(self, name: str, default: str) -> str:
        """An option, which is then no longer among the `options`."""
        return self.options.pop(name, default)

    def number(self, name: str, default: float) -> float:
        """An option that is a number. Raises ModelError."""
        given = self.options.pop(name, str(default))
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{name}={given} is no number", f"{name}={default:g}")
        return value

    def integer(self, name: str, default: int) -> int:
        """An option that is an integer. Raises ModelError."""
        value = self.number(name, default)
        if value != int(value):
            raise self.error(f"{name}={value:g} is no integer", f"{name}={default}")
        return int(value)

    def only(self, name: str, value: float) -> None:
        """Refuse an option of another value than the one that is its default. Raises ModelError."""
        if (given := self.number(name, value)) != value:
            raise self.error(f"{name}={given:g} is not supported", f"{name}={value:g}")

    def end(self) -> None:
        """Refuse options that nobody asked for. Raises ModelError."""
        if self.options:
            raise self.error(f"{', '.join(self.options)}: is not supported", "the section without it")


def sections(path: StrPath) -> list[Section]:
    """The sections of a file in their order. Raises FileError, ModelError."""
    try:
        text = toml_text.read(path)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FileError(path, f"is no .cfg of Darknet: {error}") from error
    found: list[Section] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].partition(";")[0].strip()
        name, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("[") and line.endswith("]"):
            found.append(Section(line[1:-1].strip(), number))
        elif line and (not equals or not found):
            raise ModelError(
                f"{line[:40]!r} is neither [section] nor option=value", "a .cfg", operator=f"line {number}"
            )
        elif line and name in found[-1].options:
            raise found[-1].error(f"{name} stands twice, the second time in line {number}", "one of them")
        elif line:
            found[-1].options[name] = value
    if not found or found[0].kind not in ("net", "network"):
        raise FileError(path, "is no .cfg of Darknet: it does not begin with [net]")
    return found
