"""`namekeeper incidents` and `status`: what is wrong now, and what was wrong lately, out of journals."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.incidents.reading import IncidentJournals, NamesrvRead
from namekeeper.answers.incidents.report import IncidentReport, find_incidents, namesrv_value
from namekeeper.answers.incidents.texts import incident_line
from namekeeper.answers.render import explain_knowledge, knows_up_to_text
from namekeeper.answers.source import found_in
from namekeeper.answers.times import Zone
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    journal_source_options,
    shown_reading,
    take_instant,
    take_journals,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.render import render_json
from namekeeper.cli.sections import SectionedCommand
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable
from namekeeper.drift.incidents import drift_amend
from namekeeper.errors import NamekeeperError
from namekeeper.journal.reading.coverage import Knowledge

if TYPE_CHECKING:
    from namekeeper.expected.incidents import ExpectedFile

__all__ = ["EXIT_OPEN", "LINES_SHOWN", "incidents_command", "status_command"]

EXIT_OPEN = 1
"""Exit status: something is wrong now."""
LINES_SHOWN = 40
"""By default so many incidents are shown of those that are open, and of those that are over."""

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_expect_option = click.option(
    "--expect", "expected_file", metavar="FILE",
    help="File of the expected state: deviations from it are incidents, too, and maintenance is marked.",
)  # fmt: skip


@click.command("incidents", cls=SectionedCommand, context_settings=_SETTINGS)
@click.option(
    "--since", "since_text", default="1 day ago", show_default=True, metavar="TIME",
    help=f"Also show incidents that were over after this time. {AT_HELP}",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=LINES_SHOWN, show_default=True,
    help="Most incidents that are shown of those that are open, and of those that are over.",
)  # fmt: skip
@_expect_option
@journal_source_options
@click.pass_context
def incidents_command(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, since_text: str, limit: int, expected_file: str | None,
    journals: tuple[str, ...], zone_name: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show what is wrong now and what was wrong lately, over all name servers, each with its cause.

    Brokers that are away, topics without a queue to write to, wiped permissions, name servers that are down,
    and what name servers disagree about. A topic is shown with the failure that took its last queue to write
    to.

    Ends with 0 if nothing unplanned is wrong now, 1 if something is; 2 if a journal can't be used; 3 if
    nothing is known.
    """
    zone = take_zone(zone_name)
    since = take_instant(since_text, zone, "--since")
    report = _report(journals, since, expected_file)
    if as_json:
        echo(render_json(report.value(limit)))
    else:
        for line in _lines(report, zone, since_text, limit):
            echo(line)
    context.exit(_exit_code(report))


@click.command("status", cls=SectionedCommand, context_settings=_SETTINGS)
@_expect_option
@journal_source_options
@click.pass_context
def status_command(
    context: click.Context, /, *, expected_file: str | None, journals: tuple[str, ...],
    zone_name: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show the state of each name server, and how many incidents are open.

    `incidents` shows them.

    Ends with 0 if nothing unplanned is wrong now, 1 if something is; 2 if a journal can't be used; 3 if
    nothing is known.
    """
    zone = take_zone(zone_name)
    report = _report(journals, take_instant("1 day ago", zone, "--since"), expected_file)
    kinds = dict(Counter(each.kind for each in report.open))
    if as_json:
        echo(render_json({"namesrvs": [*map(namesrv_value, report.name_servers)], "open_incidents": kinds}))
    else:
        for each in report.name_servers:
            echo(_namesrv_line(each, zone))
        counts = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())
        open_ = shown_count(len(report.open), "incident")
        echo(f"{open_} open: {counts}" if kinds else "nothing is wrong now, as far as is known")
    context.exit(_exit_code(report))


def _report(journals: tuple[str, ...], since: int, expected_file: str | None) -> IncidentReport:
    """Read the journals; print notes about them."""
    try:
        expected = None if expected_file is None else _read_expected(expected_file)
        with shown_reading() as progress:
            folders = take_journals(journals)
            found_journals = [each for folder in folders for each in found_in(folder)]
            reading = IncidentJournals(found_journals, progress, is_whole=expected is not None)
            every = reading.read(since)
        for text in (*reading.notes, *(() if expected is None else expected.notes)):
            note(f"note: {text}")
    except NamekeeperError as error:
        raise failure_of(error) from error
    planned = [] if expected is None else [expected.applied]
    return find_incidents(every, since, drift_amend(every, since), *planned)


def _exit_code(report: IncidentReport) -> int:
    if not report.has_records:
        return EXIT_NOT_KNOWN
    return EXIT_OPEN if any(not each.planned for each in report.open) else 0


def _read_expected(file: str) -> "ExpectedFile":
    from namekeeper.expected.incidents import ExpectedFile

    return ExpectedFile(file)


def _lines(report: IncidentReport, zone: Zone, since_text: str, limit: int) -> Iterator[str]:
    now = max(each.up_to or 0 for each in report.name_servers)
    yield from (_namesrv_line(each, zone) for each in report.name_servers)
    yield ""
    if report.open:
        yield "wrong now:"
    else:
        yield "nothing is wrong now, as far as is known"
    yield from _listed(report.open, now, zone, limit)
    if report.recent:
        yield f"over since {printable(since_text)}:"
    yield from _listed(report.recent, now, zone, limit)


def _listed(found: Sequence[FoundIncident], now: int, zone: Zone, limit: int) -> Iterator[str]:
    shown = found[:limit]
    yield from (f"  {incident_line(each, now, zone)}" for each in shown)
    if len(shown) < len(found):
        yield f"  and {shown_count(len(found) - len(shown), 'more incident')}: give --limit {len(found)}"


def _namesrv_line(each: NamesrvRead, zone: Zone) -> str:
    value = namesrv_value(each)
    parts = [explain_knowledge(value.knowledge)]
    if value.knowledge is Knowledge.KNOWN:
        state = "up" if each.is_written else "its journal is not written any more"
        brokers = shown_count(value.brokers or 0, "broker")
        parts = [state, brokers, shown_count(each.topics, "writable topic")]
    return printable(f"{value.namesrv}: {', '.join(parts)}  ({knows_up_to_text(value.knows_up_to, zone)})")
