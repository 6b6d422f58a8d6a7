"""The one place where rows change: each event makes a row what it says (docs/decisions/0004)."""

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    ConfigChanged,
    FilterServersChanged,
    KvChanged,
    MinBrokerIdChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from namekeeper.route.rows import make_row
from namekeeper.route.tables import NO_TOPICS, RouteRules, RouteTables
from tests.support.server.builders import channel

RW = make_row(QueueSpec(4, 4, 6, 0), QueueSpec(4, 4, 6, 0))
RO = make_row(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))


def live_changed(gen=1, addr="addr"):
    return BrokerLiveChanged("c", addr, "a", 0, "ha", 120_000, DataVersion(1), 1, "peer", gen, is_new=True)


def shown(tables, name, topics, **rows):
    """Show rows of a broker name, as an event does."""
    before = tables.topics_of(name)
    tables.apply(TopicQueuesChanged(name, before, rows, tuple(topics)))


@pytest.fixture
def tables():
    return RouteTables()


def test_switches_are_off_unless_given(tables):
    assert tables.rules == RouteRules(False, False)
    rules = RouteRules(notify_min_broker_id_changed=True)
    assert RouteTables(rules).rules is rules


def test_rows_are_shown_joined_by_topic(tables):
    shown(tables, "a", ["T1", "T2"], T1=RW, T2=RO)
    shown(tables, "b", ["T1"], T1=RO)
    assert tables.rows_of("T1") == [("a", RW), ("b", RO)]
    assert tables.rows_of("unknown") == []
    assert sorted(tables.topics()) == ["T1", "T2"]
    assert tables.topics_of("unknown") is NO_TOPICS


def test_a_topic_that_a_table_lacks_afterwards_is_gone(tables):
    shown(tables, "a", ["T1", "T2"], T1=RW, T2=RW)
    shown(tables, "a", ["T1"], T2=RW)
    assert (tables.topics(), list(tables.topic_index)) == (["T2"], ["T2"])
    shown(tables, "a", ["T2"])
    assert (tables.topic_queue_table, len(tables.topic_index)) == ({}, 0)


def test_a_changed_row_does_not_enter_the_index_twice(tables):
    shown(tables, "a", ["T1"], T1=RW)
    shown(tables, "a", ["T1"], T1=RO)
    assert tables.topic_index.names("T1") == ("a",)


def test_an_index_that_says_too_much_shows_nothing(tables):
    tables.topic_index.add(["T1"], "a")
    assert (tables.rows_of("T1"), tables.topics()) == ([], [])


def test_a_removed_name_takes_its_topics_along(tables):
    shown(tables, "a", ["T1", "T2"], T1=RW, T2=RW)
    shown(tables, "b", ["T1"], T1=RW)
    tables.apply(BrokerNameRemoved("a", tables.topics_of("a")))
    assert (tables.topics(), list(tables.topic_index)) == (["T1"], ["T1"])
    tables.apply(BrokerNameRemoved("unknown", {}))


def test_groups_come_change_and_go(tables):
    tables.apply(BrokerGroupChanged(BrokerData("c", "a", {0: "x"})))
    tables.apply(BrokerGroupChanged(BrokerData("c", "a", {0: "y"})))
    assert tables.broker_addr_table == {"a": BrokerData("c", "a", {0: "y"})}
    tables.apply(BrokerGroupGone("a"))
    tables.apply(BrokerGroupGone("a"))
    assert tables.broker_addr_table == {}


def test_a_cluster_without_names_is_gone(tables):
    tables.apply(ClusterChanged("c", frozenset({"a", "b"})))
    assert tables.cluster_addr_table == {"c": {"a", "b"}}
    tables.apply(ClusterChanged("c", frozenset()))
    tables.apply(ClusterChanged("never there", frozenset()))
    assert tables.cluster_addr_table == {}


def test_filter_servers_are_kept_by_cluster_and_address(tables):
    tables.apply(FilterServersChanged("c", "x", ("f:1",)))
    tables.apply(FilterServersChanged("d", "x", ("f:2",)))
    assert tables.filter_server_table == {("c", "x"): ("f:1",), ("d", "x"): ("f:2",)}
    tables.apply(FilterServersChanged("c", "x", ()))
    tables.apply(FilterServersChanged("c", "x", ()))
    assert tables.filter_server_table == {("d", "x"): ("f:2",)}


def test_mappings_are_kept_by_topic_and_name(tables):
    info = TopicQueueMappingInfo("a")
    for name in ("a", "b"):
        tables.apply(TopicMappingChanged("T", name, info))
    tables.apply(TopicMappingChanged("T", "a", None))
    assert tables.topic_queue_mapping_info_table == {"T": {"b": info}}
    tables.apply(TopicMappingChanged("T", "b", None))
    tables.apply(TopicMappingChanged("unknown", "b", None))
    assert tables.topic_queue_mapping_info_table == {}


def test_a_live_registration_keeps_its_connection(tables):
    over = channel()
    tables.apply(live_changed(), over)
    assert tables.broker_live_table.get(("c", "addr")).channel is over
    tables.apply(BrokerLiveGone("c", "addr", "a", 0, 1, Cause.EXPIRED, 5, 120_000))
    assert len(tables.broker_live_table) == 0


def test_the_newest_generation_is_never_forgotten(tables):
    tables.apply(live_changed(gen=7))
    tables.apply(live_changed(gen=3, addr="other"))
    tables.apply(BrokerLiveGone("c", "addr", "a", 0, 7, Cause.EXPIRED, 5, 120_000))
    assert tables.gen == 7


@pytest.mark.parametrize(
    "event",
    [
        BrokerHeard("c", "addr", 1, 5),
        KvChanged("ns", "k", "v"),
        ConfigChanged({}),
        MinBrokerIdChanged("a", 0, "addr", ()),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_no_row_changes_nothing(tables, event):
    tables.apply(event)
    assert tables.revision == 0


@pytest.mark.parametrize(
    "event",
    [
        BrokerGroupChanged(BrokerData("c", "a")),
        BrokerGroupGone("a"),
        TopicQueuesChanged("a", {}, {"T": RW}, ("T",)),
        BrokerNameRemoved("a", {}),
        TopicMappingChanged("T", "a", TopicQueueMappingInfo("a")),
        FilterServersChanged("c", "addr", ("f",)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_a_route_could_show_makes_kept_answers_old(tables, event):
    tables.apply(event)
    assert tables.revision > 0


def test_a_heartbeat_registration_keeps_kept_answers_good(tables):
    tables.apply(live_changed())
    assert tables.revision == 0


def test_events_are_applied_in_order(tables):
    tables.apply_all([BrokerGroupChanged(BrokerData("c", "a")), BrokerGroupGone("a")])
    assert tables.broker_addr_table == {}


def test_swapping_a_table_and_dropping_it_leave_the_index_alone(tables):
    event = TopicQueuesChanged("a", {}, {"T": RW}, ("T",))
    tables.swap_topics(event)
    assert (tables.topics_of("a"), len(tables.topic_index), tables.revision) == ({"T": RW}, 0, 1)
    tables.drop_topics(BrokerNameRemoved("a", {"T": RW}))
    assert (tables.topics_of("a"), tables.revision) == ({}, 2)
