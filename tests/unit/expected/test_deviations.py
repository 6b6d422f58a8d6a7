"""Deviations from an expected state: all seeded ones are named, and none is invented."""

from dataclasses import replace

import pytest
from msgspec import structs

from namekeeper.answers.incidents.deviation import DeviationKind, deviation_text
from namekeeper.expected.deviations import Deviations, deviations
from namekeeper.expected.state import ExpectedQueues, ExpectedState, learn
from namekeeper.history.history import History
from tests.differential.bodies import TopicConfig
from tests.support.history.observed import BEGIN, BROKER, FIRST, MINUTE, SECOND, observed
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends
from tests.unit.drift.test_windows import histories as observed_histories
from tests.unit.drift.test_windows import observing
from tests.unit.expected.seeds import (
    MASTER_A,
    MASTER_B,
    SEEDS,
    SETTLED_MS,
    SLAVE_A,
    check,
    fleet,
    histories,
    learned,
    reregisters,
)

FOUR = ExpectedQueues(4, 4, 6)


def texts(found) -> list[str]:
    return [deviation_text(each) for each in found.present]


@pytest.mark.parametrize("name", SEEDS)
def test_a_seeded_deviation_is_named_and_no_other(name):
    stories = fleet()
    expected = learned(stories)
    seed, wanted = SEEDS[name]
    before = stories[0].now
    seed(stories)
    found = check(expected, stories)
    assert texts(found) == wanted
    assert all(each.since > before and each.is_since_known for each in found.present)
    assert (found.unsettled, found.unknown) == (0, [])


def test_every_kind_is_seeded():
    kinds = set()
    for seed, _ in SEEDS.values():
        stories = fleet()
        expected = learned(stories)
        seed(stories)
        kinds |= {each.kind for each in check(expected, stories).present}
    assert kinds == set(DeviationKind) - {DeviationKind.TOO_FEW_QUEUES}  # no learned state has the rule


WRITABLE = {"orders": 8}
"""Two brokers with 4 queues each."""


def at_least(expected: ExpectedState, writable=WRITABLE, **more) -> ExpectedState:
    clusters = tuple(structs.replace(each, writable=writable, **more) for each in expected.clusters)
    return structs.replace(expected, clusters=clusters)


def test_a_topic_with_enough_queues_to_write_to_deviates_in_nothing():
    stories = fleet()
    assert texts(check(at_least(learned(stories)), stories)) == []


@pytest.mark.parametrize("lose", [
    lambda story: story.wiped("broker-b"),
    lambda story: story.connection_breaks(MASTER_A),  # its slave stays
    lambda story: reregisters(story, MASTER_B, "orders", TopicConfig(read=8, write=2)),
])  # fmt: skip
def test_a_topic_with_too_few_queues_to_write_to_deviates_with_the_cause(lose):
    stories = fleet()
    expected = at_least(learned(stories), brokers={}, topics={}, allow_other_brokers=True)
    for story in stories:
        lose(story)
    (one,) = check(expected, stories).present
    assert (one.kind, one.topic, one.expected) == (DeviationKind.TOO_FEW_QUEUES, "orders", "8")
    assert deviation_text(one) == f"topic orders has {one.actual} queues to write to instead of at least 8"
    assert one.cause in {"wipe_write_perm", "channel_closed", "register_broker"}


def test_a_topic_that_is_nowhere_has_no_queue():
    stories = fleet()
    (one,) = check(at_least(learned(stories), {"ghost": 1}), stories).present
    assert deviation_text(one) == "topic ghost has 0 queues to write to instead of at least 1"


def test_fewer_and_fewer_queues_are_one_deviation_at_the_name_server_that_has_them():
    stories = fleet()
    expected = at_least(learned(stories), brokers={}, topics={}, allow_other_brokers=True)
    began = stories[1].wiped("broker-b")
    stories[1].later(60_000)
    stories[1].wiped("broker-a")
    (one,) = check(expected, stories).present
    assert (one.since, one.actual, one.name_servers) == (began, "0", ("ns-2",))


def test_a_topic_that_only_the_rule_names_is_not_unexpected():
    stories = fleet()
    expected = learned(stories)
    without = {topic: rows for topic, rows in expected.clusters[0].topics.items() if topic != "orders"}
    assert len(check(at_least(expected, {}, topics=without), stories).present) == 1
    assert check(at_least(expected, topics=without), stories).present == []


def test_an_unchanged_fleet_deviates_in_nothing():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        for addr in (MASTER_A, SLAVE_A, MASTER_B):
            reregisters(story, addr)
        story.heard(MASTER_A)
    found = check(expected, stories)
    assert (list(found.found), found.unsettled, found.unknown) == ([], 0, [])


def test_what_is_as_expected_again_is_over():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        gone = story.connection_breaks(SLAVE_A)
        story.later(100_000)
        reregisters(story, SLAVE_A)
    back = stories[0].now
    (found,) = check(expected, stories).found
    assert (found.kind, found.since, found.to) == (DeviationKind.MEMBER_MISSING, gone, back)


def test_two_that_are_over_are_two_although_they_are_equal():
    stories = fleet()
    expected = learned(stories)
    for _ in range(2):
        for story in stories:
            story.connection_breaks(SLAVE_A)
            story.later(100_000)
            reregisters(story, SLAVE_A)
            story.later(100_000)
    found = check(expected, stories).found
    assert [(each.kind, len(each.name_servers)) for each in found] == [(DeviationKind.MEMBER_MISSING, 3)] * 2


def test_a_change_on_its_way_is_counted_and_not_named():
    stories = fleet()
    expected = learned(stories)
    stories[0].connection_breaks(SLAVE_A)
    found = check(expected, stories, after_ms=2_000)
    assert (list(found.found), found.unsettled) == ([], 1)
    assert len(check(expected, stories, after_ms=10_000).present) == 1


@pytest.mark.parametrize("restart", ["restarts", "restarts_with_its_routes", "crashes"])
def test_a_restart_of_a_name_server_is_no_deviation(restart):
    stories = fleet()
    expected = learned(stories)
    getattr(stories[1], restart)()
    stories[1].later(30_000)
    for addr in (MASTER_A, SLAVE_A, MASTER_B):
        reregisters(stories[1], addr)
    found = check(expected, stories)
    assert list(found.found) == []


def test_a_broker_that_does_not_come_back_after_a_restart_deviates_once_it_had_time_to():
    stories = fleet()
    expected = learned(stories)
    began = stories[1].restarts()
    for addr in (MASTER_A, MASTER_B):
        reregisters(stories[1], addr)
    early = check(expected, stories, after_ms=60_000)
    assert texts(early) == []
    (found,) = check(expected, stories).present
    assert (found.kind, found.since - began) == (DeviationKind.MEMBER_MISSING, 120_000)


def test_a_name_server_that_is_down_deviates_in_nothing_and_is_unknown():
    stories = fleet()
    expected = learned(stories)
    stories[1].stops()
    end = stories[1].now + SETTLED_MS
    for story in (stories[0], stories[2]):
        story.later(end - story.now - 1_000)
        story.alive()
    found = deviations(expected, histories(stories), {each.journal.namesrv: end for each in stories})
    assert (list(found.found), found.unknown) == ([], ["ns-2"])


def test_a_name_server_without_a_history_is_unknown():
    stories = fleet()
    expected = learned(stories)
    found = check(expected, stories[:2])
    assert (list(found.found), found.unknown) == ([], ["ns-3"])


def test_lost_records_hide_what_happened_meanwhile():
    stories = fleet()
    expected = learned(stories)
    stories[1].connection_breaks(SLAVE_A)
    stories[1].crashes(keep=0)
    end = stories[0].now + 1_000
    found = check(expected, stories, after_ms=end - stories[0].now)
    assert all(each.name_servers == ("ns-2",) for each in found.found)


def test_what_was_before_the_expected_state_does_not_count():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        story.connection_breaks(SLAVE_A)
        story.later(100_000)
        reregisters(story, SLAVE_A)
    assert [each.kind for each in check(expected, stories).found] == [DeviationKind.MEMBER_MISSING]
    assert list(check(learned(stories), stories).found) == []


def test_a_deviation_that_was_there_at_the_start_may_be_older():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        story.connection_breaks(SLAVE_A)
    end = stories[0].now + SETTLED_MS
    later = structs.replace(expected, since=end)
    (found,) = check(later, stories, after_ms=SETTLED_MS).present
    assert (found.since, found.is_since_known) == (end, False)


def test_other_brokers_and_topics_may_be_allowed():
    stories = fleet()
    expected = learned(stories)
    (cluster,) = expected.clusters
    for name in ("a broker that nobody expects", "a topic that nobody expects"):
        SEEDS[name][0](stories)
    open_cluster = structs.replace(cluster, allow_other_brokers=True, allow_other_topics=True)
    found = check(structs.replace(expected, clusters=(open_cluster,)), stories)
    assert texts(found) == []
    assert len(check(expected, stories).present) == 2


def test_many_deviations_at_once_are_all_named():
    stories = fleet()
    expected = learned(stories)
    names = [
        "the second name server misses a slave", "a broker that nobody expects", "fewer queues",
        "a topic is gone at the second name server", "a topic that nobody expects",
        "an order configuration that nobody expects", "another order configuration", "a hostile name of a topic",
    ]  # fmt: skip
    for name in names:
        SEEDS[name][0](stories)
    wanted = [text for name in names for text in SEEDS[name][1]]
    assert sorted(texts(check(expected, stories))) == sorted(wanted)


def test_what_was_never_there_deviates():
    stories = fleet()
    expected = learned(stories)
    (cluster,) = expected.clusters
    queues = ExpectedQueues(8, 8, 6)
    edited = structs.replace(
        cluster,
        brokers={**cluster.brokers, "broker-z": frozenset({0})},
        topics={
            **cluster.topics,
            "more": {"broker-a": queues, "broker-b": FOUR},
            "never": {"broker-a": queues},
            "payments": {"broker-a": FOUR, "broker-b": FOUR},
        },
        orders={},
    )
    found = check(structs.replace(expected, clusters=(edited,)), stories)
    assert texts(found) == [
        "broker broker-z is missing: expected with id 0",
        "topic never on broker-a is missing: expected 8/8 RW-",
        "topic payments on broker-a is missing: expected 4/4 RW-",
        "topic more on broker-a has 4/4 RW- instead of 8/8 RW-",
        "order configuration of topic payments is broker-b:4 instead of none",
    ]
    assert not any(each.is_since_known for each in found.present)


def test_a_topic_that_comes_a_while_after_its_broker_deviated_meanwhile():
    stories = fleet()
    expected = learned(stories)
    for story in stories:
        gone = story.connection_breaks(MASTER_B)
        payments = story.brokers[MASTER_B].topics.pop("payments")
        story.deleted("payments")
        reregisters(story, MASTER_B)
        back = story.now
        story.later(60_000)
        reregisters(story, MASTER_B, "payments", payments)
        whole = story.now
    broker, topic = check(expected, stories, settled_ms=0).found
    assert (broker.kind, broker.since, broker.to) == (DeviationKind.BROKER_MISSING, gone, back)
    assert (topic.kind, topic.since, topic.to) == (DeviationKind.TOPIC_MISSING, back, whole)


def observed_loss() -> list[History]:
    """Two observed name servers; a broker goes at the second one, within a window of 6 seconds."""
    written, servers = observed(FIRST, SECOND)
    other = replace(BROKER, name="b1", addr="10.0.0.2:10911", topics={})
    for server in servers:
        server.come(0, 0)
        server.come(1_000, 0, other)
    servers[1].go(10 * MINUTE, 6_000)
    for server in servers:
        server.end(30 * MINUTE)
    return observed_histories(observing(written))


def lost_at_second(then: int, **orders: str) -> Deviations:
    """The state so long after the loss."""
    every = observed_loss()
    at = BEGIN + 10 * MINUTE + then
    expected = learn(every, BEGIN + 5 * MINUTE).state
    clusters = tuple(structs.replace(each, orders=orders) for each in expected.clusters)
    expected = structs.replace(expected, clusters=clusters)
    return deviations(expected, every, {each.namesrv: at for each in every})


@pytest.mark.parametrize(("then", "count", "unsettled"), [(-1, 0, 0), (5_999, 0, 1), (6_000, 1, 0)])
def test_at_an_observed_name_server_a_deviation_counts_after_a_while(then, count, unsettled):
    found = lost_at_second(then)
    assert (len(found.found), found.unsettled) == (count, unsettled)


def test_the_start_of_a_deviation_has_the_window_of_the_change():
    (found,) = lost_at_second(20_000).found
    assert (found.kind, found.since, found.window_ms) == (
        DeviationKind.BROKER_MISSING, BEGIN + 10 * MINUTE, 6_000,
    )  # fmt: skip


def test_order_configurations_of_an_observed_name_server_without_entries_are_not_known():
    (topic, *_) = BROKER.topics
    assert list(lost_at_second(-1, **{topic: "b0:4"}).found) == []


def test_equal_deviations_of_two_clusters_of_one_name_are_two():
    stories = [fleet(1)[0], Story("other")]
    stories[1].registers("broker-b", "10.8.8.8:10911", ("orders", "payments"))
    align_ends(stories, SETTLED_MS)
    expected = learned(stories)
    stories[0].connection_breaks(MASTER_B)
    stories[1].connection_breaks("10.8.8.8:10911")
    assert [(each.brokers, each.name_servers) for each in check(expected, stories).present] == [
        (("broker-b",), ("ns-1",)), (("broker-b",), ("other",)),
    ]  # fmt: skip
