"""Reads the query of a request of the page: names, numbers, instants, and the filters of its lists."""

from collections.abc import Mapping

from namekeeper.answers.times import instant_of
from namekeeper.common.durations import LATEST_MS
from namekeeper.console.changes import ChangeQuery
from namekeeper.console.tables import ROWS_LIMIT, TableQuery
from namekeeper.errors import ConfigError

__all__ = ["Query", "change_query", "instant_in", "name_in", "number_in", "table_query"]

Query = Mapping[str, str]
"""Parameter of the URL -> its text."""

_DIGITS = 20
"""Longest number: Python refuses to read some thousand digits."""
_CHANGE_FILTERS = ("topic", "broker", "cause", "peer", "namesrv", "text")


def name_in(query: Query) -> str:
    """The name of a topic or a broker.

    Raises:
        ConfigError: there is none.
    """
    name = query.get("name", "")
    if not name:
        raise ConfigError("say which: name=...")
    return name


def number_in(query: Query, name: str, usual: int, limit: int) -> int:
    """A number from 0 to the limit; the usual one if the query has none.

    Raises:
        ConfigError: it is no such number.
    """
    text = query.get(name, "")
    if not text:
        return usual
    if not text.isdecimal() or len(text) > _DIGITS or int(text) > limit:
        raise ConfigError(f"{name} must be a number from 0 to {limit}")
    return int(text)


def instant_in(query: Query, name: str, now_ms: int) -> int | None:
    """An instant in wall ms, or a time as people write it; None is the present.

    Raises:
        ConfigError: it is none.
    """
    text = query.get(name, "")
    if not text or text == "now":
        return None
    if text.isdecimal():
        return number_in(query, name, 0, LATEST_MS)
    return instant_of(text, now_ms=now_ms, zone=None)


def table_query(query: Query) -> TableQuery:
    """The window and the filters of a table.

    Raises:
        ConfigError: a parameter is wrong.
    """
    return TableQuery(
        text=query.get("text", ""),
        only=query.get("only", ""),
        offset=number_in(query, "offset", 0, 10_000_000),
        limit=number_in(query, "limit", 100, ROWS_LIMIT),
    )


def change_query(query: Query, now_ms: int) -> ChangeQuery:
    """The window and the filters of a list of changes.

    Raises:
        ConfigError: a parameter is wrong.
    """
    return ChangeQuery(
        **{name: query.get(name, "") for name in _CHANGE_FILTERS},
        begin_at=instant_in(query, "from", now_ms),
        end_at=instant_in(query, "to", now_ms),
        limit=number_in(query, "limit", 100, ROWS_LIMIT),
    )
