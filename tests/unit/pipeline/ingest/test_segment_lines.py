"""What the driver reads of a segment has limits, whatever somebody put there."""

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest

from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest import segment_lines
from namekeeper.pipeline.ingest.segment_lines import SegmentTooLargeError, TextSize, lines_in, size_of
from namekeeper.pipeline.ingest.segments import Segment, parse_segment

MIB = 1 << 20


def segment(form: str = ".gz") -> Segment:
    name = f"ns-0123abcd-1700000000000-000000000001-000000000009.jsonl{form}"
    found = parse_segment(File(name), "file:///j")
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_lines, "PIECE_BYTES", 100)
    monkeypatch.setattr(segment_lines, "LINE_BYTES", MIB)
    monkeypatch.setattr(segment_lines, "TEXT_BYTES", 4 * MIB)


@pytest.mark.parametrize("form", ["", ".gz"])
def test_whole_lines_come_as_they_are_and_of_long_ones_the_beginning(form):
    text = b"a" * 60 + b"\n" + b"b" * 250 + b"\n" + b"c" * 99 + b"\n" + b"d"
    data = gzip.compress(text) if form else text
    found = list(lines_in(io.BytesIO(data), segment(form)))
    assert [line[:1] * len(line) for line in found] == [b"a" * 61, b"b" * 100, b"c" * 100, b"d"]


@pytest.mark.parametrize("line", [b"a", b"\n", b"a" * 99 + b"\n"], ids=["no end", "empty", "whole"])
def test_a_bomb_ends_the_reading_within_the_memory(line):
    data = gzip.compress(line * (16 * MIB // len(line)))
    tracemalloc.start()
    with pytest.raises(SegmentTooLargeError):
        sum(map(len, lines_in(io.BytesIO(data), segment())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MIB


RECORD = b'{"seq":1,"rows":[["a [ \\" [",1],["b",2]]}' + b" " * 20 + b"\n"


def refused(tmp_path: Path, data: bytes, form: str = "") -> str | None:
    found = segment(form)
    (tmp_path / found.file).write_bytes(gzip.compress(data) if form else data)
    return size_of(open_folder(str(tmp_path)), found).refusal


@pytest.mark.parametrize("form", ["", ".gz"])
@pytest.mark.parametrize(
    ("limit", "data", "reason"),
    [
        (("LINE_BYTES", 1_000), b"x" * 1_001, "a line has more than 1,000 bytes"),
        (("SHORT_LINES_LIMIT", 5), b"\n" * 6, "more than 5 lines have fewer than 48 bytes"),
        (
            ("MORE_LINES_LIMIT", 2), RECORD * 12,
            "its name promises 9 records, and it has more than 2 lines beyond these",
        ),
        (("TEXT_BYTES", 500), RECORD * 9, "it has more than 500 bytes of text"),
        (("NESTING_LIMIT", 5), b'{"a":[0,' * 3, "a line has more than 5 lists and objects in each other"),
    ],
    ids=["a long line", "blank lines", "more lines than promised", "much text", "nested lists"],
)  # fmt: skip
def test_a_segment_beyond_a_limit_is_refused_before_a_parser_reads_it_and_the_limit_is_named(
    tmp_path, monkeypatch, limit, data, reason, form
):
    monkeypatch.setattr(segment_lines, *limit)
    assert refused(tmp_path, data, form) == reason


def test_a_segment_whose_text_is_a_large_multiple_of_its_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_lines, "TEXT_RATIO_FROM_BYTES", MIB)
    data = (b"x" * 1_000 + b"\n") * 3_000
    assert refused(tmp_path, data, ".gz") == (
        "its compressed data have more than 1,048,576 bytes of text, and more than 256 times the bytes of the file"
    )
    assert refused(tmp_path, data) is None, "text that is not compressed has no ratio"


@pytest.mark.parametrize("form", ["", ".gz"])
def test_a_segment_at_the_limits_is_read(tmp_path, monkeypatch, form):
    for limit, value in {
        "PIECE_BYTES": 100, "LINE_BYTES": len(RECORD), "SHORT_LINES_LIMIT": 0, "MORE_LINES_LIMIT": 0,
        "TEXT_BYTES": 9 * len(RECORD), "NESTING_LIMIT": 3,
    }.items():  # fmt: skip
        monkeypatch.setattr(segment_lines, limit, value)
    assert refused(tmp_path, RECORD * 9, form) is None


def test_brackets_in_texts_and_lists_beside_each_other_are_no_nesting(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_lines, "PIECE_BYTES", MIB)
    many = b'{"value":"' + b"[" * 2_000 + b'","rows":[' + b"[1]," * 2_000 + b"[]]}\n"
    hidden = b'["]",' * 1_001
    assert refused(tmp_path, many) is None
    assert refused(tmp_path, hidden) is not None


def test_a_file_that_is_damaged_or_gone_is_left_to_the_readers(tmp_path):
    found = segment()
    (tmp_path / found.file).write_bytes(gzip.compress(RECORD * 9)[:-9])
    assert size_of(open_folder(str(tmp_path)), found) == TextSize()
    (tmp_path / found.file).write_bytes(b"no gzip")
    assert size_of(open_folder(str(tmp_path)), found) == TextSize()
    (tmp_path / found.file).unlink()
    assert size_of(open_folder(str(tmp_path)), found) == TextSize()


@pytest.mark.parametrize(
    ("data", "lines", "row_bytes"),
    [
        (b"", 0, 0),
        (b'{"a":1}\n', 1, 8 * 2),
        (b'{"a":[[1,2],[3]]}\n' * 3, 3, 3 * 18 * 7),
        (b"x\rx\r\n", 3, 5),
    ],
    ids=["nothing", "one value", "lists", "Spark ends lines there"],
)
def test_a_segment_has_at_most_so_many_bytes_of_rows(tmp_path, data, lines, row_bytes):
    found = segment("")
    (tmp_path / found.file).write_bytes(data)
    assert size_of(open_folder(str(tmp_path)), found) == TextSize(None, lines, row_bytes)
