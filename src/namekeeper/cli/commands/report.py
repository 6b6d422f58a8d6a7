"""`namekeeper report`: what a warehouse says of availability, flaps, drift, capacity and changes."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.history import AT_HELP, take_instant
from namekeeper.cli.output import note
from namekeeper.cli.shared_options import cluster_option
from namekeeper.cli.spark import MakeSession, refusals, session_options, shown_steps
from namekeeper.clock import SystemClock

if TYPE_CHECKING:
    from namekeeper.pipeline.report.values import Report

__all__ = ["report"]

_ALL = "all"
_FORMS = ("text", "json", "html")
_NAMES = ("incidents", "availability", "topics", "flaps", "drift", "capacity", "changes", "unknown-topics")


def _day_of(text: str, zone: str, option: str) -> str:
    """The day that a time is on, in a zone.

    Raises:
        click.BadParameter: it is not a time.
    """
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        instant = take_instant(text, ZoneInfo(zone), option)
        return datetime.fromtimestamp(instant / 1_000, ZoneInfo(zone)).date().isoformat()


def _days(from_text: str | None, to_text: str | None, zone: str) -> tuple[str | None, str | None]:
    """The first and the last day.

    Raises:
        click.BadParameter: there is no data of them: a report full of zeros would look like good news.
    """
    first = None if from_text is None else _day_of(from_text, zone, "--from")
    last = None if to_text is None else _day_of(to_text, zone, "--to")
    today = datetime.fromtimestamp(SystemClock().now().wall_ms / 1_000, ZoneInfo(zone)).date().isoformat()
    if first is not None and first > today:
        raise click.BadParameter(f"{from_text} is in the future: nothing is known of it", param_hint="--from")
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"{from_text} is after --to {to_text}", param_hint="--from")
    return first, last


def _take_outputs(
    _context: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[str | None, Path | None]:
    """Take forms and files, which had the same option; of several the last counts."""
    if "wide" in values:
        raise click.BadParameter("a report has no wide form; it has text, json and html")
    forms = [value for value in values if value in _FORMS]
    files = [Path(value) for value in values if value not in _FORMS]
    return forms[-1] if forms else None, _checked(files[-1]) if files else None


def _take_file(_context: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    return None if value is None else _checked(value)


def _checked(file: Path) -> Path:
    """A file that can be written; otherwise the work would be lost.

    Raises:
        click.BadParameter: it is a folder, or there is no folder for it.
    """
    if file.is_dir():
        raise click.BadParameter(f"{file} is a folder: give a file")
    if not file.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {file.parent}: make it, or choose another place")
    return file


@click.command("report", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("section", type=click.Choice([*_NAMES, _ALL]), default=_ALL)
@click.option("--warehouse", required=True, metavar="URI", help="Tables that `namekeeper pipeline run` made.")
@click.option(
    "-o", "--output", "outputs", multiple=True, metavar="[text|json|html|FILE]", callback=_take_outputs,
    help="How it is written, text by default; HTML is one page that needs nothing else. Another word is the "
    "same as --file.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as -o json.")
@click.option("--format", "form", type=click.Choice(_FORMS), hidden=True)
@click.option(
    "--file", type=click.Path(path_type=Path), metavar="FILE", callback=_take_file, help="File; else stdout."
)
@click.option(
    "--from", "from_text", metavar="TIME",
    help=f"The first day: 2026-03-01, or the day of any time. {AT_HELP}",
)  # fmt: skip
@click.option("--to", "to_text", metavar="TIME", help="The last day, included; written as --from.")
@cluster_option()
@session_options
def report(  # noqa: PLR0913 - one for each option
    section: str, *, warehouse: str, outputs: tuple[str | None, Path | None], as_json: bool,
    form: str | None, file: Path | None, from_text: str | None, to_text: str | None, cluster: str | None,
    session: MakeSession,
) -> None:  # fmt: skip
    """Report on a warehouse: one SECTION, or all of them.

    Days are those of the warehouse's time zone, and times without an offset are read in it. Says for each
    name server up to when it is known.
    """
    output = file or outputs[1]
    with refusals(), shown_steps() as progress:
        from namekeeper.pipeline.answers.engines import open_tables
        from namekeeper.pipeline.report.query import ReportQuery, collect_report

        render = _renderer("json" if as_json else outputs[0] or form or "text")
        tables = open_tables(warehouse, session)
        first_day, last_day = _days(from_text, to_text, tables.report_time_zone)
        sections: Sequence[str] = _NAMES if section == _ALL else (section,)
        made = collect_report(
            tables, ReportQuery(sections, first_day, last_day, warehouse, cluster), progress
        )
        text = render(made)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandRefused(
            f"{output} can't be written: {error.strerror}; choose another place with --file"
        ) from error
    note(f"written to {output}")


def _renderer(form: str) -> Callable[["Report"], str]:
    """The function that writes a report; chosen before any work is done."""
    if form == "html":
        from namekeeper.pipeline.report.html import render_html

        return render_html
    from namekeeper.pipeline.report.text import render_json, render_text

    return render_json if form == "json" else render_text
