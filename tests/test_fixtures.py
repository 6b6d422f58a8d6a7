"""Tests that `make test` leaves out are looked at all the same: each finds the fixtures that it asks for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLAN = ("--setup-plan", "--quiet", "-p", "no:randomly", "-p", "no:cacheprovider")
"""Says what would be set up, and sets nothing up."""


@pytest.mark.parametrize("folder", ["tests/spark", "tests/interop"])
def test_every_test_finds_its_fixtures(folder: str):
    command = [sys.executable, "-m", "pytest", *PLAN, folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    missing = [line for line in done.stdout.splitlines() if line.startswith(("ERROR", "E  "))]
    assert (missing, done.returncode) == ([], 0), done.stderr
