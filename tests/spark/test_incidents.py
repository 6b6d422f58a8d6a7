"""The histories that were written manually, on Spark: their incidents in the table and in the report.

In the nightly run; in CI DuckDB computes them (tests/unit/pipeline/gold/test_incidents.py).
"""

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.spark_tables import SparkTables
from namekeeper.pipeline.answers.warehouse import open_warehouse, table
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from tests.spark.running import run
from tests.support.journal.segments import write_segment
from tests.support.pipeline.written_histories import WRITTEN_HISTORIES, incidents_in, reported

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow, pytest.mark.long]


def test_histories_that_were_written_manually_have_the_expected_incidents(
    spark: SparkSession, tmp_path: Path
):
    """One warehouse holds all of them."""
    some = [make() for make in WRITTEN_HISTORIES]
    for each in some:
        of_server: dict[tuple[str, int], list] = {}
        for record in each.records:
            of_server.setdefault((record["namesrv"], record["boot"]), []).append(record)
        for records in of_server.values():
            write_segment(tmp_path / "journal", records)
    run(spark, tmp_path / "warehouse", tmp_path / "journal")
    tables = open_warehouse(str(tmp_path / "warehouse"))
    found = [row.asDict(recursive=True) for row in table(spark, tables, "incident").collect()]
    expected = [row for each in some for row in each.incidents]
    assert sorted(incidents_in(found), key=str) == sorted(expected, key=str)
    (section,) = collect_report(SparkTables(spark, tables), ReportQuery(("incidents",))).sections
    shown = reported(section.rows)
    assert len(shown) == sum(len(each.report) for each in some)
    for each in some:
        assert [row for row in shown if row in each.report] == list(each.report)
