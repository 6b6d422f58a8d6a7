"""`make mutants-generated`: mutants that mutmut makes of packages of the pure core, each caught or listed.

The run fails if a mutant survives that the list of its package (`survivors/PACKAGE.txt`) lacks. A line of a list names the
function, the lines of the source, and the lines of the mutant, so that it holds when lines above it change.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.mutant import ROOT, SOURCES

__all__ = ["CAUGHT", "LISTS", "PACKAGES", "beyond", "entry", "report"]

PACKAGES = ("kvconfig",)
"""Those whose unit tests take seconds."""
LISTS = Path(__file__).parent / "survivors"
WORK = ROOT / "build" / "mutmut"
CAUGHT = ("killed", "timeout", "caught by type check")
"""The statuses of mutmut that are no concern."""
REPORT = "report.json"
AT_ONCE = 2
_SETTINGS = """\
[mutmut]
source_paths=
    src
only_mutate=
    src/namekeeper/{package}/*
pytest_add_cli_args_test_selection=
    tests/unit/{package}
pytest_add_cli_args=
    -p
    no:cacheprovider
timeout_constant=20
"""
"""mutmut ends a run of tests after 15 times so many seconds: with fewer, a busy machine would catch mutants."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.generated", description=__doc__)
    parser.add_argument(
        "packages", nargs="*", default=PACKAGES, metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}"
    )
    parser.add_argument("--write", action="store_true", help="write the lists instead of comparing them")
    given = parser.parse_args(arguments)
    failed = False
    for package in given.packages:
        folder = copy_of(package)
        in_folder(folder, "from mutmut.__main__ import cli; cli()", "run", "--max-children", str(AT_ONCE))
        in_folder(folder, "from tests.mutants.generated import report; report()")
        mutants: dict[str, tuple[str, str]] = json.loads((folder / REPORT).read_text())
        print(f"{package}: {dict(Counter(status for status, _ in mutants.values()))}", flush=True)
        found = [entry(name, diff) for name, (status, diff) in mutants.items() if status not in CAUGHT]
        listed = LISTS / f"{package}.txt"
        if given.write:
            listed.write_text("".join(f"{line}\n" for line in sorted(found)))
            continue
        known = listed.read_text().splitlines()
        for line in beyond(known, found):
            failed = True
            print(f"*** a mutant survives that {listed.name} lacks: {line}", flush=True)
        for line in beyond(found, known):
            print(f"caught, or no longer made; delete it from {listed.name}: {line}", flush=True)
    return failed


def copy_of(package: str) -> Path:
    """Copy what the tests of a package need; returns the folder, in which mutmut makes another copy."""
    folder = WORK / package
    shutil.rmtree(folder, ignore_errors=True)
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES, folder / "src", ignore=compiled)
    for name in ("support", f"unit/{package}"):
        shutil.copytree(ROOT / "tests" / name, folder / "tests" / name, ignore=compiled)
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/unit/__init__.py"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "setup.cfg").write_text(_SETTINGS.format(package=package))
    return folder


def in_folder(folder: Path, program: str, *arguments: str) -> None:
    """Run a program in a folder, because mutmut works in the current one.

    Raises:
        ValueError: It failed.
    """
    paths = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; " if "tests." in program else ""
    environment = {**os.environ, "NAMEKEEPER_EXAMPLES": "100"}
    done = subprocess.run(
        [sys.executable, "-c", paths + program, *arguments], cwd=folder, env=environment, check=False
    )
    if done.returncode:
        raise ValueError(f"{program} in {folder} ended with {done.returncode}")


def report() -> None:
    """Write the status and, unless it was caught, the diff of each mutant of the current folder."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import walk_mutatable_files

    mutants = {}
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            status = status_by_exit_code[code]
            mutants[name] = (status, "" if status in CAUGHT else get_diff_for_mutant(name, path=path))
    Path(REPORT).write_text(json.dumps(mutants))


def entry(name: str, diff: str) -> str:
    """The line of a list for a mutant: its function, the lines of the source, and those of the mutant."""
    function = (
        name.partition("__mutmut_")[0].replace(".x_", ".").replace(".x\u01c1", ".").replace("\u01c1", ".")
    )
    lines = diff.splitlines()[2:]  # without the names of the files
    old, new = (
        "; ".join(line[1:].partition("  # ")[0].strip() for line in lines if line.startswith(sign))
        for sign in "-+"
    )
    return f"{function}: {old} -> {new}"


def beyond(known: Iterable[str], found: Iterable[str]) -> list[str]:
    """The entries found that a list lacks; an entry may be there more than once."""
    return sorted((Counter(found) - Counter(known)).elements())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
