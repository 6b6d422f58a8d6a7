"""Activity, counted by the minute: refreshes of registrations, lookups without a route, denials.

A record for each heartbeat would be gigabytes a day for 300 brokers. Memory is bounded, whatever peers send.
Times are wall ms.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from namekeeper.journal.contract.activity import EDGES_MS, Access, BrokerMinute, Denied, UnknownTopicMinute
from namekeeper.journal.contract.record import Record
from namekeeper.model.broker import BrokerKey
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, BrokerLiveGone

__all__ = ["MAX_ACCESS", "MAX_DENIED", "MAX_UNKNOWN", "MINUTE_MS", "Activity"]

MINUTE_MS = 60_000
MAX_UNKNOWN = 1_000
"""Topics without a route that are counted by name in a minute: made-up names must not fill the disk."""
MAX_DENIED = 100
"""Hosts whose denials are counted separately in a minute."""
MAX_ACCESS = 200
"""Requests checked by access rules that get a record each, in a minute.

That is more than people send, and too few to fill a disk."""

_TOPIC = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
"""Names that Java's TopicValidator allows, up to the longest name."""


class _LiveRegistration(Struct, gc=False):
    """One live registration, and its refreshes in the current minute."""

    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int
    gen: int
    minute: int = 0
    last_seen: int = 0
    count: int = 0
    registrations: int = 0
    max_gap_ms: int = 0
    gaps: list[int] = field(default_factory=lambda: [0] * (len(EDGES_MS) + 1))
    body_bytes: int = 0

    def take(self) -> BrokerMinute:
        """The record of the minute; resets the counts."""
        record = BrokerMinute(
            cluster=self.cluster,
            broker_addr=self.broker_addr,
            broker_name=self.broker_name,
            broker_id=self.broker_id,
            gen=self.gen,
            minute=self.minute,
            last_seen=self.last_seen,
            count=self.count,
            registrations=self.registrations,
            max_gap_ms=self.max_gap_ms,
            gaps=self.gaps,
            body_bytes=self.body_bytes,
        )
        self.count = self.registrations = self.max_gap_ms = self.body_bytes = 0
        self.gaps = [0] * (len(EDGES_MS) + 1)
        return record


class Activity:
    """Counts, and makes records of the counts; used on the event loop only."""

    def __init__(self, live: Iterable[BrokerLiveChanged] = ()) -> None:
        """Begin with the registrations that are live already."""
        self._sessions: dict[BrokerKey, _LiveRegistration] = {}
        self.add(live)
        self._due: list[Record] = []
        self._unknown: dict[tuple[str, str, int], int] = {}
        self._other_unknown = 0
        self._invalid = 0
        self._denied: dict[tuple[int, str, str], int] = {}
        self._access = 0
        self._other_access: dict[tuple[int, bool, str, str], int] = {}

    def add(self, live: Iterable[BrokerLiveChanged]) -> None:
        """Start counting for live registrations that are not counted yet."""
        for one in live:
            key = (one.cluster_name, one.broker_addr)
            if key not in self._sessions:
                self._sessions[key] = _LiveRegistration(*key, one.broker_name, one.broker_id, one.gen)

    def heard(self, event: BrokerHeard, now_ms: int) -> None:
        """A registration was refreshed."""
        session = self._refresh((event.cluster_name, event.broker_addr), now_ms)
        if session is not None:
            session.registrations += event.is_registration
            session.body_bytes = max(session.body_bytes, event.body_bytes)
            _note_gap(session, event.gap_ms)

    def live_changed(self, event: BrokerLiveChanged, now_ms: int) -> None:
        """A registration began or changed, which refreshes it too, unless it was restored."""
        key = (event.cluster_name, event.broker_addr)
        if event.is_new:
            self._end(key)
            self._sessions[key] = _LiveRegistration(*key, event.broker_name, event.broker_id, event.gen)
        if event.idle_ms:
            return
        session = self._refresh(key, now_ms)
        if session is not None:
            session.registrations += 1
            session.body_bytes = max(session.body_bytes, event.body_bytes)
            if not event.is_new:
                _note_gap(session, event.gap_ms)

    def live_gone(self, event: BrokerLiveGone) -> None:
        """A registration ended: the record of its counts is due at once."""
        self._end((event.cluster_name, event.broker_addr))

    def unknown_topic(self, topic: str | None, language: str | None, version: int) -> None:
        """A client looked up a topic that has no route."""
        if topic is None or not _TOPIC.fullmatch(topic):
            self._invalid += 1
            return
        key = (topic, language or "", version)
        if key in self._unknown:
            self._unknown[key] += 1
        elif len(self._unknown) < MAX_UNKNOWN:
            self._unknown[key] = 1
        else:
            self._other_unknown += 1

    def denied(self, code: int, host: str, reason: str) -> None:
        """A request was refused."""
        key = (code, host, reason)
        if key not in self._denied and len(self._denied) >= MAX_DENIED:
            key = (code, "", reason)
        self._denied[key] = self._denied.get(key, 0) + 1

    def access(self, record: Access) -> bool:
        """Access rules checked a request. Returns whether to keep the record, or only count it."""
        self._access += 1
        if self._access <= MAX_ACCESS:
            return True
        key = (record.code, record.allowed, record.rule, record.mode)
        self._other_access[key] = self._other_access.get(key, 0) + record.count
        return False

    @property
    def has_due(self) -> bool:
        """Whether `take_due` would return a record."""
        return bool(self._due)

    def take_due(self) -> list[Record]:
        """Records of sessions that have ended or whose minute is over."""
        due, self._due = self._due, []
        return due

    def flush(self, minute: int) -> Iterator[Record]:
        """Records of all counts; `minute`, in wall ms, is the time of records that have none."""
        yield from self.take_due()
        for session in self._sessions.values():
            if session.count:
                yield session.take()
        unknown, self._unknown = self._unknown, {}
        for (topic, language, version), count in unknown.items():
            yield UnknownTopicMinute(
                minute=minute, topic=topic, language=language, client_version=version, count=count
            )
        if self._other_unknown:
            yield UnknownTopicMinute(minute=minute, bucket="other", count=self._other_unknown)
        if self._invalid:
            yield UnknownTopicMinute(minute=minute, bucket="invalid", count=self._invalid)
        self._other_unknown = self._invalid = 0
        denied, self._denied = self._denied, {}
        for (code, host, reason), count in denied.items():
            yield Denied(code=code, host=host, reason=reason, count=count)
        judged, self._other_access, self._access = self._other_access, {}, 0
        for (code, allowed, rule, mode), count in judged.items():
            yield Access(code=code, allowed=allowed, rule=rule, mode=mode, count=count)

    def _refresh(self, key: BrokerKey, now_ms: int) -> _LiveRegistration | None:
        """Count a refresh; returns the session, None if it is not known."""
        session = self._sessions.get(key)
        if session is None:
            return None
        minute = now_ms - now_ms % MINUTE_MS
        if session.minute != minute:
            if session.count:
                self._due.append(session.take())
            session.minute = minute
        session.last_seen = now_ms
        session.count += 1
        return session

    def _end(self, key: BrokerKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None and session.count:
            self._due.append(session.take())


def _note_gap(session: _LiveRegistration, gap_ms: int) -> None:
    session.max_gap_ms = max(session.max_gap_ms, gap_ms)
    session.gaps[bisect_right(EDGES_MS, gap_ms)] += 1
