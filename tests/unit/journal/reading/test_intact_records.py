"""A journal that must be intact: whatever is missing or can't be read is said, and nothing after it is given."""

import gzip
import json

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.reading.intact_records import read_intact
from namekeeper.journal.reading.reader import find_segments
from tests.property.journalled import JournalledServer
from tests.support.journal.folder import write_journal


@pytest.fixture
def folder(tmp_path):
    """Two sealed segments and an open one, of one boot."""
    server = JournalledServer()
    for _ in range(20):
        server.passed(10)
        server.alive()
    path = write_journal(tmp_path / "j", server.lines(), per_segment=10)
    assert [name.is_open for name in find_segments(str(path))] == [False, False, True]
    return path


def read(folder):
    return [record.seq for record in read_intact(str(folder), find_segments(str(folder)))]


def change(folder, index, edit):
    """Rewrite a segment's lines."""
    name = find_segments(str(folder))[index]
    file = folder / str(name)
    data = file.read_bytes()
    lines = (data if name.is_open else gzip.decompress(data)).splitlines(keepends=True)
    data = b"".join(edit(lines))
    file.write_bytes(data if name.is_open else gzip.compress(data))


ALTERED = b'{"kind":"server_alive","crc":"00000000"}\n'


def of_version_2(line: bytes) -> bytes:
    record = json.loads(line)
    del record["crc"]
    record["v"] = 2
    return with_checksum(json.dumps(record, separators=(",", ":")).encode())


def of_another_kind(line: bytes) -> bytes:
    record = json.loads(line)
    del record["crc"]
    record["kind"] = "broker_mood"
    return with_checksum(json.dumps(record, separators=(",", ":")).encode())


def test_all_of_it_is_read(folder):
    assert read(folder) == list(range(1, 25))


@pytest.mark.parametrize("torn", [b'{"kind":"serv', ALTERED, b"\0" * 100])
def test_a_crash_may_tear_the_end(folder, torn):
    change(folder, -1, lambda lines: [*lines, torn])
    assert read(folder) == list(range(1, 25))


@pytest.mark.parametrize(
    ("index", "edit", "said"),
    [
        (-1, lambda lines: [lines[0], ALTERED, *lines[2:]], "is damaged at line 2"),
        (0, lambda lines: [lines[0], ALTERED, *lines[2:]], "is damaged at line 2"),
        (0, lambda lines: [*lines[:-1], ALTERED], "records are missing at the end"),
        (0, lambda lines: lines[:-1], "records are missing at the end"),
        (-1, lambda lines: [*lines, b"x\n"], "no record of this version"),
        (0, lambda lines: [*lines, ALTERED], "is damaged at its end"),
        (-1, lambda lines: [*lines[:-1], of_version_2(lines[-1])], "written by a newer namekeeper"),
        (-1, lambda lines: [*lines[:-1], of_another_kind(lines[-1])], "of a newer version: broker_mood"),
    ],
)
def test_whatever_else_is_wrong_is_said(folder, index, edit, said):
    change(folder, index, edit)
    with pytest.raises(JournalError, match=said):
        read(folder)


def test_a_sealed_segment_that_is_torn_is_damaged(folder):
    name = find_segments(str(folder))[0]
    file = folder / str(name)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(JournalError, match=r"missing at the end|damaged"):
        read(folder)
