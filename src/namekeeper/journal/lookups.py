"""Look-ups of known topics by the hour: an integer for each topic, which the hot path adds to."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from namekeeper.wire.known import Tally

if TYPE_CHECKING:
    from namekeeper.journal.record import LookupHour

__all__ = ["HOUR_MS", "LookupCounts"]

HOUR_MS = 3_600_000


class LookupCounts:
    """Topic -> tally; touched from the event loop only."""

    def __init__(self, forget: Callable[[], None] = lambda: None, *, is_on: bool = True) -> None:
        """Begin.

        Args:
            forget: has everybody who holds a tally let go of it.
            is_on: whether anybody wants to know.
        """
        self._tallies: dict[str, Tally] = {}
        self._taken = 0
        self._forget = forget
        self._all = None if is_on else Tally()

    @property
    def total(self) -> int:
        """Look-ups counted since the start."""
        if self._all is not None:
            return self._all.count
        return self._taken + sum(tally.count for tally in self._tallies.values())

    def tally(self, topic: str) -> Tally:
        """Where look-ups of a topic are counted, until the next `take`."""
        if self._all is not None:
            return self._all
        tally = self._tallies.get(topic)
        if tally is None:
            tally = self._tallies[topic] = Tally()
        return tally

    def take(self, hour: int) -> "Iterator[LookupHour]":
        """What was counted, as records of that hour, made on demand; counting begins anew at once."""
        self._taken = self.total
        tallies, self._tallies = self._tallies, {}
        self._forget()
        return _records(tallies, hour)


def _records(tallies: dict[str, Tally], hour: int) -> "Iterator[LookupHour]":
    from namekeeper.journal.record import ROWS_IN_A_RECORD, LookupHour  # late: a server listens before

    topics = list(tallies)
    for start in range(0, len(topics), ROWS_IN_A_RECORD):
        piece = topics[start : start + ROWS_IN_A_RECORD]
        yield LookupHour(hour=hour, lookups=[(topic, tallies[topic].count) for topic in piece])
