"""`namekeeper shadow`: output, exit codes, which name server is the shadow."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.answers.story import MINUTE, Story
from tests.unit.cli.commands.test_drift import journals
from tests.unit.drift.fleet import A, B, align_ends, changes_queues
from tests.unit.drift.test_shadow import C, with_shadow


def run(stories, path, *arguments, after_ms=5 * MINUTE):
    align_ends(stories, after_ms)
    return CliRunner().invoke(namekeeper, ["shadow", "--zone", "UTC", *journals(stories, path), *arguments])


@pytest.fixture
def stories() -> list[Story]:
    return with_shadow()


def test_equal_tables_end_with_0_and_the_time_for_which_they_are_equal(stories, tmp_path):
    for each in stories:
        changes_queues(each, A, "orders", 8)
    result = run(stories, tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "shadow: equal for 5 min 2 s, 1 change: 2 brokers and 4 topics, as at ns-1, ns-2\n"
        "  since 2023-11-14 22:13:21.000 UTC, up to 2023-11-14 22:18:23.000 UTC\n"
    )


@pytest.mark.parametrize(("least", "code"), [("5m", 0), ("5m3s", 1), ("3d", 1)])
def test_a_script_can_ask_for_how_long(stories, tmp_path, least, code):
    assert run(stories, tmp_path, "--for", least).exit_code == code


def test_a_difference_ends_with_1_and_shows_its_verdict(stories, tmp_path):
    stories[0].wiped("broker-a")
    stories[1].wiped("broker-a")
    result = run(stories, tmp_path)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert lines[0] == "shadow: 1 difference to ns-1, ns-2"
    assert (
        "permission of 3 topics (more, orders, other) differs on broker-a: ns-1, ns-2 R--; shadow RW-"
        in result.stdout
    )
    assert "for 5 min" in result.stdout


def test_a_difference_that_is_over_is_shown_below(stories, tmp_path):
    for each in stories[:2]:
        changes_queues(each, A, "orders", 8)
    stories[-1].later(2 * MINUTE)
    changes_queues(stories[-1], A, "orders", 8)
    result = run(stories, tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("shadow: equal for 5 min, 0 changes")
    _, _, over = result.stdout.partition("Differences that are over:\n")
    assert "queues of topic orders differ on broker-a" in over
    assert "for 2 min" in over


def test_brokers_that_do_not_register_with_it_end_with_1_and_are_named(stories, tmp_path):
    for each in stories[:2]:
        each.registers("broker-c", C)
    result = run(stories, tmp_path)
    assert result.exit_code == 1
    assert f"; 1 broker does not register with it: broker-c ({C})\n" in result.stdout


def test_without_a_broker_it_ends_with_1(stories, tmp_path):
    for each in stories:
        each.unregisters(A)
        each.unregisters(B)
    result = run(stories, tmp_path)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, "shadow: no broker is registered with it")


def test_time_that_nobody_knows_is_a_note(stories, tmp_path):
    stories[-1].later(MINUTE)
    stories[-1].restarts_with_its_routes(down_ms=2 * MINUTE)
    result = run(stories, tmp_path)
    assert result.exit_code == 0
    assert result.stderr.startswith("note: 2 min")
    assert "the state of the shadow, or of all others, is not known" in result.stderr


def test_a_change_on_its_way_is_a_note(stories, tmp_path):
    for each in stories[:2]:
        changes_queues(each, A, "orders", 8)
    result = run(stories, tmp_path, after_ms=10_000)
    assert (result.exit_code, result.stderr) == (
        0, "note: 1 difference does not count: perhaps a change on its way\n",
    )  # fmt: skip


def test_a_shadow_that_can_not_be_compared_ends_with_3(tmp_path):
    result = run(with_shadow(0), tmp_path)
    assert result.exit_code == 3
    assert result.stdout.startswith("shadow: not compared: there is no other name server of its cluster")


def test_without_a_shadow_it_ends_with_2_and_says_how_to_run_one(stories, tmp_path):
    result = run(stories[:2], tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        ": there is no shadow: the journals are of ns-1, ns-2. Run one with `observe --shadow PORT`, or give --id\n"
    )
    assert "no name server 'nowhere'" in run(stories, tmp_path, "--id", "nowhere").stderr


def test_any_name_server_can_be_compared_with_the_others(stories, tmp_path):
    result = run(stories[:2], tmp_path, "--id", "ns-2")
    assert (result.exit_code, result.stdout.partition(":")[0]) == (0, "ns-2")


def test_each_shadow_is_compared_in_its_own_cluster(stories, tmp_path):
    west = [Story("west.ns", "west"), Story("west.shadow", "west")]
    for each in west:
        each.registers("broker-w", "10.1.0.1:10911")
    west[0].wiped("broker-w")
    result = run([*stories, *west], tmp_path)
    assert result.exit_code == 1
    assert result.stdout.startswith("shadow: equal for 5 min 1 s, 0 changes")
    assert "\nwest.shadow: 1 difference to west.ns\n" in result.stdout


def test_json(stories, tmp_path):
    for each in stories[:2]:
        each.registers("broker-c", C)
        changes_queues(each, A, "orders", 8)
    result = run(stories, tmp_path, "--json")
    (found,) = json.loads(result.stdout)["shadows"]
    (verdict,) = found.pop("differences")
    assert (verdict["kind"], verdict["topics"]) == ("queues_differ", ["orders"])
    assert found == {
        "shadow": "shadow",
        "cluster_label": "",
        "at": 1_700_000_304_000,
        "at_iso": "2023-11-14T22:18:24.000Z",
        "state": "different",
        "summary": "1 difference to ns-1, ns-2",
        "compared_with": ["ns-1", "ns-2"],
        "why_not": "",
        "begun": 1_700_000_001_000,
        "equal_since": None,
        "equal_ms": 0,
        "unknown_ms": 0,
        "changes": 0,
        "brokers": 2,
        "topics": 4,
        "not_registered": [{"cluster": "c", "broker_name": "broker-c", "broker_id": 0, "addr": C}],
        "not_registered_total": 1,
        "differences_total": 1,
        "unsettled": 0,
        "ended": [],
    }
