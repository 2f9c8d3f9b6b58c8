# SPDX-License-Identifier: Apache-2.0
"""doc/net.schema.json is what the layers say, accepts what the reader accepts, and refuses what is wrong in one
place."""

import json
import tomllib

import jsonschema
import pytest

from gradcore.files.places import ROOT
from gradcore.network import parse
from gradcore.network.schema import schema
from gradcore.ops.checks import NetworkError
from tb.model.reference.test_graphs import TOML

VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_file_is_up_to_date():
    assert json.loads((ROOT / "doc/net.schema.json").read_text()) == schema(), "gradcore schema > doc/net.schema.json"


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())


def document_example() -> str:
    """The example of doc/networks.md."""
    text = (ROOT / "doc/networks.md").read_text()
    return text.partition("```toml\n")[2].partition("```")[0]


@pytest.mark.parametrize(
    "text", [*(path.read_text() for path in sorted(ROOT.glob("examples/*/net.toml"))), TOML, document_example()]
)
def test_good_files(text):
    VALIDATOR.validate(tomllib.loads(text))
    assert parse(text).classes


@pytest.mark.parametrize(
    "old, new",
    [
        ("input = [1, 4, 4]", "input = [1, 4]"),
        ("input = [1, 4, 4]", "input = [1, 4, 0]"),
        ("input = [1, 4, 4]", "image = [1, 4, 4]"),
        ('name = "t"', 'name = "t"\nloss = "hinge"'),
        ("maps = 2", "maps = 0"),
        ("maps = 2", "maps = 2.5"),
        ("maps = 2", ""),
        ("pad = 1", "pad = -1"),
        ("pad = 1", "pads = 1"),
        ("pad = 1", "pool = 3"),
        ("pad = 1", "relu = 1"),
        ("pad = 1", "trainable = 1"),
        ("pad = 1", "learning_rate = 0"),
        ("pad = 1", "learning_rate = 1025"),
        ("pad = 1", "format = { act = 32 }"),
        ("pad = 1", "format = { activation = 3 }"),
        ('type = "add"', 'type = "sum"'),
        ('["a", "b"]', '["a"]'),
        ('["a", "b"]', '"a"'),
        ("window = [2, 2]", "window = [2, 2, 2]"),
        ("window = [2, 2]", 'inputs = ["c"]'),
        ("window = [2, 2]", "format = { weight = 3 }"),
    ],
)
def test_bad_files(old, new):
    text = TOML.replace(old, new, 1)
    assert text != TOML and not VALIDATOR.is_valid(tomllib.loads(text))
    with pytest.raises(NetworkError):
        parse(text)
