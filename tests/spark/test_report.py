"""The report of a warehouse, and its HTML in a real browser."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from pyspark.sql import DataFrame, SparkSession

from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_json, render_text
from namekeeper.pipeline.report.values import Report
from namekeeper.pipeline.table import Table, names_in
from tests.spark.lawful import Lawful

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def report(lawful: Lawful) -> Report:
    return collect_report(lawful.spark, lawful.tables, ReportQuery(tuple(SECTIONS)))


@pytest.fixture(scope="module")
def page(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(report), encoding="utf-8")
    return path


def test_every_section_has_something_to_say(report: Report, lawful: Lawful):
    assert [section.name for section in report.sections] == list(SECTIONS)
    assert all(section.rows for section in report.sections)
    assert {each["namesrv"] for each in report.name_servers} == {name for _, name, _ in lawful.law.servers()}
    assert render_text(report).count("\n") > 100
    assert '"sections"' in render_json(report)


def test_days_can_be_chosen(lawful: Lawful):
    day = sorted({row["day"] for row in lawful.rows("broker_availability_daily")})[1]
    found = collect_report(lawful.spark, lawful.tables, ReportQuery(["availability"], day, day))
    assert found.days == (day, day)
    (section,) = found.sections
    assert {row["day"] for row in section.plot} == {day}


class FewTables:
    """Tables with the rows that matter to one test."""

    report_time_zone = "UTC"

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def table(self, spark: SparkSession, table: Table) -> DataFrame:
        names = names_in(table)
        rows = [tuple(row.get(name) for name in names) for row in self._rows.get(table.name, [])]
        return spark.createDataFrame(rows, table.ddl)


def test_where_nobody_is_left_capacity_is_what_each_broker_name_had_when_it_went(spark: SparkSession):
    row = {
        "topic": "t",
        "read_queue_nums": 4,
        "write_queue_nums": 8,
        "valid_from": 1,
        "valid_to_day": "2026-03-01",
    }
    tables = FewTables(
        topic_route=[
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 50, "topic": "gone before"},
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 100},
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 100, "topic": "u"},
            {**row, "namesrv": "ns-2", "broker_name": "b0", "valid_to": 90},
            {**row, "namesrv": "ns-1", "broker_name": "b1", "valid_to": 70, "valid_to_day": "2026-03-02"},
        ],
        broker_group_history=[
            {"namesrv": "ns-1", "broker_name": "b0", "cluster": "before", "valid_from": 1},
            {"namesrv": "ns-1", "broker_name": "b0", "cluster": "c", "valid_from": 2},
        ],
    )
    b0 = {
        "cluster": "c",
        "broker_name": "b0",
        "topics": 2,
        "read_queues": 8,
        "write_queues": 16,
        "until": 100,
    }
    b1 = {"cluster": None, "broker_name": "b1", "topics": 1, "read_queues": 4, "write_queues": 8, "until": 70}
    for last_day, wanted in ((None, [b0, b1]), ("2026-03-01", [b0])):
        found = collect_report(spark, tables, ReportQuery(["capacity"], None, last_day))
        assert found.sections[0].rows == wanted


@pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="chromium is not installed; CI has it and looks"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_legible_in_a_browser_without_a_network(page: Path, scheme: str):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": 1_200, "height": 900}, color_scheme=scheme, offline=True
        )
        opened = context.new_page()
        output, asked = [], []
        opened.on("console", lambda message: output.append(message.text))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(page.as_uri())
        assert asked == [page.as_uri()]
        assert output == []
        for name in ("availability", "flaps", "drift", "capacity", "changes"):
            box = opened.locator(f"section[aria-labelledby={name}] figure svg").bounding_box()
            assert box is not None
            assert box["width"] > 800
            assert box["height"] > 150
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        ink, paper = (
            opened.evaluate(f"getComputedStyle(document.body).{name}")
            for name in ("color", "backgroundColor")
        )
        label = opened.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
        assert contrast(ink, paper) > 7
        assert contrast(label, paper) > 7
        browser.close()


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG has it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
