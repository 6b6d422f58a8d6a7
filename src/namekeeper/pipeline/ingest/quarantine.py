"""Rows of the table `quarantine`: rejected lines, and segments with missing records, each with the reason."""

import gzip
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.facts import UUID8
from namekeeper.pipeline.ingest.records import FILE, REASON, lines_of, rejected
from namekeeper.pipeline.ingest.segment_counts import SegmentCount
from namekeeper.pipeline.ingest.segment_lines import SegmentTooLargeError, lines_in
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["Loss", "look_for_loss", "quarantine_rows", "refused"]


class Loss(NamedTuple):
    """A segment without some of the records that its name promises."""

    segment: Segment
    detail: str
    """The reason."""
    is_final: bool
    """Whether reading the same file again would give the same result."""


def look_for_loss(folder: Folder, segment: Segment, count: SegmentCount) -> Loss | None:
    """Why a segment is not complete; None if its file is gone.

    Args:
        folder: The folder of the file.
        segment: The identity and the range of records that its name states.
        count: The counts of what was read from it.
    """
    read = count.records + count.rejected
    own = count.own(segment).records
    missing = max(0, segment.records - own)
    try:
        with folder.open(segment.path) as stream:
            lines, is_cut = _count_lines(lines_in(stream, segment))
    except FileNotFoundError:
        return None
    except SegmentTooLargeError as error:
        return refused(segment, str(error))
    if is_cut:
        what = f"its compressed data are damaged or end early after {shown_count(lines, 'line')}"
    elif own < count.records:
        of_others = shown_count(count.records - own, "record", "are")
        what = f"{of_others} of another name server or boot than its name says"
    elif lines > read:
        return Loss(
            segment,
            f"only {read} of its {lines} lines could be read this time; it is read again",
            is_final=False,
        )
    else:
        has = f"it has {shown_count(lines, 'line')}, {count.rejected} of them rejected"
        what = f"{has}; its name promises {segment.records}"
    return Loss(
        segment,
        f"{shown_count(missing, 'record', 'are')} missing: {what}. A whole copy is read when there is one",
        is_final=True,
    )


def refused(segment: Segment, reason: str) -> Loss:
    """A segment that no parser has read.

    Args:
        segment: The identity and the range of records that its name states.
        reason: The limit that it exceeds.
    """
    missing = shown_count(segment.records, "record", "are")
    detail = f"{missing} missing: {reason}, so nothing of it is read. A whole copy is read when there is one"
    return Loss(segment, detail, is_final=True)


def quarantine_rows(
    spark: SparkSession, paths: Sequence[str], losses: Sequence[Loss], load_id: int
) -> DataFrame:
    """Rows of the table `quarantine`; at least one of `paths` and `losses` must not be empty.

    Args:
        spark: The session.
        paths: Paths, for Spark, of segments with rejected lines.
        losses: Segments in which records are missing.
        load_id: The run.
    """
    lines = rejected(lines_of(spark, paths)) if paths else None
    rows = _of_segments(spark, losses) if losses else lines
    assert rows is not None, "called without anything to set aside"
    if losses and lines is not None:
        rows = rows.unionByName(lines)
    return rows.select(
        fn.expr(f"left({FILE}, length({FILE}) - length(substring_index({FILE}, '-', -4)) - 1)").alias(
            "namesrv"
        ),
        fn.expr(UUID8).alias("uuid8"),
        fn.expr(f"cast(split_part(substring_index({FILE}, '-', -3), '-', 1) AS bigint)").alias("boot"),
        FILE,
        fn.col(REASON).alias("reason"),
        "detail",
        "line",
        "length",
        fn.lit(load_id).cast("bigint").alias("load_id"),
    )


def _of_segments(spark: SparkSession, losses: Sequence[Loss]) -> DataFrame:
    ddl = f"{FILE} string, {REASON} string, detail string, line string, length bigint"
    segments = [(loss.segment.file, "incomplete_segment", loss.detail, None, None) for loss in losses]
    return spark.createDataFrame(segments, ddl)


def _count_lines(stream: Iterable[bytes]) -> tuple[int, bool]:
    """Number of lines that are not blank, and whether the data end too early."""
    lines = 0
    try:
        for line in stream:
            lines += bool(line.strip())
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return lines, True
    return lines, False
