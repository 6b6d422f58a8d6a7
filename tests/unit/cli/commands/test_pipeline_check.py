"""`namekeeper pipeline check`; Spark's part is answered by the test."""

import json
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")

from py4j.protocol import Py4JNetworkError

from namekeeper.cli.commands.pipeline_check import check
from namekeeper.pipeline.answers import warehouse as warehouse_answers
from namekeeper.pipeline.checks import checking as checks
from namekeeper.pipeline.checks import files, journals
from namekeeper.pipeline.checks.checking import CheckFinding
from namekeeper.pipeline.checks.findings import EXIT_BROKEN, EXIT_CONCERNS
from namekeeper.pipeline.checks.rules import Level

LOST = CheckFinding(
    "lost records", Level.CONCERN, "records are missing", 7, [{"namesrv": "ns\x1b[2J", "boot": None}]
)
BROKEN = CheckFinding("key of kv_history", Level.BROKEN, "rows with the same key", 1, [{"key": "k"}])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[CheckFinding]:
    findings: list[CheckFinding] = []
    monkeypatch.setattr(warehouse_answers, "open_warehouse", lambda uri: uri)
    monkeypatch.setattr(files, "check_files", lambda _: [])
    monkeypatch.setattr("namekeeper.pipeline.session.get_session", lambda **_: "a session")
    monkeypatch.setattr(checks, "check_warehouse", lambda spark, tables, progress: findings)
    return findings


def test_all_is_well(found: list[CheckFinding]):
    done = CliRunner().invoke(check, ["--warehouse", "w"])
    assert (done.exit_code, done.stdout) == (0, "all is well\n")


def test_what_should_be_known_is_told_and_ends_with_one(found: list[CheckFinding]):
    found.append(LOST)
    done = CliRunner().invoke(check, ["--warehouse", "w"])
    assert done.exit_code == EXIT_CONCERNS
    assert done.stdout.splitlines() == [
        "CONCERN  lost records: 7 (records are missing)", "    namesrv ns\\x1b[2J", "    ... and 6 more",
    ]  # fmt: skip


def test_a_broken_rule_ends_with_another_code(found: list[CheckFinding]):
    found.extend([BROKEN, LOST])
    done = CliRunner().invoke(check, ["--warehouse", "w", "--json"])
    assert done.exit_code == EXIT_BROKEN
    assert [finding["name"] for finding in json.loads(done.stdout)] == ["key of kv_history", "lost records"]


def test_altered_files_are_told_before_the_tables_are_asked(
    found: list[CheckFinding], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "check_files", lambda _: [BROKEN])
    monkeypatch.setattr(checks, "check_warehouse", mock.Mock(side_effect=AssertionError))
    assert CliRunner().invoke(check, ["--warehouse", "w"]).exit_code == EXIT_BROKEN


def test_journals_are_compared_where_they_are_given(
    found: list[CheckFinding], monkeypatch: pytest.MonkeyPatch
):
    given: list[object] = []
    monkeypatch.setattr(
        journals,
        "check_journals",
        lambda folder, some: given.append([Path(each.uri).name for each in (folder, *some)]) or [LOST],
    )
    assert CliRunner().invoke(check, ["--warehouse", "w"]).exit_code == 0
    words = ["--journal", "j", "--journal", "k", "--journal", "j"]
    assert CliRunner().invoke(check, ["--warehouse", "w", *words]).exit_code == EXIT_CONCERNS
    assert given == [["w", "j", "k"]]


def test_a_spark_that_dies_is_told_in_one_line(found: list[CheckFinding], monkeypatch: pytest.MonkeyPatch):
    died = mock.Mock(side_effect=Py4JNetworkError("Answer from Java side is empty"))
    monkeypatch.setattr(checks, "check_warehouse", died)
    done = CliRunner().invoke(check, ["--warehouse", "w"])
    assert done.exit_code == 2
    assert "Spark failed: Answer from Java side is empty" in done.stderr
    assert "Traceback" not in done.stderr
