"""A cluster that loses executors, by a crash or because it scales down: that only costs time."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.java import java_home_for_spark
from namekeeper.pipeline.package import write_package
from namekeeper.pipeline.store.parquet_store import ParquetReader
from tests.spark.conftest import QUICK_JVM
from tests.spark.facts_oracle import expected_facts, written
from tests.spark.running import few_kinds
from tests.support.journal.segments import UUID8, write_segment
from tests.support.pipeline.duck import Duck

pytestmark = [pytest.mark.slow]

BOOT = 1_772_323_200_000
SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
SETTINGS = (
    "spark.ui.enabled=false", "spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1",
    "spark.sql.shuffle.partitions=2", "spark.sql.adaptive.enabled=false", "spark.sql.codegen.wholeStage=false",
    f"spark.executor.extraJavaOptions={QUICK_JVM}",
)  # fmt: skip
KILLS = (("reading segments", signal.SIGKILL), ("making ", signal.SIGKILL), ("making topic", signal.SIGTERM))
"""Start of a line of the run, and the signal that an executor then gets."""


def executors_of(driver: int) -> Iterator[int]:
    """Processes that a driver has started as executors."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == driver and b"CoarseGrainedExecutorBackend" in words:
                yield int(entry.name)


def test_a_lost_executor_only_costs_time(tmp_path: Path) -> None:
    """One is killed during ingest and one during gold; a third one ends as when a cluster scales down."""
    records = few_kinds("ns", BOOT, 60)
    write_segment(tmp_path / "j", records)
    package, main = write_package(tmp_path / "package")
    conf = [word for setting in SETTINGS for word in ("--conf", setting)]
    command = [SUBMIT, "--master", "local-cluster[2,1,1024]", *conf, "--py-files", str(package), str(main)]
    home = java_home_for_spark(os.environ).home
    environment = {
        **os.environ, "JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"
    }  # fmt: skip
    left, lines = list(KILLS), []
    with subprocess.Popen(
        [*command, "--journal", str(tmp_path / "j"), "--warehouse", str(tmp_path / "w")],
        env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as driver:  # fmt: skip
        assert driver.stdout is not None
        for line in driver.stdout:
            lines.append(line)
            if left and line.startswith(left[0][0]):
                while not (found := sorted(executors_of(driver.pid))):
                    assert driver.poll() is None, "".join(lines)
                os.kill(found[0], left.pop(0)[1])
    assert driver.returncode == 0, "".join(lines[-40:])
    assert left == [], "".join(lines)
    assert not (tmp_path / "w" / "staging").exists()
    assert written(tmp_path / "w") == expected_facts(records, UUID8)
    expected, stored, reader = Duck(), Duck(), open_warehouse(str(tmp_path / "w"))
    make_gold(expected, expected.load(records))
    assert isinstance(reader, ParquetReader)
    stored.read(reader, GOLD)
    assert [name for name in GOLD if stored.gold(name) != expected.gold(name)] == []
