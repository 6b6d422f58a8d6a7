"""The table of a section as cells of text: rows that differ only in their names are one row."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from namekeeper.common.printable import printable
from namekeeper.pipeline.report.times import needs_milliseconds, shown_local
from namekeeper.pipeline.report.values import ReportColumn, Row

__all__ = ["Cell", "TableRow", "columns_with_text", "table_rows"]


_NOTHING = ((), ("0",))
"""Texts of cells without information."""


class Cell(NamedTuple):
    """The content of a cell."""

    texts: Sequence[str]
    """Printable texts, none of them empty; several texts are a list of names."""
    instant: str = ""
    """ISO 8601 with the distance from UTC, if it is a time."""


class TableRow(NamedTuple):
    """A row as it is shown."""

    cells: Sequence[Cell]
    first: Row
    """The first of the joined rows."""
    stands_for: int = 1
    """Number of joined rows."""


def table_rows(columns: Sequence[ReportColumn], rows: Sequence[Row], zone: str) -> list[TableRow]:
    """The rows of a table in their order; rows that differ only in their subject are joined.

    Times are shown in milliseconds if the order of the rows could not be seen without them.
    """
    times = [row[column.name] for column in columns if column.is_time for row in rows]
    exact = needs_milliseconds([time for time in times if time is not None])
    shown: dict[object, TableRow] = {}
    for number, row in enumerate(rows):
        cells = [_cell(column, row[column.name], zone, exact=exact) for column in columns]
        others = tuple(cell for column, cell in zip(columns, cells, strict=True) if not column.is_subject)
        key: object = others if len(others) < len(cells) else number
        if key in shown:
            shown[key] = _joined(columns, shown[key], cells)
        else:
            shown[key] = TableRow(cells, row)
    return list(shown.values())


def columns_with_text(columns: Sequence[ReportColumn], rows: Sequence[Row], zone: str) -> list[ReportColumn]:
    """The columns with information, not only 0, in at least one row."""
    return [
        column
        for column in columns
        if any(_cell(column, row[column.name], zone, exact=False).texts not in _NOTHING for row in rows)
    ]


def _joined(columns: Iterable[ReportColumn], row: TableRow, cells: Iterable[Cell]) -> TableRow:
    """A row with the subjects of one more."""
    both = [
        Cell((*old.texts, *new.texts)) if column.is_subject else old
        for column, old, new in zip(columns, row.cells, cells, strict=True)
    ]
    return TableRow(both, row.first, row.stands_for + 1)


def _cell(column: ReportColumn, value: object, zone: str, *, exact: bool) -> Cell:
    if column.is_time and isinstance(value, int):
        instant = datetime.fromtimestamp(value / 1_000, ZoneInfo(zone)).isoformat(timespec="milliseconds")
        return Cell((shown_local(value, zone, with_milliseconds=exact),), instant)
    texts = value if isinstance(value, list) else [column.show(value, zone)]
    return Cell(tuple(printable(str(text)) for text in texts if text != ""))
