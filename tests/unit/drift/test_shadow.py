"""A shadow beside the name servers that it is to replace: since when its tables are theirs, and what differs."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import incidents
from namekeeper.drift import shadow as shadow_module
from namekeeper.drift.incidents import present_drift
from namekeeper.drift.shadow import ShadowReport, ShadowState, shadow_report
from namekeeper.drift.verdict import DriftKind
from namekeeper.drift.witness import BrokerId
from tests.support.history.observed import BEGIN, BROKER, FIRST, ORDINARY, observed
from tests.support.journal.folder import read_records
from tests.support.journal.history import history_of
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, B, align_ends, changes_queues, fleet
from tests.unit.drift.test_windows import histories

SHADOW = "shadow"
C = "10.0.0.3:10911"


def with_shadow(count: int = 2, label: str = "") -> list[Story]:
    """Name servers, and their shadow as the last one."""
    stories = [*fleet(count, label), Story(SHADOW, label)]
    stories[-1].registers("broker-a", A, ("orders",))
    stories[-1].registers("broker-b", B, ("orders", "payments"))
    return stories


def compared(stories: Sequence[Story], after_ms: int = 5 * MINUTE) -> ShadowReport:
    align_ends(stories, after_ms)
    return shadow_report([each.history() for each in stories], SHADOW)


def test_equal_tables_are_equal_since_the_first_broker_registered_with_both_sides():
    stories = with_shadow()
    began = stories[0].history().knows_from
    assert began is not None
    found = compared(stories)
    assert (found.state, found.compared_with, found.brokers, found.topics) == (
        ShadowState.EQUAL, ["ns-1", "ns-2"], 2, 4,
    )  # fmt: skip
    assert found.equal_since == found.begun == began + 1_000
    assert (found.changes, found.unknown_ms, found.differences, found.ended) == (0, 0, [], [])
    assert found.equal_ms == found.at - began - 1_000


def test_changes_that_both_sides_saw_are_counted_once_for_all_their_topics():
    stories = with_shadow()
    for each in stories:
        changes_queues(each, A, "orders", 8)
        each.wiped("broker-b")  # three topics
        each.heard(A)
        each.unregisters(A)
        each.registers("broker-a", A, ("orders",))
    assert (compared(stories).state, compared(stories).changes) == (ShadowState.EQUAL, 4)


def test_a_broker_that_only_the_shadow_still_has_is_away():
    stories = with_shadow(1)
    stories[0].connection_breaks(A)
    align_ends(stories, 10 * MINUTE)
    (found,) = incidents([each.history() for each in stories])
    assert (found.kind, found.subject) == (IncidentKind.BROKER_AWAY, "broker-a")


def test_a_shadow_that_stops_or_loses_a_broker_is_no_incident():
    stories = with_shadow(1)
    stories[-1].connection_breaks(A)
    align_ends(stories, 10 * MINUTE)
    stories[-1].stops()
    histories = [each.history() for each in stories]
    assert incidents(histories) == incidents(histories[-1:]) == []


def test_a_change_that_the_shadow_did_not_see_is_a_difference_with_its_start():
    stories = with_shadow()
    began = 0
    for each in stories[:2]:
        began = changes_queues(each, A, "orders", 8)
    found = compared(stories)
    (one,) = found.differences
    assert (found.state, found.equal_since, one.kind, one.since, one.topics) == (
        ShadowState.DIFFERENT, None, DriftKind.QUEUES_DIFFER, began, ["orders"],
    )  # fmt: skip


def test_a_difference_that_was_mended_ends_the_time_before_and_is_shown():
    stories = with_shadow()
    for each in stories[:2]:
        began = changes_queues(each, A, "orders", 8)
    stories[-1].later(2 * MINUTE)
    mended = changes_queues(stories[-1], A, "orders", 8)
    for each in stories:
        each.later(mended - each.now)
        each.wiped("broker-b")
    found = compared(stories)
    assert (found.state, found.equal_since, found.changes) == (ShadowState.EQUAL, mended, 1)
    (ended,) = found.ended
    assert (ended.to, [(each.kind, each.since) for each in ended.verdicts]) == (
        mended, [(DriftKind.QUEUES_DIFFER, began)],
    )  # fmt: skip


@pytest.mark.parametrize(("late_ms", "count"), [(29_000, 0), (30_000, 1)])
def test_a_shorter_difference_is_a_change_on_its_way(late_ms: int, count: int):
    stories = with_shadow(1)
    began = changes_queues(stories[0], A, "orders", 8)
    stories[1].later(began + late_ms - 1_000 - stories[1].now)
    changes_queues(stories[1], A, "orders", 8)
    found = compared(stories)
    assert (found.state, len(found.ended), found.changes) == (ShadowState.EQUAL, count, 1 - count)


def test_a_difference_of_the_last_seconds_is_not_settled():
    stories = with_shadow(1)
    changes_queues(stories[0], A, "orders", 8)
    found = compared(stories, 10_000)
    assert (found.state, found.unsettled, found.differences) == (ShadowState.EQUAL, 1, [])


def test_a_broker_that_never_registered_with_the_shadow_is_named_once_and_its_topics_are_not():
    stories = with_shadow()
    for each in stories[:2]:
        each.registers("broker-c", C, tuple(f"topic-{number}" for number in range(1_000)))
    found = compared(stories)
    assert (found.state, found.differences, found.ended) == (ShadowState.INCOMPLETE, [], [])
    assert found.not_registered == [BrokerId("c", "broker-c", 0, C)]
    assert not found.is_equal
    assert found.equal_since is not None


def test_a_broker_that_is_new_is_not_missing_at_the_shadow_yet():
    stories = with_shadow(1)
    stories[0].registers("broker-c", C)
    found = compared(stories, 29_000)
    assert (found.state, found.not_registered) == (ShadowState.EQUAL, [])
    assert len(compared(stories, 1_000).not_registered) == 1


def test_a_broker_that_registers_with_the_shadow_later_was_no_difference_before():
    stories = with_shadow()
    for each in stories[:2]:
        each.registers("broker-c", C)
    stories[-1].later(20 * MINUTE)
    stories[-1].registers("broker-c", C)
    found = compared(stories)
    assert (found.state, found.ended, found.equal_since) == (ShadowState.EQUAL, [], found.begun)


def test_a_broker_that_left_the_shadow_alone_is_a_difference():
    stories = with_shadow()
    gone = stories[-1].unregisters(A)
    found = compared(stories)
    assert (found.state, found.not_registered) == (ShadowState.DIFFERENT, [])
    assert [(each.kind, each.since, each.missing_at) for each in found.differences] == [
        (DriftKind.BROKER_MISSING, gone, (SHADOW,))
    ]


def test_a_broker_that_only_the_shadow_has_is_a_difference():
    stories = with_shadow()
    for each in stories[:2]:
        each.unregisters(A)
    (one,) = compared(stories).differences
    assert (one.kind, one.missing_at) == (DriftKind.BROKER_MISSING, ("ns-1", "ns-2"))


def test_a_shadow_that_agrees_with_one_of_those_that_disagree_has_no_difference():
    stories = with_shadow()
    stories[0].wiped("broker-a")
    assert compared(stories).state is ShadowState.EQUAL
    stories[1].wiped("broker-a")
    assert compared(stories).state is ShadowState.DIFFERENT


def test_an_entry_of_the_kv_configuration_that_the_shadow_lacks_is_a_difference():
    stories = with_shadow()
    for each in stories[:2]:
        each.ordered("orders", "broker-a:4")
    (one,) = compared(stories).differences
    assert (one.kind, one.topics, one.missing_at) == (DriftKind.ORDER_DIFFERS, ["orders"], (SHADOW,))
    stories[-1].ordered("orders", "broker-a:4")
    assert compared(stories).state is ShadowState.EQUAL


def test_a_restart_of_the_shadow_is_no_difference_and_its_absence_does_not_count_as_equal():
    stories = with_shadow()
    for each in stories:
        each.later(5 * MINUTE)
    mine = stories[-1]
    mine.restarts(down_ms=4 * MINUTE)
    mine.later(20_000)
    mine.registers("broker-a", A, ("orders",))
    mine.registers("broker-b", B, ("orders", "payments"))
    found = compared(stories)
    assert (found.state, found.ended, found.changes) == (ShadowState.EQUAL, [], 0)
    assert found.equal_since == found.begun
    assert 4 * MINUTE <= found.unknown_ms <= 4 * MINUTE + 2_000
    assert found.equal_since is not None
    assert found.equal_ms == found.at - found.equal_since - found.unknown_ms


def test_time_counts_while_the_shadow_and_any_other_is_known():
    stories = with_shadow()
    for each in stories:
        each.later(5 * MINUTE)
    for each in stories[:2]:  # one after the other
        each.later(5 * MINUTE * stories.index(each))
        each.restarts_with_its_routes(down_ms=MINUTE)
    assert compared(stories).unknown_ms == 0
    for each in stories[:2]:
        each.restarts_with_its_routes(down_ms=MINUTE)
    found = compared(stories)
    assert 0 < found.unknown_ms <= MINUTE + 1_000


def test_a_difference_goes_on_over_a_restart_of_the_shadow():
    stories = with_shadow()
    for each in stories[:2]:
        began = changes_queues(each, A, "orders", 8)
    mine = stories[-1]
    mine.later(5 * MINUTE)
    mine.restarts_with_its_routes()
    (one,) = compared(stories).differences
    assert (one.kind, one.since) == (DriftKind.QUEUES_DIFFER, began)


def test_brokers_that_did_not_come_back_after_a_restart_of_the_shadow_are_a_difference():
    stories = with_shadow()
    for each in stories:
        each.later(5 * MINUTE)
    stories[-1].restarts()
    stories[-1].registers("broker-b", B, ("orders", "payments"))
    (one,) = compared(stories).differences
    assert (one.kind, one.missing_at, one.brokers) == (DriftKind.PARTIAL_LIST, [SHADOW], ["broker-a"])


def test_without_brokers_the_shadow_is_incomplete_and_was_never_equal():
    stories = [*fleet(2), Story(SHADOW)]
    found = compared(stories)
    assert (found.state, found.begun, found.equal_since, found.equal_ms) == (
        ShadowState.INCOMPLETE, None, None, 0,
    )  # fmt: skip
    assert [each.addr for each in found.not_registered] == [A, B]


def test_a_shadow_whose_records_ended_is_not_compared():
    stories = with_shadow()
    align_ends(stories[:2], 10 * MINUTE)
    found = shadow_report([each.history() for each in stories], SHADOW)
    assert (found.state, found.why_not) == (
        ShadowState.UNKNOWN, "shadow: its records end long before those of the others",
    )  # fmt: skip


def test_a_shadow_alone_is_not_compared():
    stories = with_shadow(0)
    found = compared(stories)
    assert (found.state, found.at > 0) == (ShadowState.UNKNOWN, True)
    assert found.why_not == "there is no other name server of its cluster: no broker registers with both yet"


def test_a_shadow_is_not_compared_with_another_one():
    stories = with_shadow(1)
    other = Story("east.shadow")
    other.registers("broker-a", A, ("orders",))
    assert compared([*stories, other]).compared_with == ["ns-1"]


def test_no_drift_and_no_incident_of_drift_is_about_a_shadow():
    """No client asks it, and brokers begin to register with it one by one."""
    stories = with_shadow()
    stories[-1].unregisters(A)
    align_ends(stories, 5 * MINUTE)
    every = [each.history() for each in stories]
    assert shadow_report(every, SHADOW).state is ShadowState.DIFFERENT
    assert (present_drift(every).report.verdicts, present_drift(every).incidents) == ([], [])
    assert [each.namesrv for each in present_drift(every).report.name_servers] == ["ns-1", "ns-2"]


def test_only_name_servers_of_its_cluster_are_compared_with_it():
    stories = [*with_shadow(1, "east"), *fleet(1, "west", "west")]
    assert compared(stories).compared_with == ["ns-1"]


@pytest.mark.parametrize(("end_ms", "count"), [(30_999, 0), (36_000, 1)])
def test_a_difference_that_may_have_ended_within_the_window_does_not_count(end_ms: int, count: int):
    """The observer saw the change 6 seconds late at most: it counts from 30 seconds before the window on."""
    written, (other, mine) = observed(FIRST, SHADOW)
    for each in (other, mine):
        each.come(0, 0)
    queues = (8, 8, *ORDINARY[2:])
    mine.change_topics(10 * MINUTE, 0, orders=queues)
    other.change_topics(10 * MINUTE + end_ms, 6_000, orders=queues)
    for each in (other, mine):
        each.end(30 * MINUTE)
    found = shadow_report(histories(written), SHADOW)
    assert (len(found.ended), found.changes) == (count, 1 - count)


def test_a_difference_does_not_count_while_the_change_of_the_other_may_have_happened_before():
    written, (other, mine) = observed(FIRST, SHADOW)
    for each in (other, mine):
        each.come(0, 0)
    queues = (8, 8, *ORDINARY[2:])
    mine.change_topics(10 * MINUTE, 0, orders=queues)
    other.change_topics(20 * MINUTE, 5 * MINUTE, orders=queues)
    for each in (other, mine):
        each.end(30 * MINUTE)
    found = shadow_report(histories(written), SHADOW, BEGIN + 18 * MINUTE)
    assert (found.state, found.unsettled) == (ShadowState.EQUAL, 1)
    assert shadow_report(histories(written), SHADOW, BEGIN + 14 * MINUTE).state is ShadowState.DIFFERENT
    assert [each.to for each in shadow_report(histories(written), SHADOW).ended] == [BEGIN + 20 * MINUTE]


def test_a_topic_that_differed_before_everything_that_is_read_is_a_difference():
    """It is in the first checkpoint, and no change names it."""
    stories = with_shadow(1)
    changes_queues(stories[0], A, "orders", 8)
    begun = []
    for each in stories:
        each.later(MINUTE)
        begun.append(len(each.journal.lines()))
        each.journal.begin_checkpoint("periodic")
        each.journal.go_on_with_checkpoint(1_000)
    align_ends(stories, 5 * MINUTE)
    read = [
        history_of(each.journal.namesrv, read_records(each.journal.lines()[begin:], None))
        for each, begin in zip(stories, begun, strict=True)
    ]
    (one,) = shadow_report(read, SHADOW).differences
    assert (one.kind, one.topics, one.is_since_known) == (DriftKind.QUEUES_DIFFER, ["orders"], False)


def test_a_broker_that_both_lost_within_the_window_is_no_difference():
    written, (other, mine) = observed(FIRST, SHADOW)
    second = replace(BROKER, name="b1", addr=B, topics={})
    for each in (other, mine):
        each.come(0, 0)
        each.come(1_000, 0, second)
    other.go(10 * MINUTE, 60_000)
    mine.go(10 * MINUTE - 55_000, 0)
    for each in (other, mine):
        each.end(30 * MINUTE)
    found = shadow_report(histories(written), SHADOW)
    assert (found.state, found.ended, found.changes) == (ShadowState.EQUAL, [], 1)
    assert found.equal_since == BEGIN


def test_nothing_is_said_about_the_time_before_the_changes_that_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
):
    stories = with_shadow(1)
    for number in range(50):
        for each in stories:
            each.later(MINUTE)
            changes_queues(each, A, "orders", 8 + number)
    every = compared(stories)
    monkeypatch.setattr(shadow_module, "TIMES_LIMIT", 40)
    newest = compared(stories)
    assert every.begun is not None
    assert newest.begun is not None
    assert newest.begun > every.begun + 10 * MINUTE
    assert (every.changes, newest.changes < 40) == (50, True)
