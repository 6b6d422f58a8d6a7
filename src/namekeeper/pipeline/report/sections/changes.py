"""Changes: the newest records that say who changed what, and how many rows changed by hour and cause."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import SHOWN, ReportColumn, Row, Rows, Section

__all__ = ["CHANGES"]

_CAUSES = 6
"""Causes that have a colour of their own; the rest is drawn as one."""
_HOUR_MS = 3_600_000

_COLUMNS = (
    ReportColumn("at_ts", "when", shown_time),
    ReportColumn("namesrv", "name server"),
    ReportColumn("cause", "cause"),
    ReportColumn("peer", "asked by"),
    ReportColumn("kind", "what"),
    ReportColumn("action", "how"),
    ReportColumn("items", "rows", is_number=True),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("topic", "topic"),
    ReportColumn("detail", "detail"),
)


def _changes(about: ReportTables, _rows: Rows) -> DataFrame:
    return daily.changes(about.spark, about.reader, *about.days)


def _by_hour(about: ReportTables, _rows: Rows) -> DataFrame:
    hour = fn.col("at_ts") - fn.col("at_ts") % _HOUR_MS
    cause = fn.coalesce("cause", "action")
    rows = about.of_days("change_log").groupBy(hour.alias("hour"), cause.alias("cause"))
    return rows.agg(fn.sum("items").alias("items")).orderBy("hour", "cause")


def _make(rows: Rows) -> Section:
    found, by_hour = rows["changes"], rows["changes_by_hour"]
    total = sum(row["items"] for row in by_hour)
    verb = "was" if total == 1 else "were"
    listed = f"the newest {len(found)} records are" if len(found) > 1 else "the newest record is"
    summary = [f"{shown_count(total, 'row')} {verb} changed{f'; {listed} listed' if found else ''}."]
    return Section("changes", "Changes", summary, _COLUMNS, found[:SHOWN], total, by_hour)


def _draw(rows: Sequence[Row], zone: ZoneInfo) -> Drawing:
    """Changed rows by hour and cause, stacked."""
    from namekeeper.pipeline.report.canvas import (
        SERIES,
        add_counts,
        flat_figure,
        label_of,
        set_time_axis,
        set_whole_days,
        time_of,
        x_of,
    )

    figure, axes = flat_figure()
    of_cause: dict[str, dict[int, int]] = {}
    for row in rows:
        hours = of_cause.setdefault(row["cause"], {})
        hours[row["hour"]] = hours.get(row["hour"], 0) + row["items"]
    largest = sorted(of_cause, key=lambda cause: (-sum(of_cause[cause].values()), cause))
    if len(largest) > _CAUSES:
        of_cause["others"] = add_counts(of_cause[cause] for cause in largest[_CAUSES - 1 :])
        largest = [*largest[: _CAUSES - 1], "others"]
    below: dict[int, int] = {}
    for cause, colour in zip(largest, SERIES, strict=False):
        hours = of_cause[cause]
        axes.bar(
            [x_of(hour, zone) for hour in hours],
            list(hours.values()),
            bottom=[below.get(hour, 0) for hour in hours],
            width=1 / 24,
            color=colour,
            align="edge",
            label=label_of(cause),
        )
        below = add_counts((below, hours))
    axes.set_ylabel("rows changed in an hour")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=_CAUSES // 2, fontsize=9)
    set_time_axis(axes, zone)
    set_whole_days(axes, below, zone)
    most = max(below, key=lambda hour: below[hour])
    when = time_of(most, zone).strftime("%Y-%m-%d %H:%M")
    return Drawing(
        figure,
        f"Changed rows by hour and cause, most of them {largest[0]}; the most, {below[most]}, at {when}.",
    )


CHANGES = SectionSpec(
    "changes", {"changes": Question(_changes, SHOWN), "changes_by_hour": Question(_by_hour)}, _make, _draw
)
