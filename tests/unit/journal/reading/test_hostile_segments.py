"""A folder from strangers: no segment in it blocks a reader, fills its memory or keeps it busy."""

import contextlib
import gzip
import os
import tracemalloc
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.errors import JournalError
from namekeeper.journal.contract import blocks
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk import segment
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.recovery import last_ts, recover
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.last_state import read_last_state
from namekeeper.journal.reading.reader import FoundJournal, find_segments, has_kind
from namekeeper.journal.reading.recent import recent_part
from namekeeper.journal.reading.verify import verify
from namekeeper.processor.recent_changes import Revision
from tests.support.system.errors import case
from tests.unit.answers.story import Story

MIB = 1 << 20
UUID = "f37b9325-0000-4000-8000-000000000000"
ROOM = MIB // 2
"""Text that a segment may have in these tests."""


def of_lines(line: bytes) -> Callable[[Path], object]:
    """Pack 8 MiB of a line; it becomes a file of some kilobytes."""
    return lambda path: path.write_bytes(_packed(line))


@cache
def _packed(line: bytes) -> bytes:
    return gzip.compress(line * (8 * MIB // len(line)))


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


UNFINISHED = (
    b'{"kind":"kv","v":1,"namesrv":"ns_9876","boot":1700000000000,"seq":1,"change":1,"end":false,"ts":1}\n'
)

HOSTILE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "folder": os.mkdir,
    "file of four tebibytes": _huge,
    "line without end": of_lines(b"a" * MIB),
    "lines without end": of_lines(b"\n"),
    "NULs": of_lines(bytes(MIB)),
    "objects without end": of_lines(b'{"kind":' * 10),
    "change without end": of_lines(UNFINISHED),
    "lines that are skipped": of_lines(b'{"kind":"denied",' + b"a" * (ROOM // 2) + b"\n"),
}

READERS: dict[str, Callable[[Path], object]] = {
    "verify": lambda folder: verify(str(folder)),
    "state": lambda folder: JournalFolder(str(folder)).state_at(None),
    "follower": lambda folder: list(JournalFollower(FoundJournal(str(folder))).new_steps()),
    "restart": lambda folder: read_last_state(str(folder)),
    "recent changes": lambda folder: recent_part(str(folder), Revision(1 << 60, 1), lambda: None),
    "recovery": lambda folder: recover(str(folder), Identity("ns_9876", UUID)),
    "newest time": lambda folder: last_ts(str(folder), find_segments(str(folder))[0]),
    "kind": lambda folder: has_kind(str(folder), find_segments(str(folder))[0], "kv"),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_ends_within_its_memory(tmp_path, monkeypatch, reader):
    monkeypatch.setattr(blocks, "TEXT_RATIO_FROM_BYTES", ROOM)
    monkeypatch.setattr(blocks, "TEXT_RATIO_LIMIT", 1)
    monkeypatch.setattr(segment, "SEGMENT_BYTES_LIMIT", ROOM)
    story = Story()
    story.registers()
    for (name, hostile), form in product(HOSTILE.items(), ("sealed", "open")):
        folder = tmp_path / name / form
        story.folder(folder)
        with case(name, form):
            check_reader(READERS[reader], hostile, form, folder)


def check_reader(
    reader: Callable[[Path], object], hostile: Callable[[Path], object], form: str, folder: Path
) -> None:
    """Replace the first segment by a hostile one of a form, and look at the memory that a reader takes."""
    (name, *_) = find_segments(str(folder))
    path = folder / str(name)
    path.unlink()
    sealed = SegmentName(
        namesrv=name.namesrv, uuid8=name.uuid8, boot=name.boot, first_seq=1, last_seq=9, form=".gz"
    )
    opened = SegmentName(namesrv=name.namesrv, uuid8=name.uuid8, boot=name.boot, first_seq=1)
    hostile(folder / str(sealed if form == "sealed" else opened))
    tracemalloc.start()
    with contextlib.suppress(JournalError, OSError):
        reader(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * ROOM
