"""The program that `make native-wheels` runs for each wheel works with the front as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.release import front_used

front = pytest.importorskip("namekeeper_front", reason="make native builds it")

PACKAGES = Path(front.__file__).parents[1]


def test_the_front_of_a_wheel_can_be_used():
    used = subprocess.run(
        [sys.executable, front_used.__file__, str(PACKAGES)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (used.returncode, used.stderr) == (0, "")
    assert used.stdout.startswith("used on ")
