"""A report as one HTML file that needs nothing else: tables, and plots as SVG inside it."""

from collections.abc import Mapping
from importlib.resources import files

from namekeeper.common.printable import printable
from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.report.times import shown_milliseconds, shown_time
from namekeeper.pipeline.report.values import Report

__all__ = ["render_html"]


def render_html(report: Report) -> str:
    """The report as an HTML document.

    Raises:
        PipelineError: What it is made with is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined

        from namekeeper.pipeline.report.plots import plot_of
    except ImportError as error:
        raise PipelineError(
            f"HTML needs {error.name}, which is not installed: pip install 'namekeeper[pipeline]'"
        ) from error
    template = (files("namekeeper.pipeline.report") / "templates" / "report.html.j2").read_text(
        encoding="utf-8"
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["printable"] = printable
    environment.globals["shown_time"] = shown_time
    environment.globals["shown_milliseconds"] = shown_milliseconds
    plots: Mapping[str, object] = {section.name: plot_of(section, report.zone) for section in report.sections}
    return environment.from_string(template).render(report=report, plots=plots)
