"""Brokers that come and go: sessions that ended, by broker and hour."""

from zoneinfo import ZoneInfo

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import BROKER_COLUMNS
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Section

__all__ = ["FLAPS"]

_COLUMNS = (
    ReportColumn("hour", "hour", shown_time),
    *BROKER_COLUMNS,
    ReportColumn("outages", "outages", is_number=True),
    ReportColumn("sessions_ended", "sessions ended", is_number=True),
)


def _flaps(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.flaps(about.tables, about.days, limit=limit)


def _make(answers: Answers) -> Section:
    """A row is a broker in an hour; the summary counts brokers and hours apart."""
    flaps, total = answers["flaps"]
    brokers = {(row["cluster"], row["broker_name"], row["broker_id"]) for row in flaps}
    hours = {row["hour"] for row in flaps}
    outages, ended = (sum(row[name] for row in flaps) for name in ("outages", "sessions_ended"))
    at_least = "At least " if len(flaps) < total else ""
    summary = [
        f"{at_least}{shown_count(len(brokers), 'broker')} went, in {shown_count(len(hours), 'clock hour')}.",
        f"{shown_count(outages, 'outage')}, {shown_count(ended, 'ended session')} over all name servers.",
    ]
    return Section("flaps", "Brokers that come and go", summary, _COLUMNS, flaps[:SHOWN], total, flaps)


def _draw(section: Section, zone: ZoneInfo) -> Drawing:
    """Sessions that ended, by hour."""
    from namekeeper.pipeline.report.canvas import SERIES, flat_figure, set_time_axis, set_whole_days, x_of

    figure, axes = flat_figure()
    hours: dict[int, int] = {}
    for row in section.plot:
        hours[row["hour"]] = hours.get(row["hour"], 0) + row["sessions_ended"]
    axes.bar(
        [x_of(hour, zone) for hour in hours],
        list(hours.values()),
        width=1 / 24,
        color=SERIES[0],
        align="edge",
    )
    axes.set_ylabel("sessions ended in an hour")
    set_time_axis(axes, zone)
    set_whole_days(axes, hours, zone)
    most = max(hours.values())
    return Drawing(figure, f"Sessions of brokers that ended, by hour: at most {most} in one hour.")


FLAPS = SectionSpec("flaps", {"flaps": Question(_flaps)}, _make, _draw)
