# SPDX-License-Identifier: Apache-2.0
"""Files made to take memory, time or other files: refused in one line, within seconds and 1.5 GB of address space."""

import gzip
import io
import json
import resource
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tb.model.cli.test_cli import NET, ROOT, dataset

SECONDS, BYTES = 10, 3 << 29  # of processor time for each file, of address space
GOOD = {
    "x_train": np.zeros((32, 8, 8)),
    "y_train": np.zeros(32, int),
    "x_test": np.zeros((8, 8, 8)),
    "y_test": np.zeros(8, int),
}
COMMANDS = """
import contextlib, io, json, sys, time
from gradcore.files.places import ROOT
from gradcore.cli import main as cli
for arguments in json.loads(sys.argv[1]):
    started, text = time.process_time(), io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            code = cli.run(arguments)
        except BaseException as error:
            code = repr(error)[:500]
    print(json.dumps([code, text.getvalue()[:5000], time.process_time() - started]), flush=True)
"""


def limited(*commands):
    """Run command lines one after the other with little memory; (exit code or exception, output, processor time) of
    each."""

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS * len(commands) + 10,) * 2)

    arguments = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=limits,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return found + [(f"ended by {done.returncode}", done.stderr[-500:], 0)] * (len(commands) - len(found))


def refused(found, *names):
    code, output, seconds = found
    assert code == 2, (code, output)
    assert seconds < SECONDS
    lines = output.splitlines()
    assert len(lines) == 1 and len(lines[0]) < 1000, lines[:5]
    for name in names:
        assert name in lines[0], f"{name!r} is not in {lines[0]!r}"


def npy(text: str, data: bytes = b"", version: int = 1) -> bytes:
    """An array file with this header."""
    count = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + count + text.encode("latin1") + data


def header(shape, descr="<f8") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"


def archive(path, method=zipfile.ZIP_DEFLATED, **members):
    """An .npz whose arrays are good but for `members`: bytes, or a function that writes to the opened member."""
    with zipfile.ZipFile(path, "w", method) as file:
        for key, array in GOOD.items():
            if key not in members:
                buffer = io.BytesIO()
                np.save(buffer, array)
                members[key] = buffer.getvalue()
        for key, content in members.items():
            with file.open(f"{key}.npy", "w", force_zip64=True) as member:
                content(member) if callable(content) else member.write(content)
    assert path.stat().st_size < 16 << 20
    return path


def zeros(shape, descr="|u1"):
    """192 MB of zeros: as real numbers they would take 1.5 GB."""

    def write(member):
        member.write(npy(header(shape, descr)))
        for _ in range(192):
            member.write(bytes(1 << 20))

    return write


ZEROS = 192 << 20


def claim(path, key, size):
    """Make the archive's directory say that a member has `size` bytes."""
    data = bytearray(path.read_bytes())
    at = data.rindex(f"{key}.npy".encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 20 : at + 28] = struct.pack("<II", size, size)
    path.write_bytes(data)
    return path


def fortran(n):
    return npy(f"{{'descr': '<f8', 'fortran_order': {'(' * n + ')' * n}, 'shape': (1,), }}\n")


BOMBS = {
    "zeros": (lambda p: archive(p, x_train=zeros((ZEROS // 64, 8, 8))), "x_train"),
    "zeros in labels": (lambda p: archive(p, y_train=zeros((ZEROS,))), "y_train"),
    "zeros beyond the header": (lambda p: archive(p, x_train=zeros((32, 8, 8))), "x_train"),
    "a shape of terabytes": (lambda p: archive(p, x_train=npy(header((1 << 40, 8, 8)), bytes(99))), "x_train"),
    "a shape beyond 64 bits": (lambda p: archive(p, x_train=npy(header((1 << 62, 1 << 62, 8)), bytes(99))), "x_train"),
    "a negative shape": (lambda p: archive(p, x_train=npy(header((-1, 8, 8)), bytes(64))), "x_train"),
    "a shape of text": (lambda p: archive(p, x_train=npy(header("('a', 8, 8)"), bytes(64))), "x_train"),
    "a huge header": (lambda p: archive(p, x_train=npy(" " * (300 << 20), version=2)), "x_train"),
    "a header that is not there": (lambda p: archive(p, x_train=b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), "x_train"),
    "a deep header": (lambda p: archive(p, x_train=npy("(" * 2000 + ")" * 2000)), "x_train"),
    "a deep field": (lambda p: archive(p, x_train=fortran(150)), "x_train"),
    "lzma": (lambda p: archive(p, zipfile.ZIP_LZMA), "x_train"),
    "bzip2": (lambda p: archive(p, zipfile.ZIP_BZIP2), "x_train"),
    "many members": (lambda p: archive(p, zipfile.ZIP_STORED, **{f"m{k}": b"" for k in range(70_000)}), "directory"),
    "a claimed size": (
        lambda p: claim(
            archive(p, zipfile.ZIP_STORED, x_train=npy(header(((4 << 30) // 512, 8, 8)))), "x_train", (1 << 32) - 2
        ),
        "x_train",
    ),
    "a pickle": (
        lambda p: archive(p, x_train=npy(header((1,), "|O"), b"cos\nsystem\n(S'touch owned'\ntR.")),
        "x_train",
    ),
    "an item of gigabytes": (lambda p: archive(p, x_train=npy(header((1, 1, 1), "|V4000000000"))), "x_train"),
}


@pytest.fixture(scope="module")
def npz_results(tmp_path_factory):
    folder, commands = tmp_path_factory.mktemp("npz"), []
    (folder / "net.toml").write_text(NET)
    for k, (make, _) in enumerate(BOMBS.values()):
        commands.append(
            [
                "train",
                folder / "net.toml",
                "--data",
                make(folder / f"bomb{k}.npz"),
                "--backend",
                "reference",
                "--out",
                folder / "run",
            ]
        )
    found = limited(*commands)
    assert not (folder / "run").exists()
    return dict(zip(BOMBS, found, strict=True))


@pytest.mark.parametrize("bomb", BOMBS)
def test_npz_bombs(npz_results, bomb):
    refused(npz_results[bomb], "bomb", BOMBS[bomb][1])


def layers(count):
    return (
        NET.split("[[layer]]")[0]
        + '[[layer]]\ntype = "conv"\nmaps = 2\nkernel = 1\n' * count
        + '[[layer]]\ntype = "dense"\nmaps = 3\n'
    )


TOMLS = {
    "20 000 layers": (layers(20_000), "bytes"),
    "6 000 short layers": (NET.split("[[layer]]")[0] + '[[layer]]\ntype="dense"\nmaps=3\n' * 6000, "6000 layers"),
    "a million lists": ("a = " + "[\n" * 200_000, "nested"),
    "a million tables": ("a = " + "{a=" * 160, "syntax"),
    "a long dotted key": (".".join(["a"] * 200_000) + " = 1", "line 1"),
    "many dotted keys": ("\n".join(f"k{i}." + ".".join(["a"] * 240) + " = 1" for i in range(1000)), "known field"),
    "two megabytes": ("# \n" * 700_000, "bytes"),
    "a huge integer": (NET.replace("minibatch = 16", "minibatch = 0x" + "f" * 400), "minibatch"),
    "a longer integer": (NET.replace("minibatch = 16", "minibatch = " + "9" * 5000), "line"),
    "a huge text": (NET.replace('"euclidean"', '"""' + "euclidean\n" * 40_000 + '"""'), "loss"),
    "a text of controls": (NET.replace('"euclidean"', '"\\u001b[2J\\n\\r\\u0007"'), "loss"),
    "infinite": (NET.replace("learning_rate = 0.05", "learning_rate = inf"), "learning_rate"),
    "terabytes of weights": (
        NET.replace("input = [1, 8, 8]", "input = [1024, 64, 64]")
        .replace("maps = 4", "maps = 4096\nformat = {}")
        .replace("maps = 3", "maps = 100")
        + "[format]\ndata_width = 8\n",
        "weights",
    ),
    **{
        f"name {name!r}": (NET.replace('"first"', f'"{name}"'), "layer 0")
        for name in (
            "../../first",
            "a/b",
            "a\\\\b",
            "..",
            ".hidden",
            "a..b",
            "/etc/x",
            "nul\\u0000",
            "line\\n",
            "n" * 65,
            "a b",
            "a:b",
            "\\u202eb",
        )
    },
}


@pytest.fixture(scope="module")
def toml_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toml")
    for k, (text, _) in enumerate(TOMLS.values()):
        (folder / f"net{k}.toml").write_text(text)
    return dict(zip(TOMLS, limited(*(["inspect", folder / f"net{k}.toml"] for k in range(len(TOMLS)))), strict=True))


@pytest.mark.parametrize("bomb", TOMLS)
def test_toml_bombs(toml_results, bomb):
    refused(toml_results[bomb], ".toml", TOMLS[bomb][1])


def mnist(folder, name, *numbers, body=b"", packed=False):
    data = b"".join(n.to_bytes(4, "big") for n in numbers) + body
    (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(data, 1) if packed else data)


def sparse(path, size):
    with path.open("wb") as file:
        file.truncate(size)


IMAGES = {
    "a header of terabytes": lambda p: mnist(p, "train-images-idx3-ubyte", 0x803, 1 << 31, 1 << 10, 1 << 10),
    "a packed header of terabytes": lambda p: mnist(
        p, "train-images-idx3-ubyte", 0x803, 1 << 31, 1 << 10, 1 << 10, packed=True
    ),
    "packed zeros": lambda p: mnist(
        p, "train-images-idx3-ubyte", 0x803, 1 << 18, 32, 32, body=bytes(256 << 20), packed=True
    ),
    "packed zeros beyond the header": lambda p: mnist(
        p, "train-images-idx3-ubyte", 0x803, 10, 32, 32, body=bytes(256 << 20), packed=True
    ),
    "a sparse file of 100 gigabytes": lambda p: sparse(
        p / "data_batch_1.bin", 3073 * (100 << 30) // 3073 // 3073 * 3073
    ),
    "a sparse file that memory has no room for": lambda p: [
        sparse(p / f"{name}.bin", 3073 << 20) for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")
    ],
}


@pytest.fixture(scope="module")
def image_results(tmp_path_factory):
    folder, commands = tmp_path_factory.mktemp("images"), []
    (folder / "net.toml").write_text(NET)
    for k, make in enumerate(IMAGES.values()):
        (folder / f"images{k}").mkdir()
        make(folder / f"images{k}")
        commands.append(
            [
                "train",
                folder / "net.toml",
                "--data",
                folder / f"images{k}",
                "--backend",
                "reference",
                "--out",
                folder / "run",
            ]
        )
    return dict(zip(IMAGES, limited(*commands), strict=True))


@pytest.mark.parametrize("bomb", IMAGES)
def test_image_file_bombs(image_results, bomb):
    refused(image_results[bomb], "/images")


def test_bombs_in_place_of_weights_and_reports(tmp_path):
    archive(tmp_path / "weights.npz", x_train=zeros((ZEROS // 64, 8, 8)))
    (tmp_path / "report.json").write_text("[" * 100_000)
    weights, report = limited(["inspect", tmp_path / "weights.npz"], ["report", tmp_path])
    refused(weights, "weights.npz")
    refused(report, "report.json")


def test_the_limits_are_enough_for_honest_files(tmp_path):
    """The same command with the same limits trains."""
    (tmp_path / "net.toml").write_text(NET)
    flat = archive(tmp_path / "flat.npz", x_train=npy(header((32, 8, 8), "|u1"), bytes(2048)))
    train = ["train", tmp_path / "net.toml", "--backend", "reference", "--epochs", 1, "--no-float32"]
    for code, output, _ in limited(
        [*train, "--data", flat, "--out", tmp_path / "a"],
        [*train, "--data", dataset(tmp_path), "--out", tmp_path / "b"],
    ):
        assert code == 0, output
