"""Which routes an event may change."""

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.topic import QueueSpec
from namekeeper.route.affected import affected_topics
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    FilterServersChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.rows import make_row
from namekeeper.route.tables import RouteTables

RW = make_row(QueueSpec(4, 4, 6, 0), QueueSpec(4, 4, 6, 0))
RO = make_row(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))
GROUP_A = BrokerData("c", "a", {0: "a:1", 1: "a:2"})
ALL = {"A": None, "AB": None, "B": None, "none": None}


@pytest.fixture
def tables():
    """Two broker names: the topic A is on a, B on b, AB on both."""
    found = RouteTables()
    for name, topics, group in (
        ("a", ("A", "AB"), GROUP_A),
        ("b", ("B", "AB"), BrokerData("c", "b", {0: "b:1"})),
    ):
        found.apply(BrokerGroupChanged(group))
        found.apply(TopicQueuesChanged(name, {}, dict.fromkeys(topics, RW), topics))
    return found


def after(tables, event, among=ALL):
    """Apply it, and return the topics of interest that it affects, of which each must be there once."""
    tables.apply(event)
    affected = affected_topics(tables, event).among(among.keys())
    assert len(affected) == len(set(affected))
    return {topic for topic in affected if topic in among}


@pytest.mark.parametrize("among", [ALL, {"A": None, "B": None}, {"AB": None}, {"B": None}, {}], ids=len)
@pytest.mark.parametrize(
    ("event", "topics"),
    [
        (BrokerGroupChanged(GROUP_A), {"A", "AB"}),
        (BrokerGroupChanged(BrokerData("c", "new")), set()),
        (BrokerGroupGone("a"), {"A", "AB"}),
        (BrokerNameRemoved("a", {"A": RW, "AB": RW}), {"A", "AB"}),
        (TopicMappingChanged("B", "a", None), {"B"}),
        (FilterServersChanged("c", "a:2", ("f",)), {"A", "AB"}),
        (FilterServersChanged("other", "a:2", ("f",)), set()),
        (FilterServersChanged("c", "a:3", ("f",)), set()),
        (ClusterChanged("c", {"a"}), set()),
        (BrokerLiveGone("c", "a:1", "a", 0, 1, Cause.EXPIRED, 0, 1), set()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_shows_the_changed_row_is_affected(tables, event, topics, among):
    assert after(tables, event, among) == topics & set(among)


@pytest.mark.parametrize("among", [ALL, {"AB": None}, {}], ids=len)
def test_changed_new_and_lost_rows_affect_their_topics(tables, among):
    """However few topics are of interest beside those that changed."""
    before = tables.topics_of("a")
    event = TopicQueuesChanged("a", before, {"AB": RO, "none": RW}, ("A", "AB", "none"))
    assert after(tables, event, among) == {"A", "AB", "none"} & set(among)


def test_rows_of_topics_that_nobody_had_before_affect_no_route(tables):
    before = tables.topics_of("a")
    event = TopicQueuesChanged("a", before, {**before, "none": RW}, ("none",), are_new=True)
    assert after(tables, event) == set()


def test_a_topic_of_two_broker_names_with_one_address_is_affected_once(tables):
    """After a wrong configuration both names show the same filter servers."""
    tables.apply(BrokerGroupChanged(BrokerData("c", "b", {0: "a:1"})))
    assert after(tables, FilterServersChanged("c", "a:1", ("f",))) == {"A", "AB", "B"}


def test_a_row_that_stays_affects_nothing(tables):
    before = tables.topics_of("a")
    event = TopicQueuesChanged("a", before, {**before, "x": RW, "y": RW}, ("x", "y"))
    assert after(tables, event, {"A": None}) == set()


def test_a_route_without_its_group_is_affected_by_the_group(tables):
    """The queues are there and nobody shows them, until the group comes back."""
    tables.apply(BrokerGroupGone("a"))
    assert after(tables, BrokerGroupChanged(GROUP_A)) == {"A", "AB"}
