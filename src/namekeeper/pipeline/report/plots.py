"""Plots as values: bars on lanes, and columns of counts; the page draws them on one axis of time.

The kind of a mark is its meaning. The page shows each kind by a colour and a shape, so the colour is not
needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from namekeeper.common.printable import printable
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.times import shown_time

__all__ = [
    "Bar",
    "ColumnsPlot",
    "CountColumn",
    "Kind",
    "Lane",
    "LanesPlot",
    "bar_of",
    "columns_of",
    "label_of",
]

LABEL = 160
"""Longer labels are cut, but not their titles: a topic of 127 characters and some words are shown whole."""


class Kind(StrEnum):
    """The meaning of a mark of a plot."""

    UP = "up"
    DOWN = "down"
    UNKNOWN = "unknown"
    UNREGISTERED = "unregistered"
    NOTICE = "notice"
    CAME = "came"
    WENT = "went"
    BY_HAND = "by-hand"
    SERVER = "server"
    COUNT = "count"


class Bar(NamedTuple):
    """A part of a lane, in percent of the axis."""

    at: float
    width: float
    kind: Kind
    title: str


class Lane(NamedTuple):
    """The events of one subject."""

    label: str
    title: str
    bars: Sequence[Bar]


class LanesPlot(NamedTuple):
    """Bars on lanes, the first on top."""

    alternative: str
    """A description in words."""
    legend: Sequence[tuple[Kind, str]]
    lanes: Sequence[Lane]


class CountColumn(NamedTuple):
    """Counts in a slice of time: parts from the bottom up, in percent of the axes."""

    at: float
    width: float
    parts: Sequence[tuple[Kind, float, float]]
    """(kind, distance of its top from above, height)."""
    title: str


class ColumnsPlot(NamedTuple):
    """Columns of counts that are stacked."""

    alternative: str
    legend: Sequence[tuple[Kind, str]]
    unit: str
    top: int
    """The count at the top of the axis."""
    columns: Sequence[CountColumn]


def bar_of(scale: TimeScale, times: tuple[int, int], kind: Kind, words: str) -> Bar:
    """A bar between two instants; its title has the meaning and both times."""
    first, last = times
    title = f"{words}, {shown_time(first, scale.zone)} to {shown_time(last, scale.zone)}"
    return Bar(scale.at(first), scale.width(first, last), kind, title)


def columns_of(
    scale: TimeScale, counts: Mapping[int, Mapping[Kind, int]], slice_ms: int, words: Mapping[Kind, str]
) -> tuple[int, list[CountColumn]]:
    """Columns of counts, and the largest count of a slice.

    Args:
        scale: Axis.
        counts: Begin of a slice -> kind -> count.
        slice_ms: How long a slice is.
        words: Kind -> text; the first kind is at the bottom.
    """
    top = max((sum(of_kind.values()) for of_kind in counts.values()), default=0)
    columns = []
    for begin in sorted(counts):
        of_kind = {kind: counts[begin].get(kind, 0) for kind in words}
        said = ", ".join(f"{count:,} {words[kind]}" for kind, count in of_kind.items() if count)
        title = f"{shown_time(begin, scale.zone)} to {shown_time(begin + slice_ms, scale.zone)}: {said}"
        width = scale.width(begin, begin + slice_ms)
        columns.append(CountColumn(scale.at(begin), width, list(_stacked(of_kind.items(), top)), title))
    return top, columns


def _stacked(counts: Iterable[tuple[Kind, int]], top: int) -> Iterable[tuple[Kind, float, float]]:
    below = 0
    for kind, count in counts:
        below += count
        if count:
            yield kind, round(100 - 100 * below / top, 3), round(100 * count / top, 3)


def label_of(text: str) -> str:
    """A name as a label: without control characters, and cut if it is long."""
    text = printable(text)
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
