"""Who did what, of a warehouse that Spark made: the same by Spark, without it, and from the journal."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from namekeeper.answers.source import JournalSource
from namekeeper.cli.commands import audit as command
from namekeeper.cli.group import namekeeper
from namekeeper.cli.warehouse import WarehouseSource
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.pipeline.answers import engines
from namekeeper.pipeline.answers.spark_tables import SparkTables
from tests.spark.running import run
from tests.support.journal.folder import write_journal
from tests.unit.answers.test_audit import END, T0
from tests.unit.pipeline.answers.test_refused import RECORDS

pytestmark = [pytest.mark.slow]
WORDS = ["audit", "--since", "2023-11-14T00:00:00Z", "--json"]


def test_the_audit_is_the_same_with_spark_and_without(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        encode_record(record, Stamp(namesrv="ns-1", boot=1, seq=seq, ts=T0 + 1_000 * seq, up_ms=seq))
        for seq, record in enumerate(RECORDS, 1)
    ]
    # With the next boot the segment of this one is sealed, as the pipeline wants it.
    lines.append(encode_record(RECORDS[0], Stamp(namesrv="ns-1", boot=2, seq=1, ts=T0 + 60_000, up_ms=1)))
    folder = write_journal(tmp_path / "journal", lines)
    run(spark, tmp_path / "warehouse", folder)

    def no_session() -> SparkSession:
        raise AssertionError("files need no Spark")

    recorded = JournalSource([FoundJournal(str(folder))]).audit(0, END)
    assert len(recorded) == 6
    uri = str(tmp_path / "warehouse")
    assert WarehouseSource(uri, no_session).audit(0, END) == recorded
    without = CliRunner().invoke(namekeeper, [*WORDS, "--warehouse", uri])

    monkeypatch.setattr(engines, "find_spec", lambda _name: None)  # as on a cluster without DuckDB
    by_spark = WarehouseSource(uri, lambda: spark)
    assert isinstance(by_spark._tables, SparkTables)
    assert by_spark.audit(0, END) == recorded
    begin, end = recorded[0].at, recorded[3].at
    assert by_spark.audit(begin, end) == recorded[1:4]
    monkeypatch.setattr(command, "take_source", lambda *_: by_spark)
    with_spark = CliRunner().invoke(namekeeper, [*WORDS, "--warehouse", uri])
    assert (with_spark.exit_code, with_spark.stdout) == (0, without.stdout)
