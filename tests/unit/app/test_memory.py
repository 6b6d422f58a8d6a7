"""Memory that was freed leaves the process."""

import platform
import subprocess
import sys

import pytest

from tests.support.system.waiting import PATIENCE

PIECES = 20
PIECE_MIB = 4

PROGRAM = f"""
import sys
from namekeeper.app.memory import return_freed_memory

def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // (1 << 20)

bytes(16 << 20)  # freed at once: from here on glibc takes pieces of that size from the heap
if "return" in sys.argv:
    assert return_freed_memory()
pieces, small = [], []
for _ in range({PIECES}):
    pieces.append(b"x" * ({PIECE_MIB} << 20))
    small.append([b"y" * 600 for _ in range(100)])
before = resident_mib()
pieces.clear()
print(before - resident_mib())
"""


def returned_mib(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60 * PATIENCE,
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory in this way")
def test_large_pieces_go_back_though_small_ones_that_are_younger_stay():
    assert returned_mib() < PIECES * PIECE_MIB / 2, "without the setting they would stay"
    assert returned_mib("return") >= PIECES * PIECE_MIB * 0.9
