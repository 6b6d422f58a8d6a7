"""`namekeeper journal replay`: the whole state, as text and as JSON."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.answers.story import Story


@pytest.fixture
def story():
    incident = Story()
    incident.registers(topics=("T", "a\nb"))
    incident.wiped()
    return incident


def run(*arguments):
    return CliRunner().invoke(namekeeper, ["journal", "replay", "--zone", "UTC", *arguments])


def test_the_state_is_shown_row_by_row(story, tmp_path):
    result = run(story.folder(tmp_path))
    assert (result.exit_code, result.output.splitlines()) == (
        0,
        [
            "ns_9876 at 2023-11-14 22:13:22.000 UTC (knows up to 2023-11-14 22:13:22.000 UTC)",
            "broker b0  cluster c  0=a0:1  4 topics",
            "topic T  b0  4 read, 4 write  R--",
            "topic a\\nb  b0  4 read, 4 write  R--",
            "topic more  b0  4 read, 4 write  R--",
            "topic other  b0  4 read, 4 write  R--",
        ],
    )


def test_an_instant_may_be_asked_about(story, tmp_path):
    result = run("--at", "2023-11-14T22:13:21Z", story.folder(tmp_path))
    assert "topic T  b0  4 read, 4 write  RW-" in result.output


def test_kv_entries_are_shown(story, tmp_path):
    from tests.support.java_model.values import Request

    fields = {"namespace": "n", "key": "k", "value": "v"}
    story.journal.server.ask(Request(100, fields), 99, story.journal.up_ms)
    assert "kv n  k=v" in run(story.folder(tmp_path)).output


def test_json_has_everything(story, tmp_path):
    value = json.loads(run("--json", story.folder(tmp_path)).output)
    assert (value["namesrv"], value["knowledge"], value["at"]) == ("ns_9876", "known", story.now)
    assert value["topics"]["T"]["b0"]["perm"] == 4


def test_where_nothing_is_known_the_last_that_was_is_shown(story, tmp_path):
    story.alive()
    story.journal.drop(1)
    story.alive()
    result = run(story.folder(tmp_path))
    assert result.exit_code == 3
    assert "unknown, because records were lost; this is the last known state:" in result.output
    assert "topic T" in result.output


def test_a_folder_that_is_no_journal(tmp_path):
    result = run(str(tmp_path))
    assert (result.exit_code, "is not a journal" in result.output) == (2, True)
