"""Warehouses in a real Iceberg catalog, on a Spark that has this format.

What is done there is in `catalog_runs`, `catalog_deaths` and `catalog_trials`, which run as processes of their own.
CI has the last, and in it the facts of a run into a catalog. By hand, `FORMAT=delta` has the first and the last done by Delta, and `REMOTE` has the trials done over Spark Connect.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from namekeeper.pipeline.java import java_home_for_spark
from tests.support.history.histories import histories
from tests.support.history.pieces import pieces
from tests.support.java.artifacts import require
from tests.support.journal.segments import write_segment
from tests.support.pipeline.table_formats import PYSPARK, environment_of, jars

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1_800)]

FORMAT = os.environ.get("FORMAT", "iceberg")
PLACES = {"iceberg": "iceberg:nk.name-keeper.tables", "delta": "delta:spark_catalog.namekeeper"}
CATALOGS = {
    "iceberg": """
        spark.sql.catalog.nk            org.apache.iceberg.spark.SparkCatalog
        spark.sql.catalog.nk.type       hadoop
        spark.sql.catalog.nk.warehouse  {folder}/iceberg
    """,
    "delta": """
        spark.sql.extensions               io.delta.sql.DeltaSparkSessionExtension
        spark.sql.catalog.spark_catalog    org.apache.spark.sql.delta.catalog.DeltaCatalog
        spark.sql.warehouse.dir            {folder}/delta
        spark.sql.legacy.parameterSubstitution.constantsOnly  true
    """,
}
"""As people configure them, in spark-defaults.conf; Delta's parser loses the values of parameters otherwise."""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What happened to a warehouse in a catalog."""
    require()
    folder = tmp_path_factory.mktemp("catalog")
    write_journals(folder)
    return seen_by("catalog_runs", folder)


def write_journals(folder: Path) -> None:
    """Journals for two runs; some of the second are of the time of the first."""
    rng = random.Random(7)
    (world,) = histories(7, 1, actions=60)
    for records in world.records.values():
        cut = pieces(records, rng)
        late = {len(cut) // 3, *range(len(cut) * 2 // 3, len(cut))}
        for place, piece in enumerate(cut):
            write_segment(folder / ("journal-2" if place in late else "journal-1"), piece)
    topics = [
        record["rows"][0][0] for some in world.records.values() for record in some if record.get("rows")
    ]
    (folder / "topic.json").write_text(json.dumps(topics[0]))


def seen_by(program: str, folder: Path, *more: str) -> Mapping[str, Any]:
    """What a program of ours saw on the other Spark."""
    (folder / "conf").mkdir()
    settings = f"spark.jars {jars()}\n{CATALOGS[FORMAT].format(folder=folder)}"
    (folder / "conf" / "spark-defaults.conf").write_text(settings)
    environment = environment_of(java_home_for_spark(os.environ).home)
    done = subprocess.run(
        [sys.executable, "-m", f"tests.spark.{program}", str(folder), PLACES[FORMAT], *more],
        env={**environment, "SPARK_CONF_DIR": str(folder / "conf")}, cwd=folder, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, "its own words are above"
    return json.loads((folder / "seen.json").read_text())


@pytest.mark.long
def test_its_tables_are_those_of_files_row_by_row(lived: Mapping[str, Any]) -> None:
    assert lived["spark"] == PYSPARK
    assert sum(count > 0 for count in lived["rows"].values()) > 30, lived["rows"]
    assert lived["different"] == [], "with late records, and after a run that died"
    assert lived["loads when nothing is new"] == 0


@pytest.mark.long
def test_every_documented_table_is_there_from_the_first_run_on(lived: Mapping[str, Any]) -> None:
    """Also those without rows: other engines look for them by their names."""
    assert lived["missing after the first run"] == []


@pytest.mark.long
def test_nobody_sees_half_a_run(lived: Mapping[str, Any]) -> None:
    assert lived["died"], "in the middle of gold"
    assert lived["left of the dead"] > 0, "or there was nothing to undo"
    assert lived["seen of the dead"] == []


@pytest.mark.long
@pytest.mark.parametrize("command", ["pipeline", "why", "route-at", "report"])
def test_commands_answer_from_it(lived: Mapping[str, Any], command: str) -> None:
    is_same, exit_code, text = lived[f"answer to {command}"]
    assert exit_code in {0, 1}, text
    assert json.loads(text) is not None
    assert is_same, text


@pytest.mark.long
@pytest.mark.skipif(FORMAT == "delta", reason="its catalog here is forgotten when a process ends")
def test_killed_at_any_moment_the_next_run_ends_with_the_same_tables(tmp_path: Path) -> None:
    require()
    write_journals(tmp_path)
    seen = seen_by("catalog_deaths", tmp_path)
    deaths = seen["deaths"]
    assert [death["exit_code"] for death in deaths] == [-signal.SIGKILL] * 2, deaths
    assert [death["half"] for death in deaths] == [[]] * 2, "a reader saw some tables of a run, not all of it"
    assert any(death["left"] > 0 for death in deaths), "or there was nothing to undo"
    assert seen["different"] == []
    assert sum(count > 0 for count in seen["rows"].values()) > 30, seen["rows"]


def test_tables_of_a_catalog_behave(tmp_path: Path) -> None:
    require()
    remote = os.environ.get("REMOTE")
    seen = dict(seen_by("catalog_trials", tmp_path, *([remote] if remote else [])))
    assert seen.pop("spark") == PYSPARK
    assert len(seen) == 8
    failed = {name: output for name, output in seen.items() if output}
    assert not failed, "\n".join(failed.values())
