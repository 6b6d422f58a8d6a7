"""What the driver reads of a segment has limits, whatever somebody put there."""

import gzip
import io
import tracemalloc

import pytest

from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.ingest import segment_lines
from namekeeper.pipeline.ingest.segment_lines import SegmentTooLargeError, lines_in
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
