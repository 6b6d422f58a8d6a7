"""Evidence and changes from the pipeline's facts; `history/sources/warehouse.py` makes the steps of them.

Evidence needs these tables, too: `name_server_period`, `lookup_in_vain` of the topic, and `refused_request`.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs

from namekeeper.answers.evidence import Evidence, KnownPeriod, Lookups, RefusedRequest, evidence_of
from namekeeper.answers.render import UncertainChange
from namekeeper.answers.route import uncertain_changes
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent, is_at
from namekeeper.history.sources.warehouse import Row, Tables, steps_from_facts
from namekeeper.journal.reading.coverage import Knowledge

__all__ = ["Bases", "changes_from_facts", "evidence_from_facts", "uncertain_from_facts"]

_LIVE, _GROUP = "recorded_broker_live", "recorded_broker_group"
_OF_TOPICS = ("recorded_topic_queues", "recorded_topic_mapping")
Bases = Mapping[str, tuple[int, int]]
"""Name server -> boot and seq of the start of the checkpoint to begin with; (0, 0): with the first record."""


def evidence_from_facts(
    topic: str, tables: Tables, bases: Bases, knows_up_to: Mapping[str, int]
) -> list[Evidence]:
    """Evidence about a topic at each name server.

    Args:
        topic: its name, which need not be known.
        tables: rows as described above.
        bases: the name servers, and where each begins.
        knows_up_to: name server -> wall ms of its last record.
    """
    found = []
    for namesrv in sorted(bases):
        history = _history(topic, tables, namesrv, bases[namesrv])
        rows = [row for row in tables.get("name_server_period", ()) if row["namesrv"] == namesrv]
        periods = sorted(msgspec.convert(rows, list[KnownPeriod]), key=_valid_from)
        lookups = [row for row in tables.get("lookup_in_vain", ()) if row["namesrv"] == namesrv]
        refused = [row for row in tables.get("refused_request", ()) if row["namesrv"] == namesrv]
        evidence = structs.replace(
            evidence_of(history),
            known_from=periods[0].valid_from if periods else None,
            knows_up_to=knows_up_to[namesrv],
            periods=periods,
            lookups=msgspec.convert(lookups, list[Lookups]),
            refused=msgspec.convert(refused, list[RefusedRequest]),
        )
        found.append(evidence)
    return found


def changes_from_facts(
    name: str | None, tables: Tables, bases: Bases, begin_at: int, end_at: int
) -> list[HistoryEvent]:
    """Changes of the rows about a name, or of all rows, after `begin_at`, up to `end_at`."""
    found: list[HistoryEvent] = []
    shown = tables if name is None else _of_its_brokers(name, tables)
    for namesrv in sorted(bases):
        found += _history(name, shown, namesrv, bases[namesrv]).changes(begin_at, end_at)
    return found


def uncertain_from_facts(
    topic: str, tables: Tables, bases: Bases, at: int
) -> dict[str, list[UncertainChange]]:
    """Name server -> the changes of a route that may have happened before a time (wall ms) or after it."""
    histories = {namesrv: _history(topic, tables, namesrv, base) for namesrv, base in bases.items()}
    return {
        namesrv: uncertain_changes(history, topic, at)
        for namesrv, history in histories.items()
        if history.knowledge(at) is Knowledge.KNOWN
    }


def _history(about: str | None, tables: Tables, namesrv: str, base: tuple[int, int]) -> History:
    history = History(namesrv, about)
    for step in steps_from_facts(tables, namesrv, base):
        history.take(step)
    return history


def _of_its_brokers(name: str, tables: Tables) -> Tables:
    """The tables without the live registrations and broker groups that no change of a name shows.

    A broker that takes an address ends the session there, so an address has either all its rows or none.
    """
    topics = (row for query in _OF_TOPICS for row in tables.get(query, ()))
    names = {name, *(row["broker_name"] for row in topics if row["topic"] == name)}
    live, groups = tables.get(_LIVE, ()), tables.get(_GROUP, ())
    keys = {_live_key(row) for row in live if row["broker_name"] in names or is_at(name, row["broker_addr"])}
    moved = {row["broker_name"] for row in groups if any(is_at(name, addr) for addr in _addrs(row))}
    return {
        **tables,
        _LIVE: [row for row in live if _live_key(row) in keys],
        _GROUP: [row for row in groups if row["broker_name"] in names | moved],
    }


def _live_key(row: Row) -> tuple[str, str]:
    return row["cluster"], row["broker_addr"]


def _addrs(row: Row) -> Iterable[str]:
    return (row["broker_addrs"] or {}).values()


def _valid_from(period: KnownPeriod) -> int:
    return period.valid_from
