"""Journals to measure with: days of a quiet cluster, written by the real recorder and writer."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.journal_volume import Cluster
from namekeeper.journal.settings import DAY_MS, Limits, WriterSettings

__all__ = ["ClusterSize", "Written", "kept_days", "write_days"]

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


class Written(NamedTuple):
    """Where each part of a journal is."""

    folders: tuple[Path, ...]
    records: int
    segments: int
    packed_bytes: int


def kept_days(folder: Path, size: ClusterSize, parts: Sequence[int]) -> Written:
    """Days that were written on an earlier run, else written now and kept.

    Args:
        folder: For all journals that are kept.
        size: What it is of.
        parts: Days of each part.
    """
    kept = folder / "-".join(map(str, (*size, *parts)))
    note = kept / "written.json"
    if not note.exists():
        shutil.rmtree(kept, ignore_errors=True)  # of a run that was cut off
        written = write_days(kept, size, parts)
        note.write_text(json.dumps(written[1:]))
    folders = tuple(kept / f"part-{number}" for number in range(len(parts)))
    return Written(folders, *json.loads(note.read_text()))


def write_days(folder: Path, size: ClusterSize, parts: Sequence[int]) -> Written:
    """Write a journal of some days, in parts that follow each other.

    Args:
        folder: For the parts; made.
        size: What it is of.
        parts: Days of each part.
    """
    settings = WriterSettings(folder=str(folder / "open"), namesrv="namesrv-1_9876", limits=FOR_EVER)
    cluster = Cluster(settings, size.brokers, size.topics, heartbeats=False)
    cluster.start()
    folders = tuple(folder / f"part-{number}" for number in range(len(parts)))
    for part, days in zip(folders, parts, strict=True):
        for minute in range(days * MINUTES_A_DAY):
            if minute % MINUTES_BETWEEN_CHECKPOINTS == 0:
                cluster.checkpoint()
            is_time_for_a_topic = minute % MINUTES_BETWEEN_TOPICS == 0
            cluster.minute(new_topics=int(is_time_for_a_topic), unknown=size.unknown)
        cluster.bytes_since()  # everything gets sealed
        part.mkdir(parents=True)
        for file in (folder / "open").glob("*.gz"):
            file.rename(part / file.name)
    records = cluster.recorder.sequencer.last_seq
    cluster.writer.close(cluster.clock.now())
    files = [file for part in folders for file in part.iterdir()]
    return Written(folders, records, len(files), sum(file.stat().st_size for file in files))
