"""`namekeeper pipeline run|doctor|package` up to where Spark would begin."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands.pipeline import doctor, package, run
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.store.lock import lock_warehouse
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.support.journal.segments import UUID8, records_of_a_boot, write_segment

BOOT = 1_772_323_200_000


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A journal, and a warehouse that has all of it."""
    records = records_of_a_boot("ns", BOOT, 1)
    write_segment(tmp_path / "j", records)
    store = ParquetStore(open_folder(str(tmp_path / "w")))
    store.create("UTC")
    store.begin().commit(Ledger({("ns", UUID8, BOOT): LoadedBoot(((1, len(records)),), (), BOOT)}).to_json())
    return ["--journal", str(tmp_path / "j"), "--warehouse", str(tmp_path / "w")]


def test_nothing_new_ends_well(words):
    done = CliRunner().invoke(run, words)
    assert (done.exit_code, done.stderr) == (0, "nothing new; 1 segment is there\n")


def test_a_warehouse_in_use_is_refused(words, tmp_path):
    with lock_warehouse(open_folder(str(tmp_path / "w"))):
        done = CliRunner().invoke(run, words)
    assert done.exit_code == 2
    assert "is in use by process" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_zone_that_does_not_exist_is_refused(words):
    done = CliRunner().invoke(run, [*words, "--report-time-zone", "Mars/Base"])
    assert (done.exit_code, "'Mars/Base' is no time zone" in done.stderr) == (2, True)


def test_watching_ends_with_ctrl_c(words, monkeypatch):
    def interrupted(seconds):
        assert seconds == 5.0
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "namekeeper.pipeline.job.run_job.__kwdefaults__", {"watch": None, "wait": interrupted}
    )
    done = CliRunner().invoke(run, [*words, "--watch", "5s"])
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == "stopped; the warehouse is as the last commit left it"


def test_the_doctor_says_what_it_finds(words):
    done = CliRunner().invoke(doctor, ["--quick", *words])
    assert done.exit_code == 0, done.output
    assert "1 sealed segments" in done.output
    assert "as run 1 left it, days of UTC" in done.output


def test_the_doctor_says_what_to_do(tmp_path):
    done = CliRunner().invoke(doctor, ["--quick", "--journal", str(tmp_path / "nothing")])
    assert done.exit_code == 2
    assert "    -> file://" in done.output


def test_the_package_is_two_files(tmp_path):
    done = CliRunner().invoke(package, [str(tmp_path / "out")])
    assert [Path(line).name for line in done.output.splitlines()] == [
        "namekeeper-pipeline.zip",
        "namekeeper_pipeline_main.py",
    ]
    assert all(Path(line).is_file() for line in done.output.splitlines())
