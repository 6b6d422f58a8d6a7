"""A report as text for a terminal or a mail, and as JSON."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable, printable_json
from namekeeper.pipeline.report.columns import some_of
from namekeeper.pipeline.report.head import headlines, shown_period
from namekeeper.pipeline.report.table import Cell, columns_with_text, table_rows
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import Report, ReportColumn, Section, Severity

__all__ = ["render_json", "render_text"]

WIDEST = 60
"""Longer cells are cut."""
SHOWN = 200
"""Most rows of a table that are shown."""
_SIGNS = {Severity.GOOD: "+", Severity.NOTICE: "!", Severity.BAD: "x"}
"""The mark before a headline."""


def render_text(report: Report) -> str:
    """The report as aligned tables."""
    return "\n".join(_lines(report)) + "\n"


def render_json(report: Report) -> str:
    """The report as one JSON object; sections by their names, rows as the tables have them."""
    value = {
        "time_zone": report.zone,
        "days": report.days,
        "warehouse": report.warehouse,
        "headlines": [{"section": link.section, **link.headline._asdict()} for link in headlines(report)],
        "name_servers": report.name_servers,
        "sections": {
            section.name: {"summary": section.summary, "total": section.total, "rows": section.rows}
            for section in report.sections
        },
    }
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield shown_period(report)
    if report.period is None:
        return
    for link in headlines(report):
        yield f"{_SIGNS[link.headline.severity]} {printable(link.headline.text)}"
    for server in report.name_servers:
        known = f"{server['namesrv']}: known up to {shown_time(server['knows_up_to'], report.zone)}"
        unknown = f", {shown_duration(server['unknown_ms'])} unknown" if server["unknown_ms"] else ""
        losses = f", {shown_count(server['losses'], 'hole')} in its records" if server["losses"] else ""
        yield f"  {printable(known)}{unknown}{losses}"
    for section in report.sections:
        yield ""
        yield section.title
        yield "=" * len(section.title)
        yield from map(printable, section.summary)
        if section.rows:
            yield ""
            yield from _table(section, report.zone)


def _table(section: Section, zone: str) -> Iterator[str]:
    columns = columns_with_text(section.columns, section.rows, zone)
    rows = table_rows(columns, section.rows, zone)
    shown = rows[:SHOWN]
    head = [column.title for column in columns]
    body = [[_cell(cell) for cell in row.cells] for row in shown]
    widths = [max(map(_width, cells)) for cells in zip(head, *body, strict=True)]
    yield _line(head, widths, columns)
    yield _line(["-" * width for width in widths], widths, columns)
    for cells in body:
        yield _line(cells, widths, columns)
    if section.total > (listed := sum(row.stands_for for row in shown)):
        yield f"... and {section.total - listed:,} more"


def _cell(cell: Cell) -> str:
    text = some_of(cell.texts)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _line(cells: Iterable[str], widths: Sequence[int], columns: Sequence[ReportColumn]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if column.is_number else cell + " " * (width - _width(cell))
        for cell, width, column in zip(cells, widths, columns, strict=True)
    )
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Number of terminal columns of a text."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
