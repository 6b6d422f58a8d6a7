"""Gold on Spark over several runs: as if all had come at once, and only what is concerned is written again.

Several runs are for the nightly run. In CI DuckDB shows which days a run writes (tests/unit/pipeline/gold/test_steps.py),
and `test_run` how Spark replaces partitions.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.answers.warehouse import open_warehouse, table
from namekeeper.pipeline.checks.checking import check_warehouse
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.store.manifest import newest_manifest
from tests.spark.lawful import Lawful
from tests.support.history.histories import HOUR, MARCH, History, NameServer, Record, histories
from tests.support.history.pieces import pieces
from tests.support.journal.segments import write_segment
from tests.support.pipeline.duck import Duck, by_key

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]

ZONE = "Asia/Shanghai"


Segments = list[list[Record]]


def settings_of_days() -> list[Segments]:
    """Two boots of a name server, whose KV configuration changes on ten days: few tables have rows."""
    history = History("days")
    server = NameServer("ns-1_9876", random.Random(31), history)
    for boot in (MARCH, MARCH + 121 * HOUR):
        server.start(boot)
        for number in range(30):
            server.set_kv(boot + (4 * number + 1) * HOUR, "kv", ("n", str(number % 7)), str(number))
        server.stop(boot + 120 * HOUR)
    (records,) = history.records.values()
    return [pieces(records, random.Random(31))]


def histories_of_two() -> list[Segments]:
    """Everything that may happen to name servers."""
    some = histories(31, 2, actions=60)
    return [pieces(records, random.Random(31)) for each in some for records in each.records.values()]


@pytest.mark.parametrize(
    ("make", "by_day"),
    [
        (settings_of_days, "kv_history"),
        (histories_of_two, "broker_availability_daily"),
    ],
)
@pytest.mark.long
def test_records_that_come_in_two_runs_make_the_same_tables_as_at_once(
    spark: SparkSession, tmp_path: Path, make: Callable[[], list[Segments]], by_day: str
):
    of_each_server, late = make(), []
    for cut in of_each_server:
        held_back = {len(cut) - 3, len(cut) - 1}
        late += [piece for place, piece in enumerate(cut) if place in held_back]
        for place, piece in enumerate(cut):
            if place not in held_back:
                write_segment(tmp_path / "journal", piece)
    request = Request([str(tmp_path / "journal")], str(tmp_path / "warehouse"), ZONE)
    run_once(request, lambda: spark, lambda *_: None)
    before = parts(tmp_path / "warehouse", by_day)
    for piece in late:
        write_segment(tmp_path / "journal", piece)
    run_once(request, lambda: spark, lambda *_: None)
    after = parts(tmp_path / "warehouse", by_day)
    assert any(after.get(day) == files for day, files in before.items()), "days that nothing concerns stay"
    assert before != after
    duck = Duck(ZONE)
    make_gold(duck, duck.load(record for cut in of_each_server for piece in cut for record in piece))
    tables = open_warehouse(str(tmp_path / "warehouse"))
    assert [name for name in GOLD if rows(spark, tables, name) != duck.gold(name)] == []


def test_every_rule_holds_and_losses_are_told(lawful: Lawful):
    found = check_warehouse(lawful.spark, lawful.tables)
    assert [finding for finding in found if finding.level is Level.BROKEN] == []
    lost = next(finding for finding in found if finding.name == "lost records")
    assert lost.found == len(lawful.rows("lost_records"))


def parts(warehouse: Path, name: str) -> dict[str | None, list[str]]:
    """Day -> data files."""
    manifest = newest_manifest(open_folder(str(warehouse)))
    assert manifest is not None
    found: dict[str | None, list[str]] = {}
    for part in manifest.tables[name]:
        found.setdefault(part.value, []).append(part.path)
    return found


def rows(spark, tables, name):
    return by_key(name, (row.asDict(recursive=True) for row in table(spark, tables, name).collect()))
