"""The plots of a report as SVG, in the colours of the page: CSS variables, so that they follow its theme."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from io import StringIO
from math import isnan, nan
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from namekeeper.common.printable import printable
from namekeeper.pipeline.report.times import shown_count, shown_milliseconds
from namekeeper.pipeline.report.values import LANES, Section

__all__ = ["Plot", "plot_of"]

Row = Mapping[str, Any]

KINDS = 6
"""Causes, or clusters, that have a colour of their own."""
LABEL = 44
_TICKS = {
    "formats": ["%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S.%f"],
    "zero_formats": ["", "%Y", "%b", "%b-%d", "%H:%M", "%H:%M:%S"],
    "offset_formats": ["", "%Y", "%Y-%b", "%Y-%b-%d", "%Y-%b-%d", "%Y-%b-%d"],
}
"""Of ticks that are years, months ... seconds apart: usual ones, those where the larger unit begins, and the
rest, written once below the axis. Zeros at the end of a second are left out."""

_INK, _GRID = "#010203", "#040506"
_UP, _DOWN, _UNKNOWN = "#070809", "#0a0b0c", "#0d0e0f"
_SERIES = ("#111213", "#141516", "#171819", "#1a1b1c", "#1d1e1f", "#212223")
_VARIABLES = {
    _INK: "--ink",
    _GRID: "--grid",
    _UP: "--up",
    _DOWN: "--down",
    _UNKNOWN: "--unknown",
    **{colour: f"--series-{number}" for number, colour in enumerate(_SERIES)},
}
"""Colours that nothing else has -> the variable of the page that is put in their place."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "namekeeper",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "text.color": _INK,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


class Plot(NamedTuple):
    """A plot for the page."""

    svg: str
    alternative: str
    """What it shows, in words."""


def plot_of(section: Section, zone: str) -> Plot | None:
    """The plot of a section; None if it has none, or nothing to show.

    Args:
        section: The section.
        zone: Time zone of the axis.
    """
    draw = _DRAW.get(section.name)
    if draw is None or not section.plot:
        return None
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page's fonts draw the text, whatever glyphs ours has
        figure, alternative = draw(section.plot, ZoneInfo(zone))
        return Plot(_svg(figure, section.name, alternative), alternative)


Drawn = tuple[Figure, str]


def _timeline(rows: Sequence[Row], zone: ZoneInfo) -> Drawn:
    """States of brokers, one lane each, the least available on top."""
    lanes: dict[str, list[Row]] = {}
    for row in rows:
        lanes.setdefault(_label(f"{row['broker_name']} ({row['broker_id']})"), []).append(row)
    worst = sorted(lanes, key=lambda lane: (-_ms(lanes[lane], "down"), -_ms(lanes[lane], "unknown"), lane))
    figure, axes = _lanes(worst[:LANES])
    colours = {"up": _UP, "unknown": _UNKNOWN, "down": _DOWN}
    for place, lane in enumerate(worst[:LANES]):
        for state, colour in colours.items():
            _bars(axes, place, (row for row in lanes[lane] if row["state"] == state), colour, zone)
    _time_axis(axes, zone)
    _legend(axes, colours.items())
    down = sum(_ms(some, "down") for some in lanes.values())
    more = f" The {LANES} least available of them are drawn." if len(worst) > LANES else ""
    brokers = shown_count(len(lanes), "broker")
    text = f"Timeline of {brokers}: up, down or unknown; in all {shown_milliseconds(down)} down."
    return figure, text + more


def _flaps(rows: Sequence[Row], zone: ZoneInfo) -> Drawn:
    """Sessions that ended, by hour."""
    figure, axes = _flat()
    hours: dict[int, int] = {}
    for row in rows:
        hours[row["hour"]] = hours.get(row["hour"], 0) + row["sessions_ended"]
    axes.bar(
        [_number(hour, zone) for hour in hours],
        list(hours.values()),
        width=1 / 24,
        color=_SERIES[0],
        align="edge",
    )
    axes.set_ylabel("sessions ended in an hour")
    _time_axis(axes, zone)
    _whole_days(axes, hours, zone)
    return figure, f"Sessions of brokers that ended, by hour: at most {max(hours.values())} in one hour."


def _drift(rows: Sequence[Row], zone: ZoneInfo) -> Drawn:
    """Intervals of disagreement, a lane for each subject."""
    lanes: dict[str, list[Row]] = {}
    for row in rows:
        lanes.setdefault(_label(row["subject"]), []).append(row)
    longest = sorted(lanes, key=lambda lane: -sum(row["valid_to"] - row["valid_from"] for row in lanes[lane]))
    figure, axes = _lanes(longest[:LANES])
    colours = {"about a broker": _DOWN, "about a topic": _SERIES[1]}
    for place, lane in enumerate(longest[:LANES]):
        colour = colours["about a broker" if lanes[lane][0]["topic"] is None else "about a topic"]
        _bars(axes, place, lanes[lane], colour, zone)
    _time_axis(axes, zone)
    _legend(axes, colours.items())
    intervals, subjects = shown_count(len(rows), "interval"), shown_count(len(lanes), "subject")
    return figure, f"When name servers disagreed: {intervals} about {subjects}."


def _capacity(rows: Sequence[Row], zone: ZoneInfo) -> Drawn:
    """Queues to write to by cluster and day, and the largest registration."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    queues, bodies = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    days = sorted({row["day"] for row in rows})
    at = [datetime.fromisoformat(day).replace(tzinfo=zone) for day in days]
    totals = {
        cluster: [_sum(rows, cluster, day) for day in days] for cluster in {row["cluster"] for row in rows}
    }
    largest = sorted(totals, key=lambda cluster: (-_last(totals[cluster]), cluster))
    for cluster, colour in zip(largest, _SERIES, strict=False):
        queues.plot(at, totals[cluster], color=colour, marker="o", markersize=3, label=_label(cluster))
    queues.set_ylabel("write queues")
    queues.set_ylim(bottom=0)
    queues.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(_SERIES), fontsize=9)
    used = [_used(rows, day) for day in days]
    bodies.plot(at, used, color=_SERIES[2], marker="o", markersize=3)
    bodies.set_ylabel("% of a frame")
    bodies.set_ylim(bottom=0)
    _time_axis(bodies, zone)
    first, last = (
        sum(row["write_queues"] for row in rows if row["day"] == day) for day in (days[0], days[-1])
    )
    largest_used = max((share for share in used if not isnan(share)), default=0)
    return figure, (
        f"Queues to write to by cluster and day: {first} on {days[0]}, {last} on {days[-1]}; below it the"
        f" largest"
        f" registration, {largest_used:.2f} % of a frame."
    )


def _changes(rows: Sequence[Row], zone: ZoneInfo) -> Drawn:
    """Changed rows by hour and cause, stacked."""
    figure, axes = _flat()
    of_cause: dict[str, dict[int, int]] = {}
    for row in rows:
        hours = of_cause.setdefault(row["cause"], {})
        hours[row["hour"]] = hours.get(row["hour"], 0) + row["items"]
    largest = sorted(of_cause, key=lambda cause: (-sum(of_cause[cause].values()), cause))
    if len(largest) > KINDS:
        of_cause["others"] = _added(of_cause[cause] for cause in largest[KINDS - 1 :])
        largest = [*largest[: KINDS - 1], "others"]
    below: dict[int, int] = {}
    for cause, colour in zip(largest, _SERIES, strict=False):
        hours = of_cause[cause]
        at = [_number(hour, zone) for hour in hours]
        axes.bar(
            at,
            list(hours.values()),
            bottom=[below.get(hour, 0) for hour in hours],
            width=1 / 24,
            color=colour,
            align="edge",
            label=_label(cause),
        )
        below = _added((below, hours))
    axes.set_ylabel("rows changed in an hour")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=KINDS // 2, fontsize=9)
    _time_axis(axes, zone)
    _whole_days(axes, below, zone)
    most = max(below, key=lambda hour: below[hour])
    when = _at(most, zone).strftime("%Y-%m-%d %H:%M")
    return (
        figure,
        f"Changed rows by hour and cause, most of them {largest[0]}; the most, {below[most]}, at {when}.",
    )


_DRAW: Mapping[str, Callable[[Sequence[Row], ZoneInfo], Drawn]] = {
    "availability": _timeline,
    "flaps": _flaps,
    "drift": _drift,
    "capacity": _capacity,
    "changes": _changes,
}


def _lanes(labels: Sequence[str]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(9, 1.3 + 0.26 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    return figure, axes


def _flat() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(9, 3), layout="constrained")
    return figure, figure.subplots()


def _bars(axes: Axes, place: int, rows: Iterable[Row], colour: str, zone: ZoneInfo) -> None:
    spans = []
    for row in rows:
        start = _number(row["valid_from"], zone)
        spans.append((start, _number(row["valid_to"], zone) - start))
    # An edge of the same colour keeps what is shorter than a pixel visible.
    axes.broken_barh(spans, (place - 0.36, 0.72), facecolor=colour, edgecolor=colour, linewidth=0.8)


def _time_axis(axes: Axes, zone: ZoneInfo) -> None:
    locator = AutoDateLocator(tz=zone)  # type: ignore[no-untyped-call]
    axes.xaxis_date(tz=zone)
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=zone, **_TICKS)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.margins(x=0.01)


def _whole_days(axes: Axes, hours: Iterable[int], zone: ZoneInfo) -> None:
    """Let the axis be of whole days, so that the only hour of a day looks like an hour."""
    days = [_at(hour, zone).replace(hour=0, minute=0) for hour in hours]
    end = max(days) + timedelta(days=1, minutes=-1)  # the day after has no tick
    axes.set_xlim(date2num(min(days)), date2num(end))  # type: ignore[no-untyped-call]


def _legend(axes: Axes, colours: Iterable[tuple[str, str]]) -> None:
    handles = [Patch(facecolor=colour, label=name) for name, colour in colours]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(handles), fontsize=9)


def _svg(figure: Figure, name: str, alternative: str) -> str:
    """The figure as an element of a page: without a head, with identifiers and colours of its own."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    words = printable(alternative).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)


def _at(ms: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(ms / 1_000, zone)


def _number(ms: int, zone: ZoneInfo) -> float:
    """An instant as matplotlib's axis of dates has it."""
    return float(date2num(_at(ms, zone)))  # type: ignore[no-untyped-call]


def _label(text: str) -> str:
    text = printable(text)
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def _ms(rows: Iterable[Row], state: str) -> int:
    return sum(row["valid_to"] - row["valid_from"] for row in rows if row["state"] == state)


def _sum(rows: Iterable[Row], cluster: str, day: str) -> float:
    """Queues of a cluster; not a number on days of which nothing is known."""
    found = [row["write_queues"] for row in rows if (row["cluster"], row["day"]) == (cluster, day)]
    return sum(found) if found else nan


def _last(values: Iterable[float]) -> float:
    return next((value for value in reversed(list(values)) if not isnan(value)), 0)


def _used(rows: Iterable[Row], day: str) -> float:
    """The largest share of a frame in percent; not a number on days of which nothing is known."""
    found = [row["frame_used"] for row in rows if row["day"] == day and row["frame_used"] is not None]
    return float(max(found)) * 100 if found else nan


def _added(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for some in counts:
        for hour, count in some.items():
            total[hour] = total.get(hour, 0) + count
    return total
