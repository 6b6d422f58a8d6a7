"""A report as text for a terminal or a mail, and as JSON."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable, printable_json
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import Report, ReportColumn, Section

__all__ = ["render_json", "render_text"]

WIDEST = 60
"""Longer cells are cut."""


def render_text(report: Report) -> str:
    """The report as aligned tables."""
    return "\n".join(_lines(report)) + "\n"


def render_json(report: Report) -> str:
    """The report as one JSON object; sections by their names, rows as the tables have them."""
    value = {
        "time_zone": report.zone,
        "days": report.days,
        "name_servers": report.name_servers,
        "sections": {
            section.name: {"summary": section.summary, "total": section.total, "rows": section.rows}
            for section in report.sections
        },
    }
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    if report.days is None:
        yield "Nothing is known yet."
        return
    yield f"From {report.days[0]} to {report.days[1]}, times in {report.zone}"
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
    head = [column.title for column in section.columns]
    body = [[_cell(column, row.get(column.name), zone) for column in section.columns] for row in section.rows]
    widths = [max(map(_width, cells)) for cells in zip(head, *body, strict=True)]
    yield _line(head, widths, section.columns)
    yield _line(["-" * width for width in widths], widths, section.columns)
    for cells in body:
        yield _line(cells, widths, section.columns)
    if section.total > len(section.rows):
        yield f"... and {section.total - len(section.rows)} more"


def _cell(column: ReportColumn, value: object, zone: str) -> str:
    text = printable(column.show(value, zone))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _line(cells: Iterable[str], widths: Sequence[int], columns: Sequence[ReportColumn]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if column.is_number else cell + " " * (width - _width(cell))
        for cell, width, column in zip(cells, widths, columns, strict=True)
    )
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
