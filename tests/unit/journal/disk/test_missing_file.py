"""The file with the missing brokers is read back, and is never an obstacle."""

from pathlib import Path

import pytest

from namekeeper.journal.disk.missing_file import MISSING_FILE, load_missing, save_missing
from namekeeper.route.missing import MissingBroker, MissingRows

ROWS = MissingRows(
    [MissingBroker("c", "10.0.0.1:10911", "broker-a", 0, 7, 1_000)], {"broker-a": ["T1", "T2"]}
)
NOBODY = MissingRows([], {})


def test_what_was_written_is_read(tmp_path: Path):
    save_missing(str(tmp_path), lambda: ROWS)
    assert load_missing(str(tmp_path)) == ROWS


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"brokers": [{}], "topics": {}}'])
def test_a_file_that_is_no_such_file_counts_as_empty(tmp_path: Path, content: bytes):
    (tmp_path / MISSING_FILE).write_bytes(content)
    assert load_missing(str(tmp_path)) == NOBODY


def test_without_a_file_or_a_folder_nobody_is_missing(tmp_path: Path):
    assert load_missing(str(tmp_path)) == load_missing(str(tmp_path / "none")) == NOBODY


def test_a_disk_that_refuses_the_file_stops_nobody(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    save_missing(str(tmp_path / "file"), lambda: ROWS)
    assert load_missing(str(tmp_path / "file")) == NOBODY
