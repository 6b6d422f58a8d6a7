"""Wheel and sdist: built reproducibly, and what may not be in them."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["BuildError", "build", "copy_tracked", "members", "problems"]


class BuildError(Exception):
    """An artifact can't be built, or is not as it has to be."""


def build(source: Path, into: Path, *, epoch: str) -> dict[str, str]:
    """Build both; returns file name -> SHA-256.

    Args:
        source: Root of the sources.
        into: An empty folder, or one to be emptied.
        epoch: Seconds since 1970, which the members get as their time.
    """
    shutil.rmtree(into, ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(into)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the build ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(into.iterdir())}


def copy_tracked(root: Path, into: Path) -> list[str]:
    """Copy the files that git knows, as they are now, to another folder; returns their names."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    for name in names:
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, into / name)
    return names


def members(path: Path) -> dict[str, bytes]:
    """Names and contents of an artifact; those of an sdist without the folder that all of them are in."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(path) as archive:
        return dict(_files_of(archive))


def _files_of(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive.getmembers():
        if (file := archive.extractfile(member)) is not None:
            yield member.name.partition("/")[2], file.read()


def problems(name: str, content: Mapping[str, bytes], *, tracked: set[str], paths: set[str]) -> list[str]:
    """Say what is wrong with an artifact.

    Args:
        name: Of the file.
        content: Its members.
        tracked: Names of the files that git knows.
        paths: Of this machine, of which none may be inside.
    """
    found = []
    for member, data in content.items():
        if not _belongs(name, member, tracked):
            found.append(f"{name}: {member} is no file of the repository")
        found += [f"{name}: {member} names {path}" for path in sorted(paths) if f"{path}/".encode() in data]
    wanted = {"namekeeper/py.typed", "namekeeper/__init__.py"}
    missing = wanted - {member.removeprefix("src/") for member in content}
    return found + [f"{name}: {member} is missing" for member in sorted(missing)]


def _belongs(name: str, member: str, tracked: set[str]) -> bool:
    if name.endswith(".whl"):
        folder, _, rest = member.partition("/")
        source = rest if folder.endswith(".data") else f"src/{member}"
        return source in tracked or folder.endswith(".dist-info")
    return member in tracked or member == "PKG-INFO"
