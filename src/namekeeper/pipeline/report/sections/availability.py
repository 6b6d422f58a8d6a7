"""Availability of brokers: the least available first, and a timeline of their states."""

from collections.abc import Iterable

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import (
    BROKER,
    CLUSTER,
    LABEL,
    UNCERTAIN,
    broker_of,
    cluster_of,
    count_column,
    duration_column,
    window_column,
)
from namekeeper.pipeline.report.plots import Kind, Lane, LanesPlot, bar_of, label_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_milliseconds, shown_share
from namekeeper.pipeline.report.values import (
    KEPT,
    LANES,
    Answers,
    Headline,
    ReportColumn,
    Row,
    Section,
    Severity,
)

__all__ = ["AVAILABILITY"]

_COLUMNS = (
    LABEL,
    CLUSTER,
    BROKER,
    ReportColumn("availability", "available", lambda value, _zone: shown_share(value), is_number=True),
    duration_column("up_ms", "up"),
    duration_column("down_ms", "down"),
    window_column("uncertain_ms", "uncertain"),
    duration_column("unknown_ms", "unknown"),
    duration_column("unregistered_ms", "unregistered"),
    count_column("outages", "outages"),
    duration_column("longest_outage_ms", "longest"),
)
_Broker = tuple[str, str, int]
"""Cluster with its label, broker name and id."""
_STATES = {kind.value: kind for kind in (Kind.UP, Kind.DOWN, Kind.UNKNOWN, Kind.UNREGISTERED)}


def _brokers(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.availability(about.tables, about.days, label=about.label, limit=limit)


def _states(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    """The states of the least available brokers: the plot can't show more brokers."""
    return about.ask("broker_state", limit, brokers=LANES)


def _make(answers: Answers, _zone: str) -> Section:
    brokers, total = answers["availability"]
    rows = [{**row, "broker": broker_of(row)} for row in brokers]
    outages = sum(row["outages"] for row in rows)
    worst = [row for row in rows if row["availability"] is not None and row["down_ms"]]
    summary = [f"{shown_count(total, 'broker')}, {shown_count(outages, 'outage')}."]
    if worst:
        summary.append(
            f"The least available was {worst[0]['broker']} of {cluster_of(worst[0])}:"
            f" {shown_share(worst[0]['availability'])}, {shown_duration(worst[0]['down_ms'])} down."
        )
    summary.append(
        "Neither up nor down: time in which no name server could tell, and time after a broker unregistered."
    )
    if any(row["uncertain_ms"] for row in rows):
        summary.append(UNCERTAIN)
    title = "Availability of brokers"
    headline = _headline(len(worst), total) if rows else None
    states = answers["states"].rows
    return Section("availability", title, headline, summary, _COLUMNS, rows[:KEPT], total, states)


def _headline(were_down: int, total: int) -> Headline:
    if were_down:
        return Headline(Severity.BAD, f"{were_down:,} of {shown_count(total, 'broker')} away for some time")
    return Headline(Severity.GOOD, f"{shown_count(total, 'broker')}, never away as far as is known")


def _draw(section: Section, scale: TimeScale) -> LanesPlot:
    """States of brokers, one lane each, the least available on top."""
    lanes: dict[_Broker, list[Row]] = {}
    for row in section.plot:
        lanes.setdefault((cluster_of(row), row["broker_name"], row["broker_id"]), []).append(row)
    worst = sorted(lanes, key=lambda lane: (-_ms(lanes[lane], "down"), -_ms(lanes[lane], "unknown"), lane))
    drawn = worst[:LANES]
    down = sum(_ms(lanes[lane], "down") for lane in drawn)
    brokers = shown_count(len(drawn), "broker")
    which = (
        brokers
        if len(drawn) >= section.total
        else f"the {len(drawn)} least available of {section.total:,} brokers"
    )
    text = (
        f"When {which} were up, down or unknown; in all {shown_milliseconds(down)} down."
        if len(drawn) != 1
        else f"When the broker was up, down or unknown; in all {shown_milliseconds(down)} down."
    )
    shown = {row["state"] for lane in drawn for row in lanes[lane]}
    legend = [(kind, state) for state, kind in _STATES.items() if state in shown]
    return LanesPlot(text, legend, [_lane(scale, lane, lanes[lane]) for lane in drawn])


def _lane(scale: TimeScale, lane: _Broker, rows: Iterable[Row]) -> Lane:
    cluster, name, broker_id = lane
    who = f"{name} ({broker_id})"
    order = list(_STATES)
    bars = [
        bar_of(scale, times, _STATES[state], f"{who} {state}")
        for state, times in sorted(_joined(rows), key=lambda each: order.index(each[0]))
    ]
    return Lane(label_of(who), f"{who} of {cluster}", bars)


def _joined(rows: Iterable[Row]) -> list[tuple[str, tuple[int, int]]]:
    """States with their times; the daily parts of one state are joined."""
    found: list[tuple[str, tuple[int, int]]] = []
    for row in sorted(rows, key=lambda row: (row["valid_from"], row["valid_to"])):
        times = (row["valid_from"], row["valid_to"])
        if found and found[-1][0] == row["state"] and found[-1][1][1] == times[0]:
            found[-1] = (row["state"], (found[-1][1][0], times[1]))
        else:
            found.append((row["state"], times))
    return found


def _ms(rows: Iterable[Row], state: str) -> int:
    return sum(row["valid_to"] - row["valid_from"] for row in rows if row["state"] == state)


AVAILABILITY = SectionSpec(
    "availability", {"availability": Question(_brokers), "states": Question(_states)}, _make, _draw
)
