"""A run up to where Spark would begin; the rest is in tests/spark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from namekeeper.pipeline.errors import JournalFolderError, WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.batch import Ingested
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.job import report_of
from namekeeper.pipeline.run import Request, run_once
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.support.journal.segments import UUID8, records_of_a_boot, write_segment
from tests.support.pipeline.many_objects import ManyObjects, name_of

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


def test_a_segment_shipped_below_the_mark_is_taken_after_an_hour_or_with_check(places, monkeypatch):
    ledger = Ledger({("ns-0", UUID8, BOOT): LoadedBoot(((1, 15_000), (15_011, 30_000)))})
    ParquetStore(open_folder(str(places[1]))).begin().commit(ledger.to_json())
    objects = ManyObjects(0, 1, *(name_of(0, at) for at in range(3_000) if at != 1_500))
    monkeypatch.setattr(
        "namekeeper.pipeline.run.open_folder",
        lambda uri: objects.folder if uri.startswith("s3") else open_folder(uri),
    )

    def take():
        raise AssertionError("taken")

    def run_at(minute: int, *, check: bool = False) -> list[str]:
        request = Request(["s3://b/j"], str(places[1]), check=check)
        return [*report_of(run_once(request, take, lambda *_: None, lambda: minute * 60_000))]

    assert run_at(60) == ["nothing new; 2,999 segments are there"]
    objects.add(name_of(0, 1_500))
    objects.answers = 0
    assert run_at(119) == ["nothing new; loaded segments were skipped"]
    assert objects.answers == 2
    with pytest.raises(AssertionError, match="taken"):
        run_at(119, check=True)
    with pytest.raises(AssertionError, match="taken"):
        run_at(120)


def test_several_loads_take_the_records_of_all_name_servers_in_order_of_time(tmp_path, monkeypatch):
    """One name server after the other was loaded, so that one was days ahead of the others."""
    hour, loads = 3_600_000, []
    for namesrv in ("a", "b"):
        for at in range(6):
            start = BOOT + at * 12 * hour
            record = {"namesrv": namesrv, "boot": BOOT, "seq": at + 1, "ts": start}
            write_segment(tmp_path / "j", [record])

    def load(run, _spark, segments, ledger, **_):
        loads.append([f"{segment.namesrv}{segment.first_seq}" for segment in segments])
        return Ingested(ledger.with_segments(segments, (), ()), (), 0, 0, ())

    monkeypatch.setattr("namekeeper.pipeline.run._Run._load", load)
    monkeypatch.setattr("namekeeper.pipeline.run.MAX_BATCH_SEGMENTS", 5)
    request = Request([str(tmp_path / "j")], str(tmp_path / "w"))
    run_once(request, lambda: None, lambda *_: None)
    assert loads == [["a1", "b1", "a2", "b2", "a3"], ["b3", "a4", "b4", "a5", "b5"], ["a6", "b6"]]
