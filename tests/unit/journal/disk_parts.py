"""A writer with a model disk or a folder of its own, fed by hand: no thread, no clock, no server."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from namekeeper.errors import JournalError
from namekeeper.files import Os
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.contract.record import CheckpointBegin, CheckpointEnd, Cluster, Record, ServerStarted
from namekeeper.journal.disk.output import Opened
from namekeeper.journal.disk.writer import Writer
from namekeeper.journal.queue.backlog import Backlog, Entry, Mark
from namekeeper.journal.reading.reader import find_segments, read_segment_lines
from namekeeper.journal.settings import Fsync, Limits, SegmentSettings, WriterSettings
from namekeeper.model.now import Now
from tests.support.system.model_os import ModelOs

__all__ = [
    "FOLDER",
    "WALL_MS",
    "Feeder",
    "files_in",
    "lines_in",
    "lines_of",
    "model_disk",
    "no_lock",
    "records_in",
    "writer_on",
]

FOLDER = "/srv/journal/9876"
WALL_MS = 1_700_000_000_000


def no_lock(_path: str) -> Callable[[], None]:
    """A model disk has one user."""
    return lambda: None


def model_disk(chunk: int = 4096) -> ModelOs:
    """A disk with nothing on it but /srv."""
    disk = ModelOs(chunk=chunk)
    disk.folders |= {"/srv": True}
    return disk


def writer_on(
    disk: Os, backlog: Backlog, folder: str = FOLDER, *, limits: Limits | None = None, fsync: str = "interval",
    **segments: Any,
) -> Writer:  # fmt: skip
    settings = WriterSettings(
        folder=folder,
        namesrv="ns_9876",
        segments=SegmentSettings(fsync=Fsync(fsync), **segments),
        limits=limits or Limits(),
    )
    return Writer(settings, backlog, lock=no_lock, system=disk)


class Feeder:
    """Queues changes as the event loop does, with a time that passes by the call."""

    def __init__(self, limit_bytes: int = 1 << 30, wall_ms: int = WALL_MS) -> None:
        self.backlog = Backlog(limit_bytes)
        self.seq = 0
        self.now = Now(wall_ms, 1_000_000)

    def advance(self, ms: int) -> Now:
        self.now = Now(self.now.wall_ms + ms, self.now.mono_ms + ms)
        return self.now

    def put(self, *records: Record, mark: Mark = Mark.NONE, checkpoint: int = 0) -> int:
        """One change of several records; returns its last seq."""
        first = self.seq + 1
        self.seq += len(records)
        encode = partial(lines_of, records, checkpoint)
        entry = Entry(first, len(records), self.now.wall_ms, 0, 1_000, encode, mark)
        assert self.backlog.put(entry)
        return self.seq

    def begin(self, opened: Opened | None = None, rows: int = 1, *, observed_addr: str = "") -> int:
        """A boot and its first checkpoint."""
        self.seq = 0
        if opened is None:
            self.put(ServerStarted(uuid="?", server_version="test", checksums=True))
        else:
            self.put(
                ServerStarted(
                    uuid=opened.uuid,
                    server_version="test",
                    checksums=True,
                    previous_boot=opened.previous_boot,
                    previous_seq=opened.previous_seq,
                    observed_addr=observed_addr,
                )
            )
        return self.checkpoint(rows)

    def checkpoint(self, rows: int = 1) -> int:
        begin = self.put(CheckpointBegin(reason="start"), mark=Mark.CHECKPOINT_BEGIN)
        for number in range(rows):
            self.put(Cluster(cluster=f"c{number}"), checkpoint=begin)
        return self.put(CheckpointEnd(counts={"cluster": rows}), mark=Mark.CHECKPOINT_END, checkpoint=begin)

    def change(self, rows: int = 1, size: int = 10) -> int:
        """A change of some rows."""
        names = ("x" * size,)
        return self.put(
            *(Cluster(cluster=f"c{self.seq}.{row}", broker_names=list(names)) for row in range(rows))
        )


def lines_of(records: Iterable[Record], checkpoint: int, stamp: Stamp) -> list[bytes]:
    """As `encode_change` has it: one change, its end on the last."""
    records = list(records)
    lines = []
    for number, record in enumerate(records):
        position = Stamp(stamp.namesrv, stamp.boot, stamp.seq + number, stamp.ts, stamp.up_ms)
        line = json.loads(encode_record(record, position, checkpoint=checkpoint))
        del line["crc"]
        line["change"] = stamp.seq
        if number + 1 < len(records):
            del line["end"]
        lines.append(with_checksum(json.dumps(line, separators=(",", ":")).encode()))
    return lines


def lines_in(folder: str | Path, disk: Os | None = None) -> Iterator[Line]:
    """Every line of a journal in order."""
    system = disk or os
    for name in find_segments(str(folder), system=system):
        yield from read_segment_lines(str(folder), name, system=system)


def records_in(folder: str | Path, disk: Os | None = None) -> list[dict[str, Any]]:
    """Every record that can be read; none if there is not a journal yet."""
    try:
        return [json.loads(line.data) for line in lines_in(folder, disk) if not line.problem]
    except JournalError:
        return []


def files_in(folder: str | Path, disk: Os | None = None) -> list[str]:
    """Names of segments, with the long parts cut."""
    system = disk or os
    return [
        f"{name.first_seq}-{name.last_seq or 'open'}" for name in find_segments(str(folder), system=system)
    ]
