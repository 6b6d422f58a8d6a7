"""Drift as incidents: when one opens, when it ends, and what is one incident."""

from collections.abc import Sequence

import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident, incidents_by_cluster
from namekeeper.answers.incidents.texts import what, why
from namekeeper.common.expected import (
    SHORTEST_DRIFT_MS,
    TOGETHER_END_MS,
    TOGETHER_MS,
    WITNESS_AFTER_MS,
)
from namekeeper.drift.incidents import GROUPS_LIMIT, present_drift, with_drift
from namekeeper.drift.report import find_drift
from namekeeper.notifications.incident_facts import SeenIncident, facts_of
from tests.support.system.lines_run import lines_run
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, B, align_ends, changes_queues, fleet

EVIL = "x](http://evil) <b> @all {}"


def found(stories: Sequence[Story], after_ms: int = MINUTE) -> list[FoundIncident]:
    """The drift of the end, in order of time."""
    align_ends(stories, after_ms)
    histories = [story.history() for story in stories]
    return sorted(present_drift(histories).incidents, key=lambda each: each.from_ts)


def only(stories: Sequence[Story], after_ms: int = MINUTE) -> FoundIncident:
    (one,) = found(stories, after_ms)
    return one


def test_name_servers_that_agree_have_no_incident():
    assert found(fleet()) == []


def test_an_incident_of_drift_has_the_text_the_start_and_the_cause_of_the_verdict():
    stories = fleet()
    gone = stories[2].connection_breaks(A)
    one = only(stories)
    assert (one.kind, one.cluster, one.subject, one.cause) == (
        IncidentKind.DRIFT,
        "c",
        "broker-a",
        "broker_missing",
    )
    assert what(one) == f"broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)"
    assert why(one) == "ns-3: connection closed"
    assert (one.from_ts, one.to_ts, one.name_servers) == (gone, None, ["ns-3"])


@pytest.mark.parametrize(("after_ms", "count"), [(TOGETHER_MS - 1, 0), (TOGETHER_MS, 1)])
def test_a_difference_of_less_than_a_registration_interval_is_none(after_ms: int, count: int):
    stories = fleet()
    stories[2].connection_breaks(A)
    assert len(found(stories, after_ms)) == count


@pytest.mark.parametrize(("away_ms", "count"), [(TOGETHER_MS - 2_000, 0), (TOGETHER_MS, 1)])
def test_a_difference_that_is_over_has_its_start_and_its_end(away_ms: int, count: int):
    stories = fleet()
    gone = stories[2].connection_breaks(A)
    stories[2].later(away_ms)
    back = stories[2].registers("broker-a", A, ("orders",))
    ended = found(stories)
    assert [(each.from_ts, each.to_ts) for each in ended] == [(gone, back)] * count
    assert all("registers with 2 of 3 name servers (missing: ns-3)" in what(each) for each in ended)


def test_a_name_server_that_was_late_is_not_named():
    stories = fleet()
    align_ends(stories, 5 * MINUTE)
    came = stories[0].registers("broker-c", "10.0.0.3:10911")
    stories[1].later(7_000)
    stories[1].registers("broker-c", "10.0.0.3:10911")
    stories[2].later(MINUTE)
    back = stories[2].registers("broker-c", "10.0.0.3:10911")
    one = only(stories)
    assert (one.from_ts, one.to_ts, one.name_servers) == (came, back, ["ns-3"])


@pytest.mark.parametrize(("agreed_ms", "count"), [(SHORTEST_DRIFT_MS - 1, 1), (SHORTEST_DRIFT_MS, 0)])
def test_name_servers_that_agree_for_less_than_five_seconds_have_not_agreed(agreed_ms: int, count: int):
    stories = fleet(2)
    gone = stories[1].connection_breaks(A)
    stories[1].later(20_000)
    stories[1].registers("broker-a", A, ("orders",))
    stories[1].later(agreed_ms - 1_000)
    stories[1].connection_breaks(A)
    stories[1].later(20_000)
    back = stories[1].registers("broker-a", A, ("orders",))
    assert [(each.from_ts, each.to_ts) for each in found(stories)] == [(gone, back)] * count


@pytest.mark.parametrize(("later_ms", "is_over"), [(TOGETHER_END_MS - 1, False), (TOGETHER_END_MS, True)])
def test_it_is_over_when_the_others_go_on_without_a_name_server(later_ms: int, is_over: bool):
    stories = fleet()
    gone = stories[2].connection_breaks(A)
    end = align_ends(stories)
    align_ends(stories[:2], later_ms)
    (one,) = present_drift([story.history() for story in stories]).incidents
    assert (one.from_ts, one.to_ts, one.name_servers) == (gone, end if is_over else None, ["ns-3"])
    assert what(one) == f"broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)"


def test_causes_are_incidents_of_their_own():
    stories = fleet(2)
    changes_queues(stories[0], A, "orders", 16)
    stories[1].connection_breaks(B)
    some = sorted(found(stories), key=lambda each: each.cause or "")
    assert [(each.cause, each.subject, each.name_servers) for each in some] == [
        ("broker_missing", "broker-b", ["ns-2"]),
        ("queues_differ", "orders", ["ns-1", "ns-2"]),
    ]


def test_what_was_over_long_ago_is_left_out():
    stories = fleet()
    stories[2].connection_breaks(A)
    stories[2].later(MINUTE)
    stories[2].registers("broker-a", A, ("orders",))
    align_ends(stories, 2 * MINUTE)
    histories = [story.history() for story in stories]
    assert len(present_drift(histories, recent_ms=3 * MINUTE).incidents) == 1
    assert present_drift(histories, recent_ms=MINUTE).incidents == []


def test_brokers_that_come_back_one_after_the_other_are_one_incident_until_the_last_is_back():
    stories = fleet()
    gone = stories[2].connection_breaks(A)
    stories[2].registers("broker-c", "10.0.0.3:10911")
    for story in stories[:2]:
        story.registers("broker-c", "10.0.0.3:10911")
    stories[2].connection_breaks(B)
    stories[2].later(MINUTE)
    stories[2].registers("broker-a", A, ("orders",))
    align_ends(stories)
    (still,) = present_drift([story.history() for story in stories]).incidents
    assert still.to_ts is None
    back = stories[2].registers("broker-b", B, ("orders", "payments"))
    over = only(stories)
    assert (over.from_ts, over.to_ts, over.brokers) == (gone, back, 2)
    assert what(over).startswith("2 brokers register with 2 of 3 name servers (missing: ns-3)")


def test_a_name_server_that_lacks_everything_since_its_restart_is_one_incident():
    stories = fleet()
    for story in stories:
        for number in range(20):
            story.registers(
                f"more-{number}", f"10.0.1.{number}:10911", tuple(f"t{number}-{n}" for n in range(20))
            )
    began = stories[1].restarts() + WITNESS_AFTER_MS
    stories[1].registers("broker-a", A, ("orders",))
    one = only(stories, 5 * MINUTE)
    assert (one.cause, one.subject, one.from_ts) == ("broker_missing", "broker-b", began)
    assert (one.brokers, len(one.broker_names), one.name_servers) == (21, 21, ["ns-2"])
    assert what(one).startswith("ns-2 has a partial list since its restart: 1 of 22 brokers")
    for number in range(20):
        stories[1].registers(
            f"more-{number}", f"10.0.1.{number}:10911", tuple(f"t{number}-{n}" for n in range(20))
        )
    back = stories[1].registers("broker-b", B, ("orders", "payments"))
    over = only(stories)
    assert (over.cause, over.from_ts, over.to_ts) == ("broker_missing", began, back)
    assert what(over).startswith("ns-2 has a partial list since its restart")


def test_a_thousand_entries_that_one_lacks_are_one_incident():
    stories = fleet(2)
    for number in range(1_000):
        stories[0].ordered(f"t{number}", "broker-a:4")
        stories[0].later(-1_000)
    one = only(stories)
    assert (one.cause, len(one.drift)) == ("order_differs", 1_000)
    assert what(one).endswith(", and 999 more such")


def test_queues_that_differ_and_are_equal_again_are_an_incident_that_is_over():
    stories = fleet(2)
    began = changes_queues(stories[0], A, "orders", 16)
    stories[1].later(2 * MINUTE)
    ended = changes_queues(stories[1], A, "orders", 16)
    one = only(stories)
    assert (one.cause, one.from_ts, one.to_ts, one.topic_names) == ("queues_differ", began, ended, ["orders"])


def test_topics_have_no_cost_that_would_make_drift_critical():
    stories = fleet()
    changes_queues(stories[0], A, "orders", 16)
    one = only(stories)
    assert (one.topics, one.first_topic) == (0, None)


def test_names_stay_data_in_the_text_of_a_message():
    stories = fleet(2)
    for story in stories:
        story.registers(EVIL, "10.0.0.9:10911", (EVIL,))
    changes_queues(stories[0], "10.0.0.9:10911", EVIL, 16)
    one = only(stories)
    assert what(one) == f"queues of topic {EVIL} differ on {EVIL}: ns-1 16/16 RW-; ns-2 4/4 RW-"
    facts = facts_of(SeenIncident(one, ("ns-1", "ns-2")))
    assert "](" not in facts.what
    assert not set("<>@{}") & set(facts.what)
    assert facts.what.endswith(": ns-1 16/16 RW-; ns-2 4/4 RW-")
    assert facts.broker_names == [EVIL]


def test_an_incident_goes_to_the_name_servers_of_its_cluster():
    stories = [*fleet(2), Story("other-1"), Story("other-2")]
    for story in stories[2:]:
        story.registers("elsewhere", "10.1.0.1:10911")
    stories[0].connection_breaks(A)
    align_ends(stories)
    histories = [story.history() for story in stories]
    merged = with_drift(incidents_by_cluster(histories), present_drift(histories).incidents)
    kinds = {names: [each.kind for each in some] for names, some in merged}
    assert kinds == {("ns-1", "ns-2"): [IncidentKind.DRIFT], ("other-1", "other-2"): []}


@pytest.mark.parametrize("is_over", [False, True])
def test_a_permission_that_was_wiped_at_one_of_them_is_one_incident(is_over: bool):
    stories = fleet(2)
    stories[0].wiped("broker-a")
    if is_over:
        stories[0].later(MINUTE)
        changes_queues(stories[0], A, "orders", 4)
    assert found(stories) == []
    histories = [story.history() for story in stories]
    ((_, merged),) = with_drift(incidents_by_cluster(histories), present_drift(histories).incidents)
    assert [each.kind for each in merged] == [IncidentKind.PERMISSION_WIPED]


def test_of_differences_that_are_over_the_newest_are_found():
    stories = fleet(2)
    for _ in range(GROUPS_LIMIT + 2):
        stories[1].connection_breaks(A)
        stories[1].later(2 * MINUTE)
        stories[1].registers("broker-a", A, ("orders",))
        stories[1].later(2 * MINUTE)
    some = found(stories)
    assert len(some) == GROUPS_LIMIT
    assert max(each.to_ts or 0 for each in some) > stories[1].now - 4 * MINUTE


def test_the_work_does_not_grow_with_topics_that_did_not_change():
    """Beside that of the present drift, which looks at each row once."""

    def lines(topics: int) -> int:
        stories = fleet(2)
        for story in stories:
            story.registers("big", "10.0.0.9:10911", tuple(f"t{number}" for number in range(topics)))
        stories[1].connection_breaks(A)
        align_ends(stories, 3 * 24 * 60 * MINUTE)
        histories = [story.history() for story in stories]
        return lines_run(lambda: present_drift(histories)) - lines_run(lambda: find_drift(histories))

    assert lines(400) < 1.2 * lines(20) + 100
