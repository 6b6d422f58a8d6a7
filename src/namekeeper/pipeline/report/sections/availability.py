"""Availability of brokers: the least available first, and a timeline of their states."""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import BROKER_COLUMNS, duration_column
from namekeeper.pipeline.report.specification import Drawing, Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_milliseconds, shown_share
from namekeeper.pipeline.report.values import LANES, SHOWN, Answers, ReportColumn, Row, Section

__all__ = ["AVAILABILITY"]

_COLUMNS = (
    *BROKER_COLUMNS,
    ReportColumn("availability", "available", lambda value, _zone: shown_share(value), is_number=True),
    duration_column("up_ms", "up"),
    duration_column("down_ms", "down"),
    duration_column("unknown_ms", "unknown"),
    duration_column("unregistered_ms", "unregistered"),
    ReportColumn("outages", "outages", is_number=True),
    duration_column("longest_outage_ms", "longest"),
)


def _brokers(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.availability(about.tables, about.days, limit=limit)


def _states(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    """States of the least available brokers only: the plot can't show more."""
    return about.ask("broker_state", limit, brokers=LANES)


def _make(answers: Answers) -> Section:
    brokers, total = answers["availability"]
    outages = sum(row["outages"] for row in brokers)
    worst = [row for row in brokers if row["availability"] is not None and row["down_ms"]]
    summary = [f"{shown_count(total, 'broker')}, {shown_count(outages, 'outage')}."]
    if worst:
        summary.append(
            f"The least available was {_broker(worst[0])}: {shown_share(worst[0]['availability'])},"
            f" {shown_duration(worst[0]['down_ms'])} down."
        )
    summary.append(
        "Neither up nor down is time in which no name server could tell, or after a broker unregistered."
    )
    title = "Availability of brokers"
    return Section("availability", title, summary, _COLUMNS, brokers[:SHOWN], total, answers["states"].rows)


def _broker(row: Row) -> str:
    return f"{row['broker_name']} ({row['broker_id']}) of {row['cluster']}"


def _draw(section: Section, zone: ZoneInfo) -> Drawing:
    """States of brokers, one lane each, the least available on top."""
    from namekeeper.pipeline.report.canvas import (
        DOWN,
        UNKNOWN,
        UP,
        draw_bars,
        draw_legend,
        label_of,
        lanes_figure,
        set_time_axis,
    )

    lanes: dict[tuple[str, str, int], list[Row]] = {}
    for row in section.plot:
        lanes.setdefault((row["cluster"], row["broker_name"], row["broker_id"]), []).append(row)
    worst = sorted(lanes, key=lambda lane: (-_ms(lanes[lane], "down"), -_ms(lanes[lane], "unknown"), lane))
    drawn = worst[:LANES]
    figure, axes = lanes_figure([label_of(f"{name} ({broker_id})") for _, name, broker_id in drawn])
    colours = {"up": UP, "unknown": UNKNOWN, "down": DOWN}
    for number, lane in enumerate(drawn):
        for state, colour in colours.items():
            draw_bars(axes, number, (row for row in lanes[lane] if row["state"] == state), colour, zone)
    set_time_axis(axes, zone)
    draw_legend(axes, colours.items())
    down = sum(_ms(lanes[lane], "down") for lane in drawn)
    brokers = shown_count(len(drawn), "broker")
    which = (
        brokers
        if len(drawn) >= section.total
        else f"the {len(drawn)} least available of {section.total} brokers"
    )
    text = f"Timeline of {which}: up, down or unknown; in all {shown_milliseconds(down)} down."
    return Drawing(figure, text)


def _ms(rows: Iterable[Row], state: str) -> int:
    return sum(row["valid_to"] - row["valid_from"] for row in rows if row["state"] == state)


AVAILABILITY = SectionSpec(
    "availability", {"availability": Question(_brokers), "states": Question(_states)}, _make, _draw
)
