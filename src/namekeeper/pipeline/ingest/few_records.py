"""The records of a small batch, read and brought into this process by one execution of Spark.

An execution has a plan, a job and a commit, whatever the number of its rows, and a batch fills ten tables or
more. Few rows become files of the tables here, without Spark.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.ingest.facts import rows_column, with_all_rows
from namekeeper.pipeline.ingest.records import FILE, PARTITION, REJECTED, columns_of_segments, parted_records
from namekeeper.pipeline.ingest.segment_counts import SegmentCount, counts_in
from namekeeper.pipeline.ingest.segment_lines import TextSize
from namekeeper.pipeline.schema import EVENTS, FACTS, KINDS_OF
from namekeeper.pipeline.table import Table, names_in

__all__ = ["FewRecords", "are_few"]

MOST_LINES = 50_000
"""Most lines of a batch whose records come here."""
MOST_ROW_BYTES = 512 << 20
"""Most bytes that their rows may have. A line with an array may be many rows with the same long name."""


def are_few(sizes: Collection[TextSize]) -> bool:
    """Whether the records of segments fit into this process.

    Args:
        sizes: The size of each segment, as this process has read it to its end.
    """
    lines = [size.lines for size in sizes]
    return (
        None not in lines
        and sum(filter(None, lines)) <= MOST_LINES
        and sum(size.row_bytes for size in sizes) <= MOST_ROW_BYTES
    )


class FewRecords:
    """Records of segments with their rows in all tables."""

    def __init__(self, spark: SparkSession, paths: Sequence[str], load_id: int) -> None:
        """Read segments.

        Args:
            spark: The session.
            paths: Segments, as Spark reads them.
            load_id: The run.
        """
        # Null at most, as in files of a large batch, so that all files of a table have one schema.
        file = fn.nullif(columns_of_segments(paths)[FILE], fn.lit("")).alias(FILE)
        records = parted_records(spark, paths).select("*", file)
        self._lines = with_all_rows(records, load_id).toArrow()

    def counts(self) -> Mapping[str, SegmentCount]:
        """Counts by the name of the segment; a segment without any line is left out."""
        return counts_in(self._lines)

    def tables(self) -> Iterator[tuple[Table, pa.Table]]:
        """The fact tables that have records, and their rows."""
        records = self._lines.filter(pc.not_equal(self._lines[PARTITION], REJECTED))
        if records.num_rows:
            yield EVENTS, records.select(names_in(EVENTS))
        for table in map(FACTS.__getitem__, KINDS_OF):
            lists = records[rows_column(table)].combine_chunks()
            if lists.null_count < len(lists):
                rows = records.take(pc.list_parent_indices(lists))
                own = lists.flatten()
                for field in own.type:
                    rows = rows.append_column(field, pc.struct_field(own, field.name))
                yield table, rows.select(names_in(table))
