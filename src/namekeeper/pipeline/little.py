"""Decides whether a run has little to do: by its new records, and by what it will write again."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.segments import Segment, bytes_of
from namekeeper.pipeline.store.manifest import DataFile

__all__ = ["LITTLE_BYTES", "LITTLE_RECORDS", "LITTLE_REWRITTEN_BYTES", "is_little"]

LITTLE_RECORDS = 50_000
"""Most new records of a run with little to do."""
LITTLE_BYTES = 8 << 20
"""Most bytes of its new segments."""
LITTLE_REWRITTEN_BYTES = 256 << 10
"""Most bytes of gold that it writes again. A small file has some KB, and a row of many some bytes."""


def is_little(segments: Sequence[Segment], ledger: Ledger, tables: Mapping[str, Sequence[DataFile]]) -> bool:
    """Whether compiling queries is not worth it.

    Args:
        segments: The new segments.
        ledger: The records that are in the warehouse already.
        tables: The data files of the warehouse; none if its tables are in a catalog.
    """
    return (
        sum(segment.records for segment in segments) <= LITTLE_RECORDS
        and bytes_of(segments) <= LITTLE_BYTES
        and _rewritten_bytes(tables, _first_day(segments, ledger)) <= LITTLE_REWRITTEN_BYTES
    )


def _rewritten_bytes(tables: Mapping[str, Sequence[DataFile]], first_day: str) -> int:
    """Bytes of the partitions of gold from a day on, of open rows, and of tables without partitions."""
    files = (file for name in GOLD for file in tables.get(name, ()))
    return sum(file.size for file in files if file.value is None or file.value >= first_day)


def _first_day(segments: Sequence[Segment], ledger: Ledger) -> str:
    """The first day that records of segments can belong to, in any time zone."""
    first_ms = min(_earliest_ms(each, ledger.boots.get(each.boot_key, LoadedBoot())) for each in segments)
    return (datetime.fromtimestamp(first_ms / 1_000, UTC) - timedelta(days=1)).date().isoformat()


def _earliest_ms(segment: Segment, loaded: LoadedBoot) -> int:
    """Records come after those that are in, unless the segment comes late: then only its boot is known."""
    is_next = bool(loaded.ranges) and segment.first_seq > loaded.ranges[-1][1]
    return loaded.last_ts if is_next else segment.boot
