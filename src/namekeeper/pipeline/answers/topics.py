"""Answers about a topic at a time: what name servers held, and the evidence why it had no route.

Times are wall ms since 1970. What people type is passed as data and never becomes text of a query.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.answers.queries import AnswerTables, Row
from namekeeper.pipeline.gold.plan import FOREVER

__all__ = [
    "RouteRows",
    "TopicEvidenceRows",
    "held_rows",
    "knowledge",
    "route_rows",
    "why_rows",
]

KNOWN = "known"
"""What `knowledge` says of an instant whose state is known."""

HOUR_MS = 60 * 60 * 1_000

_ROWS_OF_A_ROUTE = {
    "topic_route": "topic_route_at",
    "broker_group_history": "broker_group_at",
    "topic_mapping_history": "topic_mapping_at",
    "kv_history": "kv_at",
    "config_history": "config_at",
    "filter_server_history": "filter_server_at",
}
"""Table -> the query for those of its rows that make a route; without a topic, all that were valid."""


class TopicEvidenceRows(NamedTuple):
    """Rows about a topic, for the question why it had no route."""

    tables: Mapping[str, Sequence[Row]]
    """Name of a table -> rows about the topic."""
    knows_up_to: Mapping[str, int]
    """Name server -> wall ms of its last record."""


class RouteRows(NamedTuple):
    """What a name server held of a topic, or in all, at an instant."""

    namesrv: str
    knowledge: str
    knows_up_to: int
    tables: Mapping[str, Sequence[Row]]
    """Name of a table -> rows that were valid then; empty unless `knowledge` is known."""


def knowledge(tables: AnswerTables, at: int, namesrv: str | None = None) -> Sequence[Row]:
    """What each name server's journal knows of an instant.

    Returns:
        namesrv, knowledge (known, unknown, not known yet, before the journal or stopped), knows_up_to.
    """
    return tables.ask("knowledge", {"at": at, "namesrv": namesrv}).rows


def route_rows(tables: AnswerTables, topic: str, at: int, namesrv: str | None = None) -> list[RouteRows]:
    """The rows out of which the route of a topic at an instant is made, for each name server."""
    return _rows_at(tables, _ROWS_OF_A_ROUTE, topic, at, namesrv)


def held_rows(tables: AnswerTables, at: int, namesrv: str | None = None) -> list[RouteRows]:
    """All rows that each name server held at an instant, but those of its live registrations."""
    return _rows_at(tables, {**_ROWS_OF_A_ROUTE, "cluster_history": "cluster_at"}, None, at, namesrv)


def why_rows(
    tables: AnswerTables, topic: str, at: int | None = None, namesrv: str | None = None
) -> TopicEvidenceRows:
    """The rows that show why a topic had no route.

    Args:
        tables: The warehouse.
        topic: The topic.
        at: Wall ms; None is the last instant that is known.
        namesrv: Only this name server.
    """
    boots = tables.ask("name_server_boot", {"namesrv": namesrv}).rows
    knows_up_to = {row["namesrv"]: row["knows_up_to"] for row in boots}  # the last boot of each is the last
    looked_at = max(knows_up_to.values(), default=0) if at is None else at
    since, until = _boots_around(boots, looked_at)

    def ask(name: str, **args: int) -> Sequence[Row]:
        return tables.ask(name, {"topic": topic, "namesrv": namesrv, **args}).rows

    found = {
        "name_server_timeline": ask("name_server_period"),
        "topic_route": ask("route_of_topic"),
        "broker_session": ask("session_between", since=since, until=until),
        "unknown_topic_minute": ask("lookup_in_vain", since=looked_at - HOUR_MS, until=looked_at),
    }
    return TopicEvidenceRows(found, knows_up_to)


def _rows_at(
    tables: AnswerTables, queries: Mapping[str, str], topic: str | None, at: int, namesrv: str | None
) -> list[RouteRows]:
    args = {"topic": topic, "at": at, "namesrv": namesrv}
    held = {table: tables.ask(name, args).rows for table, name in queries.items()}
    return [
        RouteRows(
            row["namesrv"],
            row["knowledge"],
            row["knows_up_to"],
            _rows_of(held, row["namesrv"]) if row["knowledge"] == KNOWN else {},
        )
        for row in knowledge(tables, at, namesrv)
    ]


def _rows_of(held: Mapping[str, Iterable[Row]], namesrv: str) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row["namesrv"] == namesrv] for name, rows in held.items()}


def _boots_around(boots: Iterable[Row], at: int) -> tuple[int, int]:
    """From when to when rows matter: the boot at a time and the boot before it, over all name servers."""
    begins: dict[str, list[int]] = {}
    for row in boots:
        begins.setdefault(row["namesrv"], []).append(row["first_ts"])
    since, until = [at], [at]
    for some in begins.values():
        past = [begin for begin in some if begin <= at]
        since += past[-2:]
        until.append(next((begin for begin in some if begin > at), FOREVER))
    return min(since), max(until)
