"""The versions of every row of one name server, with the events that made them.

Their memory may have a limit. Then the oldest events are dropped, and the history begins later.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import zip_longest
from sys import getsizeof
from typing import Any, TypeVar

from msgspec import Struct

from namekeeper.history.forgotten import Forgotten, SearchKind, names_in, zones_in
from namekeeper.history.rows import (
    ABOUT_ROWS,
    IN_FILES,
    AnyKey,
    GroupKey,
    HistoryEvent,
    Key,
    KvKey,
    LiveKey,
    MappingKey,
    PropertyKey,
    Row,
    RowChange,
    RowVersion,
    TopicKey,
    What,
    names_of,
    size_of,
)
from namekeeper.journal.contract.record import BrokerLive, BrokerNameRemovedRecord, Record
from namekeeper.journal.reading.coverage import EffectiveTimes

__all__ = ["Versions"]

R = TypeVar("R", bound=Row)
K = TypeVar("K", bound=AnyKey)

KEY_BYTES = 520
"""Memory of a row that has one version, without the text in it."""
CHANGE_BYTES = 240
"""Memory of each change of a row, without the text in it."""
EVENT_BYTES = 360
KEPT_PARTS, ALL_PARTS = 7, 8
"""At the limit this share is kept, so that changes are dropped rarely, and many at once."""


class _Kept(Struct, frozen=True):
    """The memory that an event keeps."""

    size: int
    """Bytes, about."""
    others: Sequence[AnyKey]
    """Keys of rows that it left as they were, but of which it made or ended a version."""


class Versions:
    """The versions of rows.

    Args:
        limit_bytes: bounds their memory, about. The rows of the present stay in any case. None: no limit.
        keeps_order: whether `in_order` is kept.
    """

    def __init__(self, limit_bytes: int | None, *, keeps_order: bool) -> None:
        self.limit_bytes = limit_bytes
        self.size = 0
        """Approximate memory of the versions in bytes."""
        self.present: dict[AnyKey, Row | None] = {}
        """The last known rows, in the order in which they came; None: gone, by an event not yet noted."""
        self.all_events: list[HistoryEvent] = []
        """All events in order; a later step may correct their times."""
        self.first: HistoryEvent | None = None
        """The first complete checkpoint. It has no rows, because they are no change: see `rows_of`."""
        self.dropped: HistoryEvent | None = None
        """Stands for everything that was dropped; None while nothing was."""
        self.forgotten = Forgotten()
        """Times and names of what was dropped, if its limit leaves room for them."""
        self.marks: list[HistoryEvent] = []
        """Losses and stops, and the first checkpoint after each."""
        self.in_order: list[tuple[AnyKey, RowVersion[Any]]] = []
        """Every version that was not dropped, in the order in which they began."""
        self.times = EffectiveTimes()
        """The times of the events. Those of a `Coverage` differ: a loss does not correct them."""
        self._keeps_order = keeps_order
        self._versions: dict[type, dict[Any, list[RowVersion[Any]]]] = {}
        """Kind of key -> key -> versions, oldest first. A row that was always gone has none."""
        self._of_topic: dict[str, list[TopicKey | MappingKey]] = {}
        self._kept: list[_Kept] = []
        """The memory of each event."""
        self._text_sizes: dict[AnyKey, int] = {}
        """Bytes of the text in the oldest version of each row but those of topics, which have none."""

    def keys(self, kind: type[K]) -> Iterable[K]:
        """All keys of a kind, at any time."""
        return self._versions.get(kind, {}).keys()

    def versions(self, key: Key[R]) -> Sequence[RowVersion[R]]:
        """The versions of a row, oldest first."""
        return self._versions.get(type(key), {}).get(key, ())

    def all_versions(self, key: AnyKey) -> Sequence[RowVersion[Any]]:
        """The versions of a row of any kind, oldest first."""
        return self._versions.get(type(key), {}).get(key, ())

    def version_at(self, key: Key[R], at: int) -> RowVersion[R] | None:
        """The last version of a row that began up to a time, valid or not; None before the first."""
        return _last_until(at, self.versions(key))

    def changes_of(self, key: AnyKey) -> Iterator[tuple[int, Any]]:
        """The times at which a row began, became another one, or ended, with the row; None: it ended."""
        versions = self.all_versions(key)
        for version, following in zip_longest(versions, versions[1:]):
            yield version.begun.at, version.row
            if version.ended is not None and (following is None or following.begun is not version.ended):
                yield version.ended.at, None

    def row_at(self, key: Key[R], at: int) -> R | None:
        """A row at a time, whose state must be known; None: there was none."""
        version = self.version_at(key, at)
        return version.row if version is not None and version.is_valid(at) else None

    def rows(self, kind: type[K], at: int) -> Iterator[tuple[K, Any]]:
        """The rows of a kind at a time, whose state must be known."""
        for key, versions in self._versions.get(kind, {}).items():
            version = _last_until(at, versions)
            if version is not None and version.is_valid(at):
                yield key, version.row

    def topics(self) -> Iterable[str]:
        """All topics, at any time."""
        return self._of_topic.keys()

    def keys_of_topic(self, topic: str) -> Sequence[TopicKey | MappingKey]:
        """The keys of all rows of a topic, at any time."""
        return self._of_topic.get(topic, ())

    def kv_at(self, at: int, namespace: str) -> dict[str, str] | None:
        """The entries of a KV namespace at a time; None if there is no such namespace."""
        found = {key.key: row.value for key, row in self.rows(KvKey, at) if key.namespace == namespace}
        return found or None

    def property_at(self, at: int, name: str) -> str | None:
        """A property of the running configuration at a time; None if it was not recorded."""
        row = self.row_at(PropertyKey(name), at)
        return None if row is None else row.properties[name]

    def put(
        self, key: AnyKey, row: Row | None, event: HistoryEvent, *, cut: int, by: Record | None = None
    ) -> None:
        """Let a row be this from an event on.

        Args:
            key: its key.
            row: None: there is none.
            event: gets its rows by `note`.
            cut: number of the loss or stop before it, since which the row was not shown; 0: none.
            by: the record that says so.
        """
        before = self.present.get(key)
        if before == row:
            if cut and row is not None:
                self._show_again(key, event, cut)
            return
        self.present[key] = row
        versions = self._to_extend(key)
        if before is not None:
            version = versions[-1]
            version.ended = event
            version.ended_by = _ended_by(event, row)
            if row is None and isinstance(by, BrokerLive | BrokerNameRemovedRecord):
                version.ending = by
        if row is not None:
            self._append(versions, key, RowVersion(row, event))

    def note(
        self,
        event: HistoryEvent,
        before: Mapping[AnyKey, Row | None],
        gone_before: Sequence[RowChange] = (),
    ) -> None:
        """Keep an event with the rows that it changed, unless it says nothing.

        Args:
            event: all its rows were put.
            before: the rows that it named, as they were before it.
            gone_before: rows that it removed although they were gone before.
        """
        changed, others = self._outcome(event, before)
        rows = [*gone_before, *changed]
        is_mark = any(each is event for each in (self.first, *self.marks[-1:]))
        if not (rows or others or is_mark) and event.what in ABOUT_ROWS:
            return
        size = EVENT_BYTES + getsizeof(event.peer) + CHANGE_BYTES * len(others)
        if event is not self.first:
            event.rows = rows
            size += sum(map(_size_of_change, rows))
        for each in gone_before:
            for version in self._to_extend(each.key)[-1:]:
                version.named_again = (*version.named_again, event)
        self.all_events.append(event)
        self._kept.append(_Kept(size, others))
        self.size += size

    def rows_of(self, event: HistoryEvent) -> Sequence[RowChange]:
        """The rows that an event changed; those of the first complete checkpoint are found again."""
        return event.rows if event is not self.first else list(self._rows_of_first(event))

    def drop_beyond_limit(self) -> None:
        """Drop the oldest changes if the memory is above its limit."""
        if self.limit_bytes is not None and self.size > self.limit_bytes:
            self._drop_oldest(self.limit_bytes * KEPT_PARTS // ALL_PARTS)

    def join(self, earlier: "Versions", later: "Versions", at: int, topic: str) -> None:
        """Take the versions of live rows, groups and the rows of a topic from two others.

        Args:
            earlier: gives the versions up to a time.
            later: gives those of that time and after it.
            at: that time, wall ms; `later` may have dropped older versions.
            topic: its name.
        """
        keys: set[AnyKey] = set()
        for each in (earlier, later):
            keys.update(each.keys(LiveKey), each.keys(GroupKey), each.keys_of_topic(topic))
        for key in keys:
            versions = [one for one in earlier.all_versions(key) if one.begun.at <= at]
            following = [*later.all_versions(key)]
            there = sum(one.begun.at <= at for one in following)
            if there and versions:
                version = copy(following[there - 1])
                version.begun = versions[-1].begun
                versions[-1:] = [version]
                del following[:there]
            self._to_extend(key).extend([*versions, *following])

    def _append(self, versions: list[RowVersion[Any]], key: AnyKey, version: RowVersion[Any]) -> None:
        versions.append(version)
        if len(versions) == 1:
            self._note_text(key, versions)
        if self._keeps_order:
            self.in_order.append((key, version))

    def _note_text(self, key: AnyKey, versions: Sequence[RowVersion[Any]]) -> None:
        """Note the size of the text in the oldest version."""
        text = 0 if type(key) is TopicKey or not versions else size_of(versions[0].row)
        if text:
            self.size += text - self._text_sizes.get(key, 0)
            self._text_sizes[key] = text
        elif self._text_sizes:
            self.size -= self._text_sizes.pop(key, 0)

    def _outcome(
        self, event: HistoryEvent, before: Mapping[AnyKey, Row | None]
    ) -> tuple[list[RowChange], list[AnyKey]]:
        """The rows that an event changed, and the keys of those that it named and left as they were."""
        changed: list[RowChange] = []
        others: list[AnyKey] = []
        for key, row in before.items():
            after = self.present.get(key)
            if row is None or after is None:
                self._settle(key, after)
            if after != row:
                changed.append(RowChange(key, row, after))
            elif self._has_touched(event, key):
                others.append(key)
        return changed, others

    def _settle(self, key: AnyKey, row: Row | None) -> None:
        """Forget a row that is gone; a new one is the last one."""
        self.present.pop(key, None)
        if row is not None:
            self.present[key] = row

    def _show_again(self, key: AnyKey, event: HistoryEvent, cut: int) -> None:
        """Note the first event after a loss that shows a row as it was."""
        version = self._versions[type(key)][key][-1]
        last = version.named_again[-1] if version.named_again else version.begun
        if last.number < cut:
            version.named_again = (*version.named_again, event)

    def _has_touched(self, event: HistoryEvent, key: AnyKey) -> bool:
        """Whether an event made or ended a version of a row, or showed it again."""
        versions = self._versions.get(type(key), {}).get(key)
        if not versions:
            return False
        last = versions[-1]
        return any(each is event for each in (last.begun, last.ended, *last.named_again[-1:]))

    def _to_extend(self, key: AnyKey) -> list[RowVersion[Any]]:
        """The versions of a row."""
        of_kind = self._versions.get(type(key))
        if of_kind is None:
            of_kind = self._versions[type(key)] = {}
        versions = of_kind.get(key)
        if versions is None:
            versions = of_kind[key] = []
            self.size += KEY_BYTES + _names_size(key)
            if isinstance(key, TopicKey | MappingKey):
                self._of_topic.setdefault(key.topic, []).append(key)
        return versions

    def _rows_of_first(self, first: HistoryEvent) -> Iterator[RowChange]:
        for of_kind in self._versions.values():
            for key, versions in of_kind.items():
                before = next((each.row for each in versions if each.ended is first), None)
                after = next((each.row for each in versions if each.begun is first), None)
                is_no_change = isinstance(key, IN_FILES) and after is not None
                if before is not after and not is_no_change:
                    yield RowChange(key, before, after)

    def _drop_oldest(self, goal: int) -> None:
        """Drop the oldest changes until the memory is down to a goal, but never the newest one."""
        count = 0
        while self.size > goal and count < len(self.all_events) - 1:
            self.size -= self._kept[count].size
            count += 1
        if not count:
            return
        gone, kept = self.all_events[:count], self._kept[:count]
        last = gone[-1]
        if self.dropped is None:
            self.dropped = HistoryEvent(last.when, last.namesrv, What.CORRECTED)
        self.dropped.when, self.dropped.boot, self.dropped.number = last.when, last.boot, last.number
        self.times.forget(last.at, last.at if self.first is None else self.first.at)
        keys = {row.key for event in gone for row in event.rows}
        keys.update(key for each in kept for key in each.others)
        del self.all_events[:count], self._kept[:count]
        self.marks = [mark for mark in self.marks if mark.number > last.number]
        self.in_order = [(key, version) for key, version in self.in_order if not _is_over(version, last.at)]
        names = [name for key in keys for name in self._drop_versions(key, self.dropped)]
        self.forgotten.take(gone, names)

    def _drop_versions(self, key: AnyKey, dropped: HistoryEvent) -> Iterator[tuple[SearchKind, str]]:
        """Drop the versions of a row up to the last dropped change, and the row if it was gone then.

        Yields:
            The names that no row has any more.
        """
        versions = self._versions[type(key)].get(key)
        if versions is None:  # it went at the same instant, by an event that was not dropped before
            return
        until = dropped.at
        gone = sum(_is_over(each, until) for each in versions)
        yield from zones_in(versions[:gone])
        del versions[:gone]
        if versions and versions[0].begun.number <= dropped.number:
            versions[0].begun = dropped
        self._note_text(key, versions)
        if versions:
            return
        del self._versions[type(key)][key]
        self.size -= KEY_BYTES + _names_size(key)
        if isinstance(key, TopicKey | MappingKey):
            self._of_topic[key.topic].remove(key)
            if self._of_topic[key.topic]:
                return
            del self._of_topic[key.topic]
        yield from names_in(key)


def _last_until(at: int, versions: Sequence[RowVersion[R]]) -> RowVersion[R] | None:
    """The last version that began up to a time: usually the newest one."""
    if versions and versions[-1].begun.at <= at:
        return versions[-1]
    index = bisect_right(versions, at, key=_begun_at)
    return versions[index - 1] if index else None


def _begun_at(version: RowVersion[Any]) -> int:
    return version.begun.at


def _is_over(version: RowVersion[Any], at: int) -> bool:
    return version.ended is not None and version.ended.at <= at


def _size_of_change(change: RowChange) -> int:
    size = CHANGE_BYTES + _names_size(change.key)
    if type(change.key) is TopicKey:
        return size
    size += size_of(change.after)
    if change.after is None and isinstance(change.key, LiveKey) and change.before is not None:
        size += size_of(change.before)  # about as much as the record that ended it
    return size


def _names_size(key: AnyKey) -> int:
    return sum([getsizeof(name) for name in names_of(key)])


def _ended_by(event: HistoryEvent, after: Row | None) -> str:
    if event.what is What.STARTED:
        return "stopped"
    if after is not None:
        return "changed"
    return "checkpoint" if event.what is What.CORRECTED else "gone"
