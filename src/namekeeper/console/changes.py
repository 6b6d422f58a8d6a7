"""The timeline of all name servers, newest first, filtered, one window of rows at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct, structs

from namekeeper.answers.row_changes import HistoryEvent, RowChange, What
from namekeeper.answers.row_versions import RowVersions
from namekeeper.answers.timeline import SAME_MS, entry_value, timeline

__all__ = ["ChangeQuery", "beside", "change_rows"]

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
    rows = [
        {
            **entry_value(structs.replace(entry, event=_cut(entry.event, query.topic))),
            "row_count": len(entry.event.rows),
        }
        for entry in shown
    ]
    return {"rows": rows, "has_more": len(entries) > len(shown)}


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


def _time(event: HistoryEvent) -> int:
    return event.at


def _newest(versions: RowVersions, query: ChangeQuery) -> Iterator[HistoryEvent]:
    """The matching changes of one name server, newest first."""
    for event in reversed(versions.events):
        if query.end_at is not None and event.at > query.end_at:
            continue
        if query.begin_at is not None and event.at < query.begin_at:
            return
        if _fits(event, query):
            yield event


def _fits(event: HistoryEvent, query: ChangeQuery) -> bool:
    if query.cause and query.cause != (event.cause or event.what):
        return False
    if query.peer and query.peer not in event.peer:
        return False
    is_of_server = event.what not in {What.CHANGE, What.CORRECTED}
    if query.topic and not (is_of_server or any(_is_of_topic(row, query.topic) for row in event.rows)):
        return False
    if query.broker and not (is_of_server or any(_is_of_broker(row, query.broker) for row in event.rows)):
        return False
    return not query.text or any(_has_text(row, query.text.casefold()) for row in event.rows)


def _is_of_topic(row: RowChange, topic: str) -> bool:
    return row.key[0] in {"topic", "mapping"} and row.key[1] == topic


def _is_of_broker(row: RowChange, broker: str) -> bool:
    kind, *names = row.key
    if kind in {"topic", "mapping"}:
        return names[1] == broker
    if kind == "group":
        return names[0] == broker
    values = row.after or row.before or ()
    return broker in {names[1], names[1].rpartition(":")[0], *values[:1]}


def _has_text(row: RowChange, text: str) -> bool:
    values = row.after or row.before or ()
    names: Iterable[object] = (*row.key[1:], *(values[:1] if row.key[0] == "live" else ()))
    return any(text in str(name).casefold() for name in names)


def _cut(event: HistoryEvent, topic: str) -> HistoryEvent:
    """The same event with the rows that are sent, brokers first; its text is made of them.

    Args:
        event: a change with all its rows.
        topic: of topic rows only those of this topic are sent; empty: all.
    """
    brokers = [row for row in event.rows if row.key[0] in {"live", "group"}]
    others = [row for row in event.rows if row.key[0] not in {"live", "group"}]
    if topic:
        others = [row for row in others if _is_of_topic(row, topic)]
    return structs.replace(event, rows=[*brokers, *others][:_ROWS_SHOWN])
