"""Memory that was freed leaves the process."""

import platform
import subprocess
import sys

import pytest

from namekeeper.app.memory import AGAIN_SECONDS, GROWTH_BYTES, Trimming, resident_bytes
from tests.support.system.waiting import PATIENCE

PIECES = 20
PIECE_MIB = 4

PROGRAM = f"""
import sys
from namekeeper.app.memory import return_freed_memory, trim

def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // (1 << 20)

bytes(16 << 20)  # freed at once: from here on glibc takes pieces of that size from the heap
if "trim" in sys.argv:
    pieces = [[b"x" * 100_000, b"y" * 600] for _ in range(800)]
    before = resident_mib()
    for piece in pieces:
        piece.pop(0)
    trim()
    print(before - resident_mib())
    sys.exit()
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory in this way")
def test_small_pieces_between_others_go_back_when_it_is_asked_for():
    assert returned_mib("trim") >= 60


def test_memory_is_returned_once_after_growth_and_in_a_quiet_time():
    trimming = Trimming(100)

    def is_due(resident, cpu_seconds):
        return trimming.is_due(resident, cpu_seconds=cpu_seconds, passed_seconds=10)

    grown = 50 + GROWTH_BYTES + 1
    assert not is_due(100, 1.0)
    assert not is_due(50, 1.0)
    assert not is_due(grown - 1, 1.0)
    assert not is_due(grown, 2.1), "it is busy"
    assert is_due(grown, 3.1)
    trimming.note_trimmed(grown)
    assert not is_due(grown, 3.1), "what is left is held for now"


def test_growth_before_the_first_look_counts():
    assert Trimming(100).is_due(100 + GROWTH_BYTES + 1, cpu_seconds=0.5, passed_seconds=10)


def test_a_process_has_memory():
    assert resident_bytes() > 1 << 20


def test_what_was_held_when_it_was_looked_for_may_be_free_later():
    """An attack of half frames is quiet: the heap was looked through amid it, and never again after it."""
    trimming = Trimming(100)
    grown = 101 + GROWTH_BYTES

    def is_due(passed_seconds):
        return trimming.is_due(grown, cpu_seconds=1.0, passed_seconds=passed_seconds)

    assert is_due(10)
    trimming.note_trimmed(grown)
    assert not is_due(AGAIN_SECONDS - 1)
    assert is_due(1)
    trimming.note_trimmed(grown)
    assert not is_due(1)
    trimming.note_trimmed(100)
    assert not trimming.is_due(100, cpu_seconds=1.0, passed_seconds=AGAIN_SECONDS), "nothing can be free"
