"""The plot of a section as SVG, in the colours of the page: CSS variables, so that it follows its theme."""

import re
import warnings
from io import StringIO
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import matplotlib as mpl
from matplotlib.figure import Figure

from namekeeper.common.printable import printable
from namekeeper.pipeline.report.canvas import DOWN, GRID, INK, SERIES, UNKNOWN, UP
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.values import Section

__all__ = ["Plot", "plot_of"]

_VARIABLES = {
    INK: "--ink",
    GRID: "--grid",
    UP: "--up",
    DOWN: "--down",
    UNKNOWN: "--unknown",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
}
"""Colour -> variable of the page that replaces it."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "namekeeper",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
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
    draw = SECTIONS[section.name].draw
    if draw is None or not section.plot:
        return None
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page's fonts draw the text, whatever glyphs ours has
        figure, alternative = draw(section, ZoneInfo(zone))
        return Plot(_svg(figure, section.name, alternative), alternative)


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
