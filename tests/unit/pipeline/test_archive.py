"""Shipped segments go only if every kept version of the warehouse has them."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.support.journal.segments import UUID8, records_of_a_boot, write_segment

BOOT = 1_772_323_200_000
RECORDS = records_of_a_boot("ns", BOOT, 1)
KEPT = 3


def commit(warehouse: Path, last_seq: int) -> None:
    """Make a version that has the records up to a number; delete all but the last three."""
    store = ParquetStore(open_folder(str(warehouse)))
    store.create("UTC")
    store.begin().commit(Ledger({("ns", UUID8, BOOT): LoadedBoot(((1, last_seq),))}).to_json())
    for path in (warehouse / "manifests").iterdir():
        os.utime(path, (0, 0))
    store.clean_up()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, list[Path]]:
    """Three old segments, and a warehouse that has two of them; before its last two loads it had one."""
    segments = [write_segment(tmp_path / "j", RECORDS[at : at + 5]) for at in (0, 5, 10)]
    for path in segments:
        os.utime(path, (0, 0))
    for last_seq in (5, 10, 10):
        commit(tmp_path / "w", last_seq)
    return tmp_path / "j", tmp_path / "w", segments


def archive(journal: Path, warehouse: Path, *words: str) -> Result:
    places = ["--journal", str(journal), "--warehouse", str(warehouse)]
    return CliRunner().invoke(namekeeper, ["pipeline", "archive", *places, *words])


def test_nothing_goes_without_apply(places):
    journal, warehouse, segments = places
    done = archive(journal, warehouse)
    assert (done.exit_code, done.stdout) == (0, f"{segments[0].name}\n")
    size = segments[0].stat().st_size
    wanted = f"1 segment ({size} bytes) can go away: --apply does it; 2 segments do not\n"
    assert done.stderr == wanted
    assert sorted(journal.iterdir()) == segments


def test_segments_of_the_last_loads_stay_because_one_can_go_back_to_them(places):
    journal, warehouse, segments = places
    assert archive(journal, warehouse, "--apply").exit_code == 0
    assert sorted(journal.iterdir()) == segments[1:]
    commit(warehouse, 10)
    assert archive(journal, warehouse, "--apply").exit_code == 0
    assert sorted(journal.iterdir()) == segments[2:]


def test_a_moved_segment_is_whole_and_does_not_replace_a_larger_copy(places, tmp_path):
    journal, warehouse, segments = places
    commit(warehouse, 10)
    contents = [path.read_bytes() for path in segments]
    target = tmp_path / "old"
    target.mkdir()
    (target / segments[1].name).write_bytes(contents[1] + b"more")
    done = archive(journal, warehouse, "--target", str(target), "--apply")
    assert "2 segments" in done.stderr
    assert sorted(journal.iterdir()) == segments[2:]
    assert (target / segments[0].name).read_bytes() == contents[0]
    assert (target / segments[1].name).read_bytes() == contents[1] + b"more"


def test_a_segment_that_a_server_may_still_have_stays_because_it_would_be_shipped_again(places):
    journal, warehouse, segments = places
    os.utime(segments[0])
    assert archive(journal, warehouse).stdout == ""
    assert archive(journal, warehouse, "--older-than", "60 day").stderr.startswith("0 segments")


def test_the_folder_of_a_server_is_refused(places):
    journal, warehouse, segments = places
    (journal / "lock").touch()
    done = archive(journal, warehouse, "--apply")
    assert done.exit_code == 2
    assert "has the file lock, as the folder of a server" in done.stderr
    assert segments[0].exists()


def test_without_a_warehouse_or_its_ledger_nothing_goes(places, tmp_path):
    journal, warehouse, segments = places
    done = archive(journal, tmp_path / "none", "--apply")
    assert (done.exit_code, (tmp_path / "none").exists()) == (2, False)
    for path in (warehouse / "ledger").iterdir():
        path.unlink()
    assert "is lost" in archive(journal, warehouse, "--apply").stderr
    assert segments[0].exists()
