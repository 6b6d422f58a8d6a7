"""A line gives its record, or a reason why it is none; nothing is guessed and nothing raises."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.durations import LATEST_MS
from namekeeper.journal.contract.blocks import BlockSummary
from namekeeper.journal.contract.decode import LineProblem, RecordReader, mapping_of
from namekeeper.journal.contract.lines import LINE_LIMIT, Line, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope, Record, ServerAlive, TopicMapping, TopicQueues
from namekeeper.model.mapping import TopicQueueMappingInfo

ENVELOPE = {"v": 1, "namesrv": "n", "boot": 5, "seq": 3, "change": 2, "ts": 9, "up_ms": 4}


def line(kind: str = "server_alive", **members) -> Line:
    return Line(12, json.dumps({"kind": kind, **ENVELOPE, **members}, separators=(",", ":")).encode())


def test_a_good_line_is_its_record():
    record = RecordReader()(line(connections=3, end=True))
    assert record == ServerAlive(**ENVELOPE, connections=3, end=True)


def refused(bad: Line) -> RecordReader:
    reader = RecordReader()
    assert reader(bad) is None
    return reader


@pytest.mark.parametrize(
    ("bad", "problem", "detail"),
    [
        (Line(12, b'{"kind"', "torn: no line feed ends it"), LineProblem.DAMAGED, "torn: no line feed ends it"),
        (Line(12, b""), LineProblem.MALFORMED, "empty"),
        (Line(12, b"\0\0\0"), LineProblem.MALFORMED, "3 NUL bytes"),
        (Line(12, b'{"kind":"kv","x":' + b'{"a":' * 100_000), LineProblem.MALFORMED, "recursion depth"),
        (Line(12, b"[]"), LineProblem.MALFORMED, "no record"),
        (Line(12, b'{"kind":"\xff"}'), LineProblem.MALFORMED, "no record"),
        (line(connections="many"), LineProblem.MALFORMED, "server_alive, version 1: Expected `int`, got `str`"),
        (line(seq="3"), LineProblem.MALFORMED, "Expected `int`, got `str`"),
        (line(boot=0), LineProblem.MALFORMED, "is impossible"),
        (line(change=4), LineProblem.MALFORMED, "is impossible"),
        (line(v=0), LineProblem.MALFORMED, "version 0"),
        (line("server_alive", v=2), LineProblem.NEWER, "this namekeeper reads 1: use a newer one"),
        (line("a_later_kind", v=2), LineProblem.NEWER, "version 2 of the contract"),
        (line("topic_queues", broker_name="b", rows=[["T", 1, 2, 3]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_queues", broker_name="b", rows=[["T", 1, [2], 6, 0]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_queues", broker_name="b", rows=[["T", 1, 2, {}, 0]]), LineProblem.MALFORMED, "a row is neither"),
        (line(ts=-1), LineProblem.MALFORMED, "$.ts"),
        (line(ts=LATEST_MS + 1), LineProblem.MALFORMED, "$.ts"),
        (line(boot=LATEST_MS + 1), LineProblem.MALFORMED, "is impossible"),
        (line(window_ms=-1), LineProblem.MALFORMED, "window_ms -1 is impossible"),
        (line(window_ms=10), LineProblem.MALFORMED, "window_ms 10 is impossible"),
        (line(checkpoint=4), LineProblem.MALFORMED, "checkpoint 4"),
        (line("lookup_hour", hour=LATEST_MS + 1, lookups=[]), LineProblem.MALFORMED, "$.hour"),
        (line("topic_queues", broker_name="b", rows=[[]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_queues", broker_name="b", rows=[[1]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_queues", broker_name="b", rows=[["T", 1, 2, "6", 0]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_queues", broker_name="b", rows=[["T", 1, 2, True, 0]]), LineProblem.MALFORMED, "a row is neither"),
        (line("topic_mapping", topic="T", broker_name="b", mapping=[]), LineProblem.MALFORMED, "mapping:"),
        (line("topic_mapping", topic="T", broker_name="b"), LineProblem.MALFORMED, "either a mapping"),
        (line("topic_mapping", topic="T", broker_name="b", mapping={"bname": "b"}, gone=True), LineProblem.MALFORMED, "either a mapping"),
        (line("broker_group", broker_name="b", broker_addrs={"x": "a:1"}), LineProblem.MALFORMED, "Expected `int`"),
        (line("kv", namespace="n"), LineProblem.MALFORMED, "missing required field `key`"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_by_its_reason(bad, problem, detail):
    reader = refused(bad)
    assert reader.unreadable == {problem: 1}
    assert reader.first_unreadable.number == 12
    assert detail in reader.first_unreadable.detail


def test_a_hundred_megabytes_are_refused_by_their_size():
    chunks = (b"x" * 1_000_000 for _ in range(100))
    (found,) = split_lines(chunks)
    assert len(found.data) <= LINE_LIMIT
    assert refused(found).first_unreadable.detail == "100000000 bytes, more than a line may have"


def test_the_first_of_many_is_kept():
    reader = RecordReader()
    for number in (3, 4):
        reader(Line(number, b"?"))
    assert reader.unreadable == {LineProblem.MALFORMED: 2}
    assert reader.first_unreadable.number == 3


def test_a_kind_that_is_not_known_keeps_its_position():
    reader = RecordReader()
    found = reader(line("a_later_kind", end=True))
    assert isinstance(found, Envelope)
    assert (found.kind, found.seq, found.change, found.end) == ("a_later_kind", 3, 2, True)
    assert (reader.unknown_kinds, reader.unreadable) == ({"a_later_kind": 1}, {})


ROWS = [["T", 1, 2, 6, 0], ["U", 1, 2, 6, 0], ["V"]]


@pytest.mark.parametrize("about", [None, "T", "U", ""])
@pytest.mark.parametrize(
    ("kind", "members"),
    [("topic_queues", {"broker_name": "T", "rows": ROWS}), ("server_alive", {"connections": 1})],
)
def test_a_member_that_is_not_known_changes_nothing(kind, members, about):
    """So a reader that is older than `window_ms` reads the same states."""
    later = RecordReader(about)(line(kind, **members, later_ms=[7]))
    assert later == RecordReader(about)(line(kind, **members))
    assert later is not None


def test_of_another_topic_only_the_place_is_read():
    reader = RecordReader("T")
    assert isinstance(reader(line("topic_queues", broker_name="T", rows=[["U"]])), TopicQueues)  # a name, too
    found = reader(line("topic_queues", broker_name="b", rows=ROWS[1:]))
    assert isinstance(found, Envelope)
    assert (found.kind, found.seq) == ("topic_queues", 3)
    assert reader.unknown_kinds == {}


def test_of_the_topic_only_its_rows_are_kept():
    record = RecordReader("T")(line("topic_queues", broker_name="b", rows=ROWS))
    assert isinstance(record, TopicQueues)
    assert record.rows == [("T", 1, 2, 6, 0)]


@pytest.mark.parametrize("topic", ['a"b', "a\\b", "a\nb", "é", "\u2028", "../x", "' OR 1=1"])
def test_a_topic_is_found_however_it_is_spelled(topic):
    data = {"kind": "topic_queues", **ENVELOPE, "broker_name": "b", "rows": [[topic]]}
    for text in (msgspec.json.encode(data), json.dumps(data, separators=(",", ":")).encode()):
        record = RecordReader(topic)(Line(1, text))
        assert isinstance(record, TopicQueues)
        assert record.rows == [(topic,)]


def test_kinds_that_are_not_wanted_keep_their_position():
    reader = RecordReader(skip=frozenset({"server_alive"}))
    assert isinstance(reader(line()), Envelope)
    assert isinstance(reader(line("server_stopped", last_seq=3)), Record)
    assert reader.unknown_kinds == {}


def test_a_mapping_is_that_of_the_wire():
    record = RecordReader()(
        line(
            "topic_mapping",
            topic="T",
            broker_name="b",
            mapping={"bname": "b", "epoch": str(2**60), "currIdMap": {"0": 1}},
        )
    )
    assert isinstance(record, TopicMapping)
    assert mapping_of(record) == TopicQueueMappingInfo("b", {0: 1}, epoch=2**60)
    gone = RecordReader()(line("topic_mapping", topic="T", broker_name="b", gone=True))
    assert isinstance(gone, TopicMapping)
    assert mapping_of(gone) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(data):
    reader = RecordReader()
    record = reader(Line(1, data))
    assert (record is None) == bool(reader.unreadable)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["topic_queues", "topic_mapping", "broker_live", "broker_group", "kv", "checkpoint_end", "later"]
)
MEMBERS = st.dictionaries(
    st.sampled_from(["rows", "mapping", "broker_name", "topic", "gone", "counts", "v", "seq"]), JSON
)


@given(KINDS, MEMBERS)
def test_any_members_are_a_record_or_refused(kind, members):
    reader = RecordReader()
    record = reader(line(kind, **members))
    assert (record is None) == bool(reader.unreadable)


def test_a_record_of_another_name_server_or_boot_than_the_segment_is_refused():
    segment = SegmentName(namesrv="n", uuid8="0a1b2c3d", boot=5, first_seq=1)
    reader = RecordReader(skip=frozenset({"kv"}))
    assert reader(line(connections=3), segment) is not None
    for other in (
        line(namesrv="m"),
        line(boot=6),
        line("kv", namesrv="m"),
        line("a_later_kind", namesrv="m"),
    ):
        assert reader(other, segment) is None
    assert reader.unreadable == {LineProblem.FOREIGN: 4}
    assert reader.first_unreadable.detail == "it belongs to m, boot 5"


@pytest.mark.parametrize(
    "lie",
    [
        {"first": -1}, {"last": 3}, {"last_ts": 8}, {"last_ts": LATEST_MS + 1}, {"first_ts": -1}, {"checkpoint": 99},
        {"checkpoint": -1}, {"lines": -1}, {"rows": {"kv": -1}},
    ],
)  # fmt: skip
def test_a_block_whose_summary_is_impossible_is_read(lie):
    members = {"first": 4, "last": 5, "first_ts": 9, "last_ts": 9, "kinds": ["denied"]}
    reader = RecordReader(skip=frozenset({"denied"}))
    summary = BlockSummary(version=1, size=9, crc=0, lines=2, is_last=True, is_right=True, **members)
    assert reader.can_skip(summary)
    assert not reader.can_skip(msgspec.structs.replace(summary, **lie))
