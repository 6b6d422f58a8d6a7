"""What the plots of a report share: figures, an axis of time, bars on lanes, a legend, and colours.

Colours are unique values; `plots` replaces them by variables of the page, so that plots follow its theme.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from namekeeper.common.printable import printable
from namekeeper.pipeline.report.values import Row

__all__ = [
    "DOWN",
    "GRID",
    "INK",
    "SERIES",
    "UNKNOWN",
    "UP",
    "add_counts",
    "draw_bars",
    "draw_legend",
    "flat_figure",
    "label_of",
    "lanes_figure",
    "set_time_axis",
    "set_whole_days",
    "time_of",
    "x_of",
]

INK, GRID = "#010203", "#040506"
UP, DOWN, UNKNOWN = "#070809", "#0a0b0c", "#0d0e0f"
SERIES = ("#111213", "#141516", "#171819", "#1a1b1c", "#1d1e1f", "#212223")

LABEL = 44
"""Longer labels are cut."""
_TICKS = {
    "formats": ["%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S.%f"],
    "zero_formats": ["", "%Y", "%b", "%b-%d", "%H:%M", "%H:%M:%S"],
    "offset_formats": ["", "%Y", "%Y-%b", "%Y-%b-%d", "%Y-%b-%d", "%Y-%b-%d"],
}
"""Formats for ticks that are years, months ... seconds apart: of usual ticks, of those where the larger unit
begins, and of the rest, written once below the axis. Zeros at the end of a second are left out."""


def lanes_figure(labels: Sequence[str]) -> tuple[Figure, Axes]:
    """A figure with a lane for each label, the first on top."""
    figure = Figure(figsize=(9, 1.3 + 0.26 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    return figure, axes


def flat_figure() -> tuple[Figure, Axes]:
    """A figure that is wide and low."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    return figure, figure.subplots()


def draw_bars(axes: Axes, lane: int, rows: Iterable[Row], colour: str, zone: ZoneInfo) -> None:
    """Draw a bar on a lane for each row, from its `valid_from` to its `valid_to`."""
    bars = []
    for row in rows:
        start = x_of(row["valid_from"], zone)
        bars.append((start, x_of(row["valid_to"], zone) - start))
    # An edge of the same colour keeps a bar visible that is narrower than a pixel.
    axes.broken_barh(bars, (lane - 0.36, 0.72), facecolor=colour, edgecolor=colour, linewidth=0.8)


def set_time_axis(axes: Axes, zone: ZoneInfo) -> None:
    """Make the x axis one of times."""
    locator = AutoDateLocator(tz=zone)  # type: ignore[no-untyped-call]
    axes.xaxis_date(tz=zone)
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=zone, **_TICKS)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.margins(x=0.01)


def set_whole_days(axes: Axes, hours: Iterable[int], zone: ZoneInfo) -> None:
    """Let the x axis span whole days, so that the only hour of a day looks like an hour."""
    days = [time_of(hour, zone).replace(hour=0, minute=0) for hour in hours]
    end = max(days) + timedelta(days=1, minutes=-1)  # the day after has no tick
    axes.set_xlim(date2num(min(days)), date2num(end))  # type: ignore[no-untyped-call]


def draw_legend(axes: Axes, colours: Iterable[tuple[str, str]]) -> None:
    """Draw a legend above the axes, of (name, colour)."""
    handles = [Patch(facecolor=colour, label=name) for name, colour in colours]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(handles), fontsize=9)


def time_of(ms: int, zone: ZoneInfo) -> datetime:
    """A time in ms since 1970 as a datetime of the zone."""
    return datetime.fromtimestamp(ms / 1_000, zone)


def x_of(ms: int, zone: ZoneInfo) -> float:
    """The position of a time, in ms since 1970, on an axis of times."""
    return float(date2num(time_of(ms, zone)))  # type: ignore[no-untyped-call]


def label_of(text: str) -> str:
    """A name as a label: harmless, and cut if it is long."""
    text = printable(text)
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def add_counts(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """The sum of counts by hour."""
    total: dict[int, int] = {}
    for some in counts:
        for hour, count in some.items():
            total[hour] = total.get(hour, 0) + count
    return total
