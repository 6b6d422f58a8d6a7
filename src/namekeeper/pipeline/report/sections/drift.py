"""Differences between name servers, about brokers and about topics."""

from zoneinfo import ZoneInfo

from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import duration_column
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import LANES, SHOWN, Answers, ReportColumn, Row, Section

__all__ = ["DRIFT"]

_COLUMNS = (
    ReportColumn("valid_from", "from", shown_time),
    ReportColumn("valid_to", "to", shown_time),
    duration_column("ms", "for"),
    ReportColumn("is_open", "open", lambda value, _zone: "yes" if value else ""),
    ReportColumn("cluster", "cluster"),
    ReportColumn("subject", "about"),
    ReportColumn("held", "what each held"),
)


def _drift(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.drift(about.tables, about.days, limit=limit)


def _make(answers: Answers) -> Section:
    rows, total = answers["drift"]
    found = [
        {**row, "ms": _ms(row), "subject": _subject(row), "held": "; ".join(row["views"])} for row in rows
    ]
    summary = [f"{shown_count(total, 'difference')} of 5 seconds or more between name servers."]
    longest = max(found, key=_ms, default=None)
    if longest is not None:
        summary.append(f"The longest, about {longest['subject']}, held for {shown_duration(longest['ms'])}.")
    title = "Differences between name servers"
    return Section("drift", title, summary, _COLUMNS, found[:SHOWN], total, found)


def _ms(row: Row) -> int:
    """How long a difference held."""
    duration: int = row["valid_to"] - row["valid_from"]
    return duration


def _subject(row: Row) -> str:
    if row["topic"] is not None:
        return f"{row['topic']} on {row['broker_name']}"
    return f"broker {row['broker_name']} ({row['broker_id']})"


def _draw(section: Section, zone: ZoneInfo) -> Drawing:
    """Intervals of disagreement, a lane for each subject."""
    from namekeeper.pipeline.report.canvas import (
        DOWN,
        SERIES,
        draw_bars,
        draw_legend,
        label_of,
        lanes_figure,
        set_time_axis,
    )

    lanes: dict[str, list[Row]] = {}
    for row in section.plot:
        lanes.setdefault(label_of(row["subject"]), []).append(row)
    longest = sorted(lanes, key=lambda lane: -sum(map(_ms, lanes[lane])))
    figure, axes = lanes_figure(longest[:LANES])
    colours = {"about a broker": DOWN, "about a topic": SERIES[1]}
    for number, lane in enumerate(longest[:LANES]):
        colour = colours["about a broker" if lanes[lane][0]["topic"] is None else "about a topic"]
        draw_bars(axes, number, lanes[lane], colour, zone)
    set_time_axis(axes, zone)
    draw_legend(axes, colours.items())
    intervals, subjects = shown_count(section.total, "interval"), shown_count(len(lanes), "subject")
    return Drawing(figure, f"When name servers disagreed: {intervals} about {subjects}.")


DRIFT = SectionSpec("drift", {"drift": Question(_drift)}, _make, _draw)
