"""What the commands about the past share: sources of history, times, zones, progress."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from namekeeper.answers.from_journal import DAY_MS
from namekeeper.answers.source import HistorySource, JournalSource, SourceProgress
from namekeeper.answers.times import Zone, instant_of, zone_of
from namekeeper.cli.output import note
from namekeeper.cli.spark import MakeSession, session_options
from namekeeper.clock import SystemClock
from namekeeper.errors import ConfigError

__all__ = [
    "AT_HELP",
    "EXIT_NOT_KNOWN",
    "history_options",
    "shown_reading",
    "take_instant",
    "take_source",
    "take_zone",
    "zone_option",
]

F = TypeVar("F", bound=Callable[..., Any])

EXIT_NOT_KNOWN = 3
"""Exit status: the state is not known at any name server."""

_LINES_FROM = 50
"""Without a terminal, progress is printed if there are at least so many segments."""
_LINES = 10
"""How many lines of progress are printed."""

AT_HELP = "Time: ISO 8601, a time of day, or '2 hours ago'."


def zone_option(function: F) -> F:
    """Add the option for the zone in which times are read and shown."""
    return click.option(
        "--zone", "zone_name", metavar="ZONE", help="Time zone to read and show times in; yours by default."
    )(function)


def history_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the source of the history, Spark, the zone and JSON."""
    function = session_options(function)
    function = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)
    function = zone_option(function)
    function = click.option("--warehouse", metavar="URI", help="Tables that `namekeeper pipeline run` made.")(
        function
    )
    return click.option(
        "--journal", "journals", multiple=True, metavar="DIR",
        help="Journal folder of a name server; once for each name server.",
    )(function)  # fmt: skip


def take_zone(name: str | None) -> Zone:
    """Read `--zone`.

    Raises:
        click.BadParameter: there is no such zone.
    """
    try:
        return zone_of(name)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--zone") from None


def take_instant(text: str, zone: Zone) -> int:
    """Read `--at`, as wall ms.

    Raises:
        click.BadParameter: it is not a time.
    """
    try:
        return instant_of(text, now_ms=SystemClock().now().wall_ms, zone=zone)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--at") from None


def take_source(
    journals: Sequence[str],
    warehouse: str | None,
    progress: SourceProgress,
    session: MakeSession,
    *,
    namesrv: str | None = None,
    back_ms: int = DAY_MS,
) -> HistorySource:
    """The source of the answers: journals or a warehouse.

    Raises:
        click.UsageError: neither or both are given.
        NamekeeperError: it can't be used; the message says what to do.
    """
    if bool(journals) == (warehouse is not None):
        raise click.UsageError("give the history: --journal DIR for each name server, or --warehouse URI")
    if warehouse is None:
        return JournalSource(journals, namesrv, back_ms=back_ms, progress=progress)
    from namekeeper.cli.warehouse import WarehouseSource

    return WarehouseSource(warehouse, session, namesrv, progress=progress)


@contextmanager
def shown_reading() -> Iterator[SourceProgress]:
    """Give a function that shows the progress of reading: a bar on a terminal, a few lines elsewhere."""
    if sys.stderr.isatty():
        from namekeeper.cli.progress import shown_progress

        with shown_progress() as show:
            yield show
        return
    yield _print_progress


def _print_progress(what: str, done: int, total: int) -> None:
    if total >= _LINES_FROM and done and done % (total // _LINES) == 0:
        note(f"{what}: {done} of {total} segments read")
