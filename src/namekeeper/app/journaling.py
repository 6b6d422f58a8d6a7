"""A running server's journal: made from its settings, told what happens, started and stopped in order."""

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path

from namekeeper import __version__
from namekeeper.clock import Clock
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError, RequestError
from namekeeper.http.stats import JournalStats
from namekeeper.journal.checkpoint import take_snapshot
from namekeeper.journal.journal import Journal
from namekeeper.journal.lookups import LookupCounts
from namekeeper.journal.names import id_of_host, is_valid_id
from namekeeper.journal.recorder import Source
from namekeeper.journal.settings import (
    DAY_MS,
    Fsync,
    JournalSettings,
    Limits,
    SegmentSettings,
    WriterSettings,
)
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Change
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.known import Tally

__all__ = ["Journaling", "journal_folder"]

log = logging.getLogger("namekeeper.journal")

STOP_SECONDS = 10.0
"""How long the disk may take when the server stops: sealing 64 MiB takes two."""
AFTER_A_BUG_SECONDS = 1.0
HOUR_MS = 3_600_000
REASON_LIMIT = 200
"""Characters of a remark that are kept as the reason of a denial."""


class Journaling:
    """Everything the app does with its journal; nothing if `journalEnable` is off.

    Args:
        state: what there is to record.
        clock: the time.
        connections: how many are open.

    Raises:
        ConfigError: the id can't be used.
    """

    def __init__(
        self, state: NameServerState, *, clock: Clock, connections: Callable[[], int] = lambda: 0
    ) -> None:
        settings = state.settings
        _check_id(settings.journal_namesrv_id)
        self._settings = settings
        self._lookups = LookupCounts(state.route_answers.known.forget, is_on=settings.journal_enable)
        self._long_way = 0
        self._journal: Journal | None = None
        if settings.journal_enable:
            source = Source(
                lambda: take_snapshot(state.tables, state.kv_config, state.config.values()),
                connections,
                self._lookups,
            )
            self._journal = Journal(_journal_settings(settings), source, clock=clock)

    # What happens.

    def record(self, change: Change) -> None:
        """Something was changed."""
        if self._journal is not None:
            self._journal.recorder.record(change)

    def looked_up(self, topic: str) -> Tally:
        """A route was found the long way; the result counts those that are found the short way."""
        tally = self._lookups.tally(topic)
        tally.count += 1
        self._long_way += 1
        return tally

    @property
    def short_way(self) -> int:
        """Routes that were found by the bytes of the request."""
        return self._lookups.total - self._long_way

    def not_found(self, request: RemotingCommand) -> None:
        """A route was asked for, and there is none."""
        if self._journal is not None:
            topic = (request.ext_fields or {}).get("topic")
            self._journal.recorder.unknown_topic(topic, request.language, request.version)

    def refused(self, request: RemotingCommand, remote_addr: str, error: Exception) -> None:
        """A request was answered with an error; those that were not allowed are recorded."""
        if (
            self._journal is not None
            and isinstance(error, RequestError)
            and error.code == ResponseCode.NO_PERMISSION
        ):
            host = remote_addr.rpartition(":")[0].strip("[]")
            reason = error.remark.partition("\n")[0][:REASON_LIMIT]
            self._journal.recorder.denied(request.code, host, reason)

    # From start to end.

    def begin(self) -> None:
        """Record the beginning, before the first request."""
        if self._journal is not None:
            self._journal.recorder.begin()

    def start(self, port: int) -> None:
        """Open the folder and write, in a thread of its own; what goes wrong there stops no routing."""
        if self._journal is not None:
            self._journal.start(_writer_settings(self._settings, port), port)

    async def run(self) -> None:
        """Do what is due by the clock until cancelled."""
        while self._journal is not None:
            try:
                seconds = self._journal.tick()
            except Exception:
                log.exception("a bug in the journal")
                seconds = AFTER_A_BUG_SECONDS
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Record the end, and wait until it is on disk."""
        if self._journal is not None:
            self._journal.end()
            await asyncio.to_thread(self._journal.join, STOP_SECONDS)

    # What operators may know.

    @property
    def trouble(self) -> str:
        """What is wrong; empty if nothing is."""
        return self._journal.trouble if self._journal is not None else ""

    def stats(self) -> JournalStats | None:
        """Numbers of now; None without a journal."""
        journal = self._journal
        if journal is None or journal.writer is None:
            return None
        writer = journal.writer
        return JournalStats(
            last_seq=journal.recorder.intake.last_seq,
            durable_seq=writer.durable_seq,
            dropped_changes=journal.recorder.intake.dropped_changes,
            dropped_records=journal.dropped_records,
            queue_depth=journal.waiting,
            written_bytes=writer.written_bytes,
            disk_bytes=writer.disk_bytes,
            is_writable=not writer.trouble,
            namesrv="" if writer.opened is None else writer.opened.namesrv,
            boot=0 if writer.opened is None else writer.opened.boot,
        )


def journal_folder(settings: NamesrvSettings, port: int) -> str:
    """Where the journal of a server is that listens at `port`."""
    return settings.journal_path or str(Path(settings.kv_config_path).parent / "journal" / str(port))


def _check_id(namesrv: str) -> None:
    if namesrv and not is_valid_id(namesrv):
        raise ConfigError(
            f"journalNamesrvId={namesrv}: up to 120 letters, digits, dots, underscores, and single hyphens"
            " between them"
        )


def _journal_settings(settings: NamesrvSettings) -> JournalSettings:
    return JournalSettings(
        server_version=__version__,
        scan_interval_ms=settings.scan_not_active_broker_interval,
        queue_bytes=settings.journal_queue_bytes,
        checkpoint_ms=settings.journal_checkpoint_hours * HOUR_MS,
    )


def _writer_settings(settings: NamesrvSettings, port: int) -> WriterSettings:
    return WriterSettings(
        folder=journal_folder(settings, port),
        namesrv=settings.journal_namesrv_id or id_of_host(socket.gethostname(), port),
        is_configured=bool(settings.journal_namesrv_id),
        segments=SegmentSettings(
            fsync=Fsync(settings.journal_fsync),
            fsync_interval_ms=settings.journal_fsync_interval_ms,
            segment_bytes=settings.journal_segment_bytes,
            segment_ms=settings.journal_segment_seconds * 1000,
        ),
        limits=Limits(settings.journal_retention_bytes, settings.journal_retention_days * DAY_MS),
    )
