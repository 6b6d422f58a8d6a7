"""Cutting other topics' rows out of a line gives what decoding all of them would have given."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.contract.narrow import only_rows_of
from namekeeper.journal.contract.record import TopicQueues

NAMES = ["T", "TT", "b", "", "a]]b", "[T", 'a"b', "é", '["T",1']
QUEUES = st.sampled_from([(), (8, 8, 6, 0), (1, 2, 4, 1)])
ROWS = st.lists(st.tuples(st.sampled_from(NAMES), QUEUES), max_size=6)


def line(rows, broker_name: str = "b") -> bytes:
    record = TopicQueues(
        v=1, namesrv="n", boot=5, seq=3, change=3, end=True, ts=7, up_ms=2, cause="c", peer="p",
        broker_name=broker_name, rows=rows,
    )  # fmt: skip
    return with_checksum(msgspec.json.encode(record))[:-1]


def test_only_the_rows_of_the_topic_are_left():
    data = line([("T", 1, 2, 6, 0), ("U", 1, 2, 6, 0), ("T",)])
    short = only_rows_of(data, b'"T"')
    assert short.endswith(b',"rows":[["T",1,2,6,0],["T"]]}')
    assert b'"U"' not in short


def test_a_bracket_in_the_name_of_the_topic_ends_no_row():
    data = line([("T", 1, 2, 6, 0), ("a]]b", 1, 2, 6, 0), ("a]]b",)])
    assert only_rows_of(data, b'"a]]b"').endswith(b',"rows":[["a]]b",1,2,6,0],["a]]b"]]}')


@pytest.mark.parametrize(
    "data",
    [
        line([("T", 1, 2, 6, 0)], broker_name="T"),
        line([('a"b', 1, 2, 6, 0), ("T",)]),
        line([("T", 1, 2, 6, 0)])[:-19] + b"}",
        b'{"kind":"topic_queues"}',
    ],
    ids=["of a broker of this name", "with an escape", "without a checksum", "without rows"],
)
def test_another_line_stays_as_it_is(data):
    assert only_rows_of(data, b'"T"') is data


@given(ROWS, st.sampled_from(NAMES), st.sampled_from(["b", "T", "rows"]))
def test_the_record_is_the_same(rows, name, broker_name):
    data = line([(topic, *queues) for topic, queues in rows], broker_name)
    found = RecordReader(name)(Line(1, data))
    whole = RecordReader()(Line(1, data))
    assert isinstance(whole, TopicQueues)
    wanted = [row for row in whole.rows if name in (row[0], broker_name)]
    if wanted:
        assert isinstance(found, TopicQueues)
        assert found.rows == wanted
    assert (found.seq, found.ts, found.cause, found.peer) == (3, 7, "c", "p")
