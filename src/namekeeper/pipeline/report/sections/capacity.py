"""Capacity: topics and queues of each broker name on the last day, and how they grow by day."""

from collections.abc import Sequence

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CLUSTER, LABEL, count_column
from namekeeper.pipeline.report.period import period_of
from namekeeper.pipeline.report.plots import ColumnsPlot, Kind, columns_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_share, shown_time
from namekeeper.pipeline.report.values import KEPT, Answers, ReportColumn, Row, Section

__all__ = ["CAPACITY"]

DAYS_OF_GROWTH = 2
"""A plot of growth needs this many days."""
_DAY_MS = 86_400_000

_TITLE = "Capacity"
_HELD_COLUMNS = (
    LABEL,
    CLUSTER,
    ReportColumn("broker_name", "broker name", is_subject=True),
    count_column("topics", "topics"),
    count_column("read_queues", "read queues"),
    count_column("write_queues", "write queues"),
)
_COLUMNS = (
    *_HELD_COLUMNS,
    count_column("body_bytes", "registration bytes"),
    ReportColumn("frame_used", "of a frame", lambda value, _zone: shown_share(value), is_number=True),
)
_LAST_HELD_COLUMNS = (*_HELD_COLUMNS, ReportColumn("until", "until", shown_time))


def _last_day(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return about.ask("capacity_last_day", limit)


def _by_day(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return about.ask("capacity_by_day", limit)


def _last_held(about: ReportTables, answers: Answers, limit: int) -> Answer:
    """Topics and queues of each broker name at its end; asked only if no day has numbers."""
    return Answer((), 0) if answers["capacity"].rows else about.ask("last_held", limit)


def _make(answers: Answers, _zone: str) -> Section:
    newest, total = answers["capacity"]
    if not newest:
        return _section_of_last_held(answers["last_held"])
    topics = sum(row["topics"] for row in newest)
    queues = sum(row["write_queues"] for row in newest)
    names = shown_count(total, "broker name")
    held = f"{shown_count(topics, 'topic row')}, {shown_count(queues, 'queue')} to write to"
    summary = [f"{names} on {newest[0]['day']}, at its end or when it was last known: {held}."]
    largest = max((row["frame_used"] or 0 for row in newest), default=0)
    if largest:
        summary.append(f"The largest registration fills {shown_share(largest)} of a frame of 16 MiB.")
    by_day = answers["capacity_by_day"].rows
    if len({row["day"] for row in by_day}) < DAYS_OF_GROWTH:
        summary.append("How it grows is drawn when a second day is known.")
        by_day = ()
    return Section("capacity", _TITLE, None, summary, _COLUMNS, newest[:KEPT], total, by_day)


def _section_of_last_held(held: Answer) -> Section:
    """The section if no broker was registered at the end of any day."""
    summary = ["A day has the numbers of its end, or of when it was last known. Nobody was registered then."]
    if held.rows:
        summary.append("What each broker name had when it was last there:")
    return Section("capacity", _TITLE, None, summary, _LAST_HELD_COLUMNS, held.rows[:KEPT], held.total)


def _draw(section: Section, scale: TimeScale) -> ColumnsPlot:
    """Queues to write to by day."""
    queues: dict[str, int] = {}
    for row in section.plot:
        queues[row["day"]] = queues.get(row["day"], 0) + row["write_queues"]
    days = sorted(queues)
    counts = {_begin(day, scale): {Kind.COUNT: queues[day]} for day in days}
    words = {Kind.COUNT: "queues to write to"}
    top, columns = columns_of(scale, counts, _DAY_MS, words)
    text = (
        f"Queues to write to by day: {queues[days[0]]:,} on {days[0]}, {queues[days[-1]]:,} on {days[-1]};"
        f" the largest registration filled {shown_share(_most_used(section.plot))} of a frame."
    )
    return ColumnsPlot(text, list(words.items()), "queues", top, columns)


def _begin(day: str, scale: TimeScale) -> int:
    """The first instant of a day on the axis."""
    found = period_of([0, 1 << 52], (day, day), scale.zone)
    assert found is not None
    return found.first_ms


def _most_used(rows: Sequence[Row]) -> float:
    return max((float(row["frame_used"]) for row in rows if row["frame_used"] is not None), default=0)


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
