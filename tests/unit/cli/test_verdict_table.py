"""Verdicts as a table: since when, for how long, and the last changes."""

import pytest

from namekeeper.answers.incidents.drift_fact import named
from namekeeper.answers.times import zone_of
from namekeeper.cli.verdict_table import Dated, show_verdicts
from namekeeper.drift.verdict import Detail, DriftKind, DriftVerdict


def test_a_verdict_has_its_start_its_duration_and_its_last_changes(capsys: pytest.CaptureFixture[str]):
    summary = "topic a\x1b[31m is missing"
    verdict = DriftVerdict(
        kind=DriftKind.TOPIC_MISSING, summary=summary, text=named("{}", summary), since=1_700_000_000_000,
        is_since_known=False, name_servers=["ns-1"], details=[Detail("ns-1", "deleted by x", 1_700_000_000_000)],
    )  # fmt: skip
    show_verdicts([Dated(verdict, 1_700_000_090_000)], zone_of("UTC"))
    text = " ".join(capsys.readouterr().out.split())
    assert "2023-11-14 22:13:20.000 UTC or before" in text
    assert "for 1 min 30 s" in text
    assert "ns-1: deleted by x, 2023-11-14 22:13:20.000 UTC" in text
    assert "\x1b" not in text
