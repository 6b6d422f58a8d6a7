"""A run up to where Spark would begin; the rest is in tests/spark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from namekeeper.pipeline.errors import JournalFolderError, WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.support.journal.segments import UUID8, records_of_a_boot, write_segment

BOOT = 1_772_323_200_000


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A journal, and a warehouse that has all of it."""
    records = records_of_a_boot("ns", BOOT, 1)
    write_segment(tmp_path / "j", records)
    store = ParquetStore(open_folder(str(tmp_path / "w")))
    store.create("Europe/Berlin")
    loaded = LoadedBoot(((1, len(records)),), (), BOOT)
    store.begin().commit(Ledger({("ns", UUID8, BOOT): loaded}).to_json())
    return tmp_path / "j", tmp_path / "w"


def run(journal: Path, warehouse: Path, **more):
    request = Request([str(journal)], str(warehouse), **more)
    return run_once(request, lambda: pytest.fail("Spark was asked for"), lambda *_: None)


def test_nothing_new_needs_no_spark_and_changes_nothing(places):
    def names() -> set[str]:
        return {str(path) for path in places[1].rglob("*") if path.name != "lock"}

    before = names()
    assert run(*places).loads == []
    assert names() == before


def test_nothing_new_does_not_even_import_it(places):
    code = (
        "import sys; from namekeeper.pipeline.__main__ import main; code = main(); "
        "print([name for name in ('pyspark', 'pyarrow', 'pandas') if name in sys.modules]); sys.exit(code)"
    )
    arguments = ["--journal", str(places[0]), "--warehouse", str(places[1])]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert done.stderr == "nothing new; 1 segment is there\n"


def test_the_zone_of_a_warehouse_stays(places):
    assert run(*places, report_time_zone="Europe/Berlin").loads == []
    with pytest.raises(WarehouseError, match="has days of Europe/Berlin, not of UTC"):
        run(*places, report_time_zone="UTC")


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "", "UTC;"])
def test_a_zone_that_does_not_exist_makes_no_warehouse(places, tmp_path, zone):
    with pytest.raises(WarehouseError, match="is no time zone"):
        run(places[0], tmp_path / "new", report_time_zone=zone)
    assert not (tmp_path / "new").exists()


def test_a_folder_of_other_things_becomes_no_warehouse(places, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "letter.txt").write_text("dear")
    with pytest.raises(WarehouseError, match=r"letter\.txt\): give an empty folder"):
        run(places[0], tmp_path / "docs")


def test_a_journal_that_is_none_makes_no_warehouse(tmp_path):
    with pytest.raises(JournalFolderError):
        run(tmp_path / "nothing", tmp_path / "w")
    assert not (tmp_path / "w").exists()
