"""A recorder on the test's clock, and what it has queued, as records."""

import json
from collections.abc import Iterable
from typing import Any

from namekeeper.journal.contract.encode import Stamp
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.recording.recorder import Recorder
from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.lookup_cache.counters import LookupCounters
from namekeeper.model.now import Now
from namekeeper.route.events import Cause, Change, KvChanged
from tests.support.server.builders import at

__all__ = ["Clock", "Rig", "kv_change", "taken"]


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.current = at(0)

    def now(self) -> Now:
        return self.current

    def advance(self, ms: int, *, step_ms: int = 0) -> None:
        self.current = Now(self.current.wall_ms + ms + step_ms, self.current.mono_ms + ms)


class Rig:
    """A recorder whose snapshot, connections and queue belong to the test."""

    def __init__(self, queue_bytes: int = 1 << 30, checkpoint_ms: int = 6 * 3_600_000) -> None:
        self.clock = Clock()
        self.backlog = Backlog(queue_bytes)
        self.snapshot = Snapshot({}, (), ())
        self.lookups = LookupCounters(by_topic=True)
        self.recorder = Recorder(
            Source(lambda: self.snapshot, lambda: 5, self.lookups.take),
            self.backlog,
            clock=self.clock,
            started=lambda: ServerStarted(uuid="u", server_version="t"),
            checkpoint_ms=checkpoint_ms,
        )

    def tick(self, *, lost_records: int = 0, is_writable: bool = True) -> float:
        return self.recorder.tick(lost_records=lost_records, is_writable=is_writable)

    def taken(self) -> list[dict[str, Any]]:
        return taken(self.backlog)

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.taken()]


def taken(backlog: Backlog) -> list[dict[str, Any]]:
    """Take everything and encode it, as the writer does."""
    return list(_records(backlog))


def _records(backlog: Backlog) -> Iterable[dict[str, Any]]:
    while (entry := backlog.take()) is not None:
        lines = list(entry.encode(Stamp("ns", 1, entry.seq, entry.ts, entry.up_ms)))
        assert len(lines) == entry.records
        backlog.done(entry.weight)
        yield from map(json.loads, lines)


def kv_change(value: str | None = "v", count: int = 1) -> Change:
    events = tuple(KvChanged("ns", f"k{number}", value) for number in range(count))
    return Change(Cause.PUT_KV, "10.9.0.1:5000", events)
