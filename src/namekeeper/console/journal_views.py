"""The views of the page that read journals, as the commands do, and not only the followed histories."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import to_builtins

from namekeeper.answers.audit import AuditQuery, audit_values
from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.render import explanation_values
from namekeeper.answers.source import PastAnswers
from namekeeper.clock import Clock
from namekeeper.common.durations import LATEST_MS
from namekeeper.common.near_names import did_you_mean
from namekeeper.console.evidence_links import broker_words, evidence_links
from namekeeper.console.histories import Histories
from namekeeper.console.query import Query, instant_in, name_in, number_in
from namekeeper.console.tables import ROWS_LIMIT
from namekeeper.errors import ConfigError
from namekeeper.history.forgotten import SearchKind

__all__ = ["JournalViews"]

_READERS_AT_ONCE = 2
"""Requests that read journals at once: each reads the state of a journal into memory."""


class JournalViews:
    """Answers why a topic had no route, and which requests were checked.

    Args:
        histories: the shown histories; callers don't hold their lock.
        open_source: opens the journals; None if there are none.
        clock: tells the present.
    """

    def __init__(
        self, histories: Histories, open_source: Callable[[], PastAnswers] | None, clock: Clock
    ) -> None:
        self._histories, self._open_source, self._clock = histories, open_source, clock
        self._reading_places = threading.BoundedSemaphore(_READERS_AT_ONCE)

    def why(self, query: Query) -> dict[str, Any]:
        """Why a topic had no route at an instant."""
        name, at = name_in(query), instant_in(query, "at", self._now())
        with self._source() as source:
            explanations = explain(source.evidence(name, at), at)
        found = [to_builtins(each) for each in explanation_values(explanations)]
        with self._histories.lock.to_look():
            names = self._histories.dropped_names(SearchKind.TOPIC)
            shown = self._histories.shown
            names = names.union(*(each.topics() for each in shown))
            brokers = broker_words(shown)
        return {
            "name": name,
            "near": "" if name in names else did_you_mean(name, names),
            "explanations": found,
            "links": evidence_links(found, brokers),
            "notes": source.notes,
        }

    def audit(self, query: Query) -> dict[str, Any]:
        """Requests that access rules checked or that were refused, newest first.

        By default those of the day before the end.
        """
        now = self._now()
        end = instant_in(query, "to", now)
        begin = instant_in(query, "from", now)
        if begin is None:
            begin = (now if end is None else end) - DAY_MS
        limit = number_in(query, "limit", 100, ROWS_LIMIT)
        with self._source() as source:
            wanted = AuditQuery(query.get("text", ""), newest=limit + 1)
            rows = audit_values(source.audit(begin, LATEST_MS if end is None else end, wanted))[::-1]
        return {
            "rows": rows[:limit],
            "has_more": len(rows) > limit,
            "from": begin,
            "notes": source.notes,
        }

    @contextlib.contextmanager
    def _source(self) -> Iterator[PastAnswers]:
        """The journals, for one of the few that may read them at once."""
        if self._open_source is None:
            raise ConfigError(
                "the answer is in the journals: start the console with --journal DIR, or --http HOST:PORT"
            )
        if not self._reading_places.acquire(blocking=False):
            raise ConfigError("others read the journals now: ask again in a few seconds")
        try:
            yield self._open_source()
        finally:
            self._reading_places.release()

    def _now(self) -> int:
        return self._clock.now().wall_ms
