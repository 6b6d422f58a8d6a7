"""Runs the checks of a warehouse: rules that must hold, and concerns that an operator should know.

A broken rule is a bug or a damaged warehouse. A concern is a fact about the journals: records that are lost,
lines that could not be read, clocks that disagree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from namekeeper.pipeline.checks.rules import CONCERNS, RULES, Check, Level
from namekeeper.pipeline.gold.histories import HISTORIES, TIMELINE
from namekeeper.pipeline.gold.history import HistoryTable
from namekeeper.pipeline.gold.plan import DAY_MS, FOREVER
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.store.table_store import TableReader

__all__ = ["CheckFinding", "check_warehouse", "checks", "run_checks"]

LARGE_OFFSET_MS = 1_000
"""Clocks that differ by more than this are reported."""
SHOWN = 5
"""Examples of each finding."""


_TABLES = {**GOLD, **FACTS}


class CheckFinding(NamedTuple):
    """Rows that a check found."""

    name: str
    level: Level
    meaning: str
    found: int
    examples: list[dict[str, Any]]


def check_warehouse(
    spark: "SparkSession",
    tables: "TableReader",
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> list[CheckFinding]:
    """The findings of every check about a warehouse, the worst first.

    Args:
        spark: The session.
        tables: The warehouse as it is now.
        progress: Called with how many checks are done, and how many there are.
    """
    from namekeeper.pipeline.gold.views import SparkViews

    with SparkViews(spark, tables) as views:
        return run_checks(views, progress)


def run_checks(
    views: Views, progress: Callable[[str, int, int], None] = lambda *_: None
) -> list[CheckFinding]:
    """The findings of every check on any engine, the worst first."""
    args = {
        "forever": FOREVER,
        "zone": views.zone,
        "large_offset_ms": LARGE_OFFSET_MS,
        "longest_day_ms": DAY_MS + DAY_MS // 24,
    }
    every = list(checks())
    found = []
    for name in sorted({name for check in every for name in check.tables}):
        views.show(name, _TABLES[name])
    for done, check in enumerate(every):
        progress("checking the tables", done, len(every))
        rows = _rows(views, check, args)
        if rows:
            found.append(CheckFinding(check.name, check.level, check.meaning, len(rows), rows[:SHOWN]))
    progress("checking the tables", len(every), len(every))
    return sorted(found, key=lambda finding: finding.level is not Level.BROKEN)


def _rows(views: Views, check: Check, args: Mapping[str, Any]) -> list[dict[str, Any]]:
    views.define("found", check.sql, args)
    return views.rows("found")


def checks() -> Iterator[Check]:
    """Every check, in order."""
    for table in GOLD.values():
        yield _unique(table)
    yield _unique(FACTS["events"])
    for history in (TIMELINE, *HISTORIES):
        yield _apart(history)
    for history in HISTORIES:
        yield _known(history.table)
    yield from RULES
    yield from CONCERNS


def _unique(table: Table) -> Check:
    key = _list(table.key)
    return Check(
        f"key of {table.name}",
        Level.BROKEN,
        "rows with the same key",
        f"SELECT {key}, count(*) AS rows_found FROM {table.name} GROUP BY {key} HAVING count(*) > 1",  # noqa: S608 -- names of ours
        (table.name,),
    )


def _apart(history: HistoryTable) -> Check:
    """Check that the intervals of a key don't overlap, are not empty, and only the last one is open."""
    table = history.table.name
    key = _list((*history.scope, *history.key))
    return Check(
        f"intervals of {table}",
        Level.BROKEN,
        "an interval that is empty, or overlaps the next one of its key",
        f"""
        SELECT * FROM (
          SELECT
            {key}, valid_from, valid_to,
            lead(valid_from) OVER (PARTITION BY {key} ORDER BY valid_from) AS next_from
          FROM {table}
        ) AS followed
        WHERE valid_to <= valid_from OR (next_from IS NOT NULL AND coalesce(valid_to, :forever) > next_from)
        """,  # noqa: S608 -- names of ours
        (table,),
    )


def _known(table: Table) -> Check:
    return Check(
        f"{table.name} within what is known",
        Level.BROKEN,
        "a row that holds while its name server is unknown or stopped, or before anything is known of it",
        f"""
        SELECT h.namesrv, h.valid_from, h.valid_to, t.state
        FROM {table.name} h
        JOIN name_server_timeline t
          ON t.namesrv = h.namesrv AND t.state <> 'up'
          AND t.valid_from < coalesce(h.valid_to, :forever) AND coalesce(t.valid_to, :forever) > h.valid_from
        UNION ALL
        SELECT h.namesrv, h.valid_from, h.valid_to, 'nothing'
        FROM {table.name} h
        LEFT JOIN (
          SELECT namesrv, min(valid_from) AS known_from FROM name_server_timeline GROUP BY namesrv
        ) AS k ON k.namesrv = h.namesrv
        WHERE k.known_from IS NULL OR h.valid_from < k.known_from
        """,  # noqa: S608 -- names of ours
        (table.name, "name_server_timeline"),
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
