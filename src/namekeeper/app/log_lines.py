"""Log lines of changes, in the words of Java's log, for which people and scrapers search.

Events hold a little less than Java has where it logs. A topic row is `new topic registered` here if the
broker name had none before, in Java only if no broker name had one. Lines show old values if the event has
them.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

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
    Event,
    KvChanged,
    MinBrokerIdChanged,
    TopicQueuesChanged,
    TopicRow,
)

__all__ = [
    "EVENTS_LIMIT",
    "TOPIC_LINES_LIMIT",
    "ChangeMessage",
    "Line",
    "lines_of",
    "log_change",
    "shortened",
]

log = logging.getLogger("namekeeper.namesrv")

Line = tuple[int, str]
"""Level and text."""

TOPIC_LINES_LIMIT = 100
"""Topics of one event that get a line each: a line takes 22 to 36 us, and a broker may have 100,000."""

EVENTS_LIMIT = 1_000
"""Events of one change that get lines: an event takes 5 us on the event loop, and 5,000 broker names may
have a topic. The largest fleets have some hundreds."""

VALUE_LIMIT = 4_096
"""Characters of a KV value that are shown: a value may be a megabyte, and 10,000 messages may wait."""

_INFO, _WARN = logging.INFO, logging.WARNING


class ChangeMessage:
    """A change as the message of a log record; the log's thread makes its text, off the event loop.

    It keeps only the shown parts: a message may wait for the disk, and a topic table takes megabytes.
    """

    __slots__ = ("asked_by", "cause", "events", "more")

    def __init__(self, change: Change) -> None:
        self.cause = change.cause
        self.asked_by = change.asked_by
        logged = [event for event in change.events if type(event) in _LINES]
        self.events = tuple(_shown(event, change.cause) for event in logged[:EVENTS_LIMIT])
        self.more = len(logged) - len(self.events)
        """Events beyond the limit, which are not shown."""

    def __str__(self) -> str:
        return "\n".join(text for _, text in self.lines())

    def lines(self) -> Iterator[Line]:
        """The log lines of the change, in order."""
        for event in self.events:
            yield from _LINES[type(event)](event, self)
        if self.more:
            yield _INFO, f"and {self.more} more changes of other rows"


class _ShownRows(Struct, frozen=True):
    """The changed topic rows that are shown: the first ones, and the number of all."""

    broker_name: str
    rows: tuple[tuple[str, TopicRow | None, TopicRow | None], ...]
    """Topic, row before, row after."""
    count: int


class _ShownRemoval(Struct, frozen=True):
    """The topic rows of a removed broker name that are shown, and the number of all."""

    broker_name: str
    rows: tuple[tuple[str, TopicRow], ...]
    count: int


def log_change(change: Change) -> None:
    """Log a change: one log record for any number of lines."""
    if change.cause is Cause.RESTORED:  # `app/restoring.py` logs one line for all of it
        return
    if any(type(event) in _LINES for event in change.events):
        log.log(_WARN if change.cause in _WARNED else _INFO, ChangeMessage(change))


def shortened(value: str) -> str:
    """A KV value for a log line; a long one is cut."""
    return value if len(value) <= VALUE_LIMIT else f"{value[:VALUE_LIMIT]}... ({len(value)} characters)"


def lines_of(change: Change) -> Iterator[Line]:
    """The log lines of a change, in order."""
    return ChangeMessage(change).lines()


def _shown(event: Event, cause: Cause) -> "Event | _ShownRows | _ShownRemoval":
    """The part of an event that its log lines need."""
    match event:
        case TopicQueuesChanged():
            topics = () if cause in _WRITE_PERM else event.topics[:TOPIC_LINES_LIMIT]
            rows = tuple((topic, event.before.get(topic), event.after.get(topic)) for topic in topics)
            return _ShownRows(event.broker_name, rows, len(event.topics))
        case BrokerNameRemoved():
            first = tuple(islice(event.before.items(), TOPIC_LINES_LIMIT))
            return _ShownRemoval(event.broker_name, first, len(event.before))
        case KvChanged() if event.value is not None:
            return KvChanged(event.namespace, event.key, shortened(event.value))
        case _:
            return event


def _live_changed(event: BrokerLiveChanged, _: ChangeMessage) -> Iterable[Line]:
    if event.is_new:
        broker = _broker(event.cluster_name, event.broker_addr)
        yield _INFO, f"new broker registered, {broker} HAService: {event.ha_server_addr}"


def _live_gone(event: BrokerLiveGone, _: ChangeMessage) -> Iterable[Line]:
    broker = _broker(event.cluster_name, event.broker_addr)
    named = f"{broker} brokerName={event.broker_name}, brokerId={event.broker_id}"
    match event.reason:
        case Cause.EXPIRED:
            yield _WARN, f"The broker channel expired, {broker} {event.heartbeat_timeout_ms}ms"
        case Cause.CHANNEL_CLOSED:
            text = "the broker's channel destroyed, submit the unregister request at once, broker info: "
            closed_by = f", closed by: {event.closed_by}" if event.closed_by else ""
            yield _INFO, f"{text}{named}, submit result: true{closed_by}"
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


def _group_gone(event: BrokerGroupGone, _: ChangeMessage) -> Iterable[Line]:
    yield _INFO, f"unregisterBroker, remove name from brokerAddrTable OK, {event.broker_name}"
    yield _INFO, f"unregisterBroker, remove name from clusterAddrTable OK, {event.broker_name}"


def _cluster_changed(event: ClusterChanged, _: ChangeMessage) -> Iterable[Line]:
    if not event.broker_names:
        yield _INFO, f"unregisterBroker, remove cluster from clusterAddrTable {event.cluster_name}"


def _topics_changed(event: _ShownRows, change: ChangeMessage) -> Iterable[Line]:
    if change.cause in _WRITE_PERM:
        text = f"{_WRITE_PERM[change.cause]} write perm of broker[{event.broker_name}]"
        yield _INFO, f"{text}, client: {change.asked_by}, {event.count}"
        return
    for topic, before, after in event.rows:
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
    yield from _and_more(event.count, event.broker_name, "registered, changed or removed")


def _topic_gone(topic: str, broker_name: str, row: TopicRow, cause: Cause) -> Line:
    data = _queue_data(broker_name, row)
    if cause in {Cause.DELETE_TOPIC, Cause.REGISTER}:
        return _INFO, f"deleteTopic, remove one broker's topic {broker_name} {topic} {data}"
    return _INFO, f"removeTopicByBrokerName, remove one broker's topic {topic} {data}"


def _name_removed(event: _ShownRemoval, _: ChangeMessage) -> Iterable[Line]:
    for topic, row in event.rows:
        data = _queue_data(event.broker_name, row)
        yield _INFO, f"removeTopicByBrokerName, remove one broker's topic {topic} {data}"
    yield from _and_more(event.count, event.broker_name, "removed")


def _kv_changed(event: KvChanged, _: ChangeMessage) -> Iterable[Line]:
    item = f"Namespace: {event.namespace} Key: {event.key}"
    if event.value is None:
        yield _INFO, f"deleteKVConfig delete a config item, {item}"
    else:
        yield _INFO, f"putKVConfig update config item, {item} Value: {event.value}"


def _config_changed(event: ConfigChanged, change: ChangeMessage) -> Iterable[Line]:
    yield _INFO, f"updateConfig called by {change.asked_by}"
    for key, value in event.properties.items():
        yield _INFO, f"Replace, key: {key}, value: {value}"


def _min_broker_id_changed(event: MinBrokerIdChanged, _: ChangeMessage) -> Iterable[Line]:
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
"""Causes whose changes may have lines above INFO."""

_WRITE_PERM = {Cause.WIPE_WRITE_PERM: "wipe", Cause.ADD_WRITE_PERM: "add"}

_LINES: Mapping[type, Callable[[Any, ChangeMessage], Iterable[Line]]] = {
    BrokerLiveChanged: _live_changed,
    BrokerLiveGone: _live_gone,
    BrokerGroupGone: _group_gone,
    ClusterChanged: _cluster_changed,
    TopicQueuesChanged: _topics_changed,
    _ShownRows: _topics_changed,
    BrokerNameRemoved: _name_removed,
    _ShownRemoval: _name_removed,
    KvChanged: _kv_changed,
    ConfigChanged: _config_changed,
    MinBrokerIdChanged: _min_broker_id_changed,
}
"""Events that are logged; the others are activity, or follow from logged ones."""
