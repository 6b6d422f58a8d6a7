"""Who did what, of the golden warehouse, which Spark made: the same by Spark, without it, and from the journals."""

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from namekeeper.answers.source import JournalAnswers
from namekeeper.cli.commands import audit as command
from namekeeper.cli.group import namekeeper
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.pipeline.answers import engines
from namekeeper.pipeline.answers.spark_tables import SparkTables
from tests.golden.questions import JOURNALS, WAREHOUSE
from tests.golden.written_journals import BEGIN_MS, MINUTE_MS, NAME_SERVERS

pytestmark = [pytest.mark.slow]
END = BEGIN_MS + 100 * MINUTE_MS
WORDS = ["audit", "--since", str(BEGIN_MS), "--to", str(END), "--json", "--warehouse", str(WAREHOUSE)]


def test_the_audit_is_the_same_with_spark_and_without(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_session() -> SparkSession:
        raise AssertionError("files need no Spark")

    recorded = JournalAnswers([str(JOURNALS / namesrv) for namesrv in NAME_SERVERS]).audit(BEGIN_MS, END)
    assert len(recorded) == 7
    assert WarehouseAnswers(str(WAREHOUSE), no_session).audit(BEGIN_MS, END) == recorded
    without = CliRunner().invoke(namekeeper, WORDS)

    monkeypatch.setattr(engines, "find_spec", lambda _name: None)  # as on a cluster without DuckDB
    by_spark = WarehouseAnswers(str(WAREHOUSE), lambda: spark)
    assert isinstance(by_spark._tables, SparkTables)
    assert by_spark.audit(BEGIN_MS, END) == recorded
    begin, end = recorded[0].at, recorded[3].at
    assert begin < end < recorded[-1].at
    assert by_spark.audit(begin, end) == [each for each in recorded if begin < each.at <= end]
    monkeypatch.setattr(command, "take_source", lambda *_: by_spark)
    with_spark = CliRunner().invoke(namekeeper, WORDS)
    assert (with_spark.exit_code, with_spark.stdout) == (0, without.stdout)
