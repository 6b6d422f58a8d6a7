"""Verdicts: what a person can act on, by the cause that name servers disagree."""

import pytest

from namekeeper.drift.verdict import DriftKind, DriftVerdict
from tests.unit.answers.story import MINUTE
from tests.unit.drift.fleet import A, B, align_ends, changes_queues, fleet, report


def only(stories, after_ms: int = MINUTE) -> DriftVerdict:
    align_ends(stories, after_ms)
    (found,) = report(stories).verdicts
    return found


def all_verdicts(stories) -> list[DriftVerdict]:
    align_ends(stories)
    return list(report(stories).verdicts)


def test_name_servers_that_hold_the_same_agree():
    stories = fleet()
    align_ends(stories)
    found = report(stories)
    assert (found.verdicts, found.unsettled, found.is_compared) == ([], 0, True)


def test_a_broker_that_one_of_three_lost_has_the_time_and_the_cause():
    stories = fleet()
    gone = stories[2].connection_breaks(A)
    found = only(stories)
    assert found.kind is DriftKind.BROKER_MISSING
    assert found.summary == f"broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)"
    assert (found.since, found.is_since_known, found.missing_at) == (gone, True, ("ns-3",))
    assert [(each.namesrv, each.text, each.at) for each in found.details] == [
        ("ns-3", "connection closed", gone)
    ]


def test_a_slave_is_told_from_its_master():
    stories = fleet()
    for story in stories[:2]:
        story.registers("broker-a", "10.0.0.3:10911", ("orders",), broker_id=1)
    assert only(stories, 5 * MINUTE).summary == (
        "broker-a id 1 (10.0.0.3:10911) registers with 2 of 3 name servers (missing: ns-3)"
    )


def test_a_broker_that_never_registered_with_one_is_missing_there():
    stories = fleet()
    for story in stories[:2]:
        story.registers("broker-c", "10.0.0.3:10911")
    found = only(stories, 5 * MINUTE)
    assert found.summary.startswith("broker-c (10.0.0.3:10911) registers with 2 of 3")
    assert [each.text for each in found.details] == ["no registration there is known"]


def test_brokers_that_went_together_have_one_verdict_and_others_another():
    stories = fleet()
    names = [f"more-{number}" for number in range(5)]
    for story in stories:
        for number, name in enumerate(names):
            story.registers(name, f"10.0.1.{number}:10911")
    for number in range(4):
        stories[1].connection_breaks(f"10.0.1.{number}:10911")
    stories[1].later(31_000)
    stories[1].connection_breaks("10.0.1.4:10911")
    align_ends(stories)
    first, second = report(stories).verdicts
    assert first.summary == (
        "4 brokers register with 2 of 3 name servers (missing: ns-2): more-0, more-1, more-2 and 1 more"
    )
    assert (first.brokers, first.broker_count) == (names[:4], 4)
    assert second.summary.startswith("more-4 (10.0.1.4:10911) registers")


def test_a_name_server_whose_brokers_left_is_one_verdict():
    stories = fleet()
    stories[2].connection_breaks(A)
    last = stories[2].connection_breaks(B)
    found = only(stories)
    assert found.kind is DriftKind.NO_BROKERS
    assert found.summary == "ns-3 answers but its brokers left: it has none of 2"
    assert (found.since, found.missing_at, found.broker_count) == (last, ["ns-3"], 2)
    assert [each.text for each in found.details] == ["the last one: connection closed"]


def test_a_name_server_that_started_without_brokers_has_none_since_then():
    stories = fleet()
    began = stories[1].restarts()
    found = only(stories, 5 * MINUTE)
    assert (found.kind, found.since) == (DriftKind.NO_BROKERS, began)
    assert found.summary == "ns-2 answers but has no broker since its restart: none of 2"


def test_a_name_server_that_lacks_brokers_since_its_restart_has_a_partial_list():
    stories = fleet()
    began = stories[1].restarts()
    stories[1].registers("broker-a", A, ("orders",))
    found = only(stories, 5 * MINUTE)
    assert (found.kind, found.since) == (DriftKind.PARTIAL_LIST, began)
    assert found.summary == "ns-2 has a partial list since its restart: 1 of 2 brokers (missing: broker-b)"


def test_a_broker_that_is_newer_than_a_restart_is_not_blamed_on_it():
    stories = fleet()
    stories[1].restarts_with_its_routes()
    for story in stories:
        story.later(10 * MINUTE)
        for addr in (A, B):
            story.heard(addr)
    for story in (stories[0], stories[2]):
        story.registers("broker-c", "10.0.0.3:10911")
    found = only(stories)
    assert (found.kind, found.brokers) == (DriftKind.BROKER_MISSING, ["broker-c"])


def test_a_name_server_that_starts_is_not_compared_before_its_brokers_had_time():
    stories = fleet()
    stories[1].restarts()
    align_ends(stories)
    assert report(stories).verdicts == []


def test_a_deleted_topic_is_missing_where_its_broker_still_is():
    stories = fleet()
    deleted = stories[0].deleted("payments")
    found = only(stories)
    assert (found.kind, found.since) == (DriftKind.TOPIC_MISSING, deleted)
    assert found.summary == "topic payments is missing on broker-b at ns-1; ns-2, ns-3 4/4 RW-"
    assert found.details[0].text == "topic deleted by peer:99"
    assert (found.topics, found.topic_count, found.missing_at) == (["payments"], 1, ("ns-1",))


def test_topics_that_are_missing_for_one_cause_are_one_verdict():
    stories = fleet()
    for topic in ("more", "other"):
        stories[0].deleted(topic)
    first, second = all_verdicts(stories)
    assert first.summary == "2 topics (more, other) are missing on broker-a at ns-1; there at ns-2, ns-3"
    assert (second.brokers, second.topics) == (["broker-b"], ["more", "other"])


def test_a_name_server_with_a_verdict_of_its_own_is_not_counted_again():
    stories = fleet(4)
    stories[2].connection_breaks(A)
    for addr in (A, B):
        stories[3].connection_breaks(addr)
    first, second = all_verdicts(stories)
    assert first.kind is DriftKind.NO_BROKERS
    assert second.summary == f"broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)"
    assert second.name_servers == ["ns-1", "ns-2", "ns-3"]


def test_topics_of_a_broker_that_is_missing_are_no_verdicts_of_their_own():
    stories = fleet()
    stories[2].connection_breaks(B)
    assert only(stories).kind is DriftKind.BROKER_MISSING


def test_a_permission_that_was_wiped_at_one_is_one_verdict_for_all_topics():
    stories = fleet()
    wiped = stories[1].wiped("broker-b")
    found = only(stories)
    assert (found.kind, found.since, found.missing_at) == (DriftKind.PERMISSION_DIFFERS, wiped, ())
    assert found.summary == (
        "permission of 4 topics (more, orders, other and 1 more) differs on broker-b: ns-1, ns-3 RW-; ns-2 R--"
    )
    assert [each.text for each in found.details][1] == "write permission wiped by peer:99"


def test_queues_that_differ_are_shown_for_each_name_server():
    stories = fleet(2)
    changes_queues(stories[1], A, "orders", 8)
    found = only(stories)
    assert found.kind is DriftKind.QUEUES_DIFFER
    assert found.summary == "queues of topic orders differ on broker-a: ns-1 4/4 RW-; ns-2 8/8 RW-"


def test_an_order_configuration_that_differs():
    stories = fleet()
    for story in stories:
        story.ordered("orders", "broker-a:4")
    stories[1].ordered("orders", "broker-a:8")
    gone = stories[2].ordered("orders", None)
    found = only(stories)
    assert (found.kind, found.topics) == (DriftKind.ORDER_DIFFERS, ["orders"])
    assert found.summary == (
        "order configuration of topic orders differs: ns-1 'broker-a:4'; ns-2 'broker-a:8'; ns-3 none"
    )
    assert found.details[-1].at == gone


def test_a_kv_entry_that_differs_is_cut():
    stories = fleet(2)
    stories[1].ordered("key", "v" * 100, namespace="OURS")
    found = only(stories)
    assert (found.kind, found.topics) == (DriftKind.KV_DIFFERS, [])
    assert found.summary == f"KV entry key of OURS differs: ns-1 none; ns-2 '{'v' * 60}…'"


def test_verdicts_are_sorted_by_kind_and_then_by_age():
    stories = fleet()
    stories[1].ordered("orders", "x")
    stories[1].deleted("payments")
    stories[2].connection_breaks(A)
    align_ends(stories)
    assert [each.kind for each in report(stories).verdicts] == [
        DriftKind.BROKER_MISSING, DriftKind.TOPIC_MISSING, DriftKind.ORDER_DIFFERS,
    ]  # fmt: skip


def test_a_disagreement_may_be_older_than_what_is_known():
    stories = fleet(2)
    stories[0].ordered("orders", "broker-a:4")
    stories[1].later(10 * MINUTE)
    began = stories[1].crashes()
    stories[1].registers("broker-a", A, ("orders",))
    stories[1].registers("broker-b", B, ("orders", "payments"))
    found = only(stories)
    assert (found.kind, found.since, found.is_since_known) == (DriftKind.ORDER_DIFFERS, began, False)


@pytest.mark.parametrize("seconds", [3, 4])
def test_a_short_disagreement_is_a_change_on_its_way(seconds):
    stories = fleet()
    stories[2].connection_breaks(A)
    align_ends(stories, seconds * 1_000)
    found = report(stories)
    assert (found.verdicts, found.unsettled) == ([], 1)


def test_a_disagreement_of_five_seconds_counts():
    stories = fleet()
    stories[2].connection_breaks(A)
    align_ends(stories, 5_000)
    assert len(report(stories).verdicts) == 1
