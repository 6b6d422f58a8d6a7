"""`namekeeper why`: output, exit codes, bad input."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.answers.story import Story


@pytest.fixture
def story():
    incident = Story()
    incident.registers()
    incident.deleted()
    return incident


def run(*arguments):
    return CliRunner().invoke(namekeeper, ["why", "T", "--zone", "UTC", *arguments])


def test_the_cause_is_reported_with_its_evidence(story, tmp_path):
    result = run("--journal", story.folder(tmp_path))
    assert (result.exit_code, result.output.splitlines()) == (
        0,
        [
            "ns_9876 at 2023-11-14 22:13:22.000 UTC: the topic was deleted by peer:99",
            "  - deleted on b0 by peer:99  2023-11-14 22:13:22.000 UTC",
            "  (knows up to 2023-11-14 22:13:22.000 UTC)",
        ],
    )


def test_an_instant_may_be_asked_about(story, tmp_path):
    result = run("--at", "2023-11-14T22:13:21.500Z", "--journal", story.folder(tmp_path))
    assert "it had a route with queues to write to" in result.output


def test_json(story, tmp_path):
    result = run("--json", "--journal", story.folder(tmp_path))
    (found,) = json.loads(result.output)
    assert (found["verdict"], found["namesrv"]) == ("deleted", "ns_9876")


def test_what_nobody_knows_is_no_answer(story, tmp_path):
    assert run("--at", "1 min ago", "--journal", story.folder(tmp_path)).exit_code == 3


def test_lines_that_can_not_be_read_are_reported_on_stderr(story, tmp_path):
    folder = story.folder(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes() + b"\0\0\n")
    result = run("--journal", folder)
    assert result.exit_code == 0
    assert "2 NUL bytes" in result.stderr
    assert "NUL" not in result.stdout


def test_a_topic_of_which_there_is_no_record_says_what_is_near_it_by_name(tmp_path):
    story = Story()
    story.registers(topics=("orders",))
    result = CliRunner().invoke(namekeeper, ["why", "ordrs", "--journal", story.folder(tmp_path)])
    assert result.exit_code == 4
    assert "there is no record of a topic 'ordrs': did you mean orders?" in result.stderr
    before = CliRunner().invoke(
        namekeeper,
        ["why", "orders", "--at", "2023-11-14T22:13:20Z", "--journal", story.folder(tmp_path / "b")],
    )
    assert (before.exit_code, "never registered" in before.output) == (0, True)


def test_what_is_near_is_named_although_it_is_gone_too(tmp_path):
    story = Story()
    story.registers(topics=("orders",))
    story.connection_breaks()
    story.alive()
    result = CliRunner().invoke(namekeeper, ["why", "ordrs", "--journal", story.folder(tmp_path)])
    assert result.exit_code == 4
    assert "there is no record of a topic 'ordrs': did you mean orders?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--back", "far"], "'far' is no duration"),
        (["--at", "25:00"], "'25:00' is not a time"),
        (["--journal", "."], "is not a journal"),
    ],
)
def test_bad_input(story, tmp_path, monkeypatch, arguments, message):
    folder = story.folder(tmp_path / "journal")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    result = run("--journal", folder, *arguments)
    assert (result.exit_code, message in result.output) == (2, True), result.output
