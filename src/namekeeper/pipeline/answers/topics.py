"""Answers about an instant: the rows that name servers held of a topic, or all rows.

Times are wall ms since 1970. Input of users is passed as data and never becomes text of a query.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.answers.queries import AnswerTables, Row

__all__ = [
    "RouteRows",
    "held_rows",
    "knowledge",
    "route_rows",
    "uncertain_until",
]

KNOWN = "known"
"""The value of `knowledge` for an instant whose state is known."""

_ROWS_OF_A_ROUTE = {
    "topic_route": "topic_route_at",
    "broker_group_history": "broker_group_at",
    "topic_mapping_history": "topic_mapping_at",
    "kv_history": "kv_at",
    "config_history": "config_at",
    "filter_server_history": "filter_server_at",
}
"""Table -> query for its rows that make a route; without a topic, for all valid rows."""


class RouteRows(NamedTuple):
    """The rows that a name server held of a topic, or all rows, at an instant."""

    namesrv: str
    knowledge: str
    knows_up_to: int
    tables: Mapping[str, Sequence[Row]]
    """Name of a table -> rows that were valid then; empty unless `knowledge` is known."""


def knowledge(tables: AnswerTables, at: int, namesrv: str | None = None) -> Sequence[Row]:
    """Whether each name server's journal knows the state at an instant.

    Returns:
        namesrv, knowledge (known, unknown, not known yet, before the journal or stopped), knows_up_to.
    """
    return tables.ask("knowledge", {"at": at, "namesrv": namesrv}).rows


def uncertain_until(tables: AnswerTables, at: int, namesrv: str | None = None) -> int | None:
    """The end of the last window of an observed change around an instant; None if it is in no window."""
    (row,) = tables.ask("uncertain_until", {"at": at, "namesrv": namesrv}).rows
    until: int | None = row["until_ts"]
    return until


def route_rows(tables: AnswerTables, topic: str, at: int, namesrv: str | None = None) -> list[RouteRows]:
    """The rows that make the route of a topic at an instant, for each name server."""
    return _rows_at(tables, _ROWS_OF_A_ROUTE, topic, at, namesrv)


def held_rows(tables: AnswerTables, at: int, namesrv: str | None = None) -> list[RouteRows]:
    """All rows that each name server held at an instant, except those of live registrations."""
    return _rows_at(tables, {**_ROWS_OF_A_ROUTE, "cluster_history": "cluster_at"}, None, at, namesrv)


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
