"""Changes as lines: one row of the contract after the other, stamped, whole."""

import json

import pytest

from namekeeper.journal.contract.checksum import Checksum, check_line
from namekeeper.journal.contract.encode import Stamp, encode_change, encode_record, records_of, topic_records
from namekeeper.journal.contract.record import ServerAlive, TopicQueues
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    FilterServersChanged,
    KvChanged,
    MinBrokerIdChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.rows import make_row

STAMP = Stamp("ns_9876", 1_700_000_000_000, 7, 1_700_000_000_123, 123)
RW = make_row(QueueSpec(8, 4, 6, 0), QueueSpec(8, 4, 6, 0))
WIPED = make_row(QueueSpec(8, 4, 4, 1), QueueSpec(8, 4, 6, 1))


def lines_of(*events, cause=Cause.REGISTER, peer="p:1", user=""):
    change = Change(cause, peer, events, user)
    lines = list(encode_change(change, STAMP))
    assert len(lines) == records_of(change)
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return [json.loads(line) for line in lines]


def own(record):
    """Without what every record has."""
    return {name: value for name, value in record.items() if name not in NOT_OWN}


ENVELOPE = ("v", "namesrv", "boot", "seq", "change", "end", "ts", "up_ms", "cause", "peer")
NOT_OWN = {*ENVELOPE, "crc"}


def test_each_record_of_a_change_says_how_long_before_its_time_the_change_may_have_happened():
    change = Change(Cause.OBSERVED, None, (BrokerGroupGone("b"), KvChanged("n", "k", "v")), window_ms=1_200)
    records = [json.loads(line) for line in encode_change(change, STAMP)]
    assert [(record["window_ms"], record["cause"]) for record in records] == [(1_200, "observed")] * 2


def test_a_record_with_an_exact_time_has_no_window():
    assert not any(
        "window_ms" in record for record in lines_of(BrokerGroupGone("b"), KvChanged("n", "k", "v"))
    )


def test_a_change_is_stamped_as_a_whole():
    first, second = lines_of(BrokerGroupGone("b"), KvChanged("n", "k", "v"))
    assert {name: first[name] for name in ENVELOPE if name != "end"} == {
        "v": 1, "namesrv": "ns_9876", "boot": 1_700_000_000_000, "seq": 7, "change": 7, "ts": 1_700_000_000_123,
        "up_ms": 123, "cause": "register_broker", "peer": "p:1",
    }  # fmt: skip
    assert "end" not in first
    assert (second["seq"], second["change"], second["end"]) == (8, 7, True)


def test_nobody_asked_for_what_nobody_asked_for():
    (record,) = lines_of(BrokerGroupGone("b"), cause=Cause.EXPIRED, peer=None)
    assert record["cause"] == "expired"
    assert "peer" not in record


def test_whose_signature_it_was_stands_before_the_peer():
    assert lines_of(BrokerGroupGone("b"), user="ops")[0]["peer"] == "ops@p:1"
    assert "peer" not in lines_of(BrokerGroupGone("b"), cause=Cause.EXPIRED, peer=None)[0]


LIVE = BrokerLiveChanged(
    cluster_name="c", broker_addr="a:1", broker_name="b", broker_id=1, ha_server_addr="a:2",
    heartbeat_timeout_ms=120_000, data_version=DataVersion(counter=3, state_version=1, timestamp=2), channel_id=9,
    remote_addr="p:1", gen=4, is_new=True, body_bytes=55,
)  # fmt: skip


@pytest.mark.parametrize(
    ("event", "record"),
    [
        (
            LIVE,
            {
                "kind": "broker_live", "cluster": "c", "broker_addr": "a:1", "broker_name": "b", "broker_id": 1,
                "gen": 4, "new": True, "ha_server_addr": "a:2", "timeout_ms": 120_000, "data_version": [1, 2, 3],
                "channel": 9, "remote_addr": "p:1", "body_bytes": 55,
            },
        ),
        (
            BrokerLiveGone("c", "a:1", "b", 0, 4, Cause.EXPIRED, 120_004, 120_000),
            {
                "kind": "broker_live", "cluster": "c", "broker_addr": "a:1", "broker_name": "b", "broker_id": 0,
                "gen": 4, "timeout_ms": 120_000, "gone": True, "reason": "expired", "idle_ms": 120_004,
            },
        ),
        (
            BrokerGroupChanged(BrokerData("c", "b", {0: "a:1", 2: "a:2"}, True, "z")),
            {
                "kind": "broker_group", "broker_name": "b", "cluster": "c", "zone": "z", "acting_master": True,
                "broker_addrs": {"0": "a:1", "2": "a:2"},
            },
        ),
        (BrokerGroupChanged(BrokerData("c", "b")), {"kind": "broker_group", "broker_name": "b", "cluster": "c"}),
        (BrokerGroupGone("b"), {"kind": "broker_group", "broker_name": "b", "gone": True}),
        (ClusterChanged("c", frozenset("zax")), {"kind": "cluster", "cluster": "c", "broker_names": ["a", "x", "z"]}),
        (ClusterChanged("c", frozenset()), {"kind": "cluster", "cluster": "c"}),
        (
            TopicQueuesChanged("b", {}, {"T": RW, "U": WIPED}, ("U", "gone", "T")),
            {
                "kind": "topic_queues", "broker_name": "b",
                "rows": [["U", 8, 4, 4, 1], ["gone"], ["T", 8, 4, 6, 0]],
            },
        ),
        (BrokerNameRemoved("b", {"T": RW}), {"kind": "broker_name_removed", "broker_name": "b"}),
        (
            TopicMappingChanged("T", "b", TopicQueueMappingInfo("b", {0: 1}, epoch=2**60, topic="T", total_queues=1)),
            {
                "kind": "topic_mapping", "topic": "T", "broker_name": "b",
                "mapping": {
                    "bname": "b", "currIdMap": {"0": 1}, "dirty": False, "epoch": str(2**60), "scope": "__global__",
                    "topic": "T", "totalQueues": 1,
                },
            },
        ),
        (
            TopicMappingChanged("T", "b", None),
            {"kind": "topic_mapping", "topic": "T", "broker_name": "b", "gone": True},
        ),
        (
            FilterServersChanged("c", "a:1", ("f:1", "f:2")),
            {"kind": "filter_servers", "cluster": "c", "broker_addr": "a:1", "filter_servers": ["f:1", "f:2"]},
        ),
        (FilterServersChanged("c", "a:1", ()), {"kind": "filter_servers", "cluster": "c", "broker_addr": "a:1"}),
        (KvChanged("n", "k", "v\n"), {"kind": "kv", "namespace": "n", "key": "k", "value": "v\n"}),
        (KvChanged("n", "k", ""), {"kind": "kv", "namespace": "n", "key": "k"}),
        (KvChanged("n", "k", None), {"kind": "kv", "namespace": "n", "key": "k", "gone": True}),
        (
            ConfigChanged({"a": "1", "tls.server.keyPassword": "p", "mySecretKey": "s"}),
            {"kind": "config", "properties": {"a": "1", "tls.server.keyPassword": "***", "mySecretKey": "***"}},
        ),
    ],
)  # fmt: skip
def test_a_row_says_what_it_is_now(event, record):
    (found,) = lines_of(event)
    assert own(found) == record


def test_what_is_no_state_makes_no_record():
    heard = BrokerHeard("c", "a:1", 1, 30_000)
    notified = MinBrokerIdChanged("b", 0, "a:1", ())
    assert lines_of(heard, notified) == []
    (record,) = lines_of(heard, BrokerGroupGone("b"), notified)
    assert (record["seq"], record["end"]) == (7, True)


@pytest.mark.parametrize("count", [1, 999, 1_000, 1_001, 2_500])
def test_topic_rows_come_in_pieces(count):
    rows = {f"T{number}": RW for number in range(count)}
    records = lines_of(TopicQueuesChanged("b", {}, rows, tuple(rows)), BrokerGroupGone("b"))
    pieces = [len(record["rows"]) for record in records[:-1]]
    assert pieces == [1_000] * (count // 1_000) + [count % 1_000] * (count % 1_000 > 0)
    assert [row[0] for record in records[:-1] for row in record["rows"]] == list(rows)


def test_names_are_data():
    name = 'a"b\\c\n\u2028é\x00'
    (record,) = lines_of(TopicQueuesChanged(name, {}, {name: RW}, (name,)))
    assert (record["broker_name"], record["rows"]) == (name, [[name, 8, 4, 6, 0]])


def test_rows_that_look_the_same_but_are_others_are_reported_apart():
    other = make_row(QueueSpec(1, 1, 2, 3), QueueSpec(1, 1, 2, 3))
    rows = {f"T{number}": (RW, WIPED, other)[number % 3] for number in range(3_000)}
    pieces = [
        row
        for record in topic_records("b", rows, rows)
        if isinstance(record, TopicQueues)
        for row in record.rows
    ]
    assert [topic for topic, _ in pieces] == list(rows)
    found = [bytes(queues) for _, queues in pieces]
    assert found == [b"8,4,6,0", b"8,4,4,1", b"1,1,2,3"] * 1_000


def test_a_record_of_its_own_is_a_whole_change():
    line = encode_record(ServerAlive(connections=2), STAMP, checkpoint=3)
    assert check_line(line[:-1]) is Checksum.RIGHT
    members = json.loads(line)
    del members["crc"]
    assert members == {
        "kind": "server_alive", "v": 1, "namesrv": "ns_9876", "boot": 1_700_000_000_000, "seq": 7, "change": 7,
        "end": True, "ts": 1_700_000_000_123, "up_ms": 123, "checkpoint": 3, "connections": 2,
    }  # fmt: skip
    assert line.endswith(b"}\n")
