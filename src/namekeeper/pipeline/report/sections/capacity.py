"""Capacity: topics and queues of each broker name on the last day, and how they grow by day."""

from collections.abc import Iterable
from datetime import datetime
from math import isnan, nan
from zoneinfo import ZoneInfo

from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_share, shown_time
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Row, Section

__all__ = ["CAPACITY"]

DAYS_OF_GROWTH = 2
"""A plot of growth needs this many days."""

_TITLE = "Capacity"
_HELD_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("topics", "topics", is_number=True),
    ReportColumn("read_queues", "read queues", is_number=True),
    ReportColumn("write_queues", "write queues", is_number=True),
)
_COLUMNS = (
    *_HELD_COLUMNS,
    ReportColumn("body_bytes", "registration bytes", is_number=True),
    ReportColumn("frame_used", "of a frame", lambda value, _zone: shown_share(value), is_number=True),
)
_LAST_HELD_COLUMNS = (*_HELD_COLUMNS, ReportColumn("until", "until", shown_time))


def _last_day(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return about.ask("capacity_last_day", limit)


def _by_day(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return about.ask("capacity_by_day", limit)


def _last_held(about: ReportTables, answers: Answers, limit: int) -> Answer:
    """What each broker name had when it went; asked only if no day has numbers."""
    return Answer((), 0) if answers["capacity"].rows else about.ask("last_held", limit)


def _make(answers: Answers) -> Section:
    newest, total = answers["capacity"]
    if not newest:
        return _section_of_last_held(answers["last_held"])
    topics = sum(row["topics"] for row in newest)
    queues = sum(row["write_queues"] for row in newest)
    names = shown_count(total, "broker name")
    summary = [
        f"{names} on {newest[0]['day']}, at its end or when it was last known:",
        f"{shown_count(topics, 'topic row')}, {shown_count(queues, 'queue')} to write to.",
    ]
    largest = max((row["frame_used"] or 0 for row in newest), default=0)
    if largest:
        summary.append(f"The largest registration fills {shown_share(largest)} of a frame of 16 MiB.")
    by_day = answers["capacity_by_day"].rows
    if len({row["day"] for row in by_day}) < DAYS_OF_GROWTH:
        summary.append("How it grows is drawn when a second day is known.")
        by_day = ()
    return Section("capacity", _TITLE, summary, _COLUMNS, newest[:SHOWN], total, by_day)


def _section_of_last_held(held: Answer) -> Section:
    """The section if nobody was registered at the end of any day."""
    summary = ["A day has the numbers of its end, or of when it was last known. Nobody was registered then."]
    if held.rows:
        summary.append("What each broker name had when it was last there:")
    return Section("capacity", _TITLE, summary, _LAST_HELD_COLUMNS, held.rows[:SHOWN], held.total)


def _draw(section: Section, zone: ZoneInfo) -> Drawing:
    """Queues to write to by cluster and day, and below it the largest registration."""
    rows = section.plot
    from matplotlib.figure import Figure

    from namekeeper.pipeline.report.canvas import SERIES, label_of, set_time_axis

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    queues, bodies = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    days = sorted({row["day"] for row in rows})
    at = [datetime.fromisoformat(day).replace(tzinfo=zone) for day in days]
    totals = {
        cluster: [_queues(rows, cluster, day) for day in days] for cluster in {row["cluster"] for row in rows}
    }
    largest = sorted(totals, key=lambda cluster: (-_last(totals[cluster]), cluster))
    for cluster, colour in zip(largest, SERIES, strict=False):
        queues.plot(at, totals[cluster], color=colour, marker="o", markersize=3, label=label_of(cluster))
    queues.set_ylabel("write queues")
    queues.set_ylim(bottom=0)
    queues.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(SERIES), fontsize=9)
    used = [_percent_used(rows, day) for day in days]
    bodies.plot(at, used, color=SERIES[2], marker="o", markersize=3)
    bodies.set_ylabel("% of a frame")
    bodies.set_ylim(bottom=0)
    set_time_axis(bodies, zone)
    first, last = (
        sum(row["write_queues"] for row in rows if row["day"] == day) for day in (days[0], days[-1])
    )
    largest_used = max((share for share in used if not isnan(share)), default=0)
    return Drawing(
        figure,
        f"Queues to write to by cluster and day: {first} on {days[0]}, {last} on {days[-1]}; below it the"
        f" largest registration, {largest_used:.2f} % of a frame.",
    )


def _queues(rows: Iterable[Row], cluster: str, day: str) -> float:
    """Queues of a cluster; not a number on days of which nothing is known."""
    found = [row["write_queues"] for row in rows if (row["cluster"], row["day"]) == (cluster, day)]
    return sum(found) if found else nan


def _last(values: Iterable[float]) -> float:
    return next((value for value in reversed(list(values)) if not isnan(value)), 0)


def _percent_used(rows: Iterable[Row], day: str) -> float:
    """The largest share of a frame in percent; not a number on days of which nothing is known."""
    found = [row["frame_used"] for row in rows if row["day"] == day and row["frame_used"] is not None]
    return float(max(found)) * 100 if found else nan


CAPACITY = SectionSpec(
    "capacity",
    {
        "capacity": Question(_last_day),
        "capacity_by_day": Question(_by_day),
        "last_held": Question(_last_held),
    },
    _make,
    _draw,
)
