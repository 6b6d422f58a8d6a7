"""The law with real name servers (docs/decisions/0013): live tables, replay and Spark are equal row by row.

At night; in CI it is DuckDB that derives (tests/unit/pipeline/gold/test_live_tables.py), and Spark has the law of
made-up name servers.
"""

from itertools import groupby
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.warehouse import open_warehouse, table
from namekeeper.pipeline.run import Request, run_once
from tests.property.live_law import LiveLaw
from tests.spark.lawful import WORLDS
from tests.support.journal.segments import write_segment

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow, pytest.mark.long]

SERVERS = WORLDS


def test_what_name_servers_held_is_what_the_replay_says_and_what_spark_derives(
    spark: SparkSession, tmp_path: Path
):
    law = LiveLaw(seed=4_243, servers=SERVERS, happenings=50)
    journal, warehouse = tmp_path / "journal", str(tmp_path / "warehouse")
    for records in law.of_each_server():
        for _, boot in groupby(records, key=lambda record: record["boot"]):
            write_segment(journal, list(boot))
    outcome = run_once(Request([str(journal)], warehouse), lambda: spark, lambda *_: None)
    assert len(outcome.loads) == 1
    tables = open_warehouse(warehouse)

    def rows_of(name: str) -> list[dict[str, object]]:
        return [row.asDict(recursive=True) for row in table(spark, tables, name).collect()]

    assert law.assert_states(rows_of, instants=30) > 10 * SERVERS
