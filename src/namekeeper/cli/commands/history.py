"""`namekeeper history`: every change in a window, of one name or of all, as a timeline."""

import sys
import time

import click

from namekeeper.answers.evidence import FOREVER
from namekeeper.answers.source import PastAnswers
from namekeeper.answers.timeline import ROWS_SHOWN, TimelineEntry, timeline, timeline_json, timeline_lines
from namekeeper.answers.times import Zone
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NO_SUCH_NAME,
    has_records_of,
    history_source_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, is_wide, json_option, note
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.shared_options import watch_option
from namekeeper.cli.spark import MakeSession
from namekeeper.clock import SystemClock
from namekeeper.common.durations import parse_duration_ms
from namekeeper.common.printable import printable
from namekeeper.errors import NamekeeperError
from namekeeper.history.rows import is_about_a_name

__all__ = ["history"]

WATCH_PAUSE = "1s"
"""How often watched journals are read again."""


@click.command("history", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", metavar="[TOPIC|BROKER|ADDRESS]", required=False)
@click.option(
    "--from", "from_text", default="1 day ago", show_default=True, metavar="TIME", help=f"{AT_HELP}"
)
@click.option("--to", "to_text", metavar="TIME", help="By default the last that is known.")
@history_source_options
@json_option(wide="every row of a change")
@click.pass_context
@watch_option(
    "Print new changes as they are written, until interrupted; look for them after this pause. Alone, of a "
    "second.", pause=WATCH_PAUSE,
)  # fmt: skip
@click.option("-f", "--follow", is_flag=True, hidden=True)
def history(  # noqa: PLR0913 - one for each option
    context: click.Context, /, name: str | None, *, from_text: str, to_text: str | None,
    journals: tuple[str, ...], warehouse: str | None, zone_name: str | None, as_json: bool,
    session: MakeSession, watch_ms: int | None, follow: bool,
) -> None:  # fmt: skip
    """Show every change of a TOPIC, a BROKER name, or an ADDRESS (host:port, or host) in a window.

    Without a name it shows every change of all of them, and of the KV configuration and the properties.

    A line has the change, its cause and who asked, and which name servers recorded it, when. Equal changes
    within ten seconds are one line. Ends with 0, also if nothing changed; 2 if a journal can't be used; 4 if
    no name server has a record of the name.
    """
    zone = take_zone(zone_name)
    begin, end = _window(from_text, to_text, zone)
    pause_ms = parse_duration_ms(WATCH_PAUSE) if follow and watch_ms is None else watch_ms
    if pause_ms and (as_json or to_text is not None):
        raise click.UsageError("--watch can't be used with --to or --json")
    if pause_ms and warehouse is not None:
        raise click.UsageError("--watch reads journals: a warehouse has nothing new until the next run")

    def open_source() -> PastAnswers:
        with shown_reading() as progress:
            return take_source(journals, warehouse, progress, session)

    try:
        source = open_source()
        entries = _read(name, source, begin, end)
        if as_json:
            echo(timeline_json(entries))
        else:
            _show(entries, zone)
        is_known = _explain_nothing(name, source, entries)
        if not is_known and not pause_ms:
            context.exit(EXIT_NO_SUCH_NAME)
        while pause_ms:
            sys.stdout.flush()
            time.sleep(pause_ms / 1_000)
            begin = max((at for entry in entries for at in entry.seen.values()), default=begin)
            newer = _read(name, open_source(), begin, end)
            _show(newer, zone)
            entries = newer or entries
    except NamekeeperError as error:
        raise failure_of(error) from error


def _window(from_text: str, to_text: str | None, zone: Zone) -> tuple[int, int]:
    begin = take_instant(from_text, zone, "--from")
    end = FOREVER if to_text is None else take_instant(to_text, zone, "--to")
    if begin > SystemClock().now().wall_ms:
        raise click.BadParameter(f"{from_text} is in the future: nothing is known of it", param_hint="--from")
    if begin > end:
        raise click.BadParameter(f"{from_text} is after --to {to_text}", param_hint="--from")
    return begin, end


def _read(name: str | None, source: PastAnswers, begin: int, end: int) -> list[TimelineEntry]:
    entries = timeline(source.changes(name, begin, end))
    for text in source.notes:
        note(f"note: {text}")
    return entries


def _explain_nothing(name: str | None, source: PastAnswers, entries: list[TimelineEntry]) -> bool:
    """If there is no entry about a name, say if it is known; whether it is known."""
    if name is None:
        if not entries:
            note("nothing changed in this time")
        return True
    if any(is_about_a_name(entry.event) for entry in entries):
        return True
    if not has_records_of(name, source):
        return False
    note(f"no change of {printable(name)} in this time")
    return True


def _show(entries: list[TimelineEntry], zone: Zone) -> None:
    for line in timeline_lines(entries, zone, None if is_wide() else ROWS_SHOWN):
        echo(line)
