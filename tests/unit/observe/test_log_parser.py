"""Lines of logs of Java name servers become entries, also in pieces, and nothing else does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.observe import log_parser
from namekeeper.observe.log_parser import BURST_MS, LINE_BYTES, SUBMITTED_MS, LogEntry, LogKind, LogParser

HEAD = "2026-11-30 16:12:58 INFO RemotingExecutorThread_5 - "
FIVE = "BrokerIdentityInfo [clusterName=DefaultCluster, brokerAddr={}]"
A, B = "127.0.0.1:28762", "127.0.0.1:17582"
SUBMITTED = (
    "the broker's channel destroyed, submit the unregister request at once, broker info:"
    " org.apache.rocketmq.remoting.protocol.header.namesrv.UnRegisterBrokerRequestHeader@60dbde2d,"
    " submit result: true"
)
LINES = [
    (f"The broker channel expired, {FIVE.format(A)} 30000ms", LogEntry(LogKind.EXPIRED, (A,))),
    (f"The broker channel expired, {A} 120000ms", LogEntry(LogKind.EXPIRED, (A,))),
    (f"new broker registered, {FIVE.format(A)} HAService: 127.0.0.1:1", LogEntry(LogKind.REGISTERED, (A,))),
    (f"new broker registered, {A} HAServer: 127.0.0.1:1", LogEntry(LogKind.REGISTERED, (A,))),
    (
        f"the broker's channel destroyed, {A}, clean it's data structure at once",
        LogEntry(LogKind.CLOSED, (A,)),
    ),
    (f"unregisterBroker, remove from brokerLiveTable OK, {A}", LogEntry(LogKind.UNREGISTERED, (A,))),
    (f"unregisterBroker, remove from brokerLiveTable OK, {FIVE.format(A)}", LogEntry(LogKind.UNREGISTERED, (A,))),
    (
        "wipe write perm of broker[broker-a], client: 127.0.0.1:36482, 16",
        LogEntry(LogKind.WIPED, ("broker-a",), "127.0.0.1:36482"),
    ),
    (
        "add write perm of broker[broker-a], client: 127.0.0.1:36484, 16",
        LogEntry(LogKind.ADDED, ("broker-a",), "127.0.0.1:36484"),
    ),
    ("deleteTopic, remove the topic all queue DefaultCluster orders", LogEntry(LogKind.TOPIC_DELETED, ("orders",))),
    ("deleteTopic, remove the topic all queue orders", LogEntry(LogKind.TOPIC_LEFT_OUT, ("orders",))),
    (
        "putKVConfig create new config item, Namespace: ORDER_TOPIC_CONFIG Key: k Value: v",
        LogEntry(LogKind.KV_PUT, ("ORDER_TOPIC_CONFIG", "k")),
    ),
    (
        "putKVConfig update config item, Namespace: ORDER_TOPIC_CONFIG Key: k Value: v",
        LogEntry(LogKind.KV_PUT, ("ORDER_TOPIC_CONFIG", "k")),
    ),
    (
        "deleteKVConfig delete a config item, Namespace: ORDER_TOPIC_CONFIG Key: k Value: v",
        LogEntry(LogKind.KV_DELETED, ("ORDER_TOPIC_CONFIG", "k")),
    ),
    ("updateConfig called by 127.0.0.1:36482", LogEntry(LogKind.CONFIGURED, (), "127.0.0.1:36482")),
]  # fmt: skip
"""Messages as 4.9.7 or 5.5.0 write them, and their entries."""
NOTHING = [
    "putKVConfig create new Namespace ORDER_TOPIC_CONFIG",
    f"unregisterBroker, remove from brokerLiveTable Failed, {FIVE.format(A)}",
    "unregisterBroker, remove name from brokerAddrTable OK, broker-a",
    "deleteTopic, remove one broker's topic broker-a orders QueueData [brokerName=broker-a]",
    "removeTopicByBrokerName, remove the topic all queue orders",
    f"register topic x, The broker channel expired, {A} 120000ms",
    "The broker channel expired, ",
    f"unregisterBroker, remove from brokerLiveTable OK, {A}{HEAD}torn",
    "wipe write perm of broker[], client: , 1",
    "brokerLiveTable brokerAddr: 127.0.0.1:1 {}",
]
"""Messages that look like these and have no cause of a change, or not alone."""


def entries(*messages: str, parser: LogParser | None = None, now_ms: int = 0) -> list[LogEntry]:
    text = "".join(f"{HEAD}{message}\n" for message in messages)
    return (parser or LogParser()).feed(text.encode(), now_ms)


def removed(addr: str, result: str = "OK") -> str:
    return f"unregisterBroker, remove from brokerLiveTable {result}, {FIVE.format(addr)}"


@pytest.mark.parametrize(("message", "entry"), LINES)
def test_a_line_of_each_form_is_an_entry(message, entry):
    assert entries(message) == [entry]
    assert LogParser().feed(f"{message}\r\n".encode(), 0) == [entry]


@pytest.mark.parametrize("message", NOTHING)
def test_a_line_of_another_form_is_none(message):
    assert entries(message) == []


@given(
    st.lists(st.sampled_from([*(message for message, _ in LINES), *NOTHING, SUBMITTED]), max_size=12),
    st.data(),
)
def test_pieces_have_the_entries_of_the_whole(messages, data):
    text = "".join(f"{HEAD}{message}\n" for message in messages).encode()
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    parser = LogParser()
    found = [
        entry for start, end in pairwise([0, *cuts, len(text)]) for entry in parser.feed(text[start:end], 0)
    ]
    assert found == LogParser().feed(text, 0)


@given(st.binary(max_size=400))
def test_any_bytes_can_be_read(data):
    parser = LogParser()
    parser.feed(data, 0)
    parser.feed(b"\n", 0)
    assert entries(LINES[0][0], parser=parser) == [LINES[0][1]]


def test_a_line_in_utf_16_and_one_after_a_hole_is_read():
    message, entry = LINES[0]
    assert LogParser().feed(f"{HEAD}{message}\n".encode("utf-16"), 0) == [entry]
    assert LogParser().feed(bytes(4_096) + f"{HEAD}{message}\n".encode(), 0) == [entry]


def test_names_in_another_encoding_are_other_names_and_hide_no_line():
    latin = f"{HEAD}wipe write perm of broker[br\u00fccke], client: 127.0.0.1:1, 1\n".encode("latin-1")
    parser = LogParser()
    (found,) = parser.feed(latin, 0)
    assert found.subject != ("br\u00fccke",)
    assert entries(LINES[0][0], parser=parser) == [LINES[0][1]]


def test_a_line_without_end_takes_no_more_memory_than_a_long_one():
    parser = LogParser()
    for _ in range(100):
        assert parser.feed(b"broker " * 10_000, 0) == []
    assert len(parser._partial) <= LINE_BYTES
    parser.feed(b"\n", 0)
    assert entries(LINES[0][0], parser=parser) == [LINES[0][1]]


def test_a_long_line_counts_by_its_first_part():
    put = "putKVConfig update config item, Namespace: n Key: k Value: " + "v" * 10 * LINE_BYTES
    assert entries(put, LINES[0][0]) == [LogEntry(LogKind.KV_PUT, ("n", "k")), LINES[0][1]]


def test_a_line_that_is_torn_by_a_rotation_does_not_count():
    message, entry = LINES[0]
    parser = LogParser()
    parser.feed(f"{HEAD}{message[:40]}".encode(), 0)
    parser.reset()
    assert entries(message, parser=parser) == [entry]


def test_a_name_that_no_answer_has_is_no_entry():
    assert entries(f"deleteTopic, remove the topic all queue c {'t' * 2_000}") == []


# A connection that closes, in 5.x.


def test_a_removal_that_was_submitted_for_a_closed_connection_is_no_request():
    assert entries(SUBMITTED, removed(A)) == [LogEntry(LogKind.CLOSED, (A,))]


def test_each_removal_that_was_submitted_has_one_line():
    parser = LogParser()
    expired = f"The broker channel expired, {FIVE.format(A)} 30000ms"
    found = entries(expired, SUBMITTED, SUBMITTED, removed(A), removed(A, "Failed"), parser=parser)
    assert [entry.kind for entry in found] == [LogKind.EXPIRED, LogKind.CLOSED]
    later = entries(removed(B), parser=parser, now_ms=BURST_MS + 1)
    assert later == [LogEntry(LogKind.UNREGISTERED, (B,))]


def test_submitted_removals_beyond_the_limit_are_forgotten(monkeypatch):
    monkeypatch.setattr(log_parser, "SUBMITTED_LIMIT", 1)
    found = entries(SUBMITTED, SUBMITTED, removed(A), removed(B))
    assert found[-2:] == [LogEntry(LogKind.REMOVED, (A,)), LogEntry(LogKind.REMOVED, (B,))]


def test_two_removals_of_which_one_was_submitted_have_no_cause():
    found = entries(SUBMITTED, removed(A), removed(B))
    assert found[-2:] == [LogEntry(LogKind.REMOVED, (A,)), LogEntry(LogKind.REMOVED, (B,))]


def test_a_removal_may_be_written_before_the_line_that_submits_it():
    """The thread that removes brokers is sometimes faster than the one that writes of the connection."""
    parser = LogParser()
    assert entries(removed(A), SUBMITTED, parser=parser)[-1] == LogEntry(LogKind.CLOSED, (A,))
    assert entries(removed(B), parser=parser, now_ms=BURST_MS + 1) == [LogEntry(LogKind.UNREGISTERED, (B,))]


@given(st.permutations([removed("A"), removed("B"), removed("C"), SUBMITTED, SUBMITTED, SUBMITTED]))
def test_removals_that_were_all_submitted_have_the_same_cause_in_any_order_of_the_lines(messages):
    last = {entry.subject: entry.kind for entry in entries(*messages)}
    assert last == dict.fromkeys([("A",), ("B",), ("C",)], LogKind.CLOSED)


def test_a_long_burst_is_judged_in_parts(monkeypatch):
    monkeypatch.setattr(log_parser, "BURST_LIMIT", 2)
    found = entries(removed("A"), removed("B"), removed("C"), SUBMITTED)
    assert {entry.subject: entry.kind for entry in found} == {
        ("A",): LogKind.UNREGISTERED, ("B",): LogKind.UNREGISTERED, ("C",): LogKind.CLOSED,
    }  # fmt: skip


def test_a_removal_that_never_came_explains_no_later_one():
    parser = LogParser()
    entries(SUBMITTED, parser=parser)
    assert entries(removed(A), parser=parser, now_ms=SUBMITTED_MS + 1) == [
        LogEntry(LogKind.UNREGISTERED, (A,))
    ]
