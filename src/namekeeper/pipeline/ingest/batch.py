"""Turns new segments into rows of the fact tables, in one batch.

Lines are parsed once, into a staging folder by kind; every later step reads that folder. Most segments are
clean: complete, without cut changes, without overlap. Their rows are written directly; the others need
`repair`. If a large batch has no damaged segment, the staged files themselves become part of the tables whose
rows are the records. Few records of clean segments need no staging: they come into this process, which writes
the files of all tables.

The first reading of a large batch of compressed segments assumes that every file is whole and every line can
be parsed. If one is not, a second, slower reading compares each line of all files with its checksum. Before
either, the driver looks whether a segment was made to stop a run; nothing of such a one is read.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.ingest.facts import SAME_AS_RECORDS, as_rows, facts_of
from namekeeper.pipeline.ingest.few_records import FewRecords, are_few
from namekeeper.pipeline.ingest.ledger import BootKey, Ledger
from namekeeper.pipeline.ingest.quarantine import Loss, look_for_loss, quarantine_rows, refused
from namekeeper.pipeline.ingest.records import (
    FILE,
    PARTITION,
    REJECTED,
    columns_of_segments,
    is_unreadable,
    parted_records,
)
from namekeeper.pipeline.ingest.repair import UNFINISHED, Repaired, repair_segments, unfinished_rows
from namekeeper.pipeline.ingest.segment_counts import SegmentCount, counts_of
from namekeeper.pipeline.ingest.segment_lines import TextSize, size_of
from namekeeper.pipeline.ingest.segments import Segment, bytes_of
from namekeeper.pipeline.ingest.sorting import Sorted, sort_segments
from namekeeper.pipeline.ingest.staging import Staging
from namekeeper.pipeline.schema import EVENTS, FACTS, INCOMPLETE, KINDS_OF, QUARANTINE
from namekeeper.pipeline.store.table_store import LoadedRange, SharedFiles, Transaction
from namekeeper.pipeline.store.warehouse_folder import SCRATCH

__all__ = ["IngestBatch", "Ingested", "Progress", "ingest"]

Progress = Callable[[str, int, int], None]
"""Called with the name of the present step, the number of finished parts, and the number of all parts."""

LARGE_BYTES = 8 << 20
"""A smaller batch makes one file for each table, not one for each kind and task."""

_LOOKING_THREADS = 4
"""Segments that are looked at at once: most of the time is waiting for a store, or zlib's."""

_TASK_BYTES = 4 << 20
_LEAST_TASKS = 8
"""Bytes of a large batch for one task, unless that gives fewer tasks than the next number."""


class Ingested(NamedTuple):
    """The result of a batch."""

    ledger: Ledger
    """The ledger after this batch."""
    loaded: Sequence[LoadedRange]
    """The new records of each boot, including those of changes that are complete now."""
    records: int
    """Rows that were added to `events`."""
    rejected: int
    """Lines that were rejected."""
    losses: Sequence[Loss]
    """Segments in which records are missing."""


class _Taken(NamedTuple):
    """The read segments of a batch, whose records are in the transaction."""

    counts: Mapping[str, SegmentCount]
    """Counts by the name of the segment."""
    found: Sorted
    repaired: Repaired


class IngestBatch(NamedTuple):
    """The session, the transaction and the folders of a batch."""

    spark: SparkSession
    transaction: Transaction
    warehouse: Folder
    """Folder of the warehouse; staged records lie below it."""
    journals: Mapping[str, Folder]
    """Folders that were listed, by URI."""
    progress: Progress

    def staging(self, shared: SharedFiles | None = None) -> Staging:
        """A new staging folder: a temporary one, or that of files which tables can share."""
        path = shared.path if shared else f"{SCRATCH}/{self.transaction.load_id}-{uuid.uuid4().hex[:8]}"
        return Staging(self.warehouse, path)

    def shared_files_for(self, segments: Sequence[Segment]) -> SharedFiles | None:
        """A folder for files that tables share, if the segments are large enough for that."""
        return self.transaction.shared_files() if bytes_of(segments) >= LARGE_BYTES else None

    def paths(self, segments: Sequence[Segment]) -> list[str]:
        """Segments as Spark reads them."""
        return [glob_escaped(self.journals[each.journal].spark_path(each.path)) for each in segments]


def ingest(batch: IngestBatch, segments: Sequence[Segment], ledger: Ledger) -> Ingested:
    """Add the new records of segments to the facts of a transaction.

    Args:
        batch: Where.
        segments: New segments, no two with the same name.
        ledger: The records that are in the warehouse already.
    """
    batch.progress("reading segments", 0, 1)
    sizes = _sizes(batch, segments)
    refusals = {
        segment: refused(segment, size.refusal) for segment, size in sizes.items() if size.refusal is not None
    }
    readable = [segment for segment in segments if segment not in refusals]
    are_here = readable and are_few([sizes[segment] for segment in readable])
    taken = _take_here(batch, segments, readable, ledger) if are_here else None
    counts, found, result = taken or _take_staged(batch, segments, readable, ledger)
    losses = _losses(batch, found, counts, refusals)
    _write_quarantine(batch, segments, counts, losses)
    loaded = [*_loaded_ranges(found, counts), *result.loaded]
    return Ingested(
        _ledger(ledger, found, result, loaded, losses),
        loaded,
        sum(counts[segment.file].records for segment in found.clean) + result.records,
        sum(count.rejected for count in counts.values()),
        [loss for loss in losses.values() if loss is not None],
    )


def _sizes(batch: IngestBatch, segments: Sequence[Segment]) -> Mapping[Segment, TextSize]:
    """The size of each segment. No parser may read some of them; they were made to stop a run."""
    folders = (batch.journals[segment.journal] for segment in segments)
    with ThreadPoolExecutor(_LOOKING_THREADS) as threads:
        return dict(zip(segments, threads.map(size_of, folders, segments), strict=True))


def _take_here(
    batch: IngestBatch, segments: Sequence[Segment], readable: Sequence[Segment], ledger: Ledger
) -> _Taken | None:
    """Write the facts of a small batch in this process; None if Spark has to."""
    add_rows = batch.transaction.rows_adder()
    if add_rows is None or bytes_of(readable) >= LARGE_BYTES:
        return None
    records = FewRecords(batch.spark, batch.paths(readable), batch.transaction.load_id)
    batch.progress("reading segments", 1, 1)
    counts = records.counts()
    found = sort_segments(segments, counts, ledger)
    if found.damaged:
        return None
    tables = [*records.tables()]
    for done, (table, rows) in enumerate(tables):
        batch.progress("writing facts", done, len(tables))
        add_rows(batch.spark, table, rows)
    batch.progress("writing facts", len(tables), len(tables))
    return _Taken(counts, found, Repaired((), 0, ()))


def _take_staged(
    batch: IngestBatch, segments: Sequence[Segment], readable: Sequence[Segment], ledger: Ledger
) -> _Taken:
    """Write the facts of a batch of any size, with a repair of its damaged segments."""
    shared = batch.shared_files_for(readable)
    with batch.staging(shared) as staged, batch.staging() as repaired:
        counts = _stage(batch, readable, staged, may_stay=shared is not None) if readable else {}
        batch.progress("reading segments", 1, 1)
        found = sort_segments(segments, counts, ledger)
        result = _repair(batch, found, staged, repaired)
        taken = _share(shared, found, counts, staged) if shared else ()
        _write_facts(batch, found, staged, repaired, taken)
    return _Taken(counts, found, result)


def _stage(
    batch: IngestBatch, segments: Sequence[Segment], staged: Staging, *, may_stay: bool
) -> Mapping[str, SegmentCount]:
    paths = batch.paths(segments)
    columns = columns_of_segments(paths)
    may_be_quick = may_stay and all(segment.compressed for segment in segments)
    # Each task makes a file for each kind; Spark would start one for some hundred segments.
    tasks = max(_LEAST_TASKS, bytes_of(segments) // _TASK_BYTES) if may_stay else None
    try:
        staged.write(_parted(batch, paths, may_stay=may_stay, all_readable=may_be_quick), columns, tasks)
    except Exception as error:
        if not (may_be_quick and is_unreadable(error)):
            raise
        staged.clear()
        staged.write(_parted(batch, paths, may_stay=may_stay, all_readable=False), columns, tasks)
    return counts_of(staged.read(batch.spark), f"{PARTITION} = '{REJECTED}'")


def _parted(batch: IngestBatch, paths: Sequence[str], *, may_stay: bool, all_readable: bool) -> DataFrame:
    """Records of segments, with the partition of each."""
    records = parted_records(batch.spark, paths, all_readable=all_readable)
    return as_rows(records, batch.transaction.load_id) if may_stay else records


def _share(
    shared: SharedFiles, found: Sorted, counts: Mapping[str, SegmentCount], staged: Staging
) -> Collection[str]:
    """If every segment is clean, make the staged files part of tables; returns the names of the tables."""
    if len(found.clean) < len(counts):
        return ()
    there = staged.parts()
    wanted = {FACTS[name]: there.intersection(kinds or there) for name, kinds in SAME_AS_RECORDS.items()}
    staged.share_with(shared, wanted)
    return SAME_AS_RECORDS


def _repair(batch: IngestBatch, found: Sorted, staged: Staging, repaired: Staging) -> Repaired:
    """Repair the damaged segments."""
    if not found.boots:
        return Repaired((), 0, ())
    batch.progress("repairing segments", 0, 1)
    files = [segment.file for segment in found.damaged]
    records = staged.read(batch.spark).where((fn.col(PARTITION) != REJECTED) & fn.col(FILE).isin(files))
    for segment in found.with_foreign:
        is_own = (fn.col("namesrv") == segment.namesrv) & (fn.col("boot") == segment.boot)
        records = records.where((fn.col(FILE) != segment.file) | is_own)
    result = repair_segments(records, batch.transaction, found.boots, into=repaired)
    batch.progress("repairing segments", 1, 1)
    if result.waiting:
        rows = unfinished_rows(
            repaired.read(batch.spark), batch.transaction, found.boots, batch.transaction.load_id
        )
        batch.transaction.append(INCOMPLETE, rows)
    return result


def _write_facts(
    batch: IngestBatch, found: Sorted, staged: Staging, repaired: Staging, taken: Collection[str]
) -> None:
    """Write every table with records, except those that share the staged files."""
    sources: list[DataFrame] = []
    parts: set[str] = set()
    if found.clean:
        rows = staged.read(batch.spark)
        if found.damaged:
            rows = rows.where(~fn.col(FILE).isin([segment.file for segment in found.damaged]))
        sources.append(rows)
        parts |= staged.parts()
    if found.boots:
        sources.append(repaired.read(batch.spark))
        parts |= repaired.parts()
    parts -= {REJECTED, UNFINISHED}
    wanted = {EVENTS.name: parts} | {name: parts.intersection(kinds) for name, kinds in KINDS_OF.items()}
    there = {name: kinds for name, kinds in wanted.items() if kinds and name not in taken}
    for done, (name, kinds) in enumerate(there.items()):
        batch.progress("writing facts", done, len(there))
        one, *others = (source.where(fn.col(PARTITION).isin(*kinds)) for source in sources)
        records = one.unionByName(others[0]) if others else one
        rows = facts_of(FACTS[name], records, batch.transaction.load_id)
        batch.transaction.append(FACTS[name], rows)
    batch.progress("writing facts", len(there), len(there))


def _losses(
    batch: IngestBatch,
    found: Sorted,
    counts: Mapping[str, SegmentCount],
    refusals: Mapping[Segment, Loss],
) -> Mapping[Segment, Loss | None]:
    """Why segments were not complete; None for a segment whose file is gone."""
    return {
        segment: refusals.get(segment)
        or look_for_loss(batch.journals[segment.journal], segment, counts.get(segment.file, SegmentCount()))
        for segment in found.incomplete
    }


def _write_quarantine(
    batch: IngestBatch,
    segments: Sequence[Segment],
    counts: Mapping[str, SegmentCount],
    losses: Mapping[Segment, Loss | None],
) -> None:
    with_rejected = [each for each in segments if counts.get(each.file, SegmentCount()).rejected]
    final = [loss for loss in losses.values() if loss is not None and loss.is_final]
    if with_rejected or final:
        load_id = batch.transaction.load_id
        rows = quarantine_rows(batch.spark, batch.paths(with_rejected), final, load_id)
        batch.transaction.append(QUARANTINE, rows)


def _loaded_ranges(found: Sorted, counts: Mapping[str, SegmentCount]) -> list[LoadedRange]:
    """The records of the clean segments, one range for each boot."""
    loaded: dict[BootKey, LoadedRange] = {}
    for segment in found.clean:
        found_in = counts[segment.file].boots[0]
        brought = LoadedRange(
            *segment.boot_key, found_in.first_seq, found_in.last_seq, found_in.first_ts, found_in.last_ts
        )
        loaded[segment.boot_key] = brought.joined(loaded.get(segment.boot_key, brought))
    return list(loaded.values())


def _ledger(
    ledger: Ledger,
    found: Sorted,
    result: Repaired,
    loaded: Sequence[LoadedRange],
    losses: Mapping[Segment, Loss | None],
) -> Ledger:
    last_ts: dict[BootKey, int] = {}
    for each in loaded:
        key = each.namesrv, each.uuid8, each.boot
        last_ts[key] = max(each.last_ts, last_ts.get(key, 0))
    tried = [segment for segment, loss in losses.items() if loss is not None and loss.is_final]
    read = ledger.with_segments(found.complete, found.parts, tried)
    return read.with_times(last_ts).with_waiting(found.boots, result.waiting)
