"""The log says what happened in Java's words."""

import logging
import sys

import pytest
from msgspec.structs import astuple as to_tuple

from namekeeper.app.log_lines import (
    EVENTS_LIMIT,
    TOPIC_LINES_LIMIT,
    VALUE_LIMIT,
    ChangeMessage,
    lines_of,
    log_change,
)
from namekeeper.model.broker import BrokerData
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
    TopicRow,
)

IDENTITY = "BrokerIdentityInfo [clusterName=c, brokerAddr=10.0.0.1:10911]"


def texts(cause: Cause, *events) -> list[str]:
    return [text for _, text in lines_of(Change(cause, "10.0.0.9:5000", events))]


def row(perm: int = 6, registered: int | None = None) -> TopicRow:
    return TopicRow(QueueSpec(8, 4, perm), QueueSpec(8, 4, perm if registered is None else registered))


def queue_data(perm: int = 6) -> str:
    return f"QueueData [brokerName=b, readQueueNums=8, writeQueueNums=4, perm={perm}, topicSysFlag=0]"


def live(*, is_new: bool) -> BrokerLiveChanged:
    return BrokerLiveChanged(
        "c", "10.0.0.1:10911", "b", 0, "10.0.0.1:10912", 120_000, DataVersion(), 1, "10.0.0.9:5000", 1, is_new
    )


def gone(reason: Cause) -> BrokerLiveGone:
    return BrokerLiveGone("c", "10.0.0.1:10911", "b", 0, 1, reason, 5, 120_000)


def test_a_broker_is_registered():
    assert texts(Cause.REGISTER, live(is_new=True)) == [
        f"new broker registered, {IDENTITY} HAService: 10.0.0.1:10912"
    ]
    assert texts(Cause.REGISTER, live(is_new=False)) == []


def test_topics_are_new_changed_and_gone():
    event = TopicQueuesChanged(
        "b", {"old": row(), "same": row(6, 6), "gone": row()}, {"new": row(), "old": row(4), "same": row(6, 4)},
        ("new", "old", "same", "gone"),
    )  # fmt: skip
    assert texts(Cause.REGISTER, event) == [
        f"new topic registered, new {queue_data()}",
        f"topic changed, old OLD: {queue_data()} NEW: {queue_data(4)}",
        f"deleteTopic, remove one broker's topic b gone {queue_data()}",
    ]


def test_a_topic_that_never_was_is_no_line():
    assert texts(Cause.REGISTER, TopicQueuesChanged("b", {}, {}, ("x",))) == []


def test_topics_are_removed_and_registered_by_request():
    before = {"t": row()}
    assert texts(Cause.DELETE_TOPIC, TopicQueuesChanged("b", before, {}, ("t",))) == [
        f"deleteTopic, remove one broker's topic b t {queue_data()}"
    ]
    assert texts(Cause.REGISTER_TOPIC, TopicQueuesChanged("b", {}, before, ("t",))) == [
        f"Register topic route:t, {queue_data()}"
    ]
    assert texts(Cause.UNREGISTER, BrokerNameRemoved("b", before)) == [
        f"removeTopicByBrokerName, remove one broker's topic t {queue_data()}"
    ]
    assert texts(Cause.UNREGISTER, TopicQueuesChanged("b", before, {}, ("t",))) == [
        f"removeTopicByBrokerName, remove one broker's topic t {queue_data()}"
    ]


@pytest.mark.parametrize("verb", ["wipe", "add"])
def test_write_permissions_are_one_line(verb):
    cause = Cause.WIPE_WRITE_PERM if verb == "wipe" else Cause.ADD_WRITE_PERM
    event = TopicQueuesChanged("b", {"t": row(), "u": row()}, {"t": row(4), "u": row(4)}, ("t", "u"))
    assert texts(cause, event) == [f"{verb} write perm of broker[b], client: 10.0.0.9:5000, 2"]


def test_many_topics_are_summed_up_after_a_hundred():
    after = {f"t{number}": row() for number in range(TOPIC_LINES_LIMIT + 7)}
    for event in (TopicQueuesChanged("b", {}, after, tuple(after)), BrokerNameRemoved("b", after)):
        lines = texts(Cause.REGISTER, event)
        assert len(lines) == TOPIC_LINES_LIMIT + 1
        assert lines[-1].startswith("and 7 more topics of b ")


def test_many_events_of_one_change_are_summed_up_after_a_thousand():
    events = [TopicQueuesChanged(f"b{n}", {"t": row()}, {}, ("t",)) for n in range(EVENTS_LIMIT + 7)]
    lines = texts(Cause.DELETE_TOPIC, *events)
    assert len(lines) == EVENTS_LIMIT + 1
    assert lines[-2].startswith("deleteTopic, remove one broker's topic b999 t ")
    assert lines[-1] == "and 7 more changes of other rows"
    assert len(ChangeMessage(Change(Cause.DELETE_TOPIC, "p:1", tuple(events))).events) == EVENTS_LIMIT
    assert texts(Cause.DELETE_TOPIC, *events[:EVENTS_LIMIT]) == lines[:-1]


@pytest.mark.parametrize(
    ("reason", "first", "level"),
    [
        (Cause.EXPIRED, f"The broker channel expired, {IDENTITY} 120000ms", logging.WARNING),
        (
            Cause.CHANNEL_CLOSED,
            "the broker's channel destroyed, submit the unregister request at once",
            logging.INFO,
        ),
        (Cause.UNREGISTER, f"unregisterBroker, remove from brokerLiveTable OK, {IDENTITY}", logging.INFO),
        (
            Cause.STALE,
            "Registering Broker conflicts with the existed one, just ignore.: Cluster:c,",
            logging.WARNING,
        ),
        (Cause.REPLACED, "the broker was replaced", logging.WARNING),
    ],
)
def test_a_broker_goes(reason, first, level):
    lines = list(lines_of(Change(reason, None, (gone(reason),))))
    assert lines[0][0] == level
    assert lines[0][1].startswith(first)
    assert f"unregisterBroker, remove from brokerLiveTable OK, {IDENTITY}" in [text for _, text in lines]


def test_names_and_clusters_go():
    assert texts(Cause.UNREGISTER, BrokerGroupGone("b"), ClusterChanged("c", frozenset())) == [
        "unregisterBroker, remove name from brokerAddrTable OK, b",
        "unregisterBroker, remove name from clusterAddrTable OK, b",
        "unregisterBroker, remove cluster from clusterAddrTable c",
    ]
    assert texts(Cause.REGISTER, ClusterChanged("c", frozenset({"b"}))) == []


def test_configuration_changes():
    assert texts(Cause.PUT_KV, KvChanged("ns", "k", "v"), KvChanged("ns", "k", None)) == [
        "putKVConfig update config item, Namespace: ns Key: k Value: v",
        "deleteKVConfig delete a config item, Namespace: ns Key: k",
    ]
    assert texts(Cause.UPDATE_CONFIG, ConfigChanged({"a": "1"})) == [
        "updateConfig called by 10.0.0.9:5000",
        "Replace, key: a, value: 1",
    ]


def test_a_smaller_broker_id():
    event = MinBrokerIdChanged("b", 1, "10.0.0.2:10911", ("10.0.0.2:10911", "10.0.0.3:10911"))
    assert texts(Cause.UNREGISTER, event) == [
        "min broker id changed to 1, notify [10.0.0.2:10911, 10.0.0.3:10911], offline broker addr null"
    ]


def test_activity_and_what_follows_from_other_events_is_no_line(caplog):
    events = (
        BrokerHeard("c", "a", 1, 5),
        BrokerGroupChanged(BrokerData("c", "b")),
        TopicMappingChanged("t", "b", None),
        FilterServersChanged("c", "a", ()),
    )
    assert texts(Cause.REGISTER, *events) == []
    log_change(Change(Cause.REGISTER, None, events))
    assert caplog.records == []


def test_a_change_is_one_record_whose_text_is_made_later(caplog):
    caplog.set_level(logging.INFO)
    change = Change(Cause.EXPIRED, None, (gone(Cause.EXPIRED),))
    log_change(change)
    log_change(Change(Cause.PUT_KV, None, (KvChanged("ns", "k", "v"),)))
    expired, put = caplog.records
    assert isinstance(expired.msg, ChangeMessage)
    assert expired.levelname == "WARNING"
    assert put.levelname == "INFO"
    assert expired.getMessage().count("\n") == 2


def kept_alive(message: ChangeMessage, table: dict) -> bool:
    return any(value is table for event in message.events for value in to_tuple(event))


@pytest.mark.parametrize("cause", [Cause.WIPE_WRITE_PERM, Cause.REGISTER])
def test_a_message_that_waits_for_the_disk_keeps_no_table_alive(cause):
    topics = tuple(f"T{number}" for number in range(TOPIC_LINES_LIMIT * 2))
    before, after = dict.fromkeys(topics, row(6)), dict.fromkeys(topics, row(4))
    events = (TopicQueuesChanged("b", before, after, topics), BrokerNameRemoved("b", before))
    message = ChangeMessage(Change(cause, "p:1", events))
    assert not any(kept_alive(message, table) for table in (before, after, topics))
    assert sum(sys.getsizeof(value) for event in message.events for value in to_tuple(event)) < 5_000


def test_a_long_value_is_cut():
    value = "x" * (VALUE_LIMIT + 1)
    (line,) = texts(Cause.PUT_KV, KvChanged("n", "k", value))
    assert line.endswith(f"xx... ({VALUE_LIMIT + 1} characters)")
    assert len(line) < VALUE_LIMIT + 150
    (whole,) = texts(Cause.PUT_KV, KvChanged("n", "k", value[1:]))
    assert whole.endswith("Value: " + value[1:])
