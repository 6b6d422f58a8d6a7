"""The report of a warehouse, and its HTML in a real browser."""

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.spark_tables import SparkTables
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_json
from namekeeper.pipeline.report.values import Report
from tests.spark.lawful import Lawful

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def report(lawful: Lawful) -> Report:
    return collect_report(SparkTables(lawful.spark, lawful.tables), ReportQuery(tuple(SECTIONS)))


@pytest.fixture(scope="module")
def page(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(report), encoding="utf-8")
    return path


def test_it_is_the_same_with_spark_and_without(report: Report, lawful: Lawful):
    assert all(section.rows for section in report.sections)
    again = collect_report(DuckTables(lawful.tables), ReportQuery(tuple(SECTIONS)))
    assert render_json(again) == render_json(report)
    assert render_html(again) == render_html(report)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; CI installs it if it can, and looks")
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
