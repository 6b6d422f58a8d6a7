"""Deviations as incidents: what is one, what another incident explains, and what is planned."""

import os
from pathlib import Path

import pytest
from msgspec import structs

from namekeeper.answers.incidents.deviation import DeviationKind
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import incidents_by_cluster
from namekeeper.answers.incidents.texts import incident_value, what, why
from namekeeper.drift.incidents import present_drift, with_drift
from namekeeper.errors import ConfigError
from namekeeper.expected.incidents import ExpectedFile, user_name, with_deviations
from namekeeper.expected.maintenance import MaintenanceLog, MaintenanceWindow, Scope, log_beside
from namekeeper.expected.plan import digest_of
from namekeeper.expected.state_file import expected_text
from tests.differential.bodies import TopicConfig
from tests.unit.drift.fleet import align_ends
from tests.unit.expected.seeds import (
    MASTER_A,
    MASTER_B,
    SEEDS,
    SETTLED_MS,
    SLAVE_A,
    fleet,
    histories,
    learned,
    reregisters,
)

SECOND = 1_000


def no_drift(_histories):
    return []


def with_every_disagreement(histories):
    return present_drift(histories).incidents


def found(expected, stories, *windows, after_ms: int = SETTLED_MS, drift=no_drift):
    """All incidents some time after the last change."""
    end = align_ends(stories, after_ms)
    every = histories(stories)
    ends = {each.namesrv: end for each in every}
    by_cluster = with_drift(incidents_by_cluster(every, None, ends), drift(every))
    merged = with_deviations(by_cluster, expected, windows, every, ends)
    return [each for _, some in merged for each in some]


def kinds(incidents) -> list[tuple[str, str | None]]:
    return sorted((each.kind, each.deviation) for each in incidents)


def test_a_deviation_is_an_incident_with_its_cause_once_it_lasted_for_30_seconds():
    stories = fleet()
    expected = learned(stories)
    at = stories[1].connection_breaks(SLAVE_A)
    assert found(expected, stories, after_ms=29 * SECOND) == []
    (one,) = found(expected, stories, after_ms=2 * SECOND)
    assert (one.kind, one.deviation, one.cluster) == (
        IncidentKind.DEVIATION,
        DeviationKind.MEMBER_MISSING,
        "c",
    )
    assert (one.from_ts, one.to_ts, one.name_servers, one.broker_names) == (at, None, ["ns-2"], ["broker-a"])
    assert what(one) == "broker broker-a lacks a member: id 0 instead of 0, 1, at ns-2 (1 of 3 name servers)"
    assert why(one) == "connection closed"


def test_it_is_over_when_it_is_as_expected():
    stories = fleet()
    expected = learned(stories)
    stories[1].connection_breaks(SLAVE_A)
    stories[1].later(40 * SECOND)
    reregisters(stories[1], SLAVE_A)
    back = stories[1].now
    (one,) = found(expected, stories)
    assert (one.to_ts, one.is_open) == (back, False)


def test_a_broker_that_is_away_everywhere_is_one_incident():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        story.connection_breaks(MASTER_B)
    assert kinds(found(expected, stories)) == [(IncidentKind.BROKER_AWAY, None)]


def test_one_that_comes_back_to_some_name_servers_is_a_deviation_at_the_others():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        story.connection_breaks(MASTER_B)
        story.later(60 * SECOND)
    for story in stories[:2]:
        reregisters(story, MASTER_B)
    away, missing = sorted(found(expected, stories), key=lambda each: each.kind)
    assert (away.kind, away.is_open) == (IncidentKind.BROKER_AWAY, False)
    assert (missing.deviation, missing.name_servers, missing.is_open) == ("broker_missing", ["ns-3"], True)


def test_a_wiped_permission_is_one_incident():
    stories = fleet()
    expected = learned(stories)
    stories[1].wiped("broker-b")
    assert kinds(found(expected, stories)) == [(IncidentKind.PERMISSION_WIPED, None)]


@pytest.mark.parametrize("story", [0, 1])
def test_an_order_configuration_about_which_name_servers_disagree_is_one_incident(story: int):
    stories = fleet(2)
    expected = learned(stories)
    stories[story].ordered("orders", "broker-a:4")
    assert kinds(found(expected, stories, drift=with_every_disagreement)) == [(IncidentKind.DRIFT, None)]


@pytest.mark.parametrize("story", [0, 1])
def test_a_topic_about_which_name_servers_disagree_is_one_incident(story: int):
    stories = fleet(2)
    expected = learned(stories)
    reregisters(stories[story], MASTER_B, "refunds", TopicConfig())
    assert kinds(found(expected, stories, drift=with_every_disagreement)) == [(IncidentKind.DRIFT, None)]


def test_queues_about_which_name_servers_disagree_do_not_explain_an_order_configuration():
    stories = fleet(2)
    expected = learned(stories)
    reregisters(stories[0], MASTER_B, "payments", TopicConfig(read=9, write=9))
    for story in stories:
        story.ordered("payments", "broker-b:9")
    assert kinds(found(expected, stories, drift=with_every_disagreement)) == [
        (IncidentKind.DEVIATION, DeviationKind.ORDER_CHANGED),
        (IncidentKind.DRIFT, None),
    ]


def test_the_cause_of_a_deviation_names_the_peer_that_asked_for_it():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        story.ordered("payments", "broker-b:9")
    (one,) = found(expected, stories)
    assert why(one).startswith("KV entry put by ")


def test_deviations_of_one_kind_that_begin_together_are_one_incident():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        for number in range(60):
            story.registers(f"broker-x{number}", f"10.1.0.{number}:10911")
    (one,) = found(expected, stories)
    assert (one.brokers, len(one.deviations), one.deviation) == (60, 60, "broker_unexpected")
    assert what(one).startswith("broker broker-x0 is not expected: it has id 0, and 59 more such")
    assert incident_value(one).deviations[1].text == "broker broker-x1 is not expected: it has id 0"


@pytest.mark.parametrize("name", SEEDS)
def test_every_seeded_deviation_is_an_incident_and_silenced_if_it_is_planned(name):
    stories = fleet()
    expected = learned(stories)
    begin = stories[0].now
    SEEDS[name][0](stories)
    every = found(expected, stories)
    assert any(each.is_open for each in every)
    assert not any(each.planned for each in every)
    end = max(each.now for each in stories)
    window = MaintenanceWindow(
        id="w", begin=begin, end=end + SECOND, scope=Scope(clusters=("c", "d", "z")), who="a", why=""
    )
    ends = {each.journal.namesrv: end for each in stories}
    histories_now = histories(stories)
    by_cluster = incidents_by_cluster(histories_now, None, ends)
    planned = with_deviations(by_cluster, expected, [window], histories_now, ends)
    assert {each.planned for _, some in planned for each in some} == {"w"}
    assert kinds(each for _, some in planned for each in some) == kinds(every)
    over = structs.replace(window, end=end - SECOND)
    late = with_deviations(by_cluster, expected, [over], histories_now, ends)
    assert {each.planned for _, some in late for each in some if each.is_open} == {""}


def test_planned_deviations_are_an_incident_of_their_own():
    stories = fleet()
    expected = learned(stories)
    begin = stories[0].now
    stories[1].connection_breaks(SLAVE_A)
    stories[2].connection_breaks(MASTER_A)
    window = MaintenanceWindow(
        id="w", begin=begin, end=begin + 9 * SETTLED_MS, scope=Scope(name_servers=("ns-2",)), who="a", why=""
    )
    planned, other = sorted(found(expected, stories, window), key=lambda each: each.name_servers)
    assert (planned.planned, planned.name_servers) == ("w", ["ns-2"])
    assert (other.planned, other.name_servers) == ("", ["ns-3"])


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "expected.toml"
    file.write_text(expected_text(learned(fleet())))
    return str(file)


def test_a_file_and_its_log_are_read_again_when_they_change(path: str):
    lines: list[str] = []
    file = ExpectedFile(path, lines.append)
    before = file.state
    file.refresh()
    assert lines == []
    MaintenanceLog(log_beside(path)).start(Scope(clusters=("c",)), 1, 2, who="a", why="", now=1)
    file.refresh()
    assert len(file.windows) == 1
    text = Path(path).read_text().replace("[0, 1]", "[0]")
    Path(path).write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    file.refresh()
    owner, written = user_name(os.getuid()), "2023-11-14T22:13:20.000Z"
    assert lines[0].startswith(f"{log_beside(path)} was read again: digest ")
    assert lines[1:] == [
        f"{path} was read again: digest {digest_of(text.encode())}, written {written}, owner {owner}"
    ]
    assert file.changes == 2
    assert before.clusters[0].brokers["broker-a"] == {0, 1}
    assert file.state.clusters[0].brokers["broker-a"] == {0}


def test_of_a_change_with_an_error_what_was_there_before_counts(path: str):
    lines: list[str] = []
    file = ExpectedFile(path, lines.append)
    before = file.state
    Path(path).write_text("[[oops")
    file.refresh()
    file.refresh()
    assert (file.state, len(lines)) == (before, 1)
    assert "is not TOML" in lines[0]
    assert lines[0].endswith("; what it said before still counts")
    Path(path).unlink()
    file.refresh()
    assert "does not exist" in lines[1]


def test_a_file_with_an_error_is_refused_at_the_start(tmp_path: Path):
    (tmp_path / "f.toml").write_text("since = 5")
    with pytest.raises(ConfigError):
        ExpectedFile(str(tmp_path / "f.toml"))
