"""Restores the routes at the end of the journal, at the start, before the port listens.

The restore is atomic: clients drop brokers that are missing in a route (docs/decisions/0020).
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from namekeeper.clock import Clock, machine_boot
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.errors import JournalError
from namekeeper.model.broker import BrokerKey
from namekeeper.model.now import Now
from namekeeper.processor.state import NameServerState
from namekeeper.route.change import TableChange
from namekeeper.route.events import BrokerLiveGone, BrokerNameRemoved, Cause, Change, Event
from namekeeper.route.missing import MissingRows
from namekeeper.route.removal import overdue
from namekeeper.route.restore import RestoreRoutes

if TYPE_CHECKING:
    from namekeeper.journal.reading.last_state import LastState

__all__ = ["Restoring"]

log = logging.getLogger("namekeeper.namesrv")

CLOCK_STEP_MS = 1_000
"""The clock may be behind the last record by this much: small steps back are usual."""


class Restoring:
    """Restores routes once; `NameServerState.restored` describes the result, or why there is none.

    Args:
        state: the state, whose route tables are empty.
        submit: submits a change of the tables.
        clock: returns the present time.
        expired: called if nothing is restored because every broker has expired, or may have. It records that:
            the next start must not skip this one, and restore them.
    """

    def __init__(
        self,
        state: NameServerState,
        submit: Callable[[TableChange[Any]], None],
        *,
        clock: Clock,
        expired: Callable[[], None] = lambda: None,
    ) -> None:
        self._state = state
        self._submit = submit
        self._clock = clock
        self._expired = expired
        self._found: tuple[LastState, str] | None = None
        """The state at the end of the journal, and the machine's boot in which it was read."""
        self._missing = MissingRows([], {})
        """The brokers that were missing at the end of the journal."""

    async def read(self) -> None:
        """Read the end of the journal, in a thread; the server starts even if it can't be used."""
        with self._reported(), _without_collector():
            self._found = await asyncio.to_thread(lambda: (self._read(), machine_boot()))

    def restore(self) -> None:
        """Make the routes visible that `read` has found."""
        found, self._found = self._found, None
        self._state.missing.restore(self._missing)
        if found is not None:
            with self._reported(), _without_collector():
                try:
                    self._state.restored = self._restore(*found)
                except JournalError:
                    self._expired()
                    raise
        log.info("routes at the start: %s", self._state.restored)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """After a failure, nothing is restored, and the state has the reason."""
        try:
            yield
        except JournalError as error:
            self._state.restored = f"nothing is restored: {error}"
        except Exception as error:
            log.exception("a bug: nothing is restored")
            self._state.restored = f"nothing is restored: a bug, see the log: {type(error).__name__}"

    def _restore(self, last: "LastState", machine: str) -> str:
        """Restore; raise JournalError with the reason if nothing can be restored."""
        away_ms = _away_ms(last, self._clock.now(), machine)
        idle_ms = _idle_ms(last, away_ms)
        if not idle_ms:
            raise JournalError("no broker was registered at the end of the journal")
        if all(_is_overdue(last, key, silence_ms) for key, silence_ms in idle_ms.items()):
            self._state.missing.take(_all_expired(last), last.ts)
            ago = shown_duration(away_ms)
            raise JournalError(f"every broker has expired: the last record was written {ago} ago")
        self._submit(RestoreRoutes(last.tables, idle_ms))
        for end in overdue(self._state.tables, self._clock.now()):
            self._submit(end)
        return self._restored(last, away_ms)

    def _read(self) -> "LastState":
        settings = self._state.settings
        if not settings.restore_routes:
            raise JournalError("restoreRoutes is off")
        if not settings.journal_enable:
            raise JournalError("there is no journal, as journalEnable is off")
        if not settings.listen_port and not settings.journal_path:
            raise JournalError("the port, and with it the journal's folder, is chosen later")
        from namekeeper.app.journal_settings import journal_folder

        folder = journal_folder(settings, settings.listen_port)
        if not _is_there(folder):
            raise JournalError("there is no journal yet")
        # Imported here: a server without a journal to read does not need it.
        from namekeeper.journal.disk.lock import is_locked
        from namekeeper.journal.disk.missing_file import load_missing
        from namekeeper.journal.reading.last_state import read_last_state

        if not is_locked(folder):
            self._missing = load_missing(folder)
        last = read_last_state(folder, missing=self._missing)
        if settings.listen_port and last.port not in {0, settings.listen_port}:
            raise JournalError(
                f"the journal in {folder} was written by a name server that listened at port {last.port}"
            )
        wanted = settings.journal_namesrv_id
        if wanted and wanted != last.namesrv:
            raise JournalError(
                f"the journal in {folder} belongs to {last.namesrv}, not to {wanted}: set "
                f"journalNamesrvId={last.namesrv}, or journalPath to a folder of its own"
            )
        self._missing = last.missing
        return last

    def _restored(self, last: "LastState", away_ms: int) -> str:
        tables = self._state.tables
        brokers, known = len(tables.broker_live_table), len(last.tables.broker_live_table)
        expired = f", {known - brokers} had expired" if brokers < known else ""
        how = "stopped" if last.is_stopped else "crashed"
        ago = shown_duration(max(0, away_ms - (last.alive_ts - last.ts)))
        what = f"{shown_count(brokers, 'broker')} and {shown_count(len(tables.topic_index), 'topic')}"
        return f"restored {what} of boot {last.boot}, which {how} {ago} ago{expired}"


def _away_ms(last: "LastState", now: Now, machine: str) -> int:
    """How long the server was away, by the wall clock; skipped boots count by their own time.

    Unless the machine was booted meanwhile, its monotonic clock measures it too: the longer time counts. The
    wall clock may have been set back; the other one stands still while the machine sleeps.
    """
    pauses_ms, end_ts = [], last.ts
    for boot in last.passed:
        pauses_ms.append(boot.began_ts - end_ts)
        end_ts = boot.ts
    pauses_ms.append(now.wall_ms - end_ts)
    away_ms = sum(max(0, ms) for ms in pauses_ms) + sum(boot.up_ms for boot in last.passed)
    if machine and machine == last.machine:
        return max(away_ms, now.mono_ms - last.mono_ms)
    if min(pauses_ms) < -CLOCK_STEP_MS:
        raise JournalError(
            f"the clock is {shown_duration(-min(pauses_ms))} before the last record of the journal, so it is"
            " not known how long the server was away"
        )
    return away_ms


def _idle_ms(last: "LastState", away_ms: int) -> Mapping[BrokerKey, int]:
    """How long each broker has been silent; a broker without a recorded heartbeat is overdue."""
    idle_ms = {}
    for live in last.tables.broker_live_table:
        until_last_record_ms = last.idle_ms.get(live.key, live.heartbeat_timeout_ms + 1)
        idle_ms[live.key] = until_last_record_ms + away_ms
    return idle_ms


def _is_overdue(last: "LastState", key: BrokerKey, idle_ms: int) -> bool:
    live = last.tables.broker_live_table.get(key)
    return live is not None and idle_ms > live.heartbeat_timeout_ms


def _all_expired(last: "LastState") -> Change:
    """The end of every registration, when no broker is restored."""
    events: list[Event] = [
        BrokerLiveGone(
            cluster_name=live.cluster_name,
            broker_addr=live.broker_addr,
            broker_name=live.broker_name,
            broker_id=live.broker_id,
            gen=live.gen,
            reason=Cause.EXPIRED,
            idle_ms=0,
            heartbeat_timeout_ms=live.heartbeat_timeout_ms,
        )
        for live in last.tables.broker_live_table
    ]
    events += [BrokerNameRemoved(name, table) for name, table in last.tables.topic_queue_table.items()]
    return Change(Cause.EXPIRED, None, tuple(events))


def _is_there(folder: str) -> bool:
    try:
        return any(Path(folder).iterdir())
    except OSError:
        return False


@contextmanager
def _without_collector() -> Iterator[None]:
    """Stop the garbage collector meanwhile: it would often scan a million new rows in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
