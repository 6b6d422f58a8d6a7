"""Performs runs as a person or cron starts them: once or repeatedly, with lines that report the result."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.checks.findings import exit_code_of, lines_of
from namekeeper.pipeline.errors import PipelineError, WarehouseError
from namekeeper.pipeline.run import Request, RunResult, run_once
from namekeeper.pipeline.session import stop_active_session
from namekeeper.pipeline.signals import interrupted_by_signals
from namekeeper.pipeline.store.lock import LEASE_MS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.ingest.batch import Progress

__all__ = ["EXIT_CONFLICT", "Say", "report_of", "run_job"]

EXIT_CONFLICT = 2
"""Exit code if something was refused; the same as after an error."""

Say = Callable[[str], None]
"""Takes a line for the user."""

_LOSSES_SHOWN = 10
_STOPPED = "stopped; the warehouse is as the last commit left it"
_STOPPED_LATE = (
    f"{_STOPPED}. A store did not answer in time: a lease that this run has there ends by itself in"
    f" {shown_duration(LEASE_MS)} at most"
)


def run_job(
    request: Request,
    session: Callable[[], "SparkSession"],
    progress: "Progress",
    say: Say,
    *,
    watch_ms: int | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Run once, or at intervals until Ctrl-C, SIGTERM or SIGHUP; returns the exit code.

    Args:
        request: The task of the run.
        session: Gives the session when it is needed.
        progress: Called with the present step and its progress.
        say: Takes the lines.
        watch_ms: Time from the end of a run to the next, ms; None: one run.
        wait: Waits so many seconds.

    Raises:
        PipelineError: The only run could not be done; with `watch_ms` it is shown and tried again.
    """
    with interrupted_by_signals(lambda: say(_STOPPED_LATE)) as interruption:
        try:
            if watch_ms is None:
                return _once(request._replace(is_only=True), session, progress, say)
            while True:
                try:
                    _once(request, session, progress, say)
                except PipelineError as error:
                    say(f"{error}; trying again in {shown_duration(watch_ms)}")
                wait(watch_ms / 1_000)
        except KeyboardInterrupt:
            say(_STOPPED)
            stop_active_session()  # threads of the run may wait for it
            return interruption.exit_code


def report_of(outcome: RunResult) -> Iterator[str]:
    """Lines that report the result of a run."""
    listing = outcome.listing
    there = len(listing.segments) + listing.known
    segments = f"{shown_count(there, 'segment', 'are')} there"
    if not listing.is_whole:
        segments = "loaded segments were skipped"
    records = sum(load.records for load in outcome.loads)
    yield f"{shown_count(records, 'new record')}; {segments}" if outcome.loads else f"nothing new; {segments}"
    yield from (f"{uri} has no sealed segment yet" for uri in outcome.listing.empty)
    if outcome.listing.ignored:
        yield f"{shown_count(outcome.listing.ignored, 'file', 'are')} of no journal, and ignored"
    yield from _not_taken(outcome)
    for namesrv, uuids in outcome.several.items():
        yield f"{namesrv} has had several journals, one after another: {', '.join(uuids)}"
    yield from (conflict.message for conflict in outcome.conflicts)
    if outcome.findings is not None:
        yield from lines_of(outcome.findings)


def _once(request: Request, session: Callable[[], "SparkSession"], progress: "Progress", say: Say) -> int:
    with _failures_of_files(request):
        outcome = run_once(request, session, progress)
    for line in report_of(outcome):
        say(line)
    return EXIT_CONFLICT if outcome.conflicts else exit_code_of(outcome.findings or ())


@contextmanager
def _failures_of_files(request: Request) -> Iterator[None]:
    """Turn a failure of a file system, or of an object store, into an error of ours.

    Raises:
        WarehouseError: Something could not be read or written.
    """
    try:
        yield
    except ConnectionRefusedError:
        raise  # by Spark's Java, which has ended
    except OSError as error:
        cause = str(error).strip().partition("\n")[0]
        places = ", ".join((*request.journals, request.warehouse))
        raise WarehouseError(
            f"a file can't be read or written: {cause}; are {places} there, and may this user use them?"
            " What was committed before stays"
        ) from error


def _not_taken(outcome: RunResult) -> Iterator[str]:
    if rejected := sum(load.rejected for load in outcome.loads):
        yield f"{rejected:,} lines can't be taken; they are in the table quarantine, with what is wrong"
    losses = [loss for load in outcome.loads for loss in load.losses]
    yield from (f"{loss.segment.file}: {loss.detail}" for loss in losses[:_LOSSES_SHOWN])
    if len(losses) > _LOSSES_SHOWN:
        yield f"and {len(losses) - _LOSSES_SHOWN:,} more segments are not whole; see the table quarantine"
