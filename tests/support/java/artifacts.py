"""Java's own RocketMQ for the tests: fetched with Maven once for each release, kept under target/java/."""

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

__all__ = [
    "CACHE",
    "FIVE",
    "REPO",
    "VERSIONS",
    "available",
    "classpath",
    "compiled",
    "locked",
    "require",
    "run",
    "run_maven",
]

REPO = Path(__file__).resolve().parents[3]
CACHE = REPO / "target" / "java"
SOURCES = REPO / "tests" / "interop" / "java"

VERSIONS = ("4.8.0", "4.9.7", "5.3.3", "5.5.0")
FIVE = ("5.3.3", "5.5.0")
"""The releases of the 5.x line, which know acting masters and static topics."""


def available() -> str | None:
    """Return why there can be no Java peers here, or None if there can."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not on the PATH" if missing else None


def require() -> None:
    """Skip the test without Java; fail it when NAMEKEEPER_REQUIRE_JAVA=1 says that Java must be there."""
    if reason := available():
        if os.environ.get("NAMEKEEPER_REQUIRE_JAVA") == "1":
            pytest.fail(f"NAMEKEEPER_REQUIRE_JAVA=1, but {reason}")
        pytest.skip(f"no Java peers: {reason}")


def classpath(version: str) -> str:
    """Return the class path of one release with name server, broker, client and tools; fetch it if need be."""
    libraries = CACHE / version / "lib"
    complete = CACHE / version / "complete"
    if not complete.exists():
        with locked(CACHE / f"{version}.lock"):
            if not complete.exists():
                _fetch(version, libraries)
                complete.touch()
    return f"{libraries}{os.sep}*"


def compiled(version: str) -> tuple[str, Path]:
    """Return the class path of one release with the tests' own Java program, compiled against it if need be.

    Beside it: where an archive of its loaded classes may be kept, which saves Java most of its start.
    """
    path = classpath(version)
    folder = CACHE / version / "peer"
    jar, archive = folder / "peer.jar", folder / "peer.jsa"
    sources = sorted((SOURCES / "src").glob("*.java"))
    newest = max(source.stat().st_mtime for source in sources)
    with locked(CACHE / f"{version}.lock"):
        if not jar.exists() or jar.stat().st_mtime < newest:
            classes = folder / "classes"
            shutil.rmtree(folder, ignore_errors=True)
            classes.mkdir(parents=True)
            run(["javac", "-nowarn", "-proc:none", "-cp", path, "-d", str(classes), *map(str, sources)])
            run(["jar", "cf", str(jar), "-C", str(classes), "."])
    return f"{jar}{os.pathsep}{path}", archive


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes, so that two test runs don't fetch or build the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(version: str, libraries: Path) -> None:
    shutil.rmtree(libraries, ignore_errors=True)
    run_maven(
        SOURCES / "pom.xml", f"-Drocketmq.version={version}",
        "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={libraries}",
    )  # fmt: skip


def run_maven(pom: Path, *arguments: str) -> None:
    """Run Maven, one at a time: its own repository is not made for two processes that fetch the same."""
    with locked(REPO / "target" / "maven.lock"):
        run(["mvn", "-q", "-B", "-f", str(pom), *arguments])


def run(command: Sequence[str]) -> None:
    """Run a command, which must end with 0."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
