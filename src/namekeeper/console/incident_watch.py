"""Follows journals for their incidents: what notifications are made of, in any process that has histories.

A history with little memory drops its oldest changes. Incidents that began before are read from the journals
again, at intervals.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from namekeeper.answers.incidents.incident import incidents_by_cluster
from namekeeper.answers.incidents.reading import NamesrvRead
from namekeeper.clock import Clock
from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.console.computed import cached_until
from namekeeper.console.present_incidents import present_incidents
from namekeeper.console.reading import POLL_SECONDS, HistoriesReader
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.drift.incidents import PresentDrift, drift_amend
from namekeeper.errors import NamekeeperError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.notifications.incident_facts import SeenIncident
from namekeeper.notifications.tracking import SeenIncidents

__all__ = ["IncidentWatch"]

AGAIN_MS = 5_000
"""Interval at which incidents are looked for although no journal has news: time passes."""
REREAD_MS = 30_000
"""Least interval at which journals are read again for what histories have dropped."""
NEWEST_MS = 600_000
"""Beyond so short a memory, incidents that begin now are looked for by reading again, too."""

Reread = Callable[[int], Sequence[NamesrvRead]]
"""Reads the histories from a time on, wall ms. Raises NamekeeperError."""
Notified = Callable[[SeenIncidents], Awaitable[int | None]]
"""Gets the incidents of now; returns the start of the earliest open one that is followed, wall ms."""


class IncidentWatch:
    """Calls a function with the incidents, whenever they may have changed.

    Args:
        reader: reads the histories that are followed.
        reread: reads journals again for what was dropped; None: they can't be.
        clock: gives the present time.
        on_incidents: gets them, only after each history was read completely once.
        drift: gives what the name servers disagree about now; it is called with the lock of the histories.
        expected: what must be there, and what is planned; `reread` then gives every row. None: nothing is.
    """

    def __init__(
        self,
        reader: HistoriesReader,
        reread: Reread | None,
        clock: Clock,
        on_incidents: Notified,
        drift: Callable[[], PresentDrift],
        expected: ExpectedFile | None = None,
    ) -> None:
        self._reader, self._histories = reader, reader.histories
        self._reread, self._clock, self._on_incidents = reread, clock, on_incidents
        self._drift, self._expected = drift, expected
        self._finders = DaemonThreads("incidents", 1)
        self._looked_ms = self._reread_at = self._look_at = 0
        """Monotonic ms: of the last look; before which nothing is read again; before which nobody looks."""
        self._revision = -1

    async def run(self) -> None:
        """Look for incidents until it is cancelled, while the reader runs."""
        await self._reader.has_read.wait()
        while True:
            now = self._clock.now().mono_ms
            is_due = self._revision != self._histories.revision or now >= self._looked_ms + AGAIN_MS
            if is_due and now >= self._look_at:
                await self._look(now)
            await asyncio.sleep(POLL_SECONDS)

    async def _look(self, began_ms: int) -> None:
        self._looked_ms, self._revision = began_ms, self._histories.revision
        seen = await self._finders.run(self._present)
        earliest = await self._on_incidents(seen) if seen.up_to else None
        ended_ms = self._clock.now().mono_ms
        self._look_at = cached_until(began_ms, ended_ms)
        if self._reread is None or seen.since < 0 or ended_ms < self._reread_at:
            return
        has_old = earliest is not None and earliest < seen.since
        if has_old or not self._reread_at or seen.since > seen.up_to - NEWEST_MS:
            self._reread_at = ended_ms + REREAD_MS
            since = min(seen.since if earliest is None else earliest, seen.since) - 1
            earlier = await self._finders.run(self._earlier, self._reread, since, seen.since)
            if earlier is not None:
                await self._on_incidents(earlier)
            self._reread_at = max(self._reread_at, cached_until(ended_ms, self._clock.now().mono_ms))

    def _present(self) -> SeenIncidents:
        """The incidents by the followed histories."""
        with self._histories.lock.to_look():
            followed = self._histories.followed
            by_cluster, up_to = present_incidents(followed, self._drift(), self._expected)
            dropped = max((each.history.dropped_until or -1 for each in followed), default=-1)
        found = [SeenIncident(each, namesrvs) for namesrvs, some in by_cluster for each in some]
        # The first rows of a history that begins later look like a start of their name server.
        return SeenIncidents(up_to, found, since=dropped + WITNESS_AFTER_MS + 1 if dropped >= 0 else -1)

    def _earlier(self, reread: Reread, since: int, until: int) -> SeenIncidents | None:
        """The incidents that began before a time, by journals that are read again; None: they can't be."""
        try:
            every = reread(since)
        except NamekeeperError:
            return None  # the same is found, and said, when the journal is read on
        ends = {each.history.namesrv: each.up_to for each in every if each.up_to is not None}
        if not ends:
            return None
        histories = [each.history for each in every]
        by_cluster = incidents_by_cluster(histories, every[0].incident_topics, ends)
        by_cluster = drift_amend(every, since)(by_cluster, histories, ends)
        if self._expected is not None:
            by_cluster = self._expected.applied(by_cluster, histories, ends)
        found = [SeenIncident(each, namesrvs) for namesrvs, some in by_cluster for each in some]
        return SeenIncidents(max(ends.values()), found, until=until)
