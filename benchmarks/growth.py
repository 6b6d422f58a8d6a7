"""What grows with name servers, brokers and days: `python -m benchmarks.growth NAME_SERVERS BROKERS DAYS`.

The ledger, the manifest and the store with segments are made up in the size that they would have. The code
of the pipeline reads, lists, orders and writes them. Data files are not written: their number follows from
the rules of the warehouse, and the number of rows from a quiet cluster. Spark is not started.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

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
Answer = TypeVar("Answer")


class Growth(NamedTuple):
    """A size, and what it means; times are CPU seconds, None if it was not tried."""

    name_servers: int
    brokers: int
    days: int
    rows_a_day: int
    rows: int
    segments: int
    files: int
    manifest_bytes: int
    manifest_s: float
    ledger_bytes: int
    ledger_s: float
    nothing_new_requests: int
    nothing_new_s: float
    complete_requests: int
    complete_s: float | None
    order_s: float | None
    order_reads: int | None
    loads: int


def grow(name_servers: int, brokers: int, days: int) -> Growth:
    """Simulate a size; segments are made each 5 minutes, and each name server starts once a month."""
    segments_each = SEGMENTS_A_DAY * days
    segments = name_servers * segments_each
    rows_a_day = name_servers * MINUTES * (brokers + 1)
    manifest = made_manifest(days, rows_a_day * days)
    encoded = manifest.to_json()
    manifest_s, _ = timed(lambda: Manifest.from_json(encoded, "").to_json())
    ledger = made_ledger(name_servers, segments_each, days)
    ledger_data = ledger.to_json()
    ledger_s, _ = timed(lambda: Ledger.from_json(ledger_data))
    store = ManyObjects(name_servers, segments_each)
    nothing_s, _ = timed(lambda: list_segments([store.folder], LoadedSegments(ledger), [store.folder]))
    answers = store.answers
    complete_s = order_s = reads = None
    if segments <= MOST_LISTED:
        complete_s, _ = timed(lambda: list_segments([store.folder], LoadedSegments(ledger)))
        order_s, reads = timed_order(name_servers, segments_each)
    return Growth(
        name_servers, brokers, days, rows_a_day, rows_a_day * days, segments,
        sum(map(len, manifest.tables.values())), len(encoded), manifest_s, len(ledger_data), ledger_s,
        FIXED_REQUESTS + answers, nothing_s, -(-segments // LISTED_AT_ONCE), complete_s, order_s, reads,
        -(-segments // MAX_BATCH_SEGMENTS),
    )  # fmt: skip


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


def lines_of(growth: Growth) -> Iterator[tuple[str, str]]:
    """What is simulated, and its figure."""
    yield "name servers x brokers x days", f"{growth.name_servers} x {growth.brokers} x {growth.days}"
    yield "rows of broker_minute and events a day, each", f"{growth.rows_a_day:,}"
    yield "the same of all days", f"{growth.rows:,}"
    yield "segments of 5 minutes", f"{growth.segments:,}"
    yield "loads of a first run", f"{growth.loads:,}"
    yield "data files", f"{growth.files:,}"
    yield "manifest, bytes", f"{growth.manifest_bytes:,}"
    yield "manifest, read and written, CPU s", f"{growth.manifest_s:.2f}"
    yield "ledger, bytes", f"{growth.ledger_bytes:,}"
    yield "ledger, read, CPU s", f"{growth.ledger_s:.2f}"
    yield "nothing new in a store, requests", f"{growth.nothing_new_requests:,}"
    yield "nothing new in a store, listing, CPU s", f"{growth.nothing_new_s:.2f}"
    yield "complete listing of a store, requests", f"{growth.complete_requests:,}"
    yield "complete listing of a store, CPU s", shown(growth.complete_s)
    yield "order of time of a first run, CPU s", shown(growth.order_s)
    reads = growth.order_reads
    yield "order of time of a first run, segments read", "not tried" if reads is None else f"{reads:,}"


def shown(seconds: float | None) -> str:
    """Seconds, or that they were not measured."""
    return "not tried" if seconds is None else f"{seconds:.2f}"


def main() -> None:
    """Simulate one size, or several, and print a table."""
    parser = argparse.ArgumentParser("benchmarks.growth")
    parser.add_argument("sizes", type=int, nargs="+", metavar="NAME_SERVERS BROKERS DAYS")
    numbers = parser.parse_args().sizes
    if len(numbers) % 3:
        parser.error("three numbers for each size")
    columns = [list(lines_of(grow(*numbers[at : at + 3]))) for at in range(0, len(numbers), 3)]
    table = Shown("", *(f"size {at + 1}" for at in range(len(columns))))
    for rows in zip(*columns, strict=True):
        table.add_row(rows[0][0], *(figure for _, figure in rows))
    Console().print(table)


if __name__ == "__main__":
    main()
