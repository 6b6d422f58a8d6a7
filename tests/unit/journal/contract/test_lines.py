"""Lines of any bytes: whole ones come as they are, others are reported, and none fills the memory."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.lines import Line, read_envelope, split_lines
from namekeeper.journal.contract.record import Envelope, ServerAlive

RECORD = encode_record(ServerAlive(connections=3), Stamp("ns", 1_700_000_000_000, 7, 1_700_000_000_500, 500))[
    :-1
]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"."))), st.integers(1, 20))
def test_lines_do_not_depend_on_how_the_bytes_come(lines, size):
    data = b"".join(line + b"\n" for line in lines)
    assert list(split_lines(cut(data, size))) == [Line(number, line) for number, line in enumerate(lines, 1)]


@given(st.binary(max_size=60), st.integers(1, 20), st.integers(1, 10))
def test_whatever_comes_no_more_than_the_limit_is_kept_of_a_line(data, size, limit):
    lines = list(split_lines(cut(data, size), limit=limit))
    wanted = data.split(b"\n")
    if not wanted[-1]:
        wanted.pop()
    assert [line.data for line in lines] == [line[:limit] for line in wanted]
    assert [line.number for line in lines] == list(range(1, len(wanted) + 1))
    for line, full in zip(lines, wanted, strict=True):
        assert bool(line.problem) == (len(full) > limit or (line is lines[-1] and not data.endswith(b"\n")))


def test_a_line_of_100_megabytes_is_reported_by_its_size():
    part = b"x" * (1 << 20)
    (long, after) = split_lines([*[part] * 100, b"\nafter\n"], limit=1 << 22)
    assert (len(long.data), long.problem) == (1 << 22, f"{100 << 20} bytes, more than a line may have")
    assert (after.number, after.data) == (2, b"after")


def test_a_record_gives_what_every_record_has():
    envelope = read_envelope(Line(1, RECORD))
    assert isinstance(envelope, Envelope)
    assert (envelope.kind, envelope.seq, envelope.change, envelope.end) == ("server_alive", 7, 7, True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (Line(1, b""), "empty"),
        (Line(1, bytes(512)), "512 NUL bytes"),
        (Line(1, RECORD, "torn: no line feed ends it"), "torn"),
        (Line(1, RECORD[:-5]), "no record"),
        (Line(1, b"[1]"), "no record"),
        (Line(1, RECORD.replace(b'"ts"', b'"at"')), "no record"),
        (Line(1, RECORD.replace(b'"namesrv"', b'"server"')), "no record"),
        (Line(1, b"\xff\xfe"), "no record"),
        (Line(1, RECORD.replace(b'"seq":7', b'"seq":"7"')), "no record"),
        (Line(1, RECORD.replace(b'"change":7', b'"change":8')), "is impossible"),
        (Line(1, RECORD.replace(b'"change":7', b'"change":0')), "is impossible"),
        (Line(1, RECORD.replace(b'"boot":1700000000000', b'"boot":0')), "is impossible"),
    ],
)
def test_what_is_no_record_says_why(line, why):
    problem = read_envelope(line)
    assert isinstance(problem, str)
    assert why in problem


@given(st.binary(max_size=80))
def test_any_bytes_give_a_record_or_a_reason(data):
    assert isinstance(read_envelope(Line(1, data)), str | Envelope)


def test_lines_without_end_end_the_reading_if_they_are_no_records():
    feeds = itertools.repeat(b"\n" * 1_000)
    *lines, last = split_lines(feeds, short_lines=2_500)
    assert (len(lines), last.number) == (2_500, 2_501)
    assert last.problem == "more than 2500 lines are no records: the rest is not read"
    assert len(list(split_lines([b"\n" * 3_000], short_lines=None))) == 3_000
