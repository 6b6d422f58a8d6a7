"""One run: list the segments, take new ones, compute gold, commit. Without new segments it ends at once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.failures import failures_of_spark
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.gold.tables import GOLD, partition_column
from namekeeper.pipeline.ingest.conflicts import Conflict, first_ts_of, last_ts_of, settle
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.ingest.loaded_segments import CompleteListings, LoadedSegments
from namekeeper.pipeline.ingest.segments import Listing, Segment, bytes_of, list_segments
from namekeeper.pipeline.ingest.time_order import in_order_of_time
from namekeeper.pipeline.java_settings import starting_for_seconds
from namekeeper.pipeline.little import is_little
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.lock import lock_warehouse
from namekeeper.pipeline.store.manifest import numbers_of
from namekeeper.pipeline.store.stores import Store, open_or_make_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.checks.checking import CheckFinding
    from namekeeper.pipeline.ingest.batch import Ingested, Progress

__all__ = ["MAX_BATCH_BYTES", "MAX_BATCH_SEGMENTS", "Request", "RunResult", "run_once"]

MAX_BATCH_SEGMENTS = 10_000
"""More than this, or ..."""
MAX_BATCH_BYTES = 256 << 20
"""... more bytes than this, are taken in several loads, each of them committed."""


class Request(NamedTuple):
    """The task of a run."""

    journals: Sequence[str]
    """URIs of folders with segments in them or below them."""
    warehouse: str
    """URI of the warehouse; it is made if it is not there."""
    report_time_zone: str | None = None
    """Time zone of days; None: that of the warehouse, or UTC for a new one."""
    take: Mapping[str, str] = {}
    """Name server -> digits of the UUID of its right journal, where two overlap."""
    tables: str | None = None
    """Location of the tables, as in `iceberg:nk.namekeeper`; None: that of the warehouse, or files for a new
    one."""
    check: bool = False
    """Whether to check the tables if something was new, as `pipeline check` does."""
    is_only: bool = False
    """Whether the process ends after this run."""


class RunResult(NamedTuple):
    """The result of a run: its listing, loads, conflicts and findings."""

    listing: Listing
    loads: Sequence["Ingested"] = ()
    conflicts: Sequence[Conflict] = ()
    several: Mapping[str, tuple[str, ...]] = {}
    """Name servers with more than one journal."""
    findings: Sequence["CheckFinding"] | None = None
    """Findings of the checks; None: nothing was checked."""


def run_once(
    request: Request,
    session: Callable[[], "SparkSession"],
    progress: "Progress",
    now_ms: Callable[[], int] = lambda: int(time.time() * 1_000),
) -> RunResult:
    """Update the warehouse with the new segments of the journals.

    Args:
        request: The task of the run.
        session: Gives the session; called only if something is new.
        progress: Called with what is done and how far it is.
        now_ms: Gives the time, ms since 1970.

    Raises:
        PipelineError: It can't be done; what was committed before stays as it is.
        OSError: A file or a store can't be used; the same holds.
    """
    _check_zone(request.report_time_zone)
    folders = {folder.uri: folder for folder in map(open_folder, dict.fromkeys(request.journals))}
    warehouse = open_folder(request.warehouse)
    # Journals that can't be read make no warehouse.
    first = None if numbers_of(warehouse) else list_segments(folders.values())
    with lock_warehouse(warehouse) as confirm:
        store = open_or_make_store(
            warehouse, request.report_time_zone, request.tables, (*FACTS, *GOLD), session
        )
        run = _Run(store, warehouse, folders, session, progress, confirm)
        ledger = run.ledger()
        complete = CompleteListings(warehouse, now_ms)
        skipped = [] if request.check else complete.still_valid(folders.values())
        listing = first or list_segments(folders.values(), LoadedSegments(ledger), skipped)
        settled = settle(
            ledger.new(listing.segments, run.sized), ledger, request.take,
            lambda segment: last_ts_of(folders[segment.journal], segment),
        )  # fmt: skip
        doubted = {conflict.namesrv for conflict in settled.conflicts}
        segments = [segment for segment in listing.segments if segment.namesrv not in doubted]
        loads = run.load_all(segments, settled.ledger, is_only=request.is_only)
        # After the loads: what a run has seen and not taken must not be skipped by the next one.
        complete.note(folder for folder in folders.values() if folder not in skipped)
        findings = run.findings() if loads and request.check else None
    return RunResult(listing, loads, settled.conflicts, settled.several, findings)


class _Run:
    """A run under way; the lock is held."""

    def __init__(
        self,
        store: Store,
        warehouse: Folder,
        journals: Mapping[str, Folder],
        session: Callable[[], "SparkSession"],
        progress: "Progress",
        confirm: Callable[[], None],
    ) -> None:
        self._store = store
        self._version = store.version()
        self._warehouse = warehouse
        self._journals = journals
        self._session = session
        self._progress = progress
        self._confirm = confirm

    def ledger(self) -> Ledger:
        """The ledger; made from the facts if its file is lost."""
        if self._version.ledger is not None:
            return Ledger.from_json(self._version.ledger)
        if self._version.is_empty:
            return Ledger()
        from namekeeper.pipeline.ingest.rebuilding import rebuilt_ledger

        self._progress("rebuilding the ledger", 0, 1)
        ledger = rebuilt_ledger(self._session(), self._store.reader())
        self._progress("rebuilding the ledger", 1, 1)
        return ledger

    def sized(self, segment: Segment) -> Segment:
        """A segment with its size."""
        if segment.size is not None:
            return segment
        return segment._replace(size=self._journals[segment.journal].size(segment.path))

    def load_all(self, segments: Sequence[Segment], ledger: Ledger, *, is_only: bool) -> list["Ingested"]:
        """Load new segments, in batches of bounded size, until each was tried."""
        loads: list[Ingested] = []
        seen: set[Segment] = set()
        while new := [segment for segment in ledger.new(segments, self.sized) if segment not in seen]:
            seen.update(new)
            for batch in self._batches(new):
                little = is_little(batch, ledger, self._version.manifest.tables)
                with starting_for_seconds() if little and is_only else nullcontext():
                    spark = self._session()
                done = self._load(spark, batch, ledger, little=little)
                ledger = done.ledger
                loads.append(done)
        if loads:
            self._confirm()
            self._store.clean_up()
        return loads

    def findings(self) -> Sequence["CheckFinding"]:
        """The findings of the checks in the present tables."""
        from namekeeper.pipeline.checks.checking import check_warehouse

        with failures_of_spark():
            return check_warehouse(self._session(), self._store.reader(), self._progress)

    def _batches(self, segments: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
        """Segments of one load each. Several loads are in order of time over all name servers."""
        if len(segments) > MAX_BATCH_SEGMENTS or bytes_of(segments) > MAX_BATCH_BYTES:
            segments = in_order_of_time(
                segments, lambda segment: first_ts_of(self._journals[segment.journal], segment)
            )
        while segments:
            batch = _bounded(segments)
            yield batch
            segments = segments[len(batch) :]

    def _load(
        self, spark: "SparkSession", segments: Sequence[Segment], ledger: Ledger, *, little: bool
    ) -> "Ingested":
        from namekeeper.pipeline.gold.build import build_gold
        from namekeeper.pipeline.ingest.batch import IngestBatch, ingest
        from namekeeper.pipeline.session_settings import suited_to_little_data

        # The ledger says what is new for this version: on a later one its rows would be there twice.
        transaction = self._store.begin(self._version.manifest, little=little)
        batch = IngestBatch(spark, transaction, self._warehouse, self._journals, self._progress)
        suited = suited_to_little_data(spark) if little else nullcontext()
        with failures_of_spark(), suited:
            done = ingest(batch, segments, ledger)
            build_gold(spark, transaction, done.loaded, self._progress)
            every = (*FACTS.values(), *GOLD.values())
            transaction.create_rest(spark, [(table, partition_column(table)) for table in every])
        self._confirm()
        self._version = transaction.commit(done.ledger.to_json())
        return done


def _check_zone(name: str | None) -> None:
    if name is None or not available_timezones():  # a machine without a list of zones: Java has its own
        return
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise WarehouseError(f"{name!r} is no time zone; names are like UTC or Europe/Berlin") from error


def _bounded(segments: Sequence[Segment]) -> list[Segment]:
    """The first segments, as many as one load takes; at least one if there are any."""
    batch: list[Segment] = []
    size = 0
    for segment in segments[:MAX_BATCH_SEGMENTS]:
        size += segment.size or 0
        if batch and size > MAX_BATCH_BYTES:
            break
        batch.append(segment)
    return batch
