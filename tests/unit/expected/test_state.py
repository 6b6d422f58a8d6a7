"""What is learned from name servers."""

import pytest

from namekeeper.expected.deviations import deviations
from namekeeper.expected.state import ExpectedQueues, is_system_topic, learn
from tests.differential.bodies import TopicConfig
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends
from tests.unit.expected.seeds import MASTER_A, SETTLED_MS, SLAVE_A, check, fleet, histories, reregisters

FOUR = ExpectedQueues(4, 4, 6)


def test_brokers_with_their_members_and_topics_without_those_of_the_system():
    stories = fleet()
    found = learn(histories(stories))
    (cluster,) = found.state.clusters
    assert (found.state.since, list(found.notes)) == (stories[0].now, [])
    assert (cluster.name, cluster.name_servers) == ("c", ("ns-1", "ns-2", "ns-3"))
    assert cluster.brokers == {"broker-a": {0, 1}, "broker-b": {0}}
    both = {"broker-a": FOUR, "broker-b": FOUR}
    assert cluster.topics == {"orders": both, "other": both, "more": both, "payments": {"broker-b": FOUR}}
    assert cluster.orders == {"payments": "broker-b:4"}


def test_an_earlier_instant_can_be_learned():
    stories = fleet()
    before = stories[0].now
    for story in stories:
        story.connection_breaks(SLAVE_A)
    align_ends(stories)
    assert learn(histories(stories)).state.clusters[0].brokers["broker-a"] == {0}
    found = learn(histories(stories), before).state
    assert (found.since, found.clusters[0].brokers["broker-a"]) == (before, {0, 1})


def test_of_disagreements_that_of_most_is_taken_with_a_note():
    stories = fleet()
    stories[1].connection_breaks(SLAVE_A)
    reregisters(stories[2], MASTER_A, "orders", TopicConfig(read=2, write=2))
    align_ends(stories, SETTLED_MS)
    found = learn(histories(stories))
    (cluster,) = found.state.clusters
    assert (cluster.brokers["broker-a"], cluster.topics["orders"]["broker-a"]) == ({0, 1}, FOUR)
    assert found.notes == [
        "name servers disagree about 2 rows, of which those that most have are taken: see `namekeeper drift`"
    ]


def test_clusters_with_the_same_name_servers_are_learned_apart():
    stories = fleet()
    for story in stories:
        story.registers("broker-z", "10.9.9.9:10911", cluster="z")
    align_ends(stories)
    found = learn(histories(stories)).state
    assert [(each.name, sorted(each.brokers)) for each in found.clusters] == [
        ("c", ["broker-a", "broker-b"]), ("z", ["broker-z"]),
    ]  # fmt: skip


def test_two_clusters_of_one_name_with_other_name_servers_are_learned_apart():
    stories = fleet(2)
    other = Story("other")
    other.registers("broker-q", "10.7.7.7:10911")
    align_ends([*stories, other])
    found = learn(histories([*stories, other])).state
    assert [(each.name, each.name_servers, sorted(each.brokers)) for each in found.clusters] == [
        ("c", ("ns-1", "ns-2"), ["broker-a", "broker-b"]), ("c", ("other",), ["broker-q"]),
    ]  # fmt: skip
    other.connection_breaks("10.7.7.7:10911")
    (one,) = check(found, [*stories, other]).present
    assert (one.brokers, one.name_servers, one.of_name_servers) == (("broker-q",), ("other",), 1)


def test_a_name_server_whose_state_is_not_known_is_a_note():
    stories = fleet()
    stories[2].stops()
    align_ends(stories[:2], SETTLED_MS)
    found = learn(histories(stories))
    assert found.state.clusters[0].name_servers == ("ns-1", "ns-2")
    assert found.notes == ["ns-3: its state is not known then"]


def test_a_fleet_is_as_it_was_learned():
    stories = fleet()
    ends = {each.journal.namesrv: each.now for each in stories}
    assert list(deviations(learn(histories(stories)).state, histories(stories), ends).found) == []


@pytest.mark.parametrize(
    ("topic", "is_system"),
    [
        ("TBW102", True),
        ("rmq_sys_REVIVE_LOG_c", True),
        ("RMQ_SYS_TRANS_HALF_TOPIC", True),
        ("SCHEDULE_TOPIC_XXXX", True),
        ("%RETRY%group", True),
        ("%DLQ%group", True),
        ("c", True),
        ("broker-a", True),
        ("c_REPLY_TOPIC", True),
        ("other_REPLY_TOPIC", False),
        ("orders", False),
        ("my_rmq_sys_topic", False),
    ],
)
def test_topics_that_brokers_make_by_themselves(topic, is_system):
    assert is_system_topic(topic, "c", ["broker-a"]) is is_system
