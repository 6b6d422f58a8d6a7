"""Keeps every version of every row of one name server, so that the rows at any instant are a look-up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from namekeeper.answers.from_rows import Tables, route_from_rows
from namekeeper.answers.render import RouteAt
from namekeeper.answers.row_changes import HistoryEvent, Key, RowChanges, Values, What
from namekeeper.journal.contract.record import Config, Kv
from namekeeper.journal.reading.coverage import Coverage, EffectiveTime, Knowledge
from namekeeper.journal.reading.history import Changed, CheckpointApplied, Step
from namekeeper.journal.reading.state import State

__all__ = ["PeriodState", "RowVersion", "RowVersions", "StatePeriod"]


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


class RowVersions:
    """Follows the steps of one name server and keeps each version of each row.

    Args:
        namesrv: its id.
    """

    def __init__(self, namesrv: str) -> None:
        self.namesrv = namesrv
        self.coverage = Coverage()
        self._changes = RowChanges(namesrv, None)
        self._noted = 0
        self._rows: dict[str, dict[Key, list[RowVersion]]] = {}
        """Kind of key -> key -> versions, oldest first."""
        self._of_topic: dict[str, set[Key]] = {}
        self._beside = State()
        """Only its KV configuration and properties are used."""
        self._settings: list[_Settings] = []
        self._known_until: int | None = None

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.coverage.take(step)
        self._changes.take(step)
        self._note_settings(step)
        for event in self._changes.events[self._noted :]:
            for row in event.rows:
                self._add(row.key, RowVersion(event, row.after))
        self._noted = len(self._changes.events)

    def extend(self, until: int | None) -> None:
        """Note until when the last state is valid without further records; None: not longer."""
        self._known_until = until

    @property
    def events(self) -> Sequence[HistoryEvent]:
        """All events, in order; rows of the first complete checkpoint are no change."""
        return [event for event in self._changes.events if self._is_change(event)]

    @property
    def knows_from(self) -> int | None:
        """Wall ms of the first complete checkpoint; None without one."""
        return self.coverage.knows_from

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

    def _add(self, key: Key, version: RowVersion) -> None:
        self._rows.setdefault(key[0], {}).setdefault(key, []).append(version)
        if key[0] in {"topic", "mapping"}:
            self._of_topic.setdefault(key[1], set()).add(key)

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
            self._beside.apply(record for record in step.records if isinstance(record, Kv | Config))
        else:
            return
        last = self._settings[-1] if self._settings else None
        if last is None or (last.kv, last.properties) != (self._beside.kv, self._beside.properties):
            kv, properties = _copied(self._beside.kv), dict(self._beside.properties)
            self._settings.append(_Settings(self.coverage.time.at(step.ts), kv, properties))


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
