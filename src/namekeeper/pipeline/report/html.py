"""A report as one HTML file that needs nothing else: tables, plots as SVG, and a script that filters rows.

The page's policy allows one script and one style sheet, by their hashes, so no text in a name can become
either. Without the script the page has the same content but can't be filtered.
"""

import hashlib
from base64 import b64encode
from importlib.resources import files

from namekeeper import __version__
from namekeeper.common.printable import printable
from namekeeper.pipeline.failures import missing_package
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.head import NAME_SERVER_COLUMNS, NAME_SERVERS, headlines, shown_period
from namekeeper.pipeline.report.plots import ColumnsPlot, Kind, LanesPlot
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.table import columns_with_text, table_rows
from namekeeper.pipeline.report.values import Report, Section

__all__ = ["render_html", "unbroken"]

OPEN_ROWS = 12
"""Rows of a table above its fold."""
OPEN_LANES = 16
"""Lanes of a plot above its fold."""
NAMED = 3
"""Names of a cell above its fold."""
SHAPES = {
    **dict.fromkeys(Kind, (3, 14)),
    Kind.UP: (7, 6),
    Kind.DOWN: (1, 18),
    Kind.UNKNOWN: (4, 12),
    Kind.UNREGISTERED: (5, 10),
}
"""Top and height of a kind's bar in its lane of 20 pixels: a shape in addition to the colour."""

_SHORT_NAME = 24
"""Characters of a name that always fits into a line."""


def render_html(report: Report) -> str:
    """The report as an HTML document.

    Raises:
        PipelineError: A package that it needs is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise (missing_package(error) or error) from error
    style, script = _template("report.css"), _template("report.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["printable"] = printable
    environment.filters["unbroken"] = unbroken
    environment.globals.update(
        table_rows=table_rows, open_rows=OPEN_ROWS, named=NAMED, shapes=SHAPES, NAME_SERVERS=NAME_SERVERS,
        NAME_SERVER_COLUMNS=NAME_SERVER_COLUMNS, columns_with_text=columns_with_text, open_lanes=OPEN_LANES,
    )  # fmt: skip
    scale = None if report.period is None else TimeScale(report.period, report.zone)
    return environment.from_string(_template("report.html.j2")).render(
        report=report,
        period=shown_period(report),
        headlines=headlines(report),
        version=__version__,
        plots={section.name: scale and _plot(section, scale) for section in report.sections},
        ticks=[] if scale is None else scale.ticks(),
        style=style,
        script=script,
        policy="; ".join(
            ["default-src 'none'", f"style-src {_source(style)}", f"script-src {_source(script)}",
             "base-uri 'none'", "form-action 'none'"]
        ),
    )  # fmt: skip


def unbroken(text: str) -> str:
    """A text in which no line ends at the hyphen of a short name; markup and long names stay as they are."""
    from markupsafe import Markup, escape

    whole = Markup('<span class="unbroken">{}</span>')
    words = escape(text).split(" ")
    return Markup(" ").join(whole.format(word) if _is_short_name(word) else word for word in words)


def _is_short_name(word: str) -> bool:
    return "-" in word and len(word) <= _SHORT_NAME and "<" not in word


def _plot(section: Section, scale: TimeScale) -> LanesPlot | ColumnsPlot | None:
    """The plot of a section; None if it has no plot or no rows."""
    draw = SECTIONS[section.name].draw
    return None if draw is None or not section.plot else draw(section, scale)


def _template(name: str) -> str:
    return (files("namekeeper.pipeline.report") / "templates" / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The hash of a script or style sheet of the page, in the form of the policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
