"""`namekeeper drift`: what the name servers of a cluster disagree about, since when, and what to look at."""

import click
import msgspec

from namekeeper.answers.times import Zone, shown
from namekeeper.cli.durations import take_duration
from namekeeper.cli.failure import failure_of
from namekeeper.cli.history import (
    AT_HELP,
    EXIT_NOT_KNOWN,
    history_options,
    shown_reading,
    take_instant,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.cli.verdict_table import Dated, show_verdicts
from namekeeper.common.counts import shown_count
from namekeeper.common.printable import printable, printable_json
from namekeeper.drift.compared import histories_of
from namekeeper.drift.report import DriftReport, find_drift, report_values
from namekeeper.errors import NamekeeperError

__all__ = ["EXIT_DIFFERENT", "drift"]

EXIT_DIFFERENT = 1


@click.command("drift", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--at", "at_text", metavar="TIME",
    help=f"{AT_HELP} By default now; of servers that do not run, the last instant that is known of all.",
)  # fmt: skip
@click.option(
    "--back", "back_ms", callback=take_duration, default="1 day", show_default=True, metavar="DURATION",
    help="How long before that time reading begins: of an older disagreement the start is not known.",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True,
    help="Most verdicts that are shown, the worst first.",
)  # fmt: skip
@history_options
@click.pass_context
def drift(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, at_text: str | None, back_ms: int, limit: int, journals: tuple[str, ...],
    warehouse: str | None, zone_name: str | None, as_json: bool, session: MakeSession,
) -> None:  # fmt: skip
    """Show what name servers disagree about, since when, and what to look at.

    Only name servers of one cluster are compared, those that share a broker, and only those whose state is
    known at that time. Disagreements of less than 5 seconds do not count.

    Ends with 0 if they agree, 1 if they disagree, 2 if a journal can't be used, 3 if no two can be compared.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session)
            at = source.instant(at)
            report = find_drift(histories_of(source, at, back_ms), at)
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(report_values(report, limit)), indent=2).decode()
        echo(printable_json(text))
    else:
        _print(report, limit, zone)
    if not report.is_compared:
        context.exit(EXIT_NOT_KNOWN)
    context.exit(EXIT_DIFFERENT if report.verdicts else 0)


def _print(report: DriftReport, limit: int, zone: Zone) -> None:
    for each in report.name_servers:
        if each.why_not:
            until = "" if each.knows_up_to is None else f" (they end at {shown(each.knows_up_to, zone)})"
            note(f"note: {printable(each.namesrv)} is not compared: {each.why_not}{until}")
    if not report.is_compared:
        shadows = ", ".join(map(printable, report.shadow_ids))
        also = f": clients do not ask {shadows}, which `namekeeper shadow` compares" if shadows else ""
        note(f"there are no two name servers to compare{also}")
        return
    names = [printable(each.namesrv) for each in report.name_servers if each.compared_with]
    what = f"{', '.join(names)} at {shown(report.at, zone)}"
    if report.unsettled:
        count = shown_count(report.unsettled, "difference", "do")
        note(f"note: {count} not count: perhaps a change on its way")
    if not report.verdicts:
        echo(f"These agree: {what}.")
        return
    show_verdicts([Dated(each, report.at) for each in report.verdicts[:limit]], zone)
    more = len(report.verdicts) - limit
    if more > 0:
        note(f"note: {shown_count(more, 'verdict')} more: give --limit {len(report.verdicts)}")
    echo(f"{shown_count(len(report.verdicts), 'verdict')} on {what}.")
