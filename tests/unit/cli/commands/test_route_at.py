"""`namekeeper route-at`: output, exit codes, bad input."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.answers.story import Story
from tests.unit.answers.test_windows import BACK, GONE, journal


@pytest.fixture
def story():
    incident = Story()
    incident.registers()
    incident.alive()
    return incident


def run(*arguments):
    return CliRunner().invoke(namekeeper, ["route-at", "T", "--zone", "Europe/Berlin", *arguments])


def iso(ms):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat()


def test_the_route_is_shown_with_its_instant_and_how_far_it_knows(story, tmp_path):
    result = run("--at", iso(story.now), "--journal", story.folder(tmp_path))
    first, head, row, *_ = result.output.splitlines()
    assert result.exit_code == 0
    assert first == (
        "ns_9876 at 2023-11-14 23:13:22.000 CET (22:13:22.000Z)"
        " (knows up to 2023-11-14 23:13:22.000 CET (22:13:22.000Z))"
    )
    assert head.startswith("#ClusterName")
    assert row.split() == ["c", "b0", "{0=a0:1}", "4", "4", "6"]


def test_json_is_the_answer_to_105(story, tmp_path):
    result = run("--at", iso(story.now), "--json", "--journal", story.folder(tmp_path))
    (found,) = json.loads(result.output)
    live = json.loads(story.journal.server.state.route_answers.get("T", True).body)
    assert found["route"] == live
    assert found["knowledge"] == "known"


def test_without_an_instant_it_is_the_last_that_is_known(story, tmp_path):
    result = run("--journal", story.folder(tmp_path))
    assert (result.exit_code, "b0" in result.output) == (0, True)


def test_a_route_that_was_not_is_an_answer(story, tmp_path):
    result = run("--at", iso(story.now - 1_500), "--journal", story.folder(tmp_path))
    assert result.exit_code == 0
    assert "no route of T; `namekeeper why` shows the cause" in result.output


def test_what_nobody_knows_is_none(story, tmp_path):
    result = run("--at", "2 hours ago", "--journal", story.folder(tmp_path))
    assert (result.exit_code, "not known yet" in result.output) == (3, True)


def test_one_of_two_name_servers_is_enough(story, tmp_path):
    other = Story("other_1")
    folders = ["--journal", story.folder(tmp_path / "a"), "--journal", other.folder(tmp_path / "b")]
    result = run("--at", iso(story.now), *folders)
    assert result.exit_code == 0
    assert "other_1 at" in result.output
    assert run("--at", iso(story.now), "--namesrv", "other_1", *folders).exit_code == 3


def test_a_name_that_plays_tricks_is_written_out(story, tmp_path):
    result = CliRunner().invoke(
        namekeeper, ["route-at", "\x1b[2J", "--at", iso(story.now), "--journal", story.folder(tmp_path)]
    )
    assert "no route of \\x1b[2J;" in result.output


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["--at", "yesterday"], 2, "'yesterday' is not a time: write it as 2026-01-31T03:12:00Z"),
        (["--at", "now", "--zone", "Mars/Olympus"], 2, "there is no time zone 'Mars/Olympus'"),
        (
            ["--at", "now", "--namesrv", "who"],
            2,
            "there is no journal of 'who'; the journals are of ns_9876",
        ),
        (["--at", "now", "--journal", "/nowhere"], 2, "/nowhere"),
    ],
)
def test_bad_input(story, tmp_path, arguments, exit_code, message):
    result = run("--journal", story.folder(tmp_path), *arguments)
    assert (result.exit_code, message in result.output) == (exit_code, True), result.output


def test_no_journal_at_all():
    result = run("--at", "now")
    assert (result.exit_code, "--journal DIR" in result.output) == (2, True)
    result = run("--at", "now", "--journal", "a", "--warehouse", "b")
    assert (result.exit_code, "--warehouse URI" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("at", "then"), [(GONE - 1_000, "no route of orders"), (BACK - 1_000, "#ClusterName")]
)
def test_a_change_whose_time_is_uncertain_is_shown_with_the_route_after_it(tmp_path, at, then):
    words = ["route-at", "orders", "--zone", "UTC", "--at", iso(at), "--journal", journal(tmp_path)]
    before, _, after = CliRunner().invoke(namekeeper, words).output.partition("uncertain, changed between ")
    assert then not in before
    assert after.partition(") to:")[2].lstrip().startswith(then)
