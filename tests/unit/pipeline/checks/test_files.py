"""Each file that a manifest names is read, and told if it is not as it was written."""

import os

import pytest

from namekeeper.pipeline.checks.files import check_files
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger
from namekeeper.pipeline.store.manifest import DataFile, Manifest
from namekeeper.pipeline.store.sums import sum_of
from namekeeper.pipeline.store.warehouse_folder import commit_run

SUMMED, UNSUMMED = "tables/t/1-0/a.parquet", "tables/t/1-0/b.parquet"


@pytest.fixture
def warehouse(tmp_path):
    folder = open_folder(str(tmp_path))
    for path in (SUMMED, UNSUMMED):
        folder.put(path, b"rows")
    parts = (DataFile(SUMMED, 4, crc=sum_of(folder, SUMMED)), DataFile(UNSUMMED, 4))
    commit_run(folder, Manifest(1, 2, "UTC", "", {"t": parts}), Ledger().to_json())
    return tmp_path


def examples(warehouse):
    found = check_files(open_folder(str(warehouse)))
    assert [(each.name, each.level) for each in found] in ([], [("files", Level.BROKEN)])
    return [example["what"] for each in found for example in each.examples]


def test_files_as_they_were_written_are_well(warehouse, tmp_path_factory):
    assert examples(warehouse) == []
    assert examples(tmp_path_factory.mktemp("nothing")) == []


def test_an_altered_or_missing_file_is_told(warehouse):
    (warehouse / SUMMED).write_bytes(b"rowt")
    (warehouse / UNSUMMED).write_bytes(b"row")
    assert examples(warehouse) == ["altered", "not 4 bytes, as written"]
    (warehouse / SUMMED).unlink()
    (warehouse / UNSUMMED).unlink()
    assert examples(warehouse) == ["missing", "not 4 bytes, as written"]


def test_a_file_that_has_grown_is_told_unread(warehouse):
    """A sparse file of 4 TiB was read to its end."""
    os.truncate(warehouse / SUMMED, 1 << 42)
    assert examples(warehouse) == ["not 4 bytes, as written"]


def test_an_altered_or_missing_ledger_is_told(warehouse):
    (ledger,) = (warehouse / "ledger").iterdir()
    ledger.write_bytes(ledger.read_bytes().replace(b'"refused":[]', b'"refused":[["a","b"]]'))
    assert "the ledger is damaged" in examples(warehouse)[0]
    ledger.unlink()
    assert examples(warehouse) == ["missing; the next run rebuilds it"]
