"""Missing brokers and topics at an instant, as `route/missing.py` defines them, out of a history."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.config.settings import NamesrvSettings
from namekeeper.console.instants import RowsHeld
from namekeeper.history.rows import LiveKey, TopicKey, names_of
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.route.events import Cause
from namekeeper.route.missing import IN_ORDER

__all__ = ["missing"]

_SHOWN = 20
"""Missing brokers that are sent one by one; the others are counted."""
_DIGITS = 10
"""A longer number is no time in seconds: the property has fewer, and Python refuses to read some thousand."""
_ROW_ENDS = frozenset({Cause.DELETE_TOPIC, Cause.REGISTER, Cause.REGISTER_TOPIC})
"""Causes by which a topic ends that its broker's return does not bring back."""


class _MissingAt(Struct):
    """A broker that is missing at one name server or more."""

    broker_name: str
    broker_id: int
    since: int
    """Wall ms."""
    cause: str
    namesrvs: list[str]
    topics: set[str]


def missing(clusters: Iterable[Sequence[RowsHeld]]) -> dict[str, Any]:
    """The brokers that are missing, oldest first, and how many topics went with them.

    Args:
        clusters: what the name servers of each cluster held whose state is known.
    """
    every = [_missing_in(cluster) for cluster in clusters]
    found = [item for of_cluster in every for item in of_cluster.items()]
    oldest = sorted(found, key=lambda item: (item[1].since, names_of(item[0])))
    return {
        "brokers_missing": len(found),
        "topics_missing": sum(
            len(set[str]().union(*(each.topics for each in of_cluster.values()))) for of_cluster in every
        ),
        "missing": [
            {
                "cluster": key.cluster,
                "addr": key.broker_addr,
                "broker_name": each.broker_name,
                "broker_id": each.broker_id,
                "since": each.since,
                "cause": each.cause,
                "namesrvs": each.namesrvs,
                "topics": len(each.topics),
            }
            for key, each in oldest[:_SHOWN]
        ],
    }


def _missing_in(cluster: Sequence[RowsHeld]) -> dict[LiveKey, _MissingAt]:
    """The brokers that are missing at one name server of a cluster or more."""
    found: dict[LiveKey, _MissingAt] = {}
    for held in cluster:
        for key, each in _missing_at(held):
            one = found.setdefault(key, each)
            if one is not each:
                one.since = min(one.since, each.since)
                one.namesrvs += each.namesrvs
                one.topics |= each.topics
    return found


def _missing_at(held: RowsHeld) -> Iterator[tuple[LiveKey, _MissingAt]]:
    history, at = held.history, held.at
    since = at - _within_ms(held)
    gone: list[tuple[LiveKey, _MissingAt]] = []
    for key in history.keys(LiveKey):
        last = None if key in held.live else history.version_at(key, at)
        end = None if last is None else last.removed_by(at)
        if last is None or end is None or end.at < since or end.cause in IN_ORDER:
            continue
        if _is_replaced(held, last.row, end.at):
            continue
        name, broker_id = last.row.broker_name, last.row.broker_id
        gone.append((key, _MissingAt(name, broker_id, end.at, end.cause, [held.namesrv], set())))
    if gone:
        topics = _lost_topics(held, {each.broker_name for _, each in gone})
        for _, each in gone:
            each.topics |= topics.get(each.broker_name, set())
    yield from gone


def _within_ms(held: RowsHeld) -> int:
    text = held.history.property_at(held.at, "missingWithinSeconds") or ""
    is_number = (
        text.isdecimal() and len(text) <= _DIGITS
    )  # it may be from a name server that is only observed
    return 1000 * (int(text) if is_number else NamesrvSettings().missing_within_seconds)


def _is_replaced(held: RowsHeld, gone: BrokerLive, since: int) -> bool:
    """Whether a broker that was not there when another went has its name and id now."""
    for key, row in held.live.items():
        if (row.cluster, row.broker_name, row.broker_id) == (gone.cluster, gone.broker_name, gone.broker_id):
            then = held.history.version_at(key, since)
            if then is None or not then.is_valid(since) or then.begun.at == since:
                return True
    return False


def _lost_topics(held: RowsHeld, names: Iterable[str]) -> dict[str, set[str]]:
    """Broker name -> the topics that went with it, and that no broker name has."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for key in held.history.keys(TopicKey):
        if key.broker_name in found and key.topic not in held.topics:
            last = held.history.version_at(key, held.at)
            end = None if last is None else last.removed_by(held.at)
            if end is not None and end.cause not in _ROW_ENDS:
                found[key.broker_name].add(key.topic)
    return found
