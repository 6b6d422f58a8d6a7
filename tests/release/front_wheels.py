"""`make native-wheels`: a wheel of the native front for each kind of Linux, each looked into.

For every target the standard library of Rust has to be installed: `rustup target add TARGET`. Where rustup can't be
had, RUSTC may be another compiler, and `--build-std` builds the library from that compiler's sources (the component
rust-src, or Debian's rust-src). The linker and the C libraries come with zig, from PyPI.

The wheel of this machine is used at once. `--use TARGET=COMMAND` uses another one with a Python for it, such as
`--use 'aarch64-unknown-linux-gnu=qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11'`, where ROOT has the packages
of Debian for arm64 unpacked.
"""

import argparse
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from tests.release.artifacts import BuildError

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "build" / "native-wheels"
MODULE = "namekeeper_front/namekeeper_front.abi3.so"
ELF = b"\x7fELF"
TOOLS = Path(sys.executable).parent
USE = Path(__file__).with_name("front_used.py")


class Wheel(NamedTuple):
    """What is built."""

    target: str
    """Rust's name of the platform."""
    platform: str
    """What the wheel says that it needs."""
    machine: int
    """The number of the processor in the header of its library."""


X86_64, AARCH64 = 62, 183
WANTED = (
    Wheel("x86_64-unknown-linux-gnu", "manylinux_2_17", X86_64),
    Wheel("aarch64-unknown-linux-gnu", "manylinux_2_17", AARCH64),
    Wheel("x86_64-unknown-linux-musl", "musllinux_1_2", X86_64),
    Wheel("aarch64-unknown-linux-musl", "musllinux_1_2", AARCH64),
)


def main() -> int:
    """Build; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.release.front_wheels", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="some of them (default: all)")
    parser.add_argument("--build-std", action="store_true", help="build Rust's standard library, too")
    parser.add_argument(
        "--use", action="append", default=[], metavar="TARGET=COMMAND", help="a Python for it"
    )
    options = parser.parse_args()
    pythons = {f"{platform.machine()}-unknown-linux-gnu": sys.executable}
    pythons |= dict(given.split("=", 1) for given in options.use)
    failed = False
    for wheel in WANTED:
        if options.targets and wheel.target not in options.targets:
            continue
        try:
            path = _checked(wheel, _built(wheel, build_std=options.build_std))
            used = _used(path, pythons[wheel.target]) if wheel.target in pythons else "built, not used"
            print(f"{wheel.target}: {path.name}: {used}", flush=True)
        except BuildError as error:
            print(f"{wheel.target}: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _built(wheel: Wheel, *, build_std: bool) -> Path:
    folder = WHEELS / wheel.target
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    if build_std:
        environment |= {"RUSTC_BOOTSTRAP": "1", "CARGO_UNSTABLE_BUILD_STD": "std,panic_unwind"}
    command = [
        str(TOOLS / "maturin"), "build", "--release", "--zig", "--target", wheel.target,
        "--compatibility", wheel.platform, "--out", str(folder),
    ]  # fmt: skip
    for old in folder.glob("*.whl"):
        old.unlink()
    done = subprocess.run(
        command, cwd=ROOT / "native", env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise BuildError(f"not built; is its library there (rustup target add {wheel.target})?\n{last}")
    (path,) = folder.glob("*.whl")
    return path


def _checked(wheel: Wheel, path: Path) -> Path:
    """The wheel itself, if its name and its library are what is wanted."""
    machine = wheel.target.partition("-")[0]
    if "-cp311-abi3-" not in path.name or f"{wheel.platform}_{machine}" not in path.name:
        raise BuildError(f"{path.name} is not for {wheel.platform}_{machine} and the stable ABI")
    with zipfile.ZipFile(path) as file:
        library = file.read(MODULE)
    if not library.startswith(ELF) or int.from_bytes(library[18:20], "little") != wheel.machine:
        raise BuildError(f"{MODULE} in {path.name} is not for {machine}")
    return path


def _used(path: Path, python: str) -> str:
    """What the front says when this interpreter uses it."""
    with tempfile.TemporaryDirectory(prefix="namekeeper-wheel-") as folder, zipfile.ZipFile(path) as file:
        file.extractall(folder)
        command = [*shlex.split(python), str(USE), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{path.name} can't be used by {python}:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
