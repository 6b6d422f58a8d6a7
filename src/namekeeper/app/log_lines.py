"""What happened, in the words of Java's log: people and scrapers grep for them.

Java knows a little more where it logs than the events say: a row of a topic is always `new topic registered`
here when the broker name had none, in Java only when no broker name had one; values before a change are shown
where the event has them.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import (
    BrokerGroupGone,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    KvChanged,
    MinBrokerIdChanged,
    TopicQueuesChanged,
    TopicRow,
)

__all__ = ["TOPIC_LINES_LIMIT", "ChangeMessage", "Line", "lines_of", "log_change"]

log = logging.getLogger("namekeeper.namesrv")

Line = tuple[int, str]
"""Level and text."""

TOPIC_LINES_LIMIT = 100
"""How many topics of one event get a line each; 22 to 36 us a line, and a broker may bring 100,000."""

_INFO, _WARN = logging.INFO, logging.WARNING


class ChangeMessage:
    """A change as the message of a log record; made into text by whoever writes it, off the event loop."""

    __slots__ = ("change",)

    def __init__(self, change: Change) -> None:
        self.change = change

    def __str__(self) -> str:
        return "\n".join(text for _, text in lines_of(self.change))


def log_change(change: Change) -> None:
    """Log what a change is worth; costs one log record, however many lines that is."""
    if any(type(event) in _LINES for event in change.events):
        log.log(_WARN if change.cause in _WARNED else _INFO, ChangeMessage(change))


def lines_of(change: Change) -> Iterator[Line]:
    """Every line that a change is worth, in order."""
    for event in change.events:
        lines = _LINES.get(type(event))
        if lines is not None:
            yield from lines(event, change)


def _live_changed(event: BrokerLiveChanged, _: Change) -> Iterable[Line]:
    if event.is_new:
        broker = _broker(event.cluster_name, event.broker_addr)
        yield _INFO, f"new broker registered, {broker} HAService: {event.ha_server_addr}"


def _live_gone(event: BrokerLiveGone, _: Change) -> Iterable[Line]:
    broker = _broker(event.cluster_name, event.broker_addr)
    named = f"{broker} brokerName={event.broker_name}, brokerId={event.broker_id}"
    match event.reason:
        case Cause.EXPIRED:
            yield _WARN, f"The broker channel expired, {broker} {event.heartbeat_timeout_ms}ms"
        case Cause.CHANNEL_CLOSED:
            text = "the broker's channel destroyed, submit the unregister request at once, broker info: "
            yield _INFO, f"{text}{named}, submit result: true"
        case Cause.STALE:
            ids = f"Cluster:{event.cluster_name}, BrokerName:{event.broker_name}, BrokerId:{event.broker_id}"
            text = f"Registering Broker conflicts with the existed one, just ignore.: {ids}"
            yield _WARN, f"{text}, New BrokerAddr:{event.broker_addr}"
        case Cause.REPLACED:
            yield _WARN, f"the broker was replaced under its name and id by another address or name, {named}"
        case _:
            pass
    yield _INFO, f"unregisterBroker, remove from brokerLiveTable OK, {broker}"
    if event.reason in {Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSED}:
        yield _INFO, f"unregisterBroker, remove addr from brokerAddrTable OK, {broker}"


def _group_gone(event: BrokerGroupGone, _: Change) -> Iterable[Line]:
    yield _INFO, f"unregisterBroker, remove name from brokerAddrTable OK, {event.broker_name}"
    yield _INFO, f"unregisterBroker, remove name from clusterAddrTable OK, {event.broker_name}"


def _cluster_changed(event: ClusterChanged, _: Change) -> Iterable[Line]:
    if not event.broker_names:
        yield _INFO, f"unregisterBroker, remove cluster from clusterAddrTable {event.cluster_name}"


def _topics_changed(event: TopicQueuesChanged, change: Change) -> Iterable[Line]:
    if change.cause in _WRITE_PERM:
        text = f"{_WRITE_PERM[change.cause]} write perm of broker[{event.broker_name}]"
        yield _INFO, f"{text}, client: {change.remote_addr}, {len(event.topics)}"
        return
    for topic in event.topics[:TOPIC_LINES_LIMIT]:
        before, after = event.before.get(topic), event.after.get(topic)
        if before is None and after is not None:
            text = (
                "Register topic route:{}, {}"
                if change.cause is Cause.REGISTER_TOPIC
                else "new topic registered, {} {}"
            )
            yield _INFO, text.format(topic, _queue_data(event.broker_name, after))
        elif before is not None and after is not None:
            old, new = _queue_data(event.broker_name, before), _queue_data(event.broker_name, after)
            if old != new:
                yield _INFO, f"topic changed, {topic} OLD: {old} NEW: {new}"
        elif before is not None:
            yield _topic_gone(topic, event.broker_name, before, change.cause)
    yield from _and_more(len(event.topics), event.broker_name, "registered, changed or removed")


def _topic_gone(topic: str, broker_name: str, row: TopicRow, cause: Cause) -> Line:
    data = _queue_data(broker_name, row)
    if cause in {Cause.DELETE_TOPIC, Cause.REGISTER}:
        return _INFO, f"deleteTopic, remove one broker's topic {broker_name} {topic} {data}"
    return _INFO, f"removeTopicByBrokerName, remove one broker's topic {topic} {data}"


def _name_removed(event: BrokerNameRemoved, _: Change) -> Iterable[Line]:
    for topic, row in islice(event.before.items(), TOPIC_LINES_LIMIT):
        data = _queue_data(event.broker_name, row)
        yield _INFO, f"removeTopicByBrokerName, remove one broker's topic {topic} {data}"
    yield from _and_more(len(event.before), event.broker_name, "removed")


def _kv_changed(event: KvChanged, _: Change) -> Iterable[Line]:
    item = f"Namespace: {event.namespace} Key: {event.key}"
    if event.value is None:
        yield _INFO, f"deleteKVConfig delete a config item, {item}"
    else:
        yield _INFO, f"putKVConfig update config item, {item} Value: {event.value}"


def _config_changed(event: ConfigChanged, change: Change) -> Iterable[Line]:
    yield _INFO, f"updateConfig called by {change.remote_addr}"
    for key, value in event.properties.items():
        yield _INFO, f"Replace, key: {key}, value: {value}"


def _min_broker_id_changed(event: MinBrokerIdChanged, _: Change) -> Iterable[Line]:
    notified = "[" + ", ".join(event.recipients) + "]"
    offline = event.offline_broker_addr or "null"
    yield (
        _INFO,
        f"min broker id changed to {event.min_broker_id}, notify {notified}, offline broker addr {offline}",
    )


def _and_more(topics: int, broker_name: str, what: str) -> Iterable[Line]:
    if topics > TOPIC_LINES_LIMIT:
        yield _INFO, f"and {topics - TOPIC_LINES_LIMIT} more topics of {broker_name} {what}"


def _broker(cluster_name: str, broker_addr: str) -> str:
    return f"BrokerIdentityInfo [clusterName={cluster_name}, brokerAddr={broker_addr}]"


def _queue_data(broker_name: str, row: TopicRow) -> str:
    spec: QueueSpec = row.effective
    return (
        f"QueueData [brokerName={broker_name}, readQueueNums={spec.read_queue_nums},"
        f" writeQueueNums={spec.write_queue_nums}, perm={spec.perm}, topicSysFlag={spec.topic_sys_flag}]"
    )


_WARNED = frozenset({Cause.EXPIRED, Cause.STALE, Cause.REPLACED, Cause.REGISTER})
"""Causes with lines above INFO among theirs."""

_WRITE_PERM = {Cause.WIPE_WRITE_PERM: "wipe", Cause.ADD_WRITE_PERM: "add"}

_LINES: Mapping[type, Callable[[Any, Change], Iterable[Line]]] = {
    BrokerLiveChanged: _live_changed,
    BrokerLiveGone: _live_gone,
    BrokerGroupGone: _group_gone,
    ClusterChanged: _cluster_changed,
    TopicQueuesChanged: _topics_changed,
    BrokerNameRemoved: _name_removed,
    KvChanged: _kv_changed,
    ConfigChanged: _config_changed,
    MinBrokerIdChanged: _min_broker_id_changed,
}
"""Events that are logged; the others are activity, or follow from these."""
