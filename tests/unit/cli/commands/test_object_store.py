"""Commands on an object store, by a role that may do what the how-to lists and nothing else."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("duckdb")

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.loaded_segments import LoadedSegments
from namekeeper.pipeline.store.manifest import newest_manifest
from tests.support.journal.segments import UUID8, records_of_a_boot, write_segment
from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse
from tests.support.pipeline.object_store import S3, store_environment

HOW_TO = Path(__file__).parents[4] / "docs" / "howto" / "pipeline-on-a-cluster.md"
BOOT = 1_772_323_200_000
RECORDS = records_of_a_boot("ns", BOOT, 1)
READING = {"s3:GetObject", "s3:ListBucket"}
QUESTIONS = [
    ["sql", "SELECT namesrv, count(*) AS n FROM broker_session GROUP BY ALL ORDER BY ALL"],
    ["sql", "SHOW TABLES", "--format", "csv"],
    ["route-at", "w9-t0", "--namesrv", "w9.0_9876"],
    ["why", "w9-t0"],
    ["history", "w9-t0", "--from", "2026-03-01T00:00:00Z", "--to", "2026-04-01T00:00:00Z"],
    ["report", "availability"],
]


def documented_policy(bucket: str, prefix: str = "team") -> dict[str, Any]:
    """The policy of the how-to, for a bucket and a prefix."""
    block = re.search(r"```json\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    assert block is not None
    policy = json.loads(block[1].replace("BUCKET", bucket).replace("team/", f"{prefix}/"))
    assert isinstance(policy, dict)
    return policy


def reading(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy without the actions that change something."""
    statements = [
        {**each, "Action": [action for action in each["Action"] if action in READING]}
        for each in policy["Statement"]
    ]
    return {**policy, "Statement": statements}


@pytest.fixture(scope="module")
def warehouse() -> FileWarehouse:
    return file_warehouse()


@pytest.fixture(scope="module")
def s3(warehouse: FileWarehouse) -> Iterator[S3]:
    """A store with the same warehouse, which lets in only the role."""
    with store_environment() as store:
        there, here = open_folder(store.uri("team/warehouse")), open_folder(warehouse.uri)
        for file in here.files():
            there.put(file.path, here.read(file.path))
        with store.only_a_role(documented_policy(store.bucket)):
            yield store


def test_the_version_of_hadoop_in_the_how_to_is_that_of_spark():
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    (jar,) = Path(spark.origin).parent.glob("jars/hadoop-client-api-*.jar")
    hadoop = jar.stem.removeprefix("hadoop-client-api-")
    assert f"{hadoop} for PySpark {version('pyspark')}" in HOW_TO.read_text()


def run(*words: str) -> Result:
    return CliRunner().invoke(namekeeper, list(words))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question[:2]))
def test_a_warehouse_in_a_store_is_answered_as_one_in_a_folder(s3, warehouse, question: Sequence[str]):
    stored, local = (run(*question, "--warehouse", uri) for uri in (s3.uri("team/warehouse"), warehouse.uri))
    assert (stored.exit_code, stored.stdout) == (local.exit_code, local.stdout), stored.output
    assert local.stdout.count("\n") > 1


def test_segments_are_shipped_once(s3, tmp_path):
    path = write_segment(tmp_path, RECORDS[:9])
    first = run("journal", "ship", str(tmp_path), s3.uri("team/journals"))
    assert first.stderr.endswith(f"1 segment copied ({path.stat().st_size:,} bytes); 0 were there before\n")
    write_segment(tmp_path, RECORDS[9:])
    assert "1 segment copied" in run("journal", "ship", str(tmp_path), s3.uri("team/journals")).stderr
    assert (
        "0 segments copied (0 bytes); 2"
        in run("journal", "ship", str(tmp_path), s3.uri("team/journals")).stderr
    )
    there = open_folder(s3.uri("team/journals"))
    assert {file.path: there.read(file.path) for file in there.files()} == {
        file.name: file.read_bytes() for file in tmp_path.iterdir()
    }


def test_the_prefix_of_a_role_may_be_the_folder(s3, tmp_path, monkeypatch):
    for at in range(0, len(RECORDS), 9):
        write_segment(tmp_path, RECORDS[at : at + 9])
    with s3.only_a_role(documented_policy(s3.bucket, "alone")):
        for outcome in (f"{(len(RECORDS) + 8) // 9} segments copied", "0 segments copied"):
            done = run("journal", "ship", str(tmp_path), s3.uri("alone"))
            assert outcome in done.stderr, done.output
        # Such a role can also list from the last segments that are in a warehouse.
        monkeypatch.setattr("namekeeper.pipeline.files.object_store.LISTED_AT_ONCE", 2)
        folder = open_folder(s3.uri("alone"))
        folder.put("zz/notes.txt", b"1")
        known = LoadedSegments(Ledger({("ns", UUID8, BOOT): LoadedBoot(((1, len(RECORDS)),))}))
        requests = len(s3.requests)
        assert [file.path for file in folder.files_but(known, may_skip=True)] == ["zz/notes.txt"]
        assert (known.found, known.skips, len(s3.requests) - requests) == (2, 1, 2)


def test_a_run_makes_a_warehouse_and_leaves_its_lease(s3, tmp_path):
    for _ in range(2):
        done = run("pipeline", "run", "--journal", str(tmp_path), "--warehouse", s3.uri("team/new"))
        assert done.exit_code == 0, done.output
    folder = open_folder(s3.uri("team/new"))
    assert newest_manifest(folder).number == 0
    assert json.loads(folder.read("lock"))["token"] == ""


def test_a_folder_of_temporary_files_is_deleted_with_all_in_it(s3):
    """As at the end of each run."""
    folder, others = open_folder(s3.uri("team/temporary")), open_folder(s3.uri("others"))
    for name in ("a", "b"):
        folder.put(f"staging/1-x/{name}/part", b"1")
    folder.delete("staging/1-x")
    assert list(folder.files()) == []
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        others.delete("staging")


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "SHOW TABLES", "--warehouse", "{}"],
        ["pipeline", "run", "--journal", "{}", "--warehouse", "{}"],
        ["journal", "ship", "JOURNAL", "{}"],
    ],
    ids=" ".join,
)
def test_another_prefix_is_refused_with_one_line(s3, tmp_path, words: Sequence[str]):
    write_segment(tmp_path, RECORDS)
    there = s3.uri("others/warehouse")
    done = run(*(str(tmp_path) if word == "JOURNAL" else word.format(there) for word in words))
    assert done.exit_code == 2
    assert re.search(rf"{there} can't be (read|opened).*ACCESS_DENIED", done.stderr), done.stderr
