"""`namekeeper pipeline check`; Spark's part is answered by the test."""

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")

from namekeeper.cli.commands import pipeline_check
from namekeeper.cli.commands.pipeline_check import EXIT_BROKEN, EXIT_CONCERNS, check
from namekeeper.pipeline import answers, checks
from namekeeper.pipeline.checks import Finding
from namekeeper.pipeline.checks_rules import Level

LOST = Finding(
    "lost records", Level.CONCERN, "records are missing", 7, [{"namesrv": "ns\x1b[2J", "boot": None}]
)
BROKEN = Finding("key of kv_history", Level.BROKEN, "rows with the same key", 1, [{"key": "k"}])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    findings: list[Finding] = []
    monkeypatch.setattr(answers, "open_warehouse", lambda uri: uri)
    monkeypatch.setattr(pipeline_check, "session_of", lambda *_: lambda: "a session")
    monkeypatch.setattr(checks, "check_warehouse", lambda spark, tables, progress: findings)
    return findings


def test_all_is_well(found: list[Finding]):
    done = CliRunner().invoke(check, ["--warehouse", "w"])
    assert (done.exit_code, done.stdout) == (0, "all is well\n")


def test_what_should_be_known_is_told_and_ends_with_one(found: list[Finding]):
    found.append(LOST)
    done = CliRunner().invoke(check, ["--warehouse", "w"])
    assert done.exit_code == EXIT_CONCERNS
    assert done.stdout.splitlines() == [
        "CONCERN  lost records: 7 (records are missing)", "    namesrv ns\\x1b[2J", "    ... and 6 more",
    ]  # fmt: skip


def test_a_broken_rule_ends_with_another_code(found: list[Finding]):
    found.extend([BROKEN, LOST])
    done = CliRunner().invoke(check, ["--warehouse", "w", "--json"])
    assert done.exit_code == EXIT_BROKEN
    assert [finding["name"] for finding in json.loads(done.stdout)] == ["key of kv_history", "lost records"]
