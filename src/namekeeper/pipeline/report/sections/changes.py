"""Changes: the newest records that say who changed what, and how many rows changed by hour and cause."""

from zoneinfo import ZoneInfo

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Section

__all__ = ["CHANGES"]

_CAUSES = 6
"""Causes that have a colour of their own; the rest is drawn as one."""

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


def _changes(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.changes(about.tables, about.days, limit=limit)


def _by_hour(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return about.ask("changes_by_hour", limit)


def _make(answers: Answers) -> Section:
    found, records = answers["changes"]
    by_hour = answers["changes_by_hour"].rows
    total = sum(row["items"] for row in by_hour)
    verb = "was" if total == 1 else "were"
    summary = [f"{shown_count(total, 'row')} {verb} changed by {shown_count(records, 'record')}."]
    if len(found) < records:
        summary.append(f"The newest {len(found)} records are listed.")
    return Section("changes", "Changes", summary, _COLUMNS, found, records, by_hour)


def _draw(section: Section, zone: ZoneInfo) -> Drawing:
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
    for row in section.plot:
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
