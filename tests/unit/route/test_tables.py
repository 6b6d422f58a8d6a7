"""The only code that changes rows: an event describes what a row is now (docs/decisions/0004)."""

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route import tables as tables_of_routes
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
from namekeeper.route.live import AppliedAs
from namekeeper.route.rows import make_row
from namekeeper.route.tables import NO_TOPICS, RouteRules, RouteTables
from tests.support.server.builders import at, channel

RW = make_row(QueueSpec(4, 4, 6, 0), QueueSpec(4, 4, 6, 0))
RO = make_row(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))
AS = AppliedAs(0, False, None, False, 513, 0, True, False)


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


def test_topics_are_counted_for_each_broker_name_that_has_them(tables):
    shown(tables, "a", ["T1", "T2"], T1=RW, T2=RO)
    shown(tables, "b", ["T1"], T1=RO)
    assert tables.topic_rows == 3
    shown(tables, "a", ["T1"], T2=RW)
    assert tables.topic_rows == 2
    tables.apply(BrokerNameRemoved("b", tables.topics_of("b")))
    assert tables.topic_rows == 1


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
    tables.index_topics(["T1"], "a")
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
    told = []
    tables.on_change = told.append
    tables.apply(event)
    assert told == []


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
def test_what_a_route_could_show_is_told_to_who_keeps_answers(tables, event):
    told = []
    tables.on_change = told.append
    tables.apply(event)
    assert told == [event]


def test_who_is_told_finds_the_change_made(tables):
    seen = []
    tables.on_change = lambda event: seen.append(tables.rows_of("T"))
    shown(tables, "a", ["T"], T=RW)
    assert seen == [[("a", RW)]]


def test_a_heartbeat_registration_is_told_to_nobody(tables):
    told = []
    tables.on_change = told.append
    tables.apply(live_changed())
    assert told == []


def test_events_are_applied_in_order(tables):
    tables.apply_all([BrokerGroupChanged(BrokerData("c", "a")), BrokerGroupGone("a")])
    assert tables.broker_addr_table == {}


def test_rows_come_and_go_without_the_index_if_the_caller_keeps_it(tables):
    event = TopicQueuesChanged("a", {}, {"T": RW}, ("T",))
    tables.apply(event, updates_index=False)
    assert (tables.topics_of("a"), len(tables.topic_index)) == ({"T": RW}, 0)
    tables.index_topics(["T"], "a")
    tables.apply(BrokerNameRemoved("a", {"T": RW}), updates_index=False)
    assert (tables.topics_of("a"), len(tables.topic_index)) == ({}, 1)
    tables.unindex_topics(["T"], "a")
    assert len(tables.topic_index) == 0


@pytest.mark.parametrize(
    "view",
    [
        "topic_queue_table",
        "broker_addr_table",
        "cluster_addr_table",
        "filter_server_table",
        "topic_queue_mapping_info_table",
    ],
)
def test_a_table_can_only_be_read(tables, view):
    table = getattr(tables, view)
    with pytest.raises(TypeError):
        table["a"] = {}
    with pytest.raises(TypeError):
        del table["a"]
    assert not hasattr(table, "pop")


def test_topics_with_a_mapping_are_known_by_the_broker_name(tables):
    for topic, name in (("T", "a"), ("U", "a"), ("T", "b")):
        tables.apply(TopicMappingChanged(topic, name, TopicQueueMappingInfo(name)))
    assert (tables.mapped_topics_of("a"), tables.mapped_topics_of("b")) == (["T", "U"], ["T"])
    for topic, name in (("T", "a"), ("T", "b"), ("T", "b")):
        tables.apply(TopicMappingChanged(topic, name, None))
    assert (tables.mapped_topics_of("a"), tables.mapped_topics_of("b")) == (["U"], [])


def test_a_mapping_that_was_read_is_not_changed_later(tables):
    tables.apply(TopicMappingChanged("T", "a", TopicQueueMappingInfo("a")))
    read = tables.topic_queue_mapping_info_table["T"]
    tables.apply(TopicMappingChanged("T", "b", TopicQueueMappingInfo("b")))
    assert list(read) == ["a"]


def test_a_heard_broker_is_refreshed_and_a_replay_has_no_clock(tables):
    tables.apply(live_changed(), channel(), at(0))
    live = tables.broker_live_table.get(("c", "addr"))
    heard = live.heard(at(5))
    tables.apply(heard)
    assert live.idle_ms(at(5)) == 5_000
    tables.apply(heard, now=at(5))
    assert (live.idle_ms(at(5)), heard.gap_ms, live.gap_ms(at(6))) == (0, 5_000, 1_000)


def test_what_was_heard_of_another_generation_refreshes_nothing(tables):
    tables.apply(live_changed(gen=1), channel(), at(0))
    heard = tables.broker_live_table.get(("c", "addr")).heard(at(5))
    tables.apply(live_changed(gen=2), channel(2), at(1))
    tables.apply(heard, now=at(5))
    assert tables.broker_live_table.get(("c", "addr")).idle_ms(at(5)) == 4_000


def test_an_arrival_of_an_unknown_broker_is_no_error(tables):
    tables.note_arrival(("c", "addr"), at(0))
    assert len(tables.broker_live_table) == 0


def test_other_filter_servers_forget_the_bodies_of_their_broker(tables):
    tables.apply(live_changed(), channel(), at(0))
    tables.remember_body(("c", "addr"), b"digest", AS, is_full=True)
    live = tables.broker_live_table.get(("c", "addr"))
    assert (b"digest", AS) in live.applied_bodies
    tables.apply(FilterServersChanged("c", "addr", ("f",)))
    assert (b"digest", AS) not in live.applied_bodies


def test_the_bodies_of_a_name_are_forgotten_together(tables):
    for addr in ("addr", "other"):
        tables.apply(live_changed(addr=addr), channel(), at(0))
        tables.remember_body(("c", addr), b"digest", AS, is_full=True)
    tables.forget_bodies("a")
    assert not any((b"digest", AS) in live.applied_bodies for live in tables.broker_live_table)


def test_the_rows_of_a_topic_are_those_of_now(tables):
    """Whichever were asked for before."""
    shown(tables, "a", ["T1"], T1=RW)
    assert tables.rows_of("T1") == [("a", RW)]
    shown(tables, "a", ["T1"], T1=RO)
    assert tables.rows_of("T1") == [("a", RO)]
    tables.apply(BrokerNameRemoved("a", tables.topics_of("a")), updates_index=False)
    assert tables.rows_of("T1") == []


def test_sets_of_names_whose_tables_are_kept_together_are_bounded(monkeypatch, tables):
    monkeypatch.setattr(tables_of_routes, "MAX_NAMES_CACHED", 2)
    for number in range(5):
        shown(tables, f"b{number}", [f"T{number}", "all"], **{f"T{number}": RW, "all": RW})
    for _ in range(2):
        assert [len(tables.rows_of(f"T{number}")) for number in range(5)] == [1] * 5
    assert len(tables.rows_of("all")) == 5
    assert len(tables._tables_by_names) <= 2
