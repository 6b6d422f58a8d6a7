"""`namekeeper history`: every change of a topic, a broker or an address in a window, as a timeline."""

import sys
import time
from collections.abc import Callable

import click

from namekeeper.answers.source import HistorySource
from namekeeper.answers.timeline import TimelineEntry, timeline, timeline_json, timeline_lines
from namekeeper.answers.times import Zone
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    history_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.spark import MakeSession
from namekeeper.clock import SystemClock
from namekeeper.common.printable import printable
from namekeeper.errors import NamekeeperError

__all__ = ["history"]

POLL_SECONDS = 1.0
"""How often followed journals are read again."""
_END_MS = 2**62


@click.command("history", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", metavar="TOPIC|BROKER|ADDRESS")
@click.option(
    "--from", "from_text", default="1 day ago", show_default=True, metavar="TIME", help=f"{AT_HELP}"
)
@click.option("--to", "to_text", metavar="TIME", help="By default the last that is known.")
@history_options
@click.option(
    "-f", "--follow", is_flag=True, help="Print new changes as they are written, until interrupted."
)
def history(  # noqa: PLR0913 - one for each option
    name: str, *, from_text: str, to_text: str | None, journals: tuple[str, ...], warehouse: str | None,
    zone_name: str | None, as_json: bool, session: MakeSession, follow: bool,
) -> None:  # fmt: skip
    """Show every change of a TOPIC, a BROKER name, or an ADDRESS (host:port, or host) in a window.

    A line has the change, its cause and who asked, and which name servers recorded it, when. Equal changes
    within ten seconds are one line. Ends with 0, also if nothing changed; 2 if a journal can't be used.
    """
    zone = take_zone(zone_name)
    begin, end = _window(from_text, to_text, zone)
    if follow and (as_json or to_text is not None):
        raise click.UsageError("--follow goes neither with --to nor with --json")
    if follow and warehouse is not None:
        raise click.UsageError("--follow reads journals: a warehouse has nothing new until the next run")

    def read(since: int) -> list[TimelineEntry]:
        with shown_reading() as progress:
            return _read(name, lambda: take_source(journals, warehouse, progress, session), since, end)

    entries = read(begin)
    if as_json:
        echo(timeline_json(entries))
        return
    _show(entries, zone)
    if not any(entry.event.rows for entry in entries) and not follow:
        note(f"no change of {printable(name)} in this time; is it spelled as the brokers spell it?")
    while follow:
        sys.stdout.flush()
        time.sleep(POLL_SECONDS)
        begin = max((at for entry in entries for at in entry.seen.values()), default=begin)
        newer = read(begin)
        _show(newer, zone)
        entries = newer or entries


def _window(from_text: str, to_text: str | None, zone: Zone) -> tuple[int, int]:
    begin = take_instant(from_text, zone, "--from")
    end = _END_MS if to_text is None else take_instant(to_text, zone, "--to")
    if begin > SystemClock().now().wall_ms:
        raise click.BadParameter(f"{from_text} is in the future: nothing is known of it", param_hint="--from")
    if begin > end:
        raise click.BadParameter(f"{from_text} is after --to {to_text}", param_hint="--from")
    return begin, end


def _read(name: str, open_source: Callable[[], HistorySource], begin: int, end: int) -> list[TimelineEntry]:
    try:
        source = open_source()
        entries = timeline(source.changes(name, begin, end))
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    return entries


def _show(entries: list[TimelineEntry], zone: Zone) -> None:
    for line in timeline_lines(entries, zone):
        echo(line)
