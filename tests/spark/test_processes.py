"""The pipeline as processes: without the system's Java, under spark-submit, on a cluster, over Connect, killed."""

import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest

from namekeeper.pipeline.checks.findings import EXIT_CONCERNS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.java import java_home_for_spark
from namekeeper.pipeline.package import write_package
from namekeeper.pipeline.store.manifest import newest_manifest
from tests.spark.facts_oracle import expected_facts, written
from tests.spark.running import few_kinds
from tests.support.journal.segments import UUID8, lines_of, records_of_a_boot, segment_name, write_segment

pytestmark = [pytest.mark.slow]

BOOT = 1_772_323_200_000
LONG = b"x" * 100_000_000
SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
FEW_RECORDS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
TOOLS = (
    "bash", "basename", "cat", "chmod", "dirname", "env", "id", "ls", "ps", "readlink", "sed", "sh", "tr", "uname",
    "whoami",
)  # fmt: skip
"""What Spark and Hadoop call."""


@pytest.fixture(params=["few kinds", pytest.param("every kind", marks=pytest.mark.long)])
def boot(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, object]]:
    """Records in which the clock is set back; with every kind, each step of gold has something to do."""
    if request.param == "every kind":
        records = records_of_a_boot("ns", BOOT, 5, 30)
    else:
        records = few_kinds("ns", BOOT, 60)
        del records[30]["namespace"], records[30]["key"]
        records[30].update(kind="clock_changed", step_ms=-500)
    write_segment(tmp_path / "j", records)
    return records


@pytest.fixture
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Mapping[str, str]:
    """The process's, with a Java that Spark can start; few kinds with settings for few records.

    By default a shuffle has 200 partitions. With every kind, in the nightly run, Spark has its own settings.
    """
    home = java_home_for_spark(os.environ).home
    environment = {**os.environ, "JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable}
    if "few kinds" in request.node.name:
        (tmp_path / "conf").mkdir()
        lines = (f"{name} {value}\n" for name, value in FEW_RECORDS.items())
        (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(lines))
        environment["SPARK_CONF_DIR"] = str(tmp_path / "conf")
    return environment


@pytest.fixture
def without_java(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which no Java is to be found."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    options = os.environ["SPARK_SUBMIT_OPTS"]
    return {"PATH": str(tools), "HOME": str(tmp_path), "LANG": "C.UTF-8", "SPARK_SUBMIT_OPTS": options}


def arguments(tmp_path: Path) -> list[str]:
    return ["--journal", str(tmp_path / "j"), "--warehouse", str(tmp_path / "w")]


def ran(command: list[str], environment: Mapping[str, str], tmp_path: Path, *, code: int = 0) -> str:
    """What a process writes on stderr, which spark-submit puts on stdout; it must end with the code."""
    done = subprocess.run(
        command, env=dict(environment), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr + done.stdout


def set_aside(warehouse: Path) -> list[tuple[Any, ...]]:
    """Rows of the table quarantine: what is wrong, the line and its length."""
    manifest = newest_manifest(open_folder(str(warehouse)))
    assert manifest is not None
    columns = ["reason", "line", "length"]
    paths = [warehouse / part.path for part in manifest.tables["quarantine"]]
    parts = [pq.read_table(path, columns=columns, partitioning=None) for path in paths]
    return [tuple(row.values()) for part in parts for row in part.to_pylist()]


def test_without_a_java_of_the_system_it_brings_its_own_and_is_quiet(
    boot, without_java, tmp_path: Path
) -> None:
    assert shutil.which("java", path=without_java["PATH"]) is None
    output = ran([sys.executable, "-m", "namekeeper.pipeline", *arguments(tmp_path)], without_java, tmp_path)
    assert written(tmp_path / "w") == expected_facts(boot, UUID8)
    lines = output.splitlines()
    assert lines[0].startswith("reading segments")
    assert lines[-1] == f"{len(boot)} new records; 1 segment is there"
    noise = ("WARN", "Using Spark", "log level", "incubator", "Stage", "hostname", "Hadoop")
    assert [line for line in lines if any(word in line for word in noise)] == []
    assert not (tmp_path / "spark-warehouse").exists()


@pytest.mark.parametrize(
    "master", ["local[1]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.long)]
)
def test_from_one_zip_under_spark_submit(boot, environment, tmp_path: Path, master: str) -> None:
    package, main = write_package(tmp_path / "package")
    settings = ["spark.ui.enabled=false", "spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1"]
    conf = [word for setting in settings for word in ("--conf", setting)]
    command = [SUBMIT, "--master", master, *conf, "--py-files", str(package), str(main), *arguments(tmp_path)]
    environment = {**environment, "SPARK_LOCAL_IP": "127.0.0.1"}
    output = ran([*command, "--check"], environment, tmp_path, code=EXIT_CONCERNS)
    assert "CONCERN  clock set back: 1" in output
    assert written(tmp_path / "w") == expected_facts(boot, UUID8)


def test_over_spark_connect(boot, environment, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "namekeeper.pipeline", *arguments(tmp_path), "--remote", "local[1]"]
    ran(command, environment, tmp_path)
    assert written(tmp_path / "w") == expected_facts(boot, UUID8)


@pytest.mark.long
@pytest.mark.parametrize("deaths", [1, 3])
def test_killed_at_any_moment_the_next_run_ends_with_the_same_tables(
    environment, tmp_path: Path, deaths: int
) -> None:
    rng = random.Random()
    records = few_kinds("ns", BOOT, 60)
    for first in range(0, 60, 10):
        write_segment(tmp_path / "j", records[first : first + 10])
    command = [sys.executable, "-m", "namekeeper.pipeline", *arguments(tmp_path)]
    for _ in range(deaths):
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                command, env=dict(environment), stderr=output, start_new_session=True
            ) as process,
        ):
            # The session alone takes some seconds; most deaths fall into the work behind it.
            try:
                process.wait(rng.uniform(3, 25))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    ran(command, environment, tmp_path)
    assert written(tmp_path / "w") == expected_facts(records, UUID8)


@pytest.mark.long
@pytest.mark.parametrize(
    ("begin", "ending"),
    [
        pytest.param(b"", ".jsonl.gz", id="garbage, packed"),
        pytest.param(b'{"kind":"kv","v":1,"value":"', ".jsonl", id="torn, plain"),
    ],
)
def test_a_line_of_100_mb_is_set_aside_and_no_record_is_lost(
    environment, tmp_path: Path, begin: bytes, ending: str
) -> None:
    """With the memory that Spark has by default."""
    records = few_kinds("ns", BOOT, 60)
    lines = lines_of(records).splitlines(keepends=True)
    lines.insert(31, begin + LONG + b"\n")
    output = ran_over(tmp_path, segment_name(records, ending=ending), lines, environment)
    assert written(tmp_path / "w") == expected_facts(records, UUID8)
    shown = (begin + LONG[:65_536])[:65_536].decode()
    assert ("unreadable", shown, len(begin + LONG)) in set_aside(tmp_path / "w")
    assert "60 new records; 1 segment is there" in output
    assert "1 lines can't be taken; they are in the table quarantine, with what is wrong" in output


@pytest.mark.long
def test_lines_of_100_mb_in_several_segments_are_set_aside(environment, tmp_path: Path) -> None:
    """They are looked at at once, which needs more memory than Spark has by default."""
    records = few_kinds("ns", BOOT, 60)
    for first in range(0, 60, 20):
        part = records[first : first + 20]
        lines = lines_of(part).splitlines(keepends=True)
        put(tmp_path / "j", segment_name(part), [*lines[:5], LONG + b"\n", *lines[5:]])
    command = [sys.executable, "-m", "namekeeper", "pipeline", "run", *arguments(tmp_path), "--memory", "4g"]
    ran(command, environment, tmp_path)
    assert written(tmp_path / "w") == expected_facts(records, UUID8)
    aside = [row for row in set_aside(tmp_path / "w") if row[0] == "unreadable"]
    assert aside == [("unreadable", LONG[:65_536].decode(), len(LONG))] * 3


@pytest.mark.long
def test_a_record_may_have_100_mb_in_a_member_that_nobody_knows(environment, tmp_path: Path) -> None:
    records = few_kinds("ns", BOOT, 60)
    lines = lines_of(records).splitlines(keepends=True)
    lines[31] = lines[31].replace(b"{", b'{"of_tomorrow":"' + LONG + b'",', 1)
    output = ran_over(tmp_path, segment_name(records), lines, environment)
    assert written(tmp_path / "w") == expected_facts(records, UUID8)
    assert output.splitlines()[-1] == "60 new records; 1 segment is there"


def ran_over(tmp_path: Path, name: str, lines: list[bytes], environment: Mapping[str, str]) -> str:
    """What a run over one segment prints, with the settings that it has by default."""
    put(tmp_path / "j", name, lines)
    return ran([sys.executable, "-m", "namekeeper.pipeline", *arguments(tmp_path)], environment, tmp_path)


def put(journal: Path, name: str, lines: list[bytes]) -> None:
    """Write a segment, packed if its name says so."""
    journal.mkdir(exist_ok=True)
    data = b"".join(lines)
    (journal / name).write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
