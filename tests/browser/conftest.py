"""A browser, and reports to open in it: of a day with five incidents, and of a fleet of 122 brokers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.values import Report
from tests.support.pipeline.days import day_of_fleet, day_with_five_incidents, write_day
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.browser import CHROMIUM, opened_browser


def report_of(folder: Path, make: Any) -> Report:
    return collect_report(
        tables_at(write_day(make(), folder)), ReportQuery(tuple(SECTIONS), warehouse="warehouse")
    )


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of(tmp_path_factory.mktemp("five"), day_with_five_incidents)


@pytest.fixture(scope="session")
def pages(five: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    fleet = report_of(tmp_path_factory.mktemp("fleet"), day_of_fleet)
    found = {}
    for name, report in (("five", five), ("fleet", fleet)):
        found[name] = folder / f"{name}.html"
        found[name].write_text(render_html(report), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed after its module: meanwhile a loop runs in this thread, in which our code may not block."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; CI installs it if it can, and looks")
    with opened_browser() as opened:
        yield opened
