"""Keeps the versions of every row of one name server, so that the rows at any instant are a lookup.

Its memory may have a limit. Then the oldest changes are dropped, and the history begins later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from sys import getsizeof

from msgspec import Struct

from namekeeper.answers.from_rows import Tables, route_from_rows
from namekeeper.answers.render import RouteAt
from namekeeper.answers.row_changes import HistoryEvent, Key, RowChanges, Values, What
from namekeeper.journal.contract.record import Config, Kv
from namekeeper.journal.reading.coverage import Coverage, EffectiveTime, Knowledge
from namekeeper.journal.reading.history import Changed, CheckpointApplied, Step
from namekeeper.journal.reading.state import State

__all__ = ["PeriodState", "RowVersion", "RowVersions", "StatePeriod"]

KEY_BYTES = 520
"""Memory of a row that has one version, without the text in it."""
CHANGE_BYTES = 240
"""Memory of each change of a row, without the text in it."""
EVENT_BYTES = 300
ENTRY_BYTES = 110
"""Memory of each entry in a copy of the KV configuration."""
KEPT_PARTS, ALL_PARTS = 7, 8
"""At the limit this share is kept, so that changes are dropped rarely, and many at once."""


class PeriodState(StrEnum):
    """The state of a name server in a period."""

    UP = "up"
    UNKNOWN = "unknown"
    STOPPED = "stopped"


class StatePeriod(Struct, frozen=True):
    """A period with one state; `until` is not included, None is open."""

    since: int
    until: int | None
    state: PeriodState


class RowVersion(Struct, frozen=True):
    """A row from one event on; None: from then on there is no row."""

    event: HistoryEvent
    values: Values | None


class _Settings(Struct, frozen=True):
    """The KV configuration and the properties from a time on."""

    since: EffectiveTime
    kv: Mapping[str, Mapping[str, str]]
    properties: Mapping[str, str]

    @property
    def size(self) -> int:
        """About as many bytes."""
        return EVENT_BYTES + ENTRY_BYTES * sum(map(len, (self.properties, *self.kv.values())))


class RowVersions:
    """Follows the steps of one name server and keeps the versions of each row.

    Args:
        namesrv: its id.
        limit_bytes: bounds its memory, about. The rows of the present stay in any case. None: no limit.
    """

    def __init__(self, namesrv: str, limit_bytes: int | None = None) -> None:
        self.namesrv = namesrv
        self.limit_bytes = limit_bytes
        self.size = 0
        """Its memory in bytes, about."""
        self.coverage = Coverage()
        self._changes = RowChanges(namesrv, None)
        self._noted = 0
        self._rows: dict[str, dict[Key, list[RowVersion]]] = {}
        """Kind of key -> key -> versions, oldest first."""
        self._of_topic: dict[str, list[Key]] = {}
        self._event_sizes: list[int] = []
        self._text_sizes: dict[Key, int] = {}
        """Bytes of the text in the oldest version of each row but those of topics, which have none."""
        self._first: HistoryEvent | None = None
        """The first complete checkpoint."""
        self._dropped: HistoryEvent | None = None
        """Stands for everything that was dropped."""
        self._beside = State()
        """Only its KV configuration and properties are used."""
        self._settings: list[_Settings] = []
        self._known_until: int | None = None

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.coverage.take(step)
        for event in (self._first, self._dropped):
            if event is not None and step.ts < event.at:
                event.at = step.ts
        self._changes.take(step)
        self._note_settings(step)
        for event in self._changes.events[self._noted :]:
            self._note(event)
        self._noted = len(self._changes.events)
        if self.limit_bytes is not None and self.size > self.limit_bytes:
            self._drop_oldest(self.limit_bytes * KEPT_PARTS // ALL_PARTS)

    def extend(self, until: int | None) -> None:
        """Note until when the last state is valid without further records; None: not longer."""
        self._known_until = until

    @property
    def events(self) -> Sequence[HistoryEvent]:
        """All events, in order; rows of the first complete checkpoint are no change."""
        return [event for event in self._changes.events if self._is_change(event)]

    @property
    def knows_from(self) -> int | None:
        """Wall ms from which on it has the state; None if there is no complete checkpoint."""
        first, dropped = self.coverage.knows_from, self._dropped
        return first if first is None or dropped is None else max(first, dropped.at)

    @property
    def dropped_until(self) -> int | None:
        """Wall ms of the last change that was dropped for lack of room; None if there is none."""
        return None if self._dropped is None else self._dropped.at

    @property
    def knows_up_to(self) -> int | None:
        """Wall ms up to which the state is known; None while nothing is."""
        last = self.coverage.knows_up_to
        return last if last is None or self._known_until is None else max(last, self._known_until)

    def knowledge(self, at: int) -> Knowledge:
        """Whether the state at a time is known."""
        last = self.coverage.knows_up_to
        until = self.knows_up_to
        if last is not None and until is not None and last < at <= until:
            return self.coverage.at(last)
        if self._dropped is not None and at < self._dropped.at:
            return Knowledge.BEFORE
        return self.coverage.at(at)

    def periods(self) -> list[StatePeriod]:
        """Periods with their state, in order and without a gap, from the first complete checkpoint on."""
        first, last = self.knows_from, self.knows_up_to
        if first is None or last is None:
            return []
        edges = {first, *(edge for edge in self._edges() if first < edge <= last)}
        periods: list[StatePeriod] = []
        for edge in sorted(edges):
            state = _STATES[self.knowledge(edge)]
            if periods and periods[-1].state is state:
                continue
            if periods:
                periods[-1] = StatePeriod(periods[-1].since, edge, periods[-1].state)
            periods.append(StatePeriod(edge, None, state))
        return periods

    def rows(self, kind: str, at: int) -> Iterator[tuple[Key, Values]]:
        """The rows of a kind at a time, whose state must be known."""
        for key, versions in self._rows.get(kind, {}).items():
            values = _values_at(versions, at)
            if values is not None:
                yield key, values

    def rows_of_topic(self, topic: str, at: int) -> Iterator[tuple[Key, Values]]:
        """The rows of a topic, one for each broker name, at a time."""
        for key in sorted(self._of_topic.get(topic, ())):
            values = _values_at(self._rows[key[0]][key], at)
            if values is not None:
                yield key, values

    def versions(self, key: Key) -> Sequence[RowVersion]:
        """The versions of a row, oldest first."""
        return self._rows.get(key[0], {}).get(key, ())

    def version_at(self, key: Key, at: int) -> RowVersion | None:
        """The version of a row at a time; None before the first."""
        return _version_at(self.versions(key), at)

    def keys(self, kind: str) -> Iterable[Key]:
        """All keys of a kind, at any time."""
        return self._rows.get(kind, {}).keys()

    def topics(self) -> Iterable[str]:
        """All topics, at any time."""
        return self._of_topic.keys()

    def keys_of_topic(self, topic: str) -> Iterable[Key]:
        """The keys of all rows of a topic, at any time."""
        return self._of_topic.get(topic, ())

    def route(self, topic: str, at: int) -> RouteAt:
        """The route of a topic at a time, as `JournalSource.routes` has it."""
        knowledge = self.knowledge(at)
        route = route_from_rows(topic, self.tables(at, topic)) if knowledge is Knowledge.KNOWN else None
        return RouteAt(self.namesrv, at, knowledge, self.knows_up_to, route)

    def kv_at(self, at: int, namespace: str) -> dict[str, str] | None:
        """The entries of a KV namespace at a time; None if there is no such namespace."""
        entries = self._settings_at(at)[0].get(namespace)
        return None if entries is None else dict(entries)

    def properties_at(self, at: int) -> Mapping[str, str]:
        """The running configuration at a time, as far as it was recorded."""
        return self._settings_at(at)[1]

    def tables(self, at: int, topic: str) -> Tables:
        """The rows from which the route of a topic is made, as `answers.from_rows` takes them."""
        rows = list(self.rows_of_topic(topic, at))
        names = {key[2] for key, _ in rows}
        groups = ((name, _values_at(self.versions(("group", name)), at)) for name in sorted(names))
        kv, properties = self._settings_at(at)
        return {
            "broker_group_history": [_group_row(name, values) for name, values in groups if values],
            "topic_route": [_topic_row(key, values) for key, values in rows if key[0] == "topic"],
            "topic_mapping_history": [
                {"topic": topic, "broker_name": key[2], "mapping": values[0]}
                for key, values in rows
                if key[0] == "mapping"
            ],
            "filter_server_history": [
                {"cluster": key[1], "broker_addr": key[2], "filter_servers": values}
                for key, values in self.rows("filter", at)
            ],
            "kv_history": [
                {"namespace": namespace, "key": key, "value": value}
                for namespace, entries in kv.items()
                for key, value in entries.items()
                if key == topic
            ],
            "config_history": [{"property": name, "value": value} for name, value in properties.items()],
        }

    def _is_change(self, event: HistoryEvent) -> bool:
        first = self.coverage.knows_from
        return not (event.what is What.CORRECTED and event.at == first)

    def _edges(self) -> Iterator[int]:
        """Times at which the state of knowledge may change."""
        for boot in self.coverage.boots:
            yield boot.since
            if boot.until is not None:
                yield boot.until
        for lost in self.coverage.unknown:
            yield lost.since
            if lost.until is not None:
                yield lost.until

    def _note(self, event: HistoryEvent) -> None:
        """Keep the versions that an event makes."""
        size = EVENT_BYTES + getsizeof(event.peer)
        for row in event.rows:
            text = _text_size(row.key, row.after)
            self._add(row.key, RowVersion(event, row.after), text)
            size += CHANGE_BYTES + _names_size(row.key) + text
        first = self.coverage.knows_from
        if self._first is None and event.what is What.CORRECTED and event.at == first:
            self._first = event
            event.rows = ()  # they are no change: their versions say it all
            size = EVENT_BYTES
        self._event_sizes.append(size)
        self.size += size

    def _add(self, key: Key, version: RowVersion, text_size: int) -> None:
        of_kind = self._rows.setdefault(key[0], {})
        versions = of_kind.get(key)
        if versions is not None:
            versions.append(version)
            return
        of_kind[key] = [version]
        self.size += KEY_BYTES + _names_size(key) + text_size
        if text_size:
            self._text_sizes[key] = text_size
        if key[0] in {"topic", "mapping"}:
            self._of_topic.setdefault(key[1], []).append(key)

    def _drop_oldest(self, goal: int) -> None:
        """Drop the oldest changes until the memory is down to a goal, but never the newest one."""
        events, settings = self._changes.events, self._settings
        count = settings_count = 0
        until = 0
        while self.size > goal:
            event = events[count] if count < len(events) - 1 else None
            following = settings[settings_count + 1] if settings_count < len(settings) - 1 else None
            if following is not None and (event is None or following.since.ms <= event.at):
                self.size -= settings[settings_count].size
                settings_count += 1
                until = max(until, following.since.ms)
            elif event is not None:
                self.size -= self._event_sizes[count]
                count += 1
                until = max(until, event.at)
            else:
                break
        if not until:
            return
        if self._dropped is None:
            self._dropped = HistoryEvent(until, self.namesrv, What.CORRECTED)
        self._dropped.at = until
        keys = {row.key for event in events[:count] for row in event.rows}
        self._changes.drop(count)
        self._noted -= count
        del self._event_sizes[:count], settings[:settings_count]
        for key in keys:
            self._drop_versions(key, self._dropped)

    def _drop_versions(self, key: Key, dropped: HistoryEvent) -> None:
        """Drop the versions of a row up to the last dropped change, and the row if it was gone then."""
        versions = self._rows[key[0]].get(key)
        if versions is None:  # it went at the same instant, by an event that was not dropped before
            return
        count = sum(version.event.at <= dropped.at for version in versions)
        last = versions[count - 1].values if count else None
        versions[:count] = [] if last is None else [RowVersion(dropped, last)]
        text = _text_size(key, last) if versions else 0
        self.size += text - self._text_sizes.pop(key, 0)
        if text:
            self._text_sizes[key] = text
        if versions:
            return
        del self._rows[key[0]][key]
        self.size -= KEY_BYTES + _names_size(key)
        if key[0] in {"topic", "mapping"}:
            self._of_topic[key[1]].remove(key)
            if not self._of_topic[key[1]]:
                del self._of_topic[key[1]]

    def _settings_at(self, at: int) -> tuple[Mapping[str, Mapping[str, str]], Mapping[str, str]]:
        for settings in reversed(self._settings):
            if settings.since.ms <= at:
                return settings.kv, settings.properties
        return {}, {}

    def _note_settings(self, step: Step) -> None:
        """Keep the KV configuration and the properties: routes depend on them."""
        if isinstance(step, CheckpointApplied):
            self._beside.kv, self._beside.properties = _copied(step.state.kv), dict(step.state.properties)
        elif isinstance(step, Changed):
            records = [record for record in step.records if isinstance(record, Kv | Config)]
            if not records:
                return
            self._beside.apply(records)
        else:
            return
        last = self._settings[-1] if self._settings else None
        if last is None or (last.kv, last.properties) != (self._beside.kv, self._beside.properties):
            kv, properties = _copied(self._beside.kv), dict(self._beside.properties)
            settings = _Settings(self.coverage.time.at(step.ts), kv, properties)
            self._settings.append(settings)
            self.size += settings.size


_STATES = {
    Knowledge.KNOWN: PeriodState.UP,
    Knowledge.UNKNOWN: PeriodState.UNKNOWN,
    Knowledge.STOPPED: PeriodState.STOPPED,
    Knowledge.NOT_YET: PeriodState.UNKNOWN,
    Knowledge.BEFORE: PeriodState.UNKNOWN,
}


def _version_at(versions: Sequence[RowVersion], at: int) -> RowVersion | None:
    """The last version up to a time. The search is short for a row with one version, and for the last one."""
    for version in reversed(versions):
        if version.event.at <= at:
            return version
    return None


def _values_at(versions: Sequence[RowVersion], at: int) -> Values | None:
    version = _version_at(versions, at)
    return None if version is None else version.values


def _names_size(key: Key) -> int:
    return sum(map(getsizeof, key[1:]))


def _text_size(key: Key, values: Values | None) -> int:
    """Bytes of what the values of a row have; those of topics are small numbers."""
    return 0 if values is None or key[0] == "topic" else _deep_size(values)


def _deep_size(value: object) -> int:
    parts = value if isinstance(value, tuple) else ()
    return getsizeof(value) + sum(map(_deep_size, parts))


def _copied(kv: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {namespace: dict(entries) for namespace, entries in kv.items()}


def _group_row(name: str, values: Values) -> dict[str, object]:
    """A row of `broker_group_history`."""
    cluster, zone, acting_master, members = values
    assert isinstance(members, tuple)
    return {
        "broker_name": name,
        "cluster": cluster,
        "zone": zone,
        "acting_master": acting_master,
        "members": [{"broker_id": broker_id, "broker_addr": addr} for broker_id, addr in members],
    }


def _topic_row(key: Key, values: Values) -> dict[str, object]:
    """A row of `topic_route`."""
    read, write, perm, flag = values
    return {
        "topic": key[1], "broker_name": key[2], "read_queue_nums": read, "write_queue_nums": write,
        "perm": perm, "topic_sys_flag": flag,
    }  # fmt: skip
