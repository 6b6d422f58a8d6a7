"""A journal is read in order, as far as it can be read, while it is written and after it was shipped."""

import gzip
import os

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.reading.reader import find_segments, read_segment_lines
from tests.unit.journal.disk_parts import Feeder, records_in, writer_on


@pytest.fixture
def feeder():
    return Feeder()


@pytest.fixture
def journal(tmp_path, feeder):
    """Two sealed segments and an open one."""
    writer = writer_on(os, feeder.backlog, str(tmp_path), segment_ms=1_000)
    feeder.begin()
    for _ in range(3):
        feeder.change(2)
        writer.step(feeder.now)
        writer.step(feeder.advance(600))
    return tmp_path


def seqs(folder):
    return [record["seq"] for record in records_in(folder)]


def test_sealed_and_open_segments_are_read_in_order(journal):
    assert [name.is_open for name in find_segments(str(journal))] == [False, True]
    assert seqs(journal) == list(range(1, 11))


def test_a_shipped_folder_of_segments_alone_is_read_too(journal, tmp_path_factory):
    shipped = tmp_path_factory.mktemp("shipped")
    for name in find_segments(str(journal)):
        (shipped / str(name)).write_bytes((journal / str(name)).read_bytes())
    assert seqs(shipped) == list(range(1, 11))


def test_what_somebody_unpacked_is_read(journal):
    (first, _) = find_segments(str(journal))
    packed = journal / str(first)
    (journal / str(first).removesuffix(".gz")).write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    assert seqs(journal) == list(range(1, 11))


def test_segments_of_another_journal_in_the_folder_do_not_count(journal):
    (journal / "other-00000000-1700000000000-000000000001.jsonl.open").write_bytes(b"x\n")
    assert seqs(journal) == list(range(1, 11))


def test_segments_of_two_journals_without_an_identity_are_refused(journal):
    (journal / "other-00000000-1700000000000-000000000001.jsonl.open").write_bytes(b"x\n")
    (journal / "identity.json").unlink()
    with pytest.raises(
        JournalError, match=r"holds segments of 2 journals .* put each into a folder of its own"
    ):
        find_segments(str(journal))


def test_a_torn_packed_segment_gives_what_there_is_and_why_not_more(journal):
    (first, _) = find_segments(str(journal))
    packed = (journal / str(first)).read_bytes()
    (journal / str(first)).write_bytes(packed[: len(packed) - 20])
    lines = list(read_segment_lines(str(journal), first))
    assert lines[-1].problem.startswith("torn: ")
    assert lines[-1].number == len(lines)


def test_one_that_is_no_gzip_is_one_broken_line(journal):
    (first, _) = find_segments(str(journal))
    (journal / str(first)).write_bytes(b"nothing")
    (line,) = read_segment_lines(str(journal), first)
    assert line.problem.startswith("torn: ")


def test_one_that_can_not_be_read_is_one_broken_line(journal):
    (first, _) = find_segments(str(journal))
    (journal / str(first)).unlink()
    (journal / str(first)).mkdir()
    (line,) = read_segment_lines(str(journal), first)
    assert "Is a directory" in line.problem


def test_an_open_segment_that_is_sealed_meanwhile_is_read_all_the_same(tmp_path, feeder):
    writer = writer_on(os, feeder.backlog, str(tmp_path))
    feeder.begin()
    writer.step(feeder.now)
    (name,) = find_segments(str(tmp_path))
    writer.close(feeder.now)
    assert len(list(read_segment_lines(str(tmp_path), name))) == 4


def test_one_that_is_deleted_meanwhile_has_no_lines(journal):
    (first, _) = find_segments(str(journal))
    (journal / str(first)).unlink()
    assert list(read_segment_lines(str(journal), first)) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "is not a journal: it holds no segments"),
        (lambda path: (path / "data.csv").touch(), "is not a journal: it holds no segments"),
        (lambda path: path.rmdir(), "can't read .*: No such file"),
        (lambda path: (path.rmdir(), path.touch()), "can't read .*: Not a directory"),
        (
            lambda path: (path / "identity.json").write_text(
                '{"namesrv":"a","uuid":"00000000-0000-4000-8000-000000000000"}'
            ),
            "is empty: nothing was written yet",
        ),
        (
            lambda path: (
                (path / "identity.json").write_text(
                    '{"namesrv":"a","uuid":"00000000-0000-4000-8000-000000000000"}'
                ),
                (path / "b-11111111-1700000000000-000000000001-000000000002.jsonl.gz").touch(),
            ),
            r"is empty: by identity.json another one wrote what is there \(b-11111111-.*\.gz\)",
        ),
        (
            lambda path: ((path / "9876").mkdir(), (path / "9876" / "identity.json").touch()),
            "is not a journal, but there is one in 9876 below it",
        ),
        (lambda path: (path / "identity.json").write_text("{"), "is not valid"),
    ],
)
def test_what_is_no_journal_says_what_to_do(tmp_path, make, message):
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    with pytest.raises(JournalError, match=message):
        find_segments(str(folder))
