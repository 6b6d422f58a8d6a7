"""The timeline of all name servers, newest first, filtered, one window of rows at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct, structs

from namekeeper.answers.row_changes import HistoryEvent, RowChange, What
from namekeeper.answers.row_versions import RowVersions
from namekeeper.answers.timeline import SAME_MS, TimelineEntry, entry_value, timeline
from namekeeper.processor.route_answers import ORDER_TOPIC_CONFIG

__all__ = ["ChangeQuery", "beside", "change_rows"]

_OF_BROKERS = frozenset({"live", "group"})
_OF_TOPICS = frozenset({"topic", "mapping", "kv"})
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


def change_rows(histories: Sequence[RowVersions], query: ChangeQuery) -> dict[str, Any]:
    """The newest matching changes, newest first, and whether there are older ones."""
    wanted = [each for each in histories if query.namesrv in {"", each.namesrv}]
    newest = merge(*(_newest(each, query) for each in wanted), key=lambda event: event.at, reverse=True)
    found = list(islice(newest, query.limit * max(1, len(wanted)) + 1))
    if found:
        found += takewhile(lambda event: event.at >= found[-1].at - SAME_MS, islice(newest, query.limit))
    entries = sorted(timeline(found), key=lambda entry: entry.at, reverse=True)
    shown = entries[: query.limit]
    brokers = _brokers_of(wanted, query.topic)
    return {
        "rows": [_row(entry, query.topic, brokers) for entry in shown],
        "has_more": len(entries) > len(shown),
    }


def beside(histories: Sequence[RowVersions], at: int) -> dict[str, int | None]:
    """Times of the last change before an instant and of the first one after it; None if there is none."""
    before: list[int] = []
    after: list[int] = []
    for each in histories:
        events = each.events
        index = bisect_left(events, at, key=_time)
        if index:
            before.append(events[index - 1].at)
        index = bisect_right(events, at, key=_time)
        if index < len(events):
            after.append(events[index].at)
    return {"before": max(before, default=None), "after": min(after, default=None)}


def _row(entry: TimelineEntry, topic: str, brokers: Collection[str]) -> dict[str, Any]:
    """An entry as plain values: its text is about all rows that fit, of which the first are sent."""
    event = entry.event
    rows = event.rows
    if topic:
        rows = [row for row in rows if row.key[0] not in _OF_TOPICS or _is_of_topic(row, topic)]
        rows = [row for row in rows if row.key[0] not in _OF_BROKERS or _is_of_broker_of(row, brokers)]
    first = [row for row in rows if row.key[0] in _OF_BROKERS]
    others = (row for row in rows if row.key[0] not in _OF_BROKERS)
    sent = [*first, *islice(others, _ROWS_SHOWN)][:_ROWS_SHOWN]
    about = structs.replace(entry, event=structs.replace(event, rows=rows))
    return {**entry_value(about, sent), "row_count": len(event.rows)}


def _brokers_of(histories: Iterable[RowVersions], topic: str) -> set[str]:
    """The broker names that ever had a topic."""
    return {key[2] for each in histories for key in each.keys_of_topic(topic)} if topic else set()


def _time(event: HistoryEvent) -> int:
    return event.at


def _newest(versions: RowVersions, query: ChangeQuery) -> Iterator[HistoryEvent]:
    """The matching changes of one name server, newest first."""
    brokers = _brokers_of([versions], query.topic)
    for event in reversed(versions.events):
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
    is_of_server = event.what not in {What.CHANGE, What.CORRECTED}
    if query.topic and not is_of_server:
        rows = event.rows
        if not any(_is_of_topic(row, query.topic) or _is_of_broker_of(row, brokers) for row in rows):
            return False
    if query.broker and not (is_of_server or any(_is_of_broker(row, query.broker) for row in event.rows)):
        return False
    return not query.text or any(_has_text(row, query.text.casefold()) for row in event.rows)


def _is_of_topic(row: RowChange, topic: str) -> bool:
    """Whether a row is a part of what makes the route of a topic; the properties are, of every topic."""
    kind, *names = row.key
    if kind == "kv":
        return names == [ORDER_TOPIC_CONFIG, topic]
    return kind == "config" or (kind in {"topic", "mapping"} and names[0] == topic)


def _is_of_broker_of(row: RowChange, brokers: Collection[str]) -> bool:
    """Whether a row says that one of some brokers came, went or changed its place."""
    if row.key[0] == "group":
        return row.key[1] in brokers
    return row.key[0] == "live" and any(values[0] in brokers for values in (row.before, row.after) if values)


def _is_of_broker(row: RowChange, broker: str) -> bool:
    kind, *names = row.key
    if kind in {"topic", "mapping"}:
        return names[1] == broker
    if kind == "group":
        return names[0] == broker
    if kind in {"kv", "config"}:
        return False
    values = row.after or row.before or ()
    return broker in {names[1], names[1].rpartition(":")[0], *values[:1]}


def _has_text(row: RowChange, text: str) -> bool:
    values = row.after or row.before or ()
    names: Iterable[object] = (*row.key[1:], *(values[:1] if row.key[0] == "live" else ()))
    return any(text in str(name).casefold() for name in names)
