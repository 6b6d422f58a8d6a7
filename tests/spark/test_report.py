"""The report of a warehouse, from Spark and without it."""

import pytest

pytest.importorskip("jinja2")

from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.spark_tables import SparkTables
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_json
from tests.spark.lawful import Lawful

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]


def test_it_is_the_same_with_spark_and_without(lawful: Lawful):
    report = collect_report(SparkTables(lawful.spark, lawful.tables), ReportQuery(tuple(SECTIONS)))
    assert all(section.rows for section in report.sections)
    again = collect_report(DuckTables(lawful.tables), ReportQuery(tuple(SECTIONS)))
    assert render_json(again) == render_json(report)
    assert render_html(again) == render_html(report)
