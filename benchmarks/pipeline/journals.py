"""Journals to measure with: days of a quiet cluster, written by the real recorder and writer."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.journal_volume import Cluster
from namekeeper.journal.settings import DAY_MS, Limits, WriterSettings

__all__ = ["ClusterSize", "Part", "Written", "days", "kept_parts", "write_parts"]

FOR_EVER = Limits(1 << 60, 1_000_000 * DAY_MS)
MINUTES_A_DAY = 24 * 60
MINUTES_BETWEEN_CHECKPOINTS = 6 * 60
MINUTES_BETWEEN_TOPICS = 24 * 60


class ClusterSize(NamedTuple):
    """The cluster whose journal it is."""

    brokers: int
    topics: int
    """On each broker."""
    unknown: int = 20
    """Topics a minute that nobody has."""

    @property
    def records_a_day(self) -> int:
        """About how many records it makes in a day."""
        lookups = 24 * (self.topics // 1_000 + 1)
        changes = MINUTES_A_DAY // MINUTES_BETWEEN_TOPICS * self.brokers * 2
        return MINUTES_A_DAY * (self.brokers + self.unknown + 1) + changes + lookups


class Part(NamedTuple):
    """A part of a journal."""

    minutes: int
    new_topics: int = 1
    """New topics of each broker a day."""
    starts_at: int = 0
    """Minute of its first day; the first minute of each day has the new topics, that of each quarter a
    checkpoint."""


def days(*numbers: int) -> tuple[Part, ...]:
    """Parts of so many days."""
    return tuple(Part(number * MINUTES_A_DAY) for number in numbers)


class Written(NamedTuple):
    """Where each part of a journal is."""

    folders: tuple[Path, ...]
    records: int
    segments: int
    packed_bytes: int


def kept_parts(folder: Path, size: ClusterSize, parts: Sequence[Part]) -> Written:
    """Parts that were written on an earlier run, else written now and kept.

    Args:
        folder: For all journals that are kept.
        size: What it is of.
        parts: Its parts.
    """
    kept = folder / "-".join(map(str, (*size, *(number for part in parts for number in part))))
    note = kept / "written.json"
    if not note.exists():
        shutil.rmtree(kept, ignore_errors=True)  # of a run that was cut off
        written = write_parts(kept, size, parts)
        note.write_text(json.dumps(written[1:]))
    folders = tuple(kept / f"part-{number}" for number in range(len(parts)))
    return Written(folders, *json.loads(note.read_text()))


def write_parts(folder: Path, size: ClusterSize, parts: Sequence[Part]) -> Written:
    """Write a journal, in parts that follow each other.

    Args:
        folder: For the parts; made.
        size: What it is of.
        parts: Its parts.
    """
    settings = WriterSettings(folder=str(folder / "open"), namesrv="namesrv-1_9876", limits=FOR_EVER)
    cluster = Cluster(settings, size.brokers, size.topics, heartbeats=False)
    cluster.start()
    folders = tuple(folder / f"part-{number}" for number in range(len(parts)))
    for into, part in zip(folders, parts, strict=True):
        for minute in range(part.starts_at, part.starts_at + part.minutes):
            if minute % MINUTES_BETWEEN_CHECKPOINTS == 0:
                cluster.checkpoint()
            new_topics = part.new_topics if minute % MINUTES_BETWEEN_TOPICS == 0 else 0
            cluster.minute(new_topics=new_topics, unknown=size.unknown)
        cluster.bytes_since()  # everything gets sealed
        into.mkdir(parents=True)
        for file in (folder / "open").glob("*.gz"):
            file.rename(into / file.name)
    records = cluster.recorder.sequencer.last_seq
    cluster.writer.close(cluster.clock.now())
    files = [file for part in folders for file in part.iterdir()]
    return Written(folders, records, len(files), sum(file.stat().st_size for file in files))
