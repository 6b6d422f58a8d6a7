"""The tables of an instant: name servers side by side, brokers, topics; one window at a time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.answers.render import explain_knowledge
from namekeeper.answers.times import shown
from namekeeper.common.writable import is_writable
from namekeeper.console.histories import Followed
from namekeeper.console.instants import RowsHeld, by_cluster, differs_since, since
from namekeeper.console.missing import missing
from namekeeper.drift.report import Differing
from namekeeper.history.rows import LiveKey
from namekeeper.journal.contract.record import BrokerGroup, TopicQueuesRow
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


Heard = Mapping[str, Mapping[LiveKey, int]]
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
            "knows_from": each.first,
            "knows_up_to": each.history.knows_up_to,
            "dropped_until": each.history.dropped_until,
            "is_running": each.is_running,
            "progress": each.progress,
            "problem": each.problem,
            "notes": [*each.notes, *_dropped_notes(each)],
            "brokers": len(held.live),
            "broker_names": len(held.groups),
            "clusters": len({group.cluster for group in held.groups.values()}),
            "topics": len(held.topics),
            "periods": each.history.periods(dropped_too=each.keeps_past),
            "compared_with": sorted(held.cluster - {held.namesrv}),
            "cluster_label": each.history.cluster_label,
            **_in_question(held),
        }
        for each, held in zip(followed, all_held, strict=True)
    ]


def _in_question(held: RowsHeld) -> dict[str, Any]:
    """The changes that may have happened before the instant or after it, if there are any."""
    found = list(held.history.in_question(held.at)) if held.has_state else []
    return {"uncertain": {"changes": len(found), "until": found[-1].at}} if found else {}


def _dropped_notes(followed: Followed) -> Iterator[str]:
    """Say from when on the history is known, if older changes were dropped."""
    history = followed.history
    until = history.dropped_until
    if until is not None:
        known = "has its changes" if followed.keeps_past else "is known"
        others = "; older ones are read again from its records" if followed.keeps_past else ""
        yield (
            f"the history of {history.namesrv} {known} from {shown(until, None)} on: its memory is full, and"
            f" older changes were dropped (consoleHistoryBytes, --history-bytes){others}"
        )


def broker_rows(all_held: Sequence[RowsHeld], query: TableQuery, heard: Heard = _NOBODY) -> dict[str, Any]:
    """Brokers by cluster, name and id; with the time since which each name server has them.

    Args:
        all_held: what each name server held.
        query: the filter.
        heard: when each was last heard, where that is known.
    """
    clusters = by_cluster(all_held)
    found: dict[tuple[str, str, int, str, int], LiveKey] = {}
    for number, members in enumerate(clusters):
        for held in members:
            for key, live in held.live.items():
                found[live.cluster, live.broker_name, live.broker_id, live.broker_addr, number] = key
    zones = [_zones(members) for members in clusters]
    wanted = [
        (cluster, name, broker_id, addr, number)
        for cluster, name, broker_id, addr, number in sorted(found)
        if _has_text(query.text, (cluster, name, addr, zones[number].get(name, "")))
    ]
    if query.only == "differs":
        wanted = [row for row in wanted if differs_since(clusters[row[-1]], [found[row]]) is not None]
    rows = [
        {
            "cluster": cluster,
            "zone": zones[number].get(name),
            "broker_name": name,
            "broker_id": broker_id,
            "addr": addr,
            "at": {
                held.namesrv: _live_at(held, found[cluster, name, broker_id, addr, number], name, heard)
                for held in clusters[number]
                if held.has_state
            },
            "differs_since": differs_since(clusters[number], [found[cluster, name, broker_id, addr, number]]),
        }
        for cluster, name, broker_id, addr, number in wanted[query.offset : query.offset + query.limit]
    ]
    return {"total": len(wanted), "offset": query.offset, "rows": rows}


def topic_rows(all_held: Sequence[RowsHeld], query: TableQuery) -> dict[str, Any]:
    """Topics by name, of each cluster; their queues on each broker name, and the name servers with these."""
    clusters = _known(all_held)
    wanted = _topics(clusters)
    if query.text:
        wanted = [each for each in wanted if _has_text(query.text, (each[0],))]
    if query.only == "differs":
        wanted = [(topic, number) for topic, number in wanted if _is_different(clusters[number], topic)]
    elif query.only == "unwritable":
        unwritable = _unwritable(clusters)
        wanted = [each for each in wanted if each in unwritable]
    window = _window(clusters, wanted[query.offset : query.offset + query.limit])
    topics = {topic for topic, _ in window}
    writable = {held.namesrv: writable_topics(held, topics) for cluster in clusters for held in cluster}
    rows = [_topic(clusters[number], topic, writable) for topic, number in window]
    return {"total": len(wanted), "offset": query.offset, "rows": rows}


def _known(all_held: Iterable[RowsHeld]) -> list[list[RowsHeld]]:
    """The name servers of each cluster whose state is known."""
    return by_cluster(held for held in all_held if held.has_state)


def _topics(clusters: Sequence[Sequence[RowsHeld]]) -> list[tuple[str, int]]:
    """Topics, sorted, and the numbers of the clusters that have them."""
    return sorted(
        {
            (topic, number)
            for number, cluster in enumerate(clusters)
            for held in cluster
            for topic in held.topics
        }
    )


def _window(
    clusters: Sequence[Sequence[RowsHeld]], topics: Sequence[tuple[str, int]]
) -> Sequence[tuple[str, int]]:
    """The first topics, up to the limit of queues."""
    left = QUEUES_LIMIT
    for index, (topic, number) in enumerate(topics):
        left -= sum(len(held.topics.get(topic, ())) for held in clusters[number])
        if left < 0:
            return topics[: max(1, index)]
    return topics


def troubles(all_held: Sequence[RowsHeld], drift: Differing) -> dict[str, Any]:
    """Counts of missing brokers, topics without a queue to write to, and disagreements of name servers.

    Args:
        all_held: what each name server held.
        drift: what the name servers disagree about at the same instant.
    """
    clusters = _known(all_held)
    return {
        "topics": len(_topics(clusters)),
        "unwritable": len(_unwritable(clusters)),
        "topics_differ": drift.topics,
        "brokers_differ": drift.brokers,
        "entries_differ": drift.entries,
        "known": sum(map(len, clusters)),
        "compared": sum(len(cluster) for cluster in clusters if len(cluster) > 1),
        **missing(clusters),
    }


def _unwritable(clusters: Sequence[Sequence[RowsHeld]]) -> set[tuple[str, int]]:
    """The topics of which a producer could use no queue at one of the name servers of a cluster."""
    found = set()
    for number, cluster in enumerate(clusters):
        names = {topic for held in cluster for topic in held.topics}
        writable = set(names).intersection(*map(writable_topics, cluster))
        found |= {(topic, number) for topic in names - writable}
    return found


def writable_topics(held: RowsHeld, topics: Iterable[str] | None = None) -> set[str]:
    """The topics of which a producer could use a queue.

    Args:
        held: what a name server held.
        topics: only of these; None: of all.
    """
    masters = {name for name, group in held.groups.items() if _has_master(group)}
    wanted = held.topics if topics is None else topics
    return {topic for topic in wanted if _can_be_written(held.topics.get(topic, {}), masters)}


def _can_be_written(rows: Mapping[str, TopicQueuesRow], masters: Collection[str]) -> bool:
    """Whether a producer could use one of the rows of a topic.

    Args:
        rows: broker name -> row.
        masters: broker names with a master.
    """
    return any(
        is_writable(row.perm, row.write_queue_nums, has_master=name in masters) for name, row in rows.items()
    )


def _zones(all_held: Iterable[RowsHeld]) -> dict[str, str]:
    """Broker name -> its zone, of those that have one."""
    return {
        name: group.zone for held in all_held for name, group in held.groups.items() if group.zone is not None
    }


def _live_at(held: RowsHeld, key: LiveKey, name: str, heard: Heard) -> dict[str, Any] | None:
    live = held.live.get(key)
    if live is None or live.broker_name != name:
        return None
    began = since(held.history, key, held.at)
    window = {"since_window_ms": began.window_ms} if began is not None and began.window_ms else {}
    heard_at = heard.get(held.namesrv, {}).get(key)
    return {"since": None if began is None else began.at, "heard": heard_at, **window}


def _topic(known: Sequence[RowsHeld], topic: str, writable: Mapping[str, Collection[str]]) -> dict[str, Any]:
    keys = {key for held in known for key in held.history.keys_of_topic(topic)}
    return {
        "topic": topic,
        "routes": list(_routes(known, topic)),
        "writable": {held.namesrv: topic in writable[held.namesrv] for held in known},
        "differs_since": differs_since(known, keys) if _is_different(known, topic) else None,
    }


def _routes(known: Sequence[RowsHeld], topic: str) -> Iterator[dict[str, Any]]:
    """The different routes of a topic, each with the name servers that have it."""
    seen: dict[tuple[tuple[str, TopicQueuesRow], ...], list[str]] = {}
    for held in known:
        seen.setdefault(tuple(sorted(held.topics.get(topic, {}).items(), key=_name)), []).append(held.namesrv)
    for rows, namesrvs in seen.items():
        yield {"namesrvs": namesrvs, "queues": [_queues(name, row) for name, row in rows]}


def _name(named: tuple[str, TopicQueuesRow]) -> str:
    return named[0]


def _queues(name: str, row: TopicQueuesRow) -> dict[str, Any]:
    return {
        "broker_name": name, "read": row.read_queue_nums, "write": row.write_queue_nums,
        "perm": format_perm(row.perm),
    }  # fmt: skip


def _is_different(known: Sequence[RowsHeld], topic: str) -> bool:
    routes = [held.topics.get(topic) for held in known]
    return any(route != routes[0] for route in routes[1:])


def _has_master(group: BrokerGroup) -> bool:
    return MASTER_ID in group.broker_addrs


def _has_text(text: str, names: Iterable[str]) -> bool:
    wanted = text.casefold()
    return any(wanted in name.casefold() for name in names)
