"""`namekeeper shadow`: whether a shadow has the tables of the observed name servers, and since when."""

from collections.abc import Iterable, Sequence

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
from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable, printable_json
from namekeeper.common.shadow_names import is_shadow
from namekeeper.drift.compared import histories_of
from namekeeper.drift.shadow import ShadowReport, ShadowState, shadow_report
from namekeeper.drift.shadow_value import shadow_summary, shadow_value
from namekeeper.errors import ConfigError, NamekeeperError

__all__ = ["EXIT_NOT_EQUAL", "shadow"]

EXIT_NOT_EQUAL = 1


@click.command("shadow", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--id", "shadow_id", metavar="ID",
    help="Id of the name server that is compared with the others; by default every shadow of an observer.",
)  # fmt: skip
@click.option(
    "--at", "at_text", metavar="TIME",
    help=f"{AT_HELP} By default now; of servers that do not run, the last instant that is known of all.",
)  # fmt: skip
@click.option(
    "--back", "back_ms", callback=take_duration, default="7 days", show_default=True, metavar="DURATION",
    help="How long before that time reading begins: nothing is known of the time before.",
)  # fmt: skip
@click.option(
    "--for", "least_ms", callback=take_duration, metavar="DURATION",
    help="End with 1 if the tables have not been equal for so long.",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True,
    help="Most differences that are shown, the worst first.",
)  # fmt: skip
@history_options
@click.pass_context
def shadow(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, shadow_id: str | None, at_text: str | None, back_ms: int,
    least_ms: int | None, limit: int, journals: tuple[str, ...], warehouse: str | None,
    zone_name: str | None, as_json: bool, session: MakeSession,
) -> None:  # fmt: skip
    """Show whether a shadow has the tables of the observed name servers, since when, and what differs.

    A shadow is a name server that brokers register with in addition to those that clients use, as
    `observe --shadow` runs it. Differences of less than 30 seconds do not count.

    Ends with 0 if the tables are equal and every broker registers with the shadow, 1 if not, 2 if a journal
    can't be used or has no shadow, 3 if the shadow can't be compared.
    """
    zone = take_zone(zone_name)
    at = None if at_text is None else take_instant(at_text, zone)
    try:
        with shown_reading() as progress:
            source = take_source(journals, warehouse, progress, session)
            at = source.instant(at)
            ids = _shadows(source.namesrvs(), shadow_id)
            histories = histories_of(source, at, back_ms)
            reports = [shadow_report(histories, each, at) for each in ids]
    except NamekeeperError as error:
        raise failure_of(error) from error
    for text in source.notes:
        note(f"note: {text}")
    if as_json:
        found = {"shadows": [shadow_value(each, limit) for each in reports]}
        echo(printable_json(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    else:
        for each in reports:
            _print(each, limit, zone)
    context.exit(max(_exit_code(each, least_ms or 0) for each in reports))


def _shadows(namesrvs: Sequence[str], wanted: str | None) -> list[str]:
    """Ids of the name servers that are shadows.

    Raises:
        ConfigError: there is none.
    """
    found = [each for each in namesrvs if (is_shadow(each) if wanted is None else each == wanted)]
    if not found:
        there = ", ".join(namesrvs)
        what = "there is no shadow" if wanted is None else f"there is no name server {wanted!r}"
        raise ConfigError(
            f"{what}: the journals are of {there}. Run one with `observe --shadow PORT`, or give --id"
        )
    return found


def _exit_code(report: ShadowReport, least_ms: int) -> int:
    if report.state is ShadowState.UNKNOWN:
        return EXIT_NOT_KNOWN
    return 0 if report.is_equal and report.equal_ms >= least_ms else EXIT_NOT_EQUAL


def _print(report: ShadowReport, limit: int, zone: Zone) -> None:
    echo(printable(f"{report.shadow}: {shadow_summary(report)}"))
    if report.equal_since is not None:
        echo(f"  since {shown(report.equal_since, zone)}, up to {shown(report.at, zone)}")
    if report.unknown_ms:
        note(
            f"note: {shown_duration(report.unknown_ms)} of this time do not count: the state of the shadow,"
            " or of all others, is not known"
        )
    if report.unsettled:
        count = shown_count(report.unsettled, "difference", "do")
        note(f"note: {count} not count: perhaps a change on its way")
    _show_some((Dated(each, report.at) for each in report.differences[:limit]), zone)
    more = len(report.differences) - limit
    if more > 0:
        note(f"note: {shown_count(more, 'difference')} more: give --limit {len(report.differences)}")
    if report.ended:
        echo("Differences that are over:")
        _show_some((Dated(one, each.to) for each in report.ended for one in each.verdicts), zone)


def _show_some(verdicts: Iterable[Dated], zone: Zone) -> None:
    some = list(verdicts)
    if some:
        show_verdicts(some, zone)
