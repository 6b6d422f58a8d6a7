"""Missing brokers and topics at an instant, as `route/missing.py` defines them, out of a history."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.answers.row_changes import Key, Values
from namekeeper.config.settings import NamesrvSettings
from namekeeper.console.instants import RowsHeld
from namekeeper.route.events import Cause
from namekeeper.route.missing import IN_ORDER

__all__ = ["missing"]

_SHOWN = 20
"""Missing brokers that are sent one by one; the others are counted."""
_ROW_ENDS = frozenset({Cause.DELETE_TOPIC, Cause.REGISTER, Cause.REGISTER_TOPIC})
"""Causes by which a topic ends that its broker's return does not bring back."""


class _MissingAt(Struct):
    """A broker that is missing at one name server or more."""

    broker_name: object
    broker_id: object
    since: int
    """Wall ms."""
    cause: str
    namesrvs: list[str]
    topics: set[str]


def missing(known: Sequence[RowsHeld]) -> dict[str, Any]:
    """The brokers that are missing, oldest first, and how many topics went with them.

    Args:
        known: what each name server held whose state is known.
    """
    found: dict[tuple[str, str], _MissingAt] = {}
    for held in known:
        for (_, cluster, addr), each in _missing_at(held):
            one = found.setdefault((cluster, addr), each)
            if one is not each:
                one.since = min(one.since, each.since)
                one.namesrvs += each.namesrvs
                one.topics |= each.topics
    oldest = sorted(found.items(), key=lambda item: (item[1].since, item[0]))
    return {
        "brokers_missing": len(found),
        "topics_missing": len(set[str]().union(*(each.topics for each in found.values()))),
        "missing": [
            {
                "cluster": cluster,
                "addr": addr,
                "broker_name": each.broker_name,
                "broker_id": each.broker_id,
                "since": each.since,
                "cause": each.cause,
                "namesrvs": each.namesrvs,
                "topics": len(each.topics),
            }
            for (cluster, addr), each in oldest[:_SHOWN]
        ],
    }


def _missing_at(held: RowsHeld) -> Iterator[tuple[Key, _MissingAt]]:
    versions, at = held.versions, held.at
    since = at - _within_ms(held)
    gone: list[tuple[Key, _MissingAt]] = []
    for key in versions.keys("live"):
        last = None if key in held.live else versions.version_at(key, at)
        if last is None or last.event.at < since or last.event.cause in IN_ORDER:
            continue
        before = _last_values(held, key)
        if before is None or _is_replaced(held, key, before, last.event.at):
            continue
        gone.append(
            (key, _MissingAt(before[0], before[1], last.event.at, last.event.cause, [held.namesrv], set()))
        )
    if gone:
        topics = _lost_topics(held, {str(each.broker_name) for _, each in gone})
        for _, each in gone:
            each.topics |= topics.get(str(each.broker_name), set())
    yield from gone


def _within_ms(held: RowsHeld) -> int:
    text = held.versions.properties_at(held.at).get("missingWithinSeconds", "")
    return 1000 * (int(text) if text.isdecimal() else NamesrvSettings().missing_within_seconds)


def _last_values(held: RowsHeld, key: Key) -> Values | None:
    """The values of a row before it ended."""
    for version in reversed(held.versions.versions(key)):
        if version.event.at <= held.at and version.values is not None:
            return version.values
    return None


def _is_replaced(held: RowsHeld, gone: Key, values: Values, since: int) -> bool:
    """Whether a broker that was not there when another went has its name and id now."""
    for key, row in held.live.items():
        if (key[1], row[0], row[1]) == (gone[1], values[0], values[1]):
            then = held.versions.version_at(key, since)
            if then is None or then.values is None or then.event.at == since:
                return True
    return False


def _lost_topics(held: RowsHeld, names: Iterable[str]) -> dict[str, set[str]]:
    """Broker name -> the topics that went with it, and that no broker name has."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for key in held.versions.keys("topic"):
        _, topic, name = key
        if name in found and topic not in held.topics:
            last = held.versions.version_at(key, held.at)
            if last is not None and last.values is None and last.event.cause not in _ROW_ENDS:
                found[name].add(topic)
    return found
