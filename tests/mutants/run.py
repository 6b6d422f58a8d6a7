"""Runs the tests of a mutant against a copy of the sources with the bug in it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import ROOT, SOURCES, Mutant
from tests.mutants.witness import SOURCES_VARIABLE

__all__ = ["Outcome", "Verdict", "copy_sources", "judge", "run_mutant", "run_tests", "that_caught"]

LIMIT_SECONDS = 3_600
"""A hang: many modules take long, and a busy machine longer."""
MUTANT_SECONDS = 30
"""A test that takes longer with a mutant has caught it, if it takes less without; its fixtures are not counted."""
TEST_SECONDS = 900
"""No test takes longer, however busy the machine is."""
HANG_SECONDS = 300
"""The same for a run that can't be ended from inside."""
PASSED, FAILED = 0, 1
"""What pytest returns; anything else says that the tests did not run as meant."""
HUNG = -100
"""The status of a run that had to be killed."""

_PLUGINS = ("-p", "tests.mutants.witness", "-p", "anyio.pytest_plugin", "-p", "pytest_timeout")
"""What the tests need; importing every plugin there is would take longer than most of them."""

_OPTIONS = ("-p", "no:cacheprovider", "-x", "-q", "--tb=no", "-rf")

_TIMED_OUT = "from pytest-timeout."
"""What the output has of an asynchronous test that hung, which ends the run before it is listed as failed."""

_FAILED_LINE = re.compile(r"^FAILED (([^\s\[]+)\S*)", re.MULTILINE)
"""A test that failed: with the name of its parameters, as far as it has no blanks, and without."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of tests ended."""

    status: int
    output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    caught_by: str | None
    """The first test that failed."""
    problem: str | None
    """Why it counts as a failure of the run: it survived, or could not be tried."""
    seconds: float = 0.0
    test: str | None = None
    """That first test with all its parameters, as pytest takes it; None if a run that hangs caught it."""
    is_by_limit: bool = False
    """Whether that test, or the run, took too long."""


def copy_sources(folder: Path, sources: Path = SOURCES) -> Path:
    """Copy the sources, byte code included where it is fresh; returns the copy."""
    copy = folder / "src"
    shutil.copytree(sources, copy)
    return copy


def run_mutant(mutant: Mutant, sources: Path, folder: Path) -> Verdict:
    """Put the bug into a copy of `sources` inside `folder` and run its tests."""
    copy = copy_sources(folder, sources)
    try:
        text = mutant.text(copy)
    except (OSError, ValueError) as error:
        return Verdict(mutant, None, str(error))
    path = mutant.path_in(copy)
    for byte_code in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        byte_code.unlink()
    path.write_text(text)
    return judge(mutant, run_tests(copy, mutant.tests, timeout=MUTANT_SECONDS, limit=HANG_SECONDS))


def judge(mutant: Mutant, outcome: Outcome) -> Verdict:
    """Say what a run of tests means for a mutant."""
    failed = _FAILED_LINE.search(outcome.output)
    is_by_limit = outcome.status == HUNG or _TIMED_OUT in outcome.output
    if outcome.status == FAILED and failed:
        caught_by, test = failed[1].removeprefix("tests/unit/"), str(ROOT / failed[2])
        return Verdict(mutant, caught_by, None, outcome.seconds, test, is_by_limit)
    if outcome.status in (FAILED, HUNG) and is_by_limit:
        return Verdict(mutant, "a run that hangs", None, outcome.seconds, is_by_limit=True)
    if outcome.status == PASSED:
        return Verdict(mutant, None, "SURVIVED", outcome.seconds)
    last = outcome.output.strip().splitlines()[-1:] or ["no output"]
    return Verdict(mutant, None, f"pytest ended with {outcome.status}: {last[0]}", outcome.seconds)


def that_caught(verdicts: Iterable[Verdict], *, by_limit: bool) -> tuple[str, ...]:
    """The tests that caught mutants, because they took too long or for another reason.

    They prove something if they pass without a mutant, in the former case within the same limit.
    """
    caught = [each for each in verdicts if each.problem is None and each.is_by_limit == by_limit]
    tests = {test for each in caught for test in ((each.test,) if each.test else each.mutant.tests)}
    return tuple(sorted(tests))


def run_tests(
    sources: Path, tests: tuple[str, ...], *, timeout: int = TEST_SECONDS, limit: int = LIMIT_SECONDS
) -> Outcome:
    """Run tests against a copy of the sources until the first failure: modules of tests/unit, or absolute names.

    `timeout` ends a test, in seconds, without its fixtures: one that makes a warehouse takes half a minute beside
    other work, and a test that is ended there catches nothing. The home folder is that of the copy, because a
    server that ignores its settings writes to the home folder. `limit` ends the whole run, in seconds.
    """
    names = (str(ROOT / "tests" / "unit" / test) for test in tests)
    limits = ("-o", f"timeout={timeout}", "-o", "timeout_func_only=true")
    command = [sys.executable, "-m", "pytest", *_PLUGINS, *_OPTIONS, *limits, *names]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "250",  # or why a test failed is cut off
        "HOME": str(sources.parent),
        "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT))),
        SOURCES_VARIABLE: str(sources),
    }
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(HUNG, f"no end after {limit} s", time.monotonic() - begun)
    return Outcome(done.returncode, done.stdout + done.stderr, time.monotonic() - begun)
