"""New segments to rows of the fact tables, in one batch.

Lines are parsed once, into a staging folder by kind; everything else reads that. Most segments are whole,
begin and end between changes and overlap nothing: their rows go straight on. The others go through `mending`.
If a large batch has no others, what was staged is not written again for tables whose rows are the records.
A large batch is read as if every line could be parsed; if one can't, it is read again with an eye on that.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.files.folder import Folder, glob_escaped
from namekeeper.pipeline.ingest.facts import SAME_AS_RECORDS, as_rows, facts_of
from namekeeper.pipeline.ingest.ledger import Ledger, LifeKey
from namekeeper.pipeline.ingest.mending import UNFINISHED, Mended, mend, partition_of_kind, unfinished_rows
from namekeeper.pipeline.ingest.quarantine import Loss, look_for_loss, quarantine_rows
from namekeeper.pipeline.ingest.records import (
    FILE,
    REASON,
    columns_of_segments,
    is_unreadable,
    record_columns,
    records_of,
)
from namekeeper.pipeline.ingest.segments import Segment, bytes_of
from namekeeper.pipeline.ingest.sorting import Sorted, sort_segments
from namekeeper.pipeline.ingest.staging import PARTITION, Staging
from namekeeper.pipeline.ingest.tally import Tally, tallies_of
from namekeeper.pipeline.schema import EVENTS, FACTS, INCOMPLETE, KINDS_OF, QUARANTINE
from namekeeper.pipeline.store.kept_store import SCRATCH
from namekeeper.pipeline.store.table_store import Room, Span, Transaction

__all__ = ["Batch", "Ingested", "Progress", "ingest"]

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done, and how many there are."""

_REJECTED = "rejected"
LARGE_BYTES = 8 << 20
"""A smaller batch makes one file for each table, not one for each kind and task."""

_TASK_BYTES = 4 << 20
_LEAST_TASKS = 8
"""So many bytes of a large batch are for one task, unless it would have fewer tasks than this."""


class Ingested(NamedTuple):
    """What a batch brought."""

    ledger: Ledger
    """What is in now."""
    spans: Sequence[Span]
    """What came of each boot, with changes that it completed."""
    records: int
    """Rows that were added to `events`."""
    rejected: int
    """Lines that could not be taken."""
    losses: Sequence[Loss]
    """Segments in which records are missing."""


class Batch(NamedTuple):
    """Where a batch is made."""

    spark: SparkSession
    transaction: Transaction
    warehouse: Folder
    """Its folder."""
    journals: Mapping[str, Folder]
    """Folders that were listed, by URI."""
    progress: Progress

    def staging(self, room: Room | None = None) -> Staging:
        """A new place for staged records, or the one that tables can take them from."""
        path = room.path if room else f"{SCRATCH}/{self.transaction.load_id}-{uuid.uuid4().hex[:8]}"
        return Staging(self.warehouse, path)

    def room_for(self, segments: Sequence[Segment]) -> Room | None:
        """A place where records of segments can stay if there are many."""
        return self.transaction.room() if bytes_of(segments) >= LARGE_BYTES else None

    def paths(self, segments: Sequence[Segment]) -> list[str]:
        """Segments as Spark reads them."""
        return [glob_escaped(self.journals[each.journal].spark_path(each.path)) for each in segments]


def ingest(batch: Batch, segments: Sequence[Segment], ledger: Ledger) -> Ingested:
    """Add what is new in segments to the facts of a transaction.

    Args:
        batch: Where.
        segments: New segments, no two with the same name.
        ledger: What is in already.
    """
    room = batch.room_for(segments)
    with batch.staging(room) as staged, batch.staging() as mended:
        batch.progress("reading segments", 0, 1)
        tallies = _stage(batch, segments, staged, may_stay=room is not None)
        batch.progress("reading segments", 1, 1)
        found = sort_segments(segments, tallies, ledger)
        mending = _mend(batch, found, staged, mended)
        taken = _give(room, found, tallies, staged) if room else ()
        _write_facts(batch, found, staged, mended, taken)
        losses = _losses(batch, found, tallies)
        _write_quarantine(batch, segments, tallies, losses)
    spans = [*_spans(found, tallies), *mending.spans]
    return Ingested(
        _ledger(ledger, found, mending, spans, losses),
        spans,
        sum(tallies[segment.file].records for segment in found.straight) + mending.records,
        sum(tally.rejected for tally in tallies.values()),
        [loss for loss in losses.values() if loss is not None],
    )


def _stage(
    batch: Batch, segments: Sequence[Segment], staged: Staging, *, may_stay: bool
) -> Mapping[str, Tally]:
    paths = batch.paths(segments)
    columns = columns_of_segments(paths)
    # Each task makes a file for each kind; Spark would start one for some hundred segments.
    tasks = max(_LEAST_TASKS, bytes_of(segments) // _TASK_BYTES) if may_stay else None
    try:
        staged.write(_parted(batch, paths, may_stay=may_stay, all_readable=may_stay), columns, tasks)
    except Exception as error:
        if not (may_stay and is_unreadable(error)):
            raise
        staged.clear()
        staged.write(_parted(batch, paths, may_stay=may_stay, all_readable=False), columns, tasks)
    return tallies_of(staged.read(batch.spark), f"{PARTITION} = '{_REJECTED}'")


def _parted(batch: Batch, paths: Sequence[str], *, may_stay: bool, all_readable: bool) -> DataFrame:
    """Records of segments, with where each of them goes."""
    records = records_of(batch.spark, paths, all_readable=all_readable)
    part = fn.when(fn.col(REASON).isNotNull(), fn.lit(_REJECTED)).otherwise(partition_of_kind())
    chosen = records.select(*record_columns(), part.alias(PARTITION))
    return as_rows(chosen, batch.transaction.load_id) if may_stay else chosen


def _give(room: Room, found: Sorted, tallies: Mapping[str, Tally], staged: Staging) -> Collection[str]:
    """Let tables take what was staged, if all of it goes straight on; returns their names."""
    if len(found.straight) < len(tallies):
        return ()
    there = staged.parts()
    wanted = {FACTS[name]: there.intersection(kinds or there) for name, kinds in SAME_AS_RECORDS.items()}
    staged.give(room, wanted)
    return SAME_AS_RECORDS


def _mend(batch: Batch, found: Sorted, staged: Staging, mended: Staging) -> Mended:
    """Sort out the segments that can't go straight on."""
    if not found.lives:
        return Mended((), 0, ())
    batch.progress("mending segments", 0, 1)
    files = [segment.file for segment in found.crooked]
    records = staged.read(batch.spark).where((fn.col(PARTITION) != _REJECTED) & fn.col(FILE).isin(files))
    mending = mend(records, batch.transaction, found.lives, into=mended)
    batch.progress("mending segments", 1, 1)
    if mending.waiting:
        rows = unfinished_rows(
            mended.read(batch.spark), batch.transaction, found.lives, batch.transaction.load_id
        )
        batch.transaction.append(INCOMPLETE, rows)
    return mending


def _write_facts(
    batch: Batch, found: Sorted, staged: Staging, mended: Staging, taken: Collection[str]
) -> None:
    """Write each table of which there are records, but those that have taken what was staged."""
    sources: list[DataFrame] = []
    parts: set[str] = set()
    if found.straight:
        rows = staged.read(batch.spark)
        if found.crooked:
            rows = rows.where(~fn.col(FILE).isin([segment.file for segment in found.crooked]))
        sources.append(rows)
        parts |= staged.parts()
    if found.lives:
        sources.append(mended.read(batch.spark))
        parts |= mended.parts()
    parts -= {_REJECTED, UNFINISHED}
    wanted = {EVENTS.name: parts} | {name: parts.intersection(kinds) for name, kinds in KINDS_OF.items()}
    there = {name: kinds for name, kinds in wanted.items() if kinds and name not in taken}
    for done, (name, kinds) in enumerate(there.items()):
        batch.progress("writing facts", done, len(there))
        one, *others = (source.where(fn.col(PARTITION).isin(*kinds)) for source in sources)
        records = one.unionByName(others[0]) if others else one
        rows = facts_of(FACTS[name], records, batch.transaction.load_id)
        batch.transaction.append(FACTS[name], rows)
    batch.progress("writing facts", len(there), len(there))


def _losses(batch: Batch, found: Sorted, tallies: Mapping[str, Tally]) -> Mapping[Segment, Loss | None]:
    """Why segments were not whole; None for those that are gone."""
    return {
        segment: look_for_loss(batch.journals[segment.journal], segment, tallies.get(segment.file, Tally()))
        for segment in found.not_whole
    }


def _write_quarantine(
    batch: Batch,
    segments: Sequence[Segment],
    tallies: Mapping[str, Tally],
    losses: Mapping[Segment, Loss | None],
) -> None:
    with_rejected = [each for each in segments if tallies.get(each.file, Tally()).rejected]
    final = [loss for loss in losses.values() if loss is not None and loss.is_final]
    if with_rejected or final:
        load_id = batch.transaction.load_id
        rows = quarantine_rows(batch.spark, batch.paths(with_rejected), final, load_id)
        batch.transaction.append(QUARANTINE, rows)


def _spans(found: Sorted, tallies: Mapping[str, Tally]) -> list[Span]:
    """What the straight segments brought, one span for each life."""
    spans: dict[LifeKey, Span] = {}
    for segment in found.straight:
        group = tallies[segment.file].groups[0]
        span = Span(*segment.life, group.first_seq, group.last_seq, group.first_ts, group.last_ts)
        spans[segment.life] = span.joined(spans.get(segment.life, span))
    return list(spans.values())


def _ledger(
    ledger: Ledger,
    found: Sorted,
    mending: Mended,
    spans: Sequence[Span],
    losses: Mapping[Segment, Loss | None],
) -> Ledger:
    last_ts: dict[LifeKey, int] = {}
    for span in spans:
        life = span.namesrv, span.uuid8, span.boot
        last_ts[life] = max(span.last_ts, last_ts.get(life, 0))
    tried = [segment for segment, loss in losses.items() if loss is not None and loss.is_final]
    read = ledger.with_segments(found.whole, found.parts, tried)
    return read.with_times(last_ts).with_waiting(found.lives, mending.waiting)
