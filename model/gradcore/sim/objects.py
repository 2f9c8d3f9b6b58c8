# SPDX-License-Identifier: Apache-2.0
"""A compiler with a memory for Verilator's own runtime, which is the same in every build and half of a small one:
`python objects.py FOLDER COMPILER ARGUMENT..`.

Objects of verilated*.cpp are kept in FOLDER, each by the hash of its preprocessed text, the other arguments and the
compiler's version. Everything else is compiled as without this program. Where ccache is installed, it does all that.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def command(folder: Path) -> str:
    """What make has to put before the compiler (OBJCACHE)."""
    if shutil.which("ccache"):
        return "ccache"
    return shlex.join([sys.executable, "-I", "-S", __file__, str(folder)])


def key(compiler: list[str], source: str, output: Path) -> str:
    """Hash of what decides the object; writes the list of the files it depends on, as the compiler would."""
    dependencies = ["-MMD", "-MF", str(output.with_suffix(".d")), "-MT", str(output)]
    done = subprocess.run([*compiler, *dependencies, "-E", source], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    version = subprocess.run([compiler[0], "--version"], stdout=subprocess.PIPE, check=True).stdout
    # What -D and -I change is in the text.
    rest = [word for word in compiler if not word.startswith(("-D", "-I"))]
    return hashlib.sha256(repr(rest).encode() + version + done.stdout).hexdigest()


def compile_once(folder: Path, compiler: list[str], source: str, output: Path) -> int:
    """Compile or copy an object; the compiler's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{key(compiler, source, output)}.o"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            shutil.copyfile(kept, output)
            return 0
        code = subprocess.call([*compiler, "-c", "-o", output, source])
        if code == 0:
            new = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(output, new)
            new.replace(kept)
        return code


def main() -> int:
    """Run the command line. Verilator's makefile writes -c -o OBJECT SOURCE at the end."""
    folder, *words = sys.argv[1:]
    *compiler, compile_only, minus_o, output, source = words
    runtime = Path(source).name.startswith("verilated") and (compile_only, minus_o) == ("-c", "-o")
    if not runtime:
        return subprocess.call(words)
    return compile_once(Path(folder), [word for word in compiler if word != "-MMD"], source, Path(output))


if __name__ == "__main__":
    sys.exit(main())
