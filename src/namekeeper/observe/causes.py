"""Joins the changes that an observer saw with what the log of the name server says of them.

An entry of the log belongs to a change if it has the same subject, and if its line can have been written
within the window of the change. A change without such an entry keeps the cause `observed`. Times are
monotonic ms.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from namekeeper.model.perm import Perm
from namekeeper.observe.log_parser import LogEntry, LogKind, Subject
from namekeeper.route.events import (
    BrokerGroupChanged,
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
    TopicMappingChanged,
    TopicQueuesChanged,
)

__all__ = ["DELAY_MS", "SUBJECTS_LIMIT", "ChangeLog", "has_cause_in_log"]

DELAY_MS = 1_000
"""How long after the change its line may be readable: the name server has a queue for its log."""
SUBJECTS_LIMIT = 20_000
"""Subjects that are remembered, those of the last entries."""
ENTRIES_LIMIT = 8
"""Entries of a subject and a group of kinds that are remembered."""


class _Known(Struct, frozen=True):
    entry: LogEntry
    since: int
    """When the log was read last before it had the entry."""
    until: int
    """When the entry was read."""


class _Reason(Struct, frozen=True):
    cause: Cause
    peer: str | None = None


_OBSERVED: Final = _Reason(Cause.OBSERVED)
_BROKER, _PERMISSION, _TOPIC, _KV, _CONFIG = "broker", "permission", "topic", "kv", "config"
_GROUPS: Mapping[LogKind, str] = {
    LogKind.REGISTERED: _BROKER, LogKind.EXPIRED: _BROKER, LogKind.CLOSED: _BROKER,
    LogKind.UNREGISTERED: _BROKER, LogKind.REMOVED: _BROKER,
    LogKind.WIPED: _PERMISSION, LogKind.ADDED: _PERMISSION,
    LogKind.TOPIC_DELETED: _TOPIC, LogKind.TOPIC_LEFT_OUT: _TOPIC,
    LogKind.KV_PUT: _KV, LogKind.KV_DELETED: _KV, LogKind.CONFIGURED: _CONFIG,
}  # fmt: skip
"""Kind -> the group of kinds whose entries about one subject have an order."""
_CAUSES: Mapping[LogKind, Cause] = {
    LogKind.EXPIRED: Cause.EXPIRED,
    LogKind.CLOSED: Cause.CHANNEL_CLOSED,
    LogKind.UNREGISTERED: Cause.UNREGISTER,
    LogKind.WIPED: Cause.WIPE_WRITE_PERM,
    LogKind.ADDED: Cause.ADD_WRITE_PERM,
    LogKind.TOPIC_DELETED: Cause.DELETE_TOPIC,
    LogKind.TOPIC_LEFT_OUT: Cause.REGISTER,
    LogKind.KV_PUT: Cause.PUT_KV,
    LogKind.KV_DELETED: Cause.DELETE_KV,
    LogKind.CONFIGURED: Cause.UPDATE_CONFIG,
}


def has_cause_in_log(changes: Iterable[Change]) -> bool:
    """Whether the log may have causes of some changes: not of brokers that come or register otherwise."""
    return any(
        isinstance(event, BrokerLiveGone | KvChanged | ConfigChanged) or _wanted_kinds(event)
        for change in changes
        for event in change.events
    )


class ChangeLog:
    """The last entries of a log, and the causes of changes that follow from them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Subject], list[_Known]] = {}

    def add(self, entries: Iterable[LogEntry], since: int, until: int) -> None:
        """Take the entries that were read at once.

        Args:
            entries: in the order of the log.
            since: when the log was read the time before, with all that it had.
            until: when these were read.
        """
        for entry in entries:
            key = (_GROUPS[entry.kind], entry.subject)
            known = self._known.pop(key, [])
            known.append(_Known(entry, since, until))
            self._known[key] = known[-ENTRIES_LIMIT:]
            if len(self._known) > SUBJECTS_LIMIT:
                del self._known[next(iter(self._known))]

    def explained(self, changes: Iterable[Change], received: int) -> list[Change]:
        """The same changes with their causes; a change of several causes becomes several.

        Args:
            changes: from one answer.
            received: when the answer was received.
        """
        return [part for change in changes for part in self._explained(change, received)]

    def _explained(self, change: Change, received: int) -> Iterator[Change]:
        if not change.window_ms:
            yield change
            return
        window = received - change.window_ms, received
        parts: dict[_Reason, list[Event]] = {}
        for reason, event in self._reasons(change.events, window):
            parts.setdefault(reason, []).append(event)
        for reason, events in parts.items():
            yield structs.replace(change, cause=reason.cause, remote_addr=reason.peer, events=tuple(events))

    def _reasons(self, events: Sequence[Event], window: tuple[int, int]) -> Iterator[tuple[_Reason, Event]]:
        ends = self._ends(events, window)
        of_names = {name: reason for (name, _), reason in ends.items()}
        for event in events:
            if isinstance(event, BrokerLiveChanged):
                of_names.pop(event.broker_name, None)  # its row has another reason, too
        common = set(ends.values())
        of_clusters = common.pop() if len(common) == 1 else _OBSERVED
        for event in events:
            match event:
                case BrokerLiveGone():
                    reason = ends[event.broker_name, event.broker_addr]
                    yield reason, structs.replace(event, reason=reason.cause)
                case TopicQueuesChanged():
                    yield from self._of_rows(event, window)
                case ClusterChanged():
                    yield of_clusters, event
                case KvChanged() | ConfigChanged():
                    yield self._of_configuration(event, window), event
                case _:
                    yield of_names.get(_broker_name_of(event), _OBSERVED), event

    def _ends(self, events: Iterable[Event], window: tuple[int, int]) -> dict[tuple[str, str], _Reason]:
        """Broker name and address of each broker that is gone -> why."""
        return {
            (event.broker_name, event.broker_addr): self._end_of(event.broker_addr, window)
            for event in events
            if isinstance(event, BrokerLiveGone)
        }

    def _end_of(self, addr: str, window: tuple[int, int]) -> _Reason:
        """Why a broker is gone at the end of a window."""
        runs: list[list[LogEntry]] = [[]]
        for entry in self._within(_BROKER, (addr,), window):
            if entry.kind is LogKind.REGISTERED:
                runs.append([])
            else:
                runs[-1].append(entry)
        # The broker may be back already: the log is read after the answer.
        run = next((run for run in reversed(runs) if run), [])
        expired = [entry for entry in run if entry.kind is LogKind.EXPIRED]
        return _reason_of((expired or run)[-1]) if run else _OBSERVED

    def _of_configuration(self, event: KvChanged | ConfigChanged, window: tuple[int, int]) -> _Reason:
        if isinstance(event, ConfigChanged):
            return self._last((), window, LogKind.CONFIGURED)
        kind = LogKind.KV_DELETED if event.value is None else LogKind.KV_PUT
        return self._last((event.namespace, event.key), window, kind)

    def _of_rows(self, event: TopicQueuesChanged, window: tuple[int, int]) -> Iterator[tuple[_Reason, Event]]:
        """The rows of a broker name, by their reasons."""
        topics: dict[_Reason, list[str]] = {}
        for topic in event.topics:
            kind = _kind_of_row(event, topic)
            reason = _OBSERVED
            if kind is LogKind.TOPIC_DELETED:
                reason = self._last((topic,), window, kind, LogKind.TOPIC_LEFT_OUT)
            elif kind is not None:
                reason = self._last((event.broker_name,), window, kind)
            topics.setdefault(reason, []).append(topic)
        for reason, some in topics.items():
            yield reason, (event if len(topics) == 1 else _only(event, some))

    def _last(self, subject: Subject, window: tuple[int, int], *kinds: LogKind) -> _Reason:
        """The last entry of some kinds about a subject."""
        found = [one for one in self._within(_GROUPS[kinds[0]], subject, window) if one.kind in kinds]
        return _reason_of(found[-1]) if found else _OBSERVED

    def _within(self, group: str, subject: Subject, window: tuple[int, int]) -> list[LogEntry]:
        """The entries about a subject whose lines may have been written within a window."""
        since, until = window
        return [
            one.entry
            for one in self._known.get((group, subject), ())
            if one.since - DELAY_MS <= until and since <= one.until
        ]


def _broker_name_of(event: Event) -> str:
    """The broker name that a row belongs to; empty if it belongs to none."""
    match event:
        case BrokerGroupChanged(group):
            return group.broker_name
        case BrokerGroupGone(name) | BrokerNameRemoved(name) | TopicMappingChanged(_, name):
            return name
        case _:
            return ""


def _reason_of(entry: LogEntry) -> _Reason:
    cause = _CAUSES.get(entry.kind)
    return _OBSERVED if cause is None else _Reason(cause, entry.peer)


def _wanted_kinds(event: Event) -> bool:
    return isinstance(event, TopicQueuesChanged) and any(
        _kind_of_row(event, topic) is not None for topic in event.topics
    )


def _kind_of_row(event: TopicQueuesChanged, topic: str) -> LogKind | None:
    """The kind of entry that explains the change of a row; None: no entry does."""
    before, after = event.before.get(topic), event.after.get(topic)
    if before is None:
        return None
    if after is None:
        return LogKind.TOPIC_DELETED
    old, new = before.effective, after.effective
    if structs.replace(old, perm=new.perm) != new:
        return None
    if old.perm & Perm.WRITE and new.perm == old.perm & ~Perm.WRITE:
        return LogKind.WIPED
    return LogKind.ADDED if new.perm & Perm.WRITE and not old.perm & Perm.WRITE else None


def _only(event: TopicQueuesChanged, topics: Sequence[str]) -> TopicQueuesChanged:
    """A part of the rows of a broker name."""
    return structs.replace(
        event,
        before={topic: event.before[topic] for topic in topics if topic in event.before},
        after={topic: event.after[topic] for topic in topics if topic in event.after},
        topics=tuple(topics),
    )
