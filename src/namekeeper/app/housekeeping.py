"""The periodic work of a name server: expire silent brokers, log the KV table, measure the loop's lag."""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable
from itertools import islice

from namekeeper.app.log_lines import shortened
from namekeeper.app.requests import Requests
from namekeeper.clock import Clock
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.channel import Channel
from namekeeper.route.fingerprint import Fingerprints, fingerprints
from namekeeper.route.queries import unwritable_topics
from namekeeper.route.removal import EndOfRegistration, end_sparing, overdue

__all__ = ["Housekeeping"]

log = logging.getLogger("namekeeper.namesrv")

FIRST_SCAN_MS = 5_000
"""Time of the first search for expired brokers, with any interval (R#9683)."""
FIRST_KV_PRINT_S = 60.0
LAG_SAMPLE_MS = 100
"""Interval at which the loop's delay is measured."""
SERVICE_LOOK_MS = 1_000
"""Interval at which the end of the wait for service is checked: its length may change meanwhile."""
KV_PRINT_LIMIT = 1_000
"""Entries that are logged each time; a line takes about 10 us, and there may be 100,000."""
KV_PRINT_SLICE = 100
KV_PRINT_HEAD = "-" * 56
KV_PRINT_S = 600.0
"""Every 10 minutes, first after one (protocol.md 5.1)."""
UNWRITABLE_COUNT_S = 15.0
"""Interval at which topics without a writable queue are counted after a change: about 2 us a topic."""
MISSING_COUNT_S = 1.0
"""Interval at which missing topics are counted after a change: about 2 us a topic."""
FINGERPRINT_MS = 30_000
"""Fingerprints are taken at each full and half minute: all name servers take theirs at the same instants.
Without a change since the last ones, these are still correct."""
FIRST_FINGERPRINT_MS = 60_000
"""The first are taken when brokers had time to register: they do so at least once a minute."""


class Housekeeping:
    """The periodic work of one server."""

    def __init__(
        self,
        state: NameServerState,
        requests: Requests,
        *,
        clock: Clock,
        scheduler: Scheduler,
        close_channel: Callable[[Channel], None],
        sample: Callable[[], None] = lambda: None,
    ) -> None:
        self._state = state
        self._requests = requests
        self._clock = clock
        self._scheduler = scheduler
        self._close_channel = close_channel
        self._sample = sample
        self._max_lag_ms = 0
        self.silent_kept = 0
        """Number of brokers that are silent for too long and kept by the guard."""
        self.unwritable_topics = 0
        """Number of topics without a writable queue, at the last count."""
        self.fingerprints: Fingerprints = {}
        """The last result of `take_fingerprints`; empty in the first minute."""
        self._counted_at: int | None = None
        """`NameServerState.revision` before the last count; None before the first."""
        self._missing_at: tuple[int, int] | None = None
        """Revisions of the missing brokers and of the state before the last count of missing topics."""
        self._fingerprints_at: int | None = None
        """Revision of the state at the last fingerprints."""

    def take_max_lag_ms(self) -> int:
        """The longest delay of the loop since the last call."""
        lag_ms, self._max_lag_ms = self._max_lag_ms, 0
        return lag_ms

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._scan())
            tasks.create_task(self._watch_loop_lag())
            tasks.create_task(self._print_kv_config())
            tasks.create_task(self._watch_unwritable())
            tasks.create_task(self._watch_missing())
            tasks.create_task(self._watch_fingerprints())
            tasks.create_task(self._wait_for_service())

    async def _scan(self) -> None:
        """Search for expired brokers; skip one scan after a stall, so that waiting input is read first.

        Never two in a row: a server that is always late still expires silent brokers.
        """
        interval_ms = self._state.settings.scan_not_active_broker_interval
        wait_ms = FIRST_SCAN_MS
        is_left_out = False
        while True:
            due_ms = self._clock.now().mono_ms + wait_ms
            await asyncio.sleep(wait_ms / 1000)
            wait_ms = interval_ms
            lag_ms = self._clock.now().mono_ms - due_ms
            is_left_out = lag_ms > interval_ms and not is_left_out
            if not is_left_out:
                await self._expire_safely()

    async def _expire_safely(self) -> None:
        try:
            await self.expire()
        except Exception:
            log.exception("the search for expired brokers failed")

    async def expire(self) -> None:
        """Submit the end of every overdue registration; each is checked again when the change is made.

        The server handles other requests between them: lookups go on while hundreds of brokers are removed.
        """
        ends = overdue(self._state.tables, self._clock.now())
        end_sparing(self._state.tables)
        if self._are_too_many(len(ends)):
            return
        await self._scheduler.finish(self._submit(ends))

    def _submit(self, ends: Iterable[EndOfRegistration]) -> Generator[None, None, None]:
        for end in ends:
            self._requests.submit(end, self._expired)
            yield

    def _are_too_many(self, silent: int) -> bool:
        """Whether the guard keeps silent brokers: a cut network is more likely than so many dead brokers."""
        percent, live = self._state.settings.expiry_guard_percent, len(self._state.tables.broker_live_table)
        was_held, self.silent_kept = self.silent_kept, 0
        if not percent or silent <= 1 or silent * 100 <= percent * live:
            return False
        self.silent_kept = silent
        if not was_held:
            log.error("%d of %d brokers are silent: none expires (expiryGuardPercent)", silent, live)
        return True

    def _expired(self, channel: Channel | None) -> None:
        if channel is not None:
            self._close_channel(channel)

    async def _watch_loop_lag(self) -> None:
        """Measure the delay of a timer, and so how long the loop was busy; then take a sample of lookups."""
        while True:
            due_ms = self._clock.now().mono_ms + LAG_SAMPLE_MS
            await asyncio.sleep(LAG_SAMPLE_MS / 1000)
            self._max_lag_ms = max(self._max_lag_ms, self._clock.now().mono_ms - due_ms)
            self._sample()

    async def _print_kv_config(self) -> None:
        await asyncio.sleep(FIRST_KV_PRINT_S)
        while True:
            await self.log_kv_config()
            await asyncio.sleep(KV_PRINT_S)

    async def log_kv_config(self) -> None:
        """Log the first entries of the KV configuration and count the others, between other requests.

        The head lines come for an empty one, too, as in Java.
        """
        await self._scheduler.finish(self._log_kv_config())

    def _log_kv_config(self) -> Generator[None, None, None]:
        kv_config = self._state.kv_config
        log.info(KV_PRINT_HEAD)
        log.info("configTable SIZE: %d", len(kv_config.table))
        entries = list(islice(kv_config.entries(), KV_PRINT_LIMIT))
        left = len(kv_config) - len(entries)
        for number, entry in enumerate(entries, 1):
            value = shortened(entry.value or "")
            log.info("configTable NS: %s Key: %s Value: %s", entry.namespace, entry.key, value)
            if number % KV_PRINT_SLICE == 0:
                yield
        if left > 0:
            log.info("configTable: and %d more entries", left)

    async def _watch_unwritable(self) -> None:
        while True:
            await self.count_unwritable()
            await asyncio.sleep(UNWRITABLE_COUNT_S)

    async def count_unwritable(self) -> None:
        """Count the topics without a writable queue, if anything has changed since the last count.

        The server handles other requests between the slices.
        """
        revision = self._state.revision
        if revision == self._counted_at:
            return
        found = await self._scheduler.finish(unwritable_topics(self._state.tables))
        self.unwritable_topics, self._counted_at = len(found.topic_list), revision

    async def _watch_missing(self) -> None:
        while True:
            await self.count_missing()
            await asyncio.sleep(MISSING_COUNT_S)

    async def count_missing(self) -> None:
        """Forget brokers that have been missing for too long; count the missing topics, if anything changed.

        The server handles other requests between the slices.
        """
        missing, state = self._state.missing, self._state
        missing.forget(self._clock.now().wall_ms - state.settings.missing_within_seconds * 1000)
        revisions = missing.revision, state.revision
        if revisions != self._missing_at:
            await self._scheduler.finish(missing.count_topics(state.tables))
            self._missing_at = revisions

    async def _watch_fingerprints(self) -> None:
        await asyncio.sleep(FIRST_FINGERPRINT_MS / 1000)
        while True:
            past_ms = self._clock.now().wall_ms % FINGERPRINT_MS
            await asyncio.sleep((FINGERPRINT_MS - past_ms) / 1000)
            await self.take_fingerprints()

    async def take_fingerprints(self) -> None:
        """Take the fingerprints of the server's state, if anything has changed since the last ones.

        The server handles other requests between the slices.
        """
        revision = self._state.revision
        if revision == self._fingerprints_at:
            return
        self.fingerprints = await self._scheduler.finish(
            fingerprints(self._state.tables, self._state.kv_config.table)
        )
        self._fingerprints_at = revision

    async def _wait_for_service(self) -> None:
        """End the wait for service after its time (waitSecondsForService)."""
        began_ms = self._clock.now().mono_ms
        while True:
            passed_ms = self._clock.now().mono_ms - began_ms
            left_ms = self._state.settings.wait_seconds_for_service * 1000 - passed_ms
            if left_ms <= 0:
                break
            await asyncio.sleep(min(left_ms, SERVICE_LOOK_MS) / 1000)
        self._state.end_wait_for_service()
