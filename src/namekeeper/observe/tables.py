"""The tables of an observed name server, and what changed between two answers, with its window.

If the value before was returned to a request that was sent at s1, and the new value by an answer that was
received at r2, the change happened between the two. So each part of the tables has the time of the last
request that confirmed it. Times are monotonic ms.

That a broker is gone follows from 106 alone, and with it the loss of its topics. A row that goes from an
answer to 105 or 206 may have gone with its broker: such an answer is *doubted*. It counts when a later
106 shows the broker.
"""

from collections.abc import Iterable, Mapping
from sys import getsizeof, intern
from typing import Any

from msgspec import Struct, structs

from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.model.broker import BrokerData, BrokerKey
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.model.topic import QueueSpec
from namekeeper.observe.brokers import cluster_events, live_changed, live_gone, live_of
from namekeeper.observe.memory import ROW_BYTES, TOPIC_BYTES, size_of_brokers, size_of_mapping, size_of_texts
from namekeeper.observe.questions import AskConfig, AskKv, AskMembers, AskRoute, AskTopics, ObservedAnswer
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    Event,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.rows import make_row

__all__ = ["FORMER_LIMIT", "SHARED_NAMES_LIMIT", "Findings", "ObservedTables"]

FORMER_LIMIT = 16
"""Broker names that are gone whose topics are remembered: if such a broker comes back, these come first."""
SHARED_NAMES_LIMIT = 100_000
"""Broker names in tuples that topics share; beyond it they are shared anew. A name server that is not what it
seems gives other names in each answer."""


class Findings(Struct, frozen=True):
    """The changes that follow from an answer."""

    changes: list[Change] = []
    touched: Iterable[str] = ()
    """Topics whose rows may have changed, too."""
    is_doubted: bool = False
    """Whether the brokers, and then the topics, have to be asked for again before it counts."""


NOTHING = Findings()


class _Doubt(Struct, frozen=True):
    """A row that was missing in an answer, though no broker is known to be gone."""

    received: int
    """When that answer was received: a 106 that was sent later decides."""
    confirmed: int
    """When the last request that confirmed the row was sent."""


class ObservedTables:
    """The last answers of a name server. `take` brings it up to date, answer by answer in order of time."""

    def __init__(self) -> None:  # noqa: PLR0915 - one for each part
        self.brokers: dict[str, BrokerData] = {}
        self.clusters: dict[str, frozenset[str]] = {}
        self.topics: dict[str, tuple[str, ...]] = {}
        """Topic of the last list -> broker names that have a row of it."""
        self.rows: dict[str, dict[str, TopicRow]] = {}
        """Broker name -> topic -> row."""
        self.mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        """Topic -> broker name -> mapping."""
        self.filter_servers: dict[BrokerKey, tuple[str, ...]] = {}
        self.kv: dict[str, dict[str, str]] = {}
        self.properties: dict[str, str] = {}
        self._brokers_size = self._texts_size = self._row_count = 0
        """Bytes of the brokers, bytes of all texts and mappings, and number of rows."""
        self._generations: dict[BrokerKey, int] = {}
        self._gen = 0
        self._former: dict[str, tuple[str, ...]] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Tuples of broker names that topics share."""
        self._names_size = 0
        """Broker names in these tuples."""
        self._members_sent: int | None = None
        self._topics_sent: int | None = None
        self._kv_sent: dict[str, int] = {}
        self._config_sent: int | None = None
        self._filter_asked: dict[BrokerKey, tuple[int, int]] = {}
        """When the last answer about them was sent and received."""
        self._absent_sent: dict[str, int] = {}
        """Broker name -> when the last 106 without it was sent."""
        self._confirmed: dict[str, int] = {}
        """Topic -> when the last request that confirmed its rows was sent; not there if it was never read."""
        self._unlisted: dict[str, _Doubt] = {}
        """Topics with rows that the last answer to 206 lacked."""
        self._lost: dict[str, _Doubt] = {}
        """Topics of which the last answer to 105 lacked a row."""
        self._waves: dict[str, int] = {}
        """Broker name -> when it had another permission of a topic, so that its other topics were touched."""

    @property
    def is_complete(self) -> bool:
        """Whether brokers, topics and the rows of each topic were read once."""
        return (
            self._members_sent is not None
            and self._topics_sent is not None
            and len(self._confirmed) == len(self.topics)
        )

    @property
    def unread(self) -> int:
        """Topics whose rows were never read."""
        return len(self.topics) - len(self._confirmed)

    @property
    def size(self) -> int:
        """The memory of all tables in bytes, about."""
        topics = TOPIC_BYTES * len(self.topics) + ROW_BYTES * self._row_count
        return topics + self._texts_size + self._brokers_size

    @property
    def broker_count(self) -> int:
        """Number of brokers."""
        return len(self._generations)

    @property
    def live(self) -> frozenset[BrokerKey]:
        """Cluster and address of each broker."""
        return frozenset(self._generations)

    def take(self, answer: ObservedAnswer) -> Findings:
        """Take an answer. Its changes are those of what was read before, each with its window."""
        sent, received = answer.sent.mono_ms, answer.received.mono_ms
        match answer.question:
            case AskMembers():
                return self._take_members(answer.value, sent, received)
            case AskTopics():
                return self._take_topics(answer.value, sent, received)
            case AskRoute(topic):
                return self._take_route(topic, answer.value, sent, received)
            case AskKv(namespace):
                return self._take_kv(namespace, answer.value, sent, received)
            case AskConfig():
                return self._take_config(answer.value, sent, received)

    def snapshot(self) -> Snapshot:
        """Everything, as it is now."""
        mapped = ((topic, name, one) for topic, by in self.mappings.items() for name, one in by.items())
        entries = ((space, key, value) for space, table in self.kv.items() for key, value in table.items())
        others: list[Event] = [
            *map(BrokerGroupChanged, self.brokers.values()),
            *(ClusterChanged(cluster, names) for cluster, names in self.clusters.items()),
            *(TopicMappingChanged(*one) for one in mapped),
            *(FilterServersChanged(*key, servers) for key, servers in self.filter_servers.items()),
            *(KvChanged(*entry) for entry in entries),
        ]
        if self.properties:
            others.append(ConfigChanged(dict(self.properties)))
        return Snapshot(
            topic_tables={name: dict(rows) for name, rows in self.rows.items()},
            live=tuple(
                live_changed(key, name, broker_id, self._generations[key], is_new=False)
                for key, (name, broker_id) in live_of(self.brokers).items()
            ),
            others=tuple(others),
        )

    # Brokers.

    def _take_members(self, info: ClusterInfo, sent: int, received: int) -> Findings:
        brokers = {
            name: structs.replace(one, broker_name=name) for name, one in info.broker_addr_table.items()
        }
        clusters = {cluster: frozenset(names) for cluster, names in info.cluster_addr_table.items()}
        before = self.brokers
        events = [*self._live_events(brokers)]
        for name in sorted(before.keys() - brokers.keys()):
            events += self._name_removed(name)
        events += (BrokerGroupChanged(one) for name, one in brokers.items() if before.get(name) != one)
        events += cluster_events(self.clusters, clusters)
        touched = dict.fromkeys(self._lost)
        for name, broker in brokers.items():
            if name not in before:
                if self._members_sent is not None:
                    self._absent_sent[name] = self._members_sent
                touched |= dict.fromkeys(self._former.pop(name, ()))
            elif before[name] != broker:
                touched |= dict.fromkeys(self.rows.get(name, ()))
        since, self._members_sent = self._members_sent, sent
        self.brokers, self.clusters = brokers, clusters
        self._brokers_size = size_of_brokers(brokers, clusters)
        return Findings(_changes({_window(since, received): events}), touched)

    def _live_events(self, brokers: Mapping[str, BrokerData]) -> Iterable[Event]:
        before, after = live_of(self.brokers), live_of(brokers)
        for key, (name, broker_id) in before.items():
            if after.get(key) != (name, broker_id):
                self._filter_asked.pop(key, None)
                servers = self.filter_servers.pop(key, ())
                if servers:
                    self._texts_size -= size_of_texts(*servers)
                    yield FilterServersChanged(*key, ())
                yield live_gone(key, name, broker_id, self._generations.pop(key))
        for key, (name, broker_id) in after.items():
            if before.get(key) != (name, broker_id):
                self._gen += 1
                self._generations[key] = self._gen
                yield live_changed(key, name, broker_id, self._gen, is_new=True)

    def _name_removed(self, name: str) -> Iterable[Event]:
        """The end of a broker name, and with it of all its rows."""
        yield BrokerGroupGone(name)
        self._absent_sent.pop(name, None)
        self._waves.pop(name, None)
        rows = self.rows.pop(name, {})
        self._row_count -= len(rows)
        if rows:
            self._former[name] = tuple(rows)
            if len(self._former) > FORMER_LIMIT:
                del self._former[next(iter(self._former))]
            yield BrokerNameRemoved(name, rows)
        for topic in rows:
            self._set_names(topic, [other for other in self.topics[topic] if other != name])
            if name in self.mappings.get(topic, ()):
                self._set_mapping(topic, name, None)
                yield TopicMappingChanged(topic, name, None)

    # Topics.

    def _take_topics(self, listed: Iterable[str], sent: int, received: int) -> Findings:
        before, self._topics_sent = self._topics_sent, sent
        there = set(listed)
        new = [topic for topic in there if topic not in self.topics]
        for topic in new:
            self.topics[topic] = ()
            self._texts_size += getsizeof(topic)
            if before is not None:
                self._confirmed[topic] = before
        for topic in [topic for topic in self._unlisted if topic in there]:
            del self._unlisted[topic]
        sure: list[str] = []
        since = received
        for topic in [topic for topic in self.topics if topic not in there]:
            if not self.topics[topic]:
                self._forget(topic)
                continue
            confirmed = max(before or 0, self._confirmed[topic])
            if self._is_decided(self._unlisted, topic, confirmed, received):
                since = min(since, self._unlisted[topic].confirmed)
                sure.append(topic)
        events = self._topics_removed(sure)
        return Findings(_changes({_window(since, received): events}), new, is_doubted=bool(self._unlisted))

    def _topics_removed(self, topics: Iterable[str]) -> list[Event]:
        removed: dict[str, dict[str, TopicRow]] = {}
        events: list[Event] = []
        for topic in topics:
            for name in self.topics[topic]:
                removed.setdefault(name, {})[topic] = self._remove_row(topic, name)
                if name in self.mappings.get(topic, ()):
                    self._set_mapping(topic, name, None)
                    events.append(TopicMappingChanged(topic, name, None))
            self._forget(topic)
        return [*(TopicQueuesChanged(name, rows, {}, tuple(rows)) for name, rows in removed.items()), *events]

    def _forget(self, topic: str) -> None:
        del self.topics[topic]
        self._texts_size -= getsizeof(topic)
        self._confirmed.pop(topic, None)
        self._unlisted.pop(topic, None)
        self._lost.pop(topic, None)

    def _is_decided(self, doubts: dict[str, _Doubt], topic: str, confirmed: int, received: int) -> bool:
        """Whether a 106 that was sent after rows were missing first shows their brokers."""
        doubt = doubts.setdefault(topic, _Doubt(received, confirmed))
        return self._members_sent is not None and self._members_sent >= doubt.received

    # Rows.

    def _take_route(self, topic: str, route: TopicRouteData | None, sent: int, received: int) -> Findings:
        if topic not in self.topics:
            return NOTHING
        rows = {} if route is None else _rows_of(route)
        before = {name: self.rows[name][topic] for name in self.topics[topic]}
        confirmed = self._confirmed.get(topic)
        if before.keys() - rows.keys() and not self._is_decided(self._lost, topic, sent, received):
            return Findings(is_doubted=True)
        self._lost.pop(topic, None)
        touched = self._touched_by(before, rows, confirmed, sent)
        windows: dict[int, list[Event]] = {}
        for name in sorted(before.keys() | rows.keys()):
            old, new = before.get(name), rows.get(name)
            since = confirmed if old is not None or confirmed is None else max(confirmed, self._absent(name))
            events = windows.setdefault(_window(since, received), [])
            if old != new:
                events.append(self._set_row(topic, name, new))
            mapping = self._mapping_of(route, name)
            if self.mappings.get(topic, {}).get(name) != mapping:
                self._set_mapping(topic, name, mapping)
                events.append(TopicMappingChanged(topic, name, mapping))
        self._set_names(topic, rows)
        self._confirmed[topic] = sent
        for window, event in self._filter_events(route, sent, received):
            windows.setdefault(window, []).append(event)
        return Findings(_changes(windows), touched)

    def _touched_by(
        self,
        before: Mapping[str, TopicRow],
        rows: Mapping[str, TopicRow],
        confirmed: int | None,
        sent: int,
    ) -> Iterable[str]:
        """The other topics of a broker name, if it has another permission of one: they often change together.

        They are touched once, not again by each of them that has changed.
        """
        touched: dict[str, None] = {}
        for name, row in rows.items():
            if name not in before or _perm(before[name]) == _perm(row) or confirmed is None:
                continue
            if confirmed >= self._waves.get(name, -1):
                self._waves[name] = sent
                touched |= dict.fromkeys(self.rows[name])
        return touched

    def _absent(self, name: str) -> int:
        """When the last 106 without a broker name was sent; it had no rows then."""
        sent = self._absent_sent.get(name) if name in self.brokers else self._members_sent
        return -1 if sent is None else sent

    def _set_row(self, topic: str, name: str, row: TopicRow | None) -> Event:
        rows = self.rows.setdefault(name, {})
        old = {} if topic not in rows else {topic: rows[topic]}
        if row is None:
            self._remove_row(topic, name)
            return TopicQueuesChanged(name, old, {}, (topic,))
        self._row_count += not old
        rows[topic] = row
        return TopicQueuesChanged(name, old, {topic: row}, (topic,))

    def _remove_row(self, topic: str, name: str) -> TopicRow:
        row = self.rows[name].pop(topic)
        self._row_count -= 1
        if not self.rows[name]:
            del self.rows[name]
            self._waves.pop(name, None)
        return row

    def _set_names(self, topic: str, names: Iterable[str]) -> None:
        key = tuple(sorted(names))
        if key not in self._names:
            self._names_size += len(key)
            if self._names_size > SHARED_NAMES_LIMIT:
                self._names.clear()
                self._names_size = len(key)
            self._names[key] = key
        self.topics[topic] = self._names[key]

    def _mapping_of(self, route: TopicRouteData | None, name: str) -> TopicQueueMappingInfo | None:
        mappings = None if route is None else route.topic_queue_mapping_by_broker
        return None if mappings is None else mappings.get(name)

    def _set_mapping(self, topic: str, name: str, mapping: TopicQueueMappingInfo | None) -> None:
        by_name = self.mappings.setdefault(topic, {})
        self._texts_size += size_of_mapping(mapping) - size_of_mapping(by_name.get(name))
        if mapping is None:
            by_name.pop(name, None)
        else:
            by_name[name] = mapping
        if not by_name:
            del self.mappings[topic]

    def _filter_events(
        self, route: TopicRouteData | None, sent: int, received: int
    ) -> Iterable[tuple[int, Event]]:
        """Changes of the filter servers of a route's brokers. Answers that overlap in time count once."""
        for broker in () if route is None else route.broker_datas:
            for addr in broker.broker_addrs.values():
                key = (broker.cluster, addr)
                since, until = self._filter_asked.get(key, (self._absent(broker.broker_name), -1))
                if key not in self._generations or sent < until:
                    continue
                self._filter_asked[key] = (sent, received)
                assert route is not None
                servers = tuple(route.filter_server_table.get(addr, ()))
                before = self.filter_servers.get(key, ())
                if servers != before:
                    self._texts_size += size_of_texts(*servers) - size_of_texts(*before)
                    self.filter_servers[key] = servers
                    yield _window(since, received), FilterServersChanged(*key, servers)

    # Configuration.

    def _take_kv(self, namespace: str, table: dict[str, str], sent: int, received: int) -> Findings:
        before, self.kv[namespace] = self.kv.get(namespace, {}), table
        self._note_entries(before, table)
        since, self._kv_sent[namespace] = self._kv_sent.get(namespace), sent
        keys = sorted(key for key in before.keys() | table.keys() if before.get(key) != table.get(key))
        events = [KvChanged(namespace, key, table.get(key)) for key in keys]
        return Findings(_changes({_window(since, received): events}))

    def _take_config(self, properties: dict[str, str], sent: int, received: int) -> Findings:
        changed = {name: value for name, value in properties.items() if self.properties.get(name) != value}
        self._note_entries(self.properties, properties)
        self.properties = properties
        since, self._config_sent = self._config_sent, sent
        return Findings(_changes({_window(since, received): [ConfigChanged(changed)] if changed else []}))

    def _note_entries(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._texts_size += size_of_texts(*after, *after.values()) - size_of_texts(*before, *before.values())


def _window(since: int | None, received: int) -> int:
    """How long before its time a change may have happened; 0 for what was never read before."""
    return 0 if since is None else max(1, received - since)


def _changes(windows: Mapping[int, list[Any]]) -> list[Change]:
    return [
        Change(Cause.OBSERVED, None, tuple(events), window_ms=window)
        for window, events in windows.items()
        if events
    ]


def _rows_of(route: TopicRouteData) -> dict[str, TopicRow]:
    rows = {}
    for queues in route.queue_datas:
        spec = QueueSpec(queues.read_queue_nums, queues.write_queue_nums, queues.perm, queues.topic_sys_flag)
        rows[intern(queues.broker_name)] = make_row(spec, spec)
    return rows


def _perm(row: TopicRow) -> int:
    return row.effective.perm
