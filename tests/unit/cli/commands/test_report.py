"""`namekeeper report`; Spark's part is answered by the test."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")
pytest.importorskip("jinja2")

from namekeeper.cli.commands import report as module
from namekeeper.cli.commands.report import report
from namekeeper.pipeline.answers import engines
from namekeeper.pipeline.report import query as report_query
from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.query import ReportQuery
from tests.support.pipeline.report_rows import answers_of, report_rows


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ReportQuery]:
    queries: list[ReportQuery] = []

    def collect(tables, query, progress):
        queries.append(query)
        return make_report(
            "UTC", query.sections, answers_of(report_rows()), (query.first_day, query.last_day)
        )

    tables = SimpleNamespace(report_time_zone="UTC")
    monkeypatch.setattr(engines, "open_tables", lambda _uri, _session: tables)
    monkeypatch.setattr(report_query, "collect_report", collect)
    return queries


def test_all_sections_as_text_by_default(asked: list[ReportQuery]):
    done = CliRunner().invoke(report, ["--warehouse", "w"])
    assert done.exit_code == 0
    assert asked == [ReportQuery(tuple(SECTIONS), warehouse="w")]
    assert "Availability of brokers" in done.stdout
    assert done.stdout.endswith("\n")


def test_one_cluster_of_name_servers(asked: list[ReportQuery]):
    done = CliRunner().invoke(report, ["drift", "--warehouse", "w", "--cluster", "east"])
    assert (done.exit_code, asked) == (0, [ReportQuery(("drift",), warehouse="w", label="east")])


def test_one_section_of_some_days_as_json(asked: list[ReportQuery]):
    words = ["drift", "--warehouse", "w", "--format", "json", "--from", "2026-03-01", "--to", "2026-03-02"]
    done = CliRunner().invoke(report, words)
    assert asked == [ReportQuery(("drift",), "2026-03-01", "2026-03-02", "w")]
    assert list(json.loads(done.stdout)["sections"]) == ["drift"]


@pytest.mark.parametrize(
    "words",
    [["--json"], ["-o", "json"], ["--output=json"], ["--format", "json"], ["-o", "text", "-o", "json"]],
)
def test_the_form_has_the_names_that_it_has_elsewhere(asked: list[ReportQuery], words: list[str]):
    done = CliRunner().invoke(report, ["drift", "--warehouse", "w", *words])
    assert list(json.loads(done.stdout)["sections"]) == ["drift"]


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "html", "--file"],
        ["-o", "html", "-o"],
        ["--format", "html", "--output"],
        ["--format", "html", "--file"],
    ],
)
def test_a_file_and_a_form_go_together(asked: list[ReportQuery], words: list[str], tmp_path: Path):
    path = tmp_path / "report.html"
    done = CliRunner().invoke(report, ["--warehouse", "w", *words, str(path)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert path.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--from", "yesterday"], 2, "'yesterday' is not a time: write it as 2026-01-31T03:12:00Z"),
        (["--from", "2026-03-02", "--to", "2026-03-01"], 2, "2026-03-02 is after --to 2026-03-01"),
        (["--from", "9998-01-01"], 2, "9998-01-01 is in the future: nothing is known of it"),
        (["everything"], 2, "Invalid value"),
        (["-o", "wide"], 2, "a report has no wide form; it has text, json and html"),
        (["--file", "/proc"], 2, "/proc is a folder: give a file"),
        (["--file", "/proc/none/report.txt"], 2, "there is no folder /proc/none: make it"),
        (["-o", "/proc"], 2, "/proc is a folder: give a file"),
        (["-o", "/proc/none/report.txt"], 2, "there is no folder /proc/none: make it"),
        (["-o", "/proc/report.txt"], 2, "can't be written"),
    ],
)
def test_what_cannot_be_used_is_refused(asked: list[ReportQuery], words: list[str], code: int, message: str):
    done = CliRunner().invoke(report, ["--warehouse", "w", *words])
    assert done.exit_code == code
    assert message in done.output


def test_a_place_without_a_warehouse_is_refused(tmp_path: Path):
    done = CliRunner().invoke(report, ["--warehouse", str(tmp_path)])
    assert done.exit_code == 2
    assert "is no warehouse: `namekeeper pipeline run` makes one" in done.output


def test_the_names_are_those_of_the_sections():
    assert tuple(SECTIONS) == module._NAMES
