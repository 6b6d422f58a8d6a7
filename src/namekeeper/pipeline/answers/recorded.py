"""Reads what was recorded about a topic, a broker or an address: rows of facts, and their times.

`why` and `history` use these rows and not the histories. A history has no row for a value that was valid for
no time: after the last change before a name server was killed, or between two changes within a millisecond.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from namekeeper.pipeline.answers.queries import RECORDED, AnswerTables, Row

__all__ = ["HOUR_MS", "Recorded", "recorded", "recorded_everything", "recorded_for_why"]

HOUR_MS = 60 * 60 * 1_000

_TIMES = ("hidden_time", "loss", "server_start_or_stop")
_OF_EVIDENCE = ("recorded_broker_live", "recorded_broker_name_removed", "recorded_topic_queues")
"""Rows that say why a topic had no route. Broker groups alone would double their number."""
_FOR_EVER = 2**62


class Recorded(NamedTuple):
    """Rows of facts about one name, in a time range."""

    tables: Mapping[str, Sequence[Row]]
    """Query -> its rows."""
    bases: Mapping[str, tuple[int, int]]
    """Name server -> boot and begin of the last complete checkpoint before that time; (0, 0): none."""


def recorded(
    tables: AnswerTables,
    name: str | None,
    since: int,
    until: int,
    namesrv: str | None = None,
    *,
    queries: Iterable[str] = tuple(RECORDED),
) -> Recorded:
    """The records about a name, from the last complete checkpoint of each name server before a time on.

    Args:
        tables: The warehouse.
        name: A topic or a broker name, for topic rows and mappings; None: all of them. Rows about brokers and
            settings are all returned, because only topic rows tell which brokers a topic has.
        since: Wall ms.
        until: Wall ms.
        namesrv: Only this name server; None: all.
        queries: Find the rows that are wanted.
    """
    boots = tables.ask("name_server_boot", {"namesrv": namesrv}).rows
    hidden_ms = max((row["hidden_ms"] or 0 for row in boots), default=0)
    until += hidden_ms
    checkpoints = tables.ask("complete_checkpoint", {"namesrv": namesrv, "until": until}).rows
    bases = dict.fromkeys((row["namesrv"] for row in boots), (0, 0))
    begins: dict[str, int] = {}
    for row in boots:
        begins[row["namesrv"]] = min(begins.get(row["namesrv"], row["first_ts"]), row["first_ts"])
    for row in checkpoints:
        if row["from_ts"] <= since:
            bases[row["namesrv"]] = (row["boot"], row["begin_seq"])
            begins[row["namesrv"]] = row["from_ts"]
    args = {"name": name, "namesrv": namesrv, "since": min(begins.values(), default=0), "until": until}
    found = {query: tables.ask(query, args).rows for query in (*_TIMES, *queries)}
    wanted = [row for row in checkpoints if (row["boot"], row["begin_seq"]) >= bases[row["namesrv"]]]
    return Recorded({**found, "name_server_boot": boots, "complete_checkpoint": wanted}, bases)


def recorded_everything(tables: AnswerTables, namesrv: str) -> Mapping[str, Sequence[Row]]:
    """All that was recorded at a name server: of checkpoints those from which the state is known."""
    args = {"name": None, "namesrv": namesrv, "since": 0, "until": _FOR_EVER}
    queries = ("name_server_boot", "complete_checkpoint", *_TIMES, *RECORDED)
    return {query: tables.ask(query, args).rows for query in queries}


def recorded_for_why(
    tables: AnswerTables, topic: str, since: int, until: int, namesrv: str | None = None
) -> Recorded:
    """The records about a topic and all brokers, with periods of name servers and failed requests."""
    found = recorded(tables, topic, since, until, namesrv, queries=_OF_EVIDENCE)
    periods = tables.ask("name_server_period", {"namesrv": namesrv}).rows
    args = {"topic": topic, "namesrv": namesrv, "since": since - HOUR_MS, "until": until}
    more = {
        "name_server_period": periods,
        "lookup_in_vain": tables.ask("lookup_in_vain", args).rows,
        "refused_request": tables.ask("refused_request", args).rows,
    }
    return found._replace(tables={**found.tables, **more})
