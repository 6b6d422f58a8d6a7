"""A summary that lies is found by `verify`, which passes over nothing; one that was altered, too."""

import gzip
import random
from pathlib import Path

import pytest
from msgspec import structs

from namekeeper.journal.contract import blocks
from namekeeper.journal.reading.block_check import BlockCheck
from namekeeper.journal.reading.reader import find_segments
from namekeeper.journal.reading.verify import verify
from tests.property.histories import random_history
from tests.support.journal.folder import write_journal


@pytest.fixture
def lines() -> list[bytes]:
    return random_history(random.Random(2), 60).lines()


def sealed(folder: Path, lines: list[bytes]) -> Path:
    """Segments, the last one open; the largest sealed one has several blocks."""
    write_journal(folder, lines, per_segment=len(lines) // 2, block_bytes=600)
    return max(folder.glob("*.gz"), key=lambda path: path.stat().st_size)


def problems(folder: Path) -> list[str]:
    return [problem.what for problem in verify(str(folder)).problems if "block" in problem.what]


def test_right_summaries_are_no_problem(tmp_path, lines):
    sealed(tmp_path, lines)
    assert not problems(tmp_path)


@pytest.mark.parametrize(
    ("member", "wrong"),
    [
        ("lines", 1_000), ("is_right", False), ("first", 77), ("last", 77), ("first_ts", 1), ("last_ts", 1),
        ("kinds", ["server_alive"]), ("checkpoint", 99), ("rows", {"kv": 5}),
    ],
)  # fmt: skip
def test_a_summary_that_lies_is_found(tmp_path, lines, monkeypatch, member, wrong):
    """Its checksum is right: the server that wrote it had a bug, and readers would believe it."""
    right = blocks.summary_of
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "summary_of", lambda some: structs.replace(right(some), **{member: wrong}))
        sealed(tmp_path, lines)
    found = problems(tmp_path)
    assert found
    assert all("does not say what is in it: " in what for what in found)
    assert any(f"{member} is {wrong!r}, not " in what for what in found)
    assert not verify(str(tmp_path)).is_complete


def test_a_summary_that_was_altered_is_told_and_its_lines_are_read(tmp_path, lines):
    path = sealed(tmp_path, lines)
    data = path.read_bytes()
    (name,) = [name for name in find_segments(str(tmp_path)) if str(name) == path.name]
    text = b"".join(BlockCheck().read(str(tmp_path), name))
    for at in (data.index(b"[1,"), data.rindex(b"[1,")):
        path.write_bytes(data[: at + 1] + b"7" + data[at + 2 :])
        check = BlockCheck()
        assert b"".join(check.read(str(tmp_path), name)) == text
        ((number, what),) = check.problems
        assert "was altered" in what
        assert (number == 1) == (at == data.index(b"[1,"))


def test_a_wrong_checksum_of_gzip_is_found_although_our_readers_do_not_need_it(tmp_path, lines, monkeypatch):
    class Wrong:
        size = 8

        def pack(self, _crc: int, size: int) -> bytes:
            return blocks.struct.pack("<II", 0, size)

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "_TRAILER", Wrong())
        sealed(tmp_path, lines)
    assert all("other programs can't unpack it" in what for what in problems(tmp_path))
    assert problems(tmp_path)


def test_segments_without_blocks_have_no_summary_that_could_be_wrong(tmp_path, lines):
    path = sealed(tmp_path, lines)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())))
    assert not problems(tmp_path)
