"""The timeline of all name servers, newest first, filtered, one window of rows at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct, structs, to_builtins

from namekeeper.answers.timeline import SAME_MS, TimelineEntry, entry_value, timeline
from namekeeper.common.durations import LATEST_MS
from namekeeper.history.history import History
from namekeeper.history.rows import (
    ABOUT_ROWS,
    FilterKey,
    GroupKey,
    HistoryEvent,
    KvKey,
    LiveKey,
    MappingKey,
    PropertyKey,
    RowChange,
    TopicKey,
    names_of,
)
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG

__all__ = ["ChangeQuery", "beside", "change_rows", "has_enough"]

_OF_BROKERS = (LiveKey, GroupKey)
_OF_TOPICS = (TopicKey, MappingKey, KvKey)
_ROWS_SHOWN = 20
"""Most rows of one change that are sent: a registration may have 20,000."""


class ChangeQuery(Struct, frozen=True):
    """The filter of changes."""

    topic: str = ""
    broker: str = ""
    """Broker name, address or host."""
    cause: str = ""
    peer: str = ""
    namesrv: str = ""
    text: str = ""
    """A part of any name."""
    begin_at: int | None = None
    end_at: int | None = None
    limit: int = 100


def change_rows(histories: Sequence[History], query: ChangeQuery) -> dict[str, Any]:
    """The newest matching changes, newest first, and whether there are older ones."""
    wanted = [each for each in histories if query.namesrv in {"", each.namesrv}]
    newest = merge(*(_newest(each, query) for each in wanted), key=lambda event: event.at, reverse=True)
    found = list(islice(newest, query.limit * max(1, len(wanted)) + 1))
    if found:
        found += takewhile(lambda event: event.at >= found[-1].at - SAME_MS, islice(newest, query.limit))
    entries = sorted(timeline(found), key=lambda entry: entry.at, reverse=True)
    shown = entries[: query.limit]
    brokers = _brokers_of(wanted, query)
    return {
        "rows": [_row(entry, query.topic, brokers) for entry in shown],
        "has_more": len(entries) > len(shown),
    }


def has_enough(history: History, query: ChangeQuery, since: int | None) -> bool:
    """Whether a history has enough matching changes for a list, or reaches back to its start.

    Args:
        history: of one name server.
        query: the filter.
        since: wall ms from which on the history has every change; None: from the first record on.
    """
    if since is None or (query.begin_at is not None and since <= query.begin_at):
        return True
    newest = _newest(history, structs.replace(query, begin_at=since))
    return sum(1 for _ in islice(newest, query.limit + 1)) > query.limit


def beside(histories: Sequence[History], at: int) -> dict[str, int | None]:
    """Times of the last change before an instant and of the first one after it; None if there is none.

    `known_from` is when the known times begin, wall ms; None: with the first change.
    """
    before: list[int] = []
    after: list[int] = []
    for each in histories:
        for times in (each.forgotten.times, [event.at for event in each.events]):
            index = bisect_left(times, at)
            before += times[max(0, index - 1) : index]
            index = bisect_right(times, at)
            after += times[index : index + 1]
    known_from = [each.forgotten.times_from for each in histories if each.forgotten.times_from is not None]
    return {
        "before": max(before, default=None),
        "after": min(after, default=None),
        "known_from": max(known_from, default=None),
    }


def _row(entry: TimelineEntry, topic: str, brokers: Collection[str]) -> dict[str, Any]:
    """An entry as plain values: its text is about all rows that fit, of which the first are sent."""
    event = entry.event
    rows = event.rows
    if topic:
        rows = [row for row in rows if not isinstance(row.key, _OF_TOPICS) or _is_of_topic(row, topic)]
        rows = [row for row in rows if not isinstance(row.key, _OF_BROKERS) or _is_of_broker_of(row, brokers)]
    first = [row for row in rows if isinstance(row.key, _OF_BROKERS)]
    others = (row for row in rows if not isinstance(row.key, _OF_BROKERS))
    sent = [*first, *islice(others, _ROWS_SHOWN)][:_ROWS_SHOWN]
    about = structs.replace(entry, event=structs.replace(event, rows=rows))
    return {**to_builtins(entry_value(about, sent)), "row_count": len(event.rows)}


def _brokers_of(histories: Iterable[History], query: ChangeQuery) -> set[str]:
    """The broker names that had the topic of a query in its time."""
    begin_at, end_at = query.begin_at or 0, LATEST_MS if query.end_at is None else query.end_at
    return {
        key.broker_name
        for each in histories
        for key in (each.keys_of_topic(query.topic) if query.topic else ())
        for version in each.all_versions(key)
        if version.begun.at <= end_at and (version.valid_to is None or version.valid_to >= begin_at)
    }


def _newest(history: History, query: ChangeQuery) -> Iterator[HistoryEvent]:
    """The matching changes of one name server, newest first."""
    brokers = _brokers_of([history], query)
    for event in reversed(history.events):
        if query.end_at is not None and event.at > query.end_at:
            continue
        if query.begin_at is not None and event.at < query.begin_at:
            return
        if _fits(event, query, brokers):
            yield event


def _fits(event: HistoryEvent, query: ChangeQuery, brokers: Collection[str]) -> bool:
    if query.cause and query.cause != (event.cause or event.what):
        return False
    if query.peer and query.peer not in event.peer:
        return False
    is_of_server = event.what not in ABOUT_ROWS
    if query.topic and not is_of_server:
        rows = event.rows
        if not any(_is_of_topic(row, query.topic) or _is_of_broker_of(row, brokers) for row in rows):
            return False
    if query.broker and not (is_of_server or any(_is_of_broker(row, query.broker) for row in event.rows)):
        return False
    return not query.text or any(_has_text(row, query.text.casefold()) for row in event.rows)


def _is_of_topic(row: RowChange, topic: str) -> bool:
    """Whether a row is a part of what makes the route of a topic; the properties are, of every topic."""
    key = row.key
    if isinstance(key, KvKey):
        return (key.namespace, key.key) == (ORDER_TOPIC_CONFIG, topic)
    return isinstance(key, PropertyKey) or (isinstance(key, TopicKey | MappingKey) and key.topic == topic)


def _is_of_broker_of(row: RowChange, brokers: Collection[str]) -> bool:
    """Whether a row says that one of some brokers came, went or changed its place."""
    if isinstance(row.key, GroupKey):
        return row.key.broker_name in brokers
    rows = (row.before, row.after)
    return any(isinstance(each, BrokerLive) and each.broker_name in brokers for each in rows)


def _is_of_broker(row: RowChange, broker: str) -> bool:
    key = row.key
    if isinstance(key, LiveKey | FilterKey):
        addr = key.broker_addr
        return broker in {addr, addr.rpartition(":")[0], *_names_in_row(row)}
    return isinstance(key, TopicKey | MappingKey | GroupKey) and key.broker_name == broker


def _names_in_row(change: RowChange) -> tuple[str, ...]:
    """The names in a row that are not in its key."""
    row = change.after or change.before
    return (row.broker_name,) if isinstance(row, BrokerLive) else ()


def _has_text(row: RowChange, text: str) -> bool:
    return any(text in name.casefold() for name in (*names_of(row.key), *_names_in_row(row)))
