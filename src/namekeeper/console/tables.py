"""The tables of an instant: name servers side by side, brokers, topics; one window at a time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.answers.render import explain_knowledge
from namekeeper.answers.row_changes import Key, Values
from namekeeper.answers.times import shown
from namekeeper.common.writable import is_writable
from namekeeper.console.histories import Followed
from namekeeper.console.instants import RowsHeld, differs_since, since
from namekeeper.console.missing import missing
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.perm import format_perm

__all__ = [
    "ROWS_LIMIT",
    "TableQuery",
    "broker_rows",
    "namesrv_rows",
    "topic_rows",
    "troubles",
    "writable_topics",
]

ROWS_LIMIT = 500
"""Most rows of one window."""
QUEUES_LIMIT = 50_000
"""Most rows of queues in a window of topics, whatever its limit; one topic is always shown. A topic has a row
for each broker name that has it, and there may be 20,000 of these."""


Heard = Mapping[str, Mapping[Key, int]]
"""Id of a name server -> live row -> wall ms."""
_NOBODY: Heard = {}


class TableQuery(Struct, frozen=True):
    """The filter of a table, and its window."""

    text: str = ""
    """A part of a name, an address or a zone, in any case."""
    only: str = ""
    """`differs` or `unwritable`; empty: all."""
    offset: int = 0
    limit: int = 100


def namesrv_rows(followed: Sequence[Followed], all_held: Sequence[RowsHeld]) -> list[dict[str, Any]]:
    """Each name server: the time of its state, what is known of it, and its numbers of rows."""
    return [
        {
            "namesrv": held.namesrv,
            "at": held.at,
            "knowledge": held.knowledge,
            "knowledge_text": explain_knowledge(held.knowledge),
            "knows_from": held.versions.knows_from,
            "knows_up_to": held.versions.knows_up_to,
            "dropped_until": held.versions.dropped_until,
            "is_running": each.is_running,
            "progress": each.progress,
            "problem": each.problem,
            "notes": [*each.notes, *_dropped_notes(held)],
            "brokers": len(held.live),
            "broker_names": len(held.groups),
            "clusters": len({values[0] for values in held.groups.values()}),
            "topics": len(held.topics),
            "periods": held.versions.periods(),
        }
        for each, held in zip(followed, all_held, strict=True)
    ]


def _dropped_notes(held: RowsHeld) -> Iterator[str]:
    """Say from when on the history is known, if older changes were dropped."""
    until = held.versions.dropped_until
    if until is not None:
        yield (
            f"the history of {held.namesrv} is known from {shown(until, None)} on: its memory is full, and"
            " older changes were dropped (consoleHistoryBytes, --history-bytes)"
        )


def broker_rows(all_held: Sequence[RowsHeld], query: TableQuery, heard: Heard = _NOBODY) -> dict[str, Any]:
    """Brokers by cluster, name and id; with the time since which each name server has them.

    Args:
        all_held: what each name server held.
        query: the filter.
        heard: when each was last heard, where that is known.
    """
    found: dict[tuple[str, str, int, str], Key] = {}
    for held in all_held:
        for key, values in held.live.items():
            name, broker_id = str(values[0]), values[1]
            assert isinstance(broker_id, int)
            found[key[1], name, broker_id, key[2]] = key
    zones = _zones(all_held)
    wanted = [
        each
        for each in sorted(found)
        if _has_text(query.text, (each[0], each[1], each[3], zones.get(each[1], "")))
    ]
    if query.only == "differs":
        wanted = [each for each in wanted if differs_since(all_held, [found[each]]) is not None]
    rows = [
        {
            "cluster": cluster,
            "zone": zones.get(name),
            "broker_name": name,
            "broker_id": broker_id,
            "addr": addr,
            "at": {
                held.namesrv: _live_at(held, found[cluster, name, broker_id, addr], name, heard)
                for held in all_held
                if held.has_state
            },
            "differs_since": differs_since(all_held, [found[cluster, name, broker_id, addr]]),
        }
        for cluster, name, broker_id, addr in wanted[query.offset : query.offset + query.limit]
    ]
    return {"total": len(wanted), "offset": query.offset, "rows": rows}


def topic_rows(all_held: Sequence[RowsHeld], query: TableQuery) -> dict[str, Any]:
    """Topics by name; their queues on each broker name, and the name servers with these queues."""
    known = [held for held in all_held if held.has_state]
    names = sorted({topic for held in known for topic in held.topics})
    wanted = [name for name in names if _has_text(query.text, (name,))] if query.text else names
    if query.only == "differs":
        wanted = [name for name in wanted if _is_different(known, name)]
    elif query.only == "unwritable":
        unwritable = _unwritable(known, wanted)
        wanted = [name for name in wanted if name in unwritable]
    window = _window(known, wanted[query.offset : query.offset + query.limit])
    writable = {held.namesrv: writable_topics(held, window) for held in known}
    rows = [_topic(known, topic, writable) for topic in window]
    return {"total": len(wanted), "offset": query.offset, "rows": rows}


def _window(known: Sequence[RowsHeld], topics: Sequence[str]) -> Sequence[str]:
    """The first topics, up to the limit of queues."""
    left = QUEUES_LIMIT
    for index, topic in enumerate(topics):
        left -= sum(len(held.topics.get(topic, ())) for held in known)
        if left < 0:
            return topics[: max(1, index)]
    return topics


def troubles(all_held: Sequence[RowsHeld]) -> dict[str, Any]:
    """What is missing, which topics have no queue to write to, and where name servers disagree, as counts."""
    known = [held for held in all_held if held.has_state]
    names = {topic for held in known for topic in held.topics}
    brokers = {key for held in known for key in held.live}
    return {
        "topics": len(names),
        "unwritable": len(_unwritable(known, names)),
        "topics_differ": sum(_is_different(known, name) for name in names) if len(known) > 1 else 0,
        "brokers_differ": sum(differs_since(known, [key]) is not None for key in brokers),
        "known": len(known),
        **missing(known),
    }


def _unwritable(known: Sequence[RowsHeld], names: Collection[str]) -> set[str]:
    """The topics of which a producer could use no queue at one of the name servers."""
    writable = [writable_topics(held) for held in known]
    return {name for name in names if any(name not in each for each in writable)}


def writable_topics(held: RowsHeld, topics: Iterable[str] | None = None) -> set[str]:
    """The topics of which a producer could use a queue.

    Args:
        held: what a name server held.
        topics: only of these; None: of all.
    """
    masters = {name for name, group in held.groups.items() if _has_master(group)}
    wanted = held.topics if topics is None else topics
    return {topic for topic in wanted if _can_be_written(held.topics.get(topic, {}), masters)}


def _can_be_written(rows: Mapping[str, Values], masters: Collection[str]) -> bool:
    """Whether a row of a topic can be used, of those by the names of their brokers."""
    for name, (_, write, perm, _) in rows.items():
        assert isinstance(perm, int)
        assert isinstance(write, int)
        if is_writable(perm, write, has_master=name in masters):
            return True
    return False


def _zones(all_held: Iterable[RowsHeld]) -> dict[str, str]:
    """Broker name -> its zone, of those that have one."""
    return {
        name: str(group[1])
        for held in all_held
        for name, group in held.groups.items()
        if group[1] is not None
    }


def _live_at(held: RowsHeld, key: Key, name: str, heard: Heard) -> dict[str, Any] | None:
    values = held.live.get(key)
    if values is None or values[0] != name:
        return None
    return {"since": since(held.versions, key, held.at), "heard": heard.get(held.namesrv, {}).get(key)}


def _topic(known: Sequence[RowsHeld], topic: str, writable: Mapping[str, Collection[str]]) -> dict[str, Any]:
    keys = sorted({key for held in known for key in held.versions.keys_of_topic(topic)})
    return {
        "topic": topic,
        "routes": list(_routes(known, topic)),
        "writable": {held.namesrv: topic in writable[held.namesrv] for held in known},
        "differs_since": differs_since(known, keys) if _is_different(known, topic) else None,
    }


def _routes(known: Sequence[RowsHeld], topic: str) -> Iterator[dict[str, Any]]:
    """The different routes of a topic, each with the name servers that have it."""
    seen: dict[tuple[tuple[str, Values], ...], list[str]] = {}
    for held in known:
        seen.setdefault(tuple(sorted(held.topics.get(topic, {}).items())), []).append(held.namesrv)
    for rows, namesrvs in seen.items():
        yield {"namesrvs": namesrvs, "queues": [_queues(name, values) for name, values in rows]}


def _queues(name: str, values: Values) -> dict[str, Any]:
    read, write, perm, _ = values
    assert isinstance(perm, int)
    return {"broker_name": name, "read": read, "write": write, "perm": format_perm(perm)}


def _is_different(known: Sequence[RowsHeld], topic: str) -> bool:
    routes = [held.topics.get(topic) for held in known]
    return any(route != routes[0] for route in routes[1:])


def _has_master(group: Values) -> bool:
    members = group[3]
    assert isinstance(members, tuple)
    return any(member[0] == MASTER_ID for member in members)


def _has_text(text: str, names: Iterable[str]) -> bool:
    wanted = text.casefold()
    return any(wanted in name.casefold() for name in names)
