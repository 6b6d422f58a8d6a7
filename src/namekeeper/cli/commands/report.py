"""`namekeeper report`: what a warehouse says of availability, flaps, drift, capacity and changes."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import note
from namekeeper.cli.spark import MakeSession, refusals, session_options, shown_steps
from namekeeper.clock import SystemClock

if TYPE_CHECKING:
    from namekeeper.pipeline.report.values import Report

__all__ = ["report"]

_ALL = "all"
_NAMES = ("incidents", "availability", "topics", "flaps", "drift", "capacity", "changes", "unknown-topics")


def _day(_context: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Take a day."""
    try:
        return None if value is None else date.fromisoformat(value).isoformat()
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day like 2026-03-01") from None


def _check_days(first_day: str | None, last_day: str | None) -> None:
    """Refuse days without any data: a report full of zeros would look like good news."""
    # Days are those of the warehouse's zone, which is up to 14 hours ahead of UTC.
    now = datetime.fromtimestamp(SystemClock().now().wall_ms / 1_000, UTC)
    if first_day is not None and first_day > (now + timedelta(hours=14)).date().isoformat():
        raise click.BadParameter(f"{first_day} is in the future: nothing is known of it", param_hint="--from")
    if first_day is not None and last_day is not None and first_day > last_day:
        raise click.BadParameter(f"{first_day} is after --to {last_day}", param_hint="--from")


def _take_output(_context: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    """Take a file whose folder exists; otherwise the work would be lost."""
    if value is not None and not value.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {value.parent}: make it, or choose another place")
    return value


@click.command("report", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("section", type=click.Choice([*_NAMES, _ALL]), default=_ALL)
@click.option("--warehouse", required=True, metavar="URI", help="Tables that `namekeeper pipeline run` made.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True,
    help="How it is written; HTML is one file that needs nothing else.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), callback=_take_output,
    help="File; else stdout.",
)  # fmt: skip
@click.option("--from", "first_day", metavar="DAY", callback=_day, help="First day, as 2026-03-01.")
@click.option("--to", "last_day", metavar="DAY", callback=_day, help="Last day, included.")
@session_options
def report(  # noqa: PLR0913 - one for each option
    section: str, *, warehouse: str, form: str, output: Path | None, first_day: str | None,
    last_day: str | None, session: MakeSession,
) -> None:  # fmt: skip
    """Report on a warehouse: one SECTION, or all of them.

    Days are those of the warehouse's time zone. Says for each name server up to when it is known.
    """
    _check_days(first_day, last_day)
    with refusals(), shown_steps() as progress:
        from namekeeper.pipeline.answers.engines import open_tables
        from namekeeper.pipeline.report.query import ReportQuery, collect_report

        render = _renderer(form)
        tables = open_tables(warehouse, session)
        sections: Sequence[str] = _NAMES if section == _ALL else (section,)
        made = collect_report(tables, ReportQuery(sections, first_day, last_day, warehouse), progress)
        text = render(made)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandRefused(
            f"{output} can't be written: {error.strerror}; choose another place with -o"
        ) from error
    note(f"written to {output}")


def _renderer(form: str) -> Callable[["Report"], str]:
    """The function that writes a report; chosen before any work is done."""
    if form == "html":
        from namekeeper.pipeline.report.html import render_html

        return render_html
    from namekeeper.pipeline.report.text import render_json, render_text

    return render_json if form == "json" else render_text
