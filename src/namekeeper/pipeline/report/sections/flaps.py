"""Brokers that come and go: sessions that ended, by broker and hour."""

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import BROKER, CLUSTER, LABEL, broker_of, cluster_of, count_column
from namekeeper.pipeline.report.plots import ColumnsPlot, Kind, columns_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import KEPT, Answers, ReportColumn, Section

__all__ = ["FLAPS"]

HOURS_OF_PLOT = 3
"""Least hours of a report with a plot: with fewer, the plot shows less than the table."""
_HOUR_MS = 3_600_000

_COLUMNS = (
    ReportColumn("hour", "hour from", shown_time),
    LABEL,
    CLUSTER,
    BROKER,
    count_column("outages", "outages"),
    count_column("sessions_ended", "sessions ended"),
)


def _flaps(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.flaps(about.tables, about.days, label=about.label, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    """A row is a broker in an hour; the summary counts brokers and hours separately."""
    found, total = answers["flaps"]
    flaps = [{**row, "broker": broker_of(row)} for row in found]
    brokers = {(cluster_of(row), row["broker"]) for row in flaps}
    hours = {row["hour"] for row in flaps}
    outages, ended = (sum(row[name] for row in flaps) for name in ("outages", "sessions_ended"))
    at_least = "At least " if len(flaps) < total else ""
    summary = [
        f"{at_least}{shown_count(len(brokers), 'broker')} went, in {shown_count(len(hours), 'clock hour')}.",
        f"{shown_count(outages, 'outage')}, {shown_count(ended, 'ended session')} over all name servers.",
    ]
    title = "Brokers that come and go"
    return Section("flaps", title, None, summary, _COLUMNS, flaps[:KEPT], total, flaps)


def _draw(section: Section, scale: TimeScale) -> ColumnsPlot | None:
    """Sessions that ended, by hour."""
    if scale.period.duration_ms < HOURS_OF_PLOT * _HOUR_MS:
        return None
    hours: dict[int, dict[Kind, int]] = {}
    for row in section.plot:
        of_kind = hours.setdefault(row["hour"], {Kind.WENT: 0})
        of_kind[Kind.WENT] += row["sessions_ended"]
    words = {Kind.WENT: "sessions ended"}
    top, columns = columns_of(scale, hours, _HOUR_MS, words)
    text = f"Sessions of brokers that ended, by hour: at most {top:,} in one hour."
    return ColumnsPlot(text, list(words.items()), "sessions", top, columns)


FLAPS = SectionSpec("flaps", {"flaps": Question(_flaps)}, _make, _draw)
