"""A queued change keeps only what its records need, and weighs what it keeps."""

import pytest
from msgspec import Raw, json

from namekeeper.journal.contract.encode import Stamp, encode_change
from namekeeper.journal.contract.record import (
    BrokerGroup,
    Cluster,
    FilterServers,
    ServerAlive,
    TopicMapping,
)
from namekeeper.journal.recording.weight import weight_of_change, weight_of_record, without_spare_rows
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerLiveChanged,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.rows import make_row

STAMP = Stamp("ns", 1, 7, 2, 3)
RW, RO = (make_row(QueueSpec(4, 4, perm, 0), QueueSpec(4, 4, 6, 0)) for perm in (6, 4))
BEFORE = {f"T{number}": RW for number in range(1_000)}
LARGE = "x" * 10_000
ADDRS = {number: f"10.0.0.1:{number}" for number in range(200)}
NAMES = [f"broker-{number}" for number in range(200)]


def change(*events):
    return Change(Cause.REGISTER, "p:1", events, "ops")


def lines(one):
    return list(encode_change(one, STAMP))


@pytest.mark.parametrize(
    "event",
    [
        TopicQueuesChanged("b", BEFORE, {**BEFORE, "T3": RO}, ("T3",)),
        TopicQueuesChanged("b", BEFORE, {t: row for t, row in BEFORE.items() if t != "T3"}, ("T3",)),
        TopicQueuesChanged("b", BEFORE, dict.fromkeys(BEFORE, RO), tuple(BEFORE)),
        TopicQueuesChanged("b", {}, BEFORE, tuple(BEFORE)),
        BrokerNameRemoved("b", BEFORE),
        KvChanged("n", "k", None),
    ],
)
def test_records_come_out_alike_without_the_spare_rows(event):
    assert lines(without_spare_rows(change(event))) == lines(change(event))


@pytest.mark.parametrize("count", [1, 2, 1_000])
def test_as_many_topics_as_are_left_are_recorded_as_gone(count):
    left = {f"left{number}": RW for number in range(count)}
    gone = {f"gone{number}": RW for number in range(count)}
    event = TopicQueuesChanged("b", {**left, **gone}, left, tuple(gone))
    records = [json.decode(line) for line in lines(without_spare_rows(change(event)))]
    assert [row for record in records for row in record["rows"]] == [[topic] for topic in gone]


def test_a_change_of_one_row_keeps_one_row():
    event = TopicQueuesChanged("b", BEFORE, {**BEFORE, "T3": RO}, ("T3",))
    (kept,) = without_spare_rows(change(event)).events
    assert kept == TopicQueuesChanged("b", {}, {"T3": RO}, ("T3",))
    assert weight_of_change(change(kept)) < 2_000


def test_a_removal_keeps_no_row():
    assert without_spare_rows(change(BrokerNameRemoved("b", BEFORE))).events == (BrokerNameRemoved("b", {}),)


@pytest.mark.parametrize(
    "event",
    [
        TopicQueuesChanged("b", {}, BEFORE, tuple(BEFORE)),
        BrokerLiveChanged(LARGE, "a", "b", 0, "h", 1, DataVersion(), 1, "p:1", 1, True),
        BrokerLiveChanged("c", "a", "b", 0, LARGE, 1, DataVersion(), 1, "p:1", 1, True),
        BrokerGroupChanged(BrokerData("c", "b", ADDRS)),
        ClusterChanged("c", frozenset(NAMES)),
        TopicMappingChanged("t", "b", TopicQueueMappingInfo("b", curr_id_map=dict.fromkeys(range(200), 1))),
        FilterServersChanged("c", "a", (LARGE,)),
        KvChanged("n", "k", LARGE),
        KvChanged("n", LARGE, None),
        ConfigChanged({"a": LARGE}),
    ],
)
def test_what_a_change_holds_has_its_weight(event):
    assert weight_of_change(change(event)) > 10_000
    assert weight_of_change(change(KvChanged("n", "k", "v"))) < 2_000


@pytest.mark.parametrize(
    "record",
    [
        Cluster(cluster="c", broker_names=NAMES),
        BrokerGroup(broker_name="b", broker_addrs=ADDRS),
        FilterServers(cluster="c", broker_addr="a", filter_servers=[LARGE]),
        TopicMapping(topic="t", broker_name="b", mapping=Raw(LARGE.encode())),
    ],
)
def test_what_a_record_holds_has_its_weight(record):
    assert weight_of_record(record) > 10_000
    assert weight_of_record(ServerAlive()) < 2_000
