"""Lookups of topics that have a route, by the hour, as records of the journal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from namekeeper.lookup_cache.counters import LookupCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from namekeeper.journal.contract.activity import LookupHour

__all__ = ["HOUR_MS", "lookup_hours"]

HOUR_MS = 3_600_000


def lookup_hours(counters: Mapping[str, LookupCounter], hour: int) -> "Iterator[LookupHour]":
    """The records of an hour; each is made when it is needed."""
    from namekeeper.journal.contract.activity import LookupHour
    from namekeeper.journal.contract.record import ROWS_IN_A_RECORD

    topics = list(counters)
    for start in range(0, len(topics), ROWS_IN_A_RECORD):
        piece = topics[start : start + ROWS_IN_A_RECORD]
        yield LookupHour(hour=hour, lookups=[(topic, counters[topic].count) for topic in piece])
