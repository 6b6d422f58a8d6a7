"""What grows with name servers, brokers and days: `python -m benchmarks.growth NAME_SERVERS BROKERS DAYS`.

The ledger, the manifest and the store with segments are made up in the size that they would have. The code
of the pipeline reads, lists, orders and writes them. Data files are not written: their number follows from
the rules of the warehouse, and the number of rows from a quiet cluster. Spark is not started.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.table import Table as Shown

from namekeeper.pipeline.gold.tables import GOLD, partition_column
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.loaded_segments import LoadedSegments
from namekeeper.pipeline.ingest.segments import Segment, list_segments
from namekeeper.pipeline.ingest.time_order import in_order_of_time
from namekeeper.pipeline.run import MAX_BATCH_SEGMENTS
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import DataFile, Manifest
from namekeeper.pipeline.store.parquet_store import MOST_ROWS, SMALL_FILES
from tests.support.pipeline.many_objects import BOOT, ManyObjects

MINUTES = 1_440
DAY_MS = 86_400_000
SEGMENTS_A_DAY = MINUTES // 5
LISTED_AT_ONCE = 1_000
FIXED_REQUESTS = 16
"""Requests of a run that finds nothing new, beside those that list segments: measured with moto's S3."""
MOST_LISTED = 3_000_000
"""Segments that fit into the memory of a machine for tests, as values."""
NOT_TRIED = "not tried"
Answer = TypeVar("Answer")


def grow(name_servers: int, brokers: int, days: int) -> Iterator[tuple[str, str]]:
    """Simulate a size; segments are made each 5 minutes, and each name server starts once a month.

    Yields:
        What is simulated, and its figure; seconds are of the CPU.
    """
    yield "name servers x brokers x days", f"{name_servers} x {brokers} x {days}"
    yield from warehouse_of(name_servers, brokers, days)
    yield from listings_of(name_servers, days)


def warehouse_of(name_servers: int, brokers: int, days: int) -> Iterator[tuple[str, str]]:
    """Rows, data files and the manifest."""
    rows_a_day = name_servers * MINUTES * (brokers + 1)
    yield "rows of broker_minute and events a day, each", f"{rows_a_day:,}"
    yield "the same of all days", f"{rows_a_day * days:,}"
    segments = name_servers * SEGMENTS_A_DAY * days
    yield "segments of 5 minutes", f"{segments:,}"
    yield "loads of a first run", f"{-(-segments // MAX_BATCH_SEGMENTS):,}"
    manifest = made_manifest(days, rows_a_day * days)
    encoded = manifest.to_json()
    seconds, _ = timed(lambda: Manifest.from_json(encoded, "").to_json())
    yield "data files", f"{sum(map(len, manifest.tables.values())):,}"
    yield "manifest, bytes", f"{len(encoded):,}"
    yield "manifest, read and written, CPU s", f"{seconds:.2f}"


def listings_of(name_servers: int, days: int) -> Iterator[tuple[str, str]]:
    """The ledger, and listings of a store with the segments that it has."""
    segments_each = SEGMENTS_A_DAY * days
    segments = name_servers * segments_each
    ledger = made_ledger(name_servers, segments_each, days)
    ledger_data = ledger.to_json()
    seconds, _ = timed(lambda: Ledger.from_json(ledger_data))
    yield "ledger, bytes", f"{len(ledger_data):,}"
    yield "ledger, read, CPU s", f"{seconds:.2f}"
    store = ManyObjects(name_servers, segments_each)
    seconds, _ = timed(lambda: list_segments([store.folder], LoadedSegments(ledger), [store.folder]))
    yield "nothing new in a store, requests", f"{FIXED_REQUESTS + store.answers:,}"
    yield "nothing new in a store, listing, CPU s", f"{seconds:.2f}"
    yield "complete listing of a store, requests", f"{-(-segments // LISTED_AT_ONCE):,}"
    of_listing = of_order = read = NOT_TRIED
    if segments <= MOST_LISTED:
        seconds, _ = timed(lambda: list_segments([store.folder], LoadedSegments(ledger)))
        of_listing = f"{seconds:.2f}"
        seconds, reads = timed_order(name_servers, segments_each)
        of_order, read = f"{seconds:.2f}", f"{reads:,}"
    yield "complete listing of a store, CPU s", of_listing
    yield "order of time of a first run, CPU s", of_order
    yield "order of time of a first run, segments read", read


def made_manifest(days: int, rows: int) -> Manifest:
    """A file for each day of each table of gold, large files of facts, and the small ones of recent loads."""
    tables: dict[str, tuple[DataFile, ...]] = {}
    for at, (name, table) in enumerate(GOLD.items()):
        values = [f"day-{day:06}" for day in range(days)] if partition_column(table) else [None]
        tables[name] = tuple(made_file(name, at, value) for value in values)
    for name in FACTS:
        large = -(-rows // MOST_ROWS) if name in {"events", "broker_minute"} else 0
        tables[name] = tuple(made_file(name, at, None) for at in range(large + SMALL_FILES - 1))
    return Manifest(1, 1, "UTC", "ledger/1.json", tables)


def made_file(table: str, number: int, value: str | None) -> DataFile:
    """A data file with a path as Spark makes them."""
    folder = f"partition={value}/" if value else ""
    name = f"part-00000-1a2b3c4d-0000-4000-8000-{number:012}.c000.zstd.parquet"
    return DataFile(f"tables/{table}/{number}-1f0c6e2a/{folder}{name}", 4_321, value, 1_234_567_890)


def made_ledger(name_servers: int, segments_each: int, days: int) -> Ledger:
    """The present boot of each name server has all segments; those before it have a few records."""
    boots = {
        (f"ns-{namesrv}", "0a1b2c3d", BOOT - month): LoadedBoot(((1, 10),), (), BOOT)
        for namesrv in range(name_servers)
        for month in range(1, days // 30 + 1)
    }
    present = LoadedBoot(((1, segments_each * 10),), (), BOOT)
    return Ledger(
        {**boots, **{(f"ns-{namesrv}", "0a1b2c3d", BOOT): present for namesrv in range(name_servers)}}
    )


def timed_order(name_servers: int, segments_each: int) -> tuple[float, int]:
    """CPU seconds of the order of a first run over all segments, and how many of them it reads."""
    segments = [
        Segment(
            f"ns-{namesrv}",
            "0a1b2c3d",
            BOOT,
            at * 10 + 1,
            at * 10 + 10,
            compressed=True,
            size=1,
            journal="j",
            path="p",
        )
        for namesrv in range(name_servers)
        for at in range(segments_each)
    ]
    reads: list[int] = []

    def first_ts(segment: Segment) -> int:
        reads.append(1)
        return BOOT + segment.first_seq // 10 * (DAY_MS // SEGMENTS_A_DAY)

    seconds, _ = timed(lambda: in_order_of_time(segments, first_ts))
    return seconds, len(reads)


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """CPU seconds of some work, and its result."""
    begin = time.process_time()
    answer = work()
    return time.process_time() - begin, answer


def main() -> None:
    """Simulate one size, or several, and print a table."""
    parser = argparse.ArgumentParser("benchmarks.growth")
    parser.add_argument("sizes", type=int, nargs="+", metavar="NAME_SERVERS BROKERS DAYS")
    numbers = parser.parse_args().sizes
    if len(numbers) % 3:
        parser.error("three numbers for each size")
    columns = [list(grow(*numbers[at : at + 3])) for at in range(0, len(numbers), 3)]
    table = Shown("", *(f"size {at + 1}" for at in range(len(columns))))
    for rows in zip(*columns, strict=True):
        table.add_row(rows[0][0], *(figure for _, figure in rows))
    Console().print(table)


if __name__ == "__main__":
    main()
