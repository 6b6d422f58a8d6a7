"""The ways in which a broker goes (protocol.md 4.5 to 4.7), and who gets 905 (2.15)."""

import pytest

from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.route import removal, rows
from namekeeper.route.events import (
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    MinBrokerIdChanged,
    TopicQueuesChanged,
)
from namekeeper.route.queries import topic_route
from namekeeper.route.removal import EndOfRegistration, end_sparing, overdue
from namekeeper.route.tables import RouteRules
from namekeeper.route.topics import DeleteTopic, RegisterTopic
from tests.support.server.builders import CLUSTER, World, at, body, channel, header, unregister

MASTER, SLAVE, THIRD = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"


@pytest.fixture
def world():
    return World()


def group_of(*addrs, acting=True, world=None):
    """A world with a master and slaves, each over its own connection."""
    world = world or World()
    for broker_id, addr in enumerate(addrs):
        world.register(
            header(addr=addr, broker_id=broker_id, enable_acting_master=acting), over=channel(broker_id)
        )
    return world


def of_kind(world, kind):
    return [event for event in world.events if isinstance(event, kind)]


# 104


def test_the_last_member_takes_name_cluster_and_topics_along(world):
    world.register(content=body(filter_servers=("f:1",)))
    world.do(unregister(channel()))
    tables = world.tables
    assert (tables.broker_addr_table, tables.cluster_addr_table, tables.filter_server_table) == ({}, {}, {})
    assert (tables.topic_queue_table, len(tables.topic_index), len(tables.broker_live_table)) == ({}, 0, 0)


def test_topics_that_others_have_stay(world):
    world.register()
    world.register(header("broker-b", SLAVE), body(["T2", "T3"]), channel(2))
    world.register(header("broker-c", THIRD, cluster_name="other"), body([]), channel(3))
    world.do(unregister(channel()))
    assert sorted(world.tables.topics()) == ["T2", "T3"]
    assert world.tables.cluster_addr_table == {CLUSTER: {"broker-b"}, "other": {"broker-c"}}


def test_other_members_stay_with_the_topics(world):
    group_of(MASTER, SLAVE, acting=False, world=world)
    world.do(unregister(channel(0)))
    assert (world.addrs(), world.perm(), world.live()) == ({1: SLAVE}, 6, None)


def test_the_id_in_the_request_does_not_count_but_the_address(world):
    group_of(MASTER, SLAVE, world=world)
    world.do(unregister(channel(1), addr=SLAVE))
    assert world.addrs() == {0: MASTER}


def test_a_wrong_name_ends_the_registration_under_its_own(world):
    world.register()
    world.register(header("broker-b", SLAVE), over=channel(2))
    world.do(unregister(channel(1), name="broker-b"))
    assert (set(world.tables.broker_addr_table), world.live()) == ({"broker-b"}, None)


def test_a_wrong_cluster_ends_the_registration_in_its_own(world):
    world.register()
    world.do(unregister(channel(), cluster="elsewhere"))
    assert (world.tables.cluster_addr_table, len(world.tables.broker_live_table)) == ({}, 0)


def test_a_name_leaves_every_cluster_with_its_last_member(world):
    world.register()
    world.register(header(addr=SLAVE, broker_id=1, cluster_name="other"), over=channel(2))
    world.do(unregister(channel(1)))
    world.do(unregister(channel(2), addr=SLAVE, cluster="other"))
    assert world.tables.cluster_addr_table == {}


@pytest.mark.parametrize("name", ["broker-a", "unknown"])
def test_an_address_that_is_not_there_is_no_error(world, name):
    world.register()
    count = len(world.events)
    world.do(unregister(channel(), name=name, addr="10.9.9.9:1"))
    assert len(world.events) == count


def test_an_empty_group_goes_with_the_topics_it_had(world):
    world.register(header(broker_id=1))
    world.tables.rules = RouteRules(broker_ids_limit=1)
    assert world.register(header(addr="10.0.0.9:10911")).is_refused
    assert topic_route(world.tables, "T1") is not None
    world.do(unregister(channel()))
    assert (world.tables.topics(), world.tables.broker_addr_table) == ([], {})


def test_the_reason_and_the_silence_are_told(world):
    world.register(header(heartbeat_timeout_ms=5_000))
    world.now = at(3)
    world.do(unregister(channel()))
    (gone,) = of_kind(world, BrokerLiveGone)
    assert (gone.reason, gone.idle_ms, gone.heartbeat_timeout_ms, gone.gen) == (
        Cause.UNREGISTER,
        3_000,
        5_000,
        1,
    )
    assert unregister(channel(4)).remote_addr == "10.9.0.4:5000"


# who may write to a group without master


def test_the_write_bit_goes_with_the_master_of_a_group_whose_slave_acts():
    world = group_of(MASTER, SLAVE)
    world.do(unregister(channel(0)))
    assert (world.perm(), world.tables.topics_of("broker-a")["T1"].registered.perm) == (4, 6)


def test_the_write_bit_stays_where_nobody_acts():
    world = group_of(MASTER, SLAVE, acting=False)
    world.do(unregister(channel(0)))
    assert world.perm() == 6


def test_the_write_bit_stays_while_the_master_is_there():
    world = group_of(MASTER, SLAVE, THIRD)
    world.do(unregister(channel(1), addr=SLAVE))
    assert world.perm() == 6


def test_the_write_bit_goes_again_with_every_slave_that_leaves():
    world = group_of(MASTER, SLAVE, THIRD)
    world.do(unregister(channel(0)))
    world.do(RegisterTopic("T1", (("broker-a", QueueSpec(4, 4, 7, 0)),)))
    world.do(unregister(channel(2), addr=THIRD))
    assert world.perm() == 5


def test_rows_that_nobody_might_write_to_are_no_change():
    world = World()
    ro = body({"T1": QueueSpec(4, 4, 4, 0), "T2": QueueSpec(4, 4, 4, 0)})
    for broker_id, addr in enumerate((MASTER, SLAVE)):
        world.register(
            header(addr=addr, broker_id=broker_id, enable_acting_master=True), ro, channel(broker_id)
        )
    count = len(of_kind(world, TopicQueuesChanged))
    world.do(unregister(channel(0)))
    assert len(of_kind(world, TopicQueuesChanged)) == count


@pytest.mark.parametrize("how", ["unregistered", "expired", "meanwhile_changed"])
def test_a_table_without_write_permission_is_made_in_slices_before_the_master_goes(monkeypatch, how):
    """The master of a name with a million topics held everybody up for a second or two when it went."""
    monkeypatch.setattr(rows, "CHANGED_SLICE", 1)
    world = World()
    content = body({f"T{number}": QueueSpec(4, 4, 6, 0) for number in range(5)})
    for broker_id, addr in enumerate((MASTER, SLAVE)):
        world.register(
            header(addr=addr, broker_id=broker_id, enable_acting_master=True), content, channel(broker_id)
        )
    key = (CLUSTER, MASTER)
    end = EndOfRegistration(key, world.tables.broker_live_table.get(key).gen, Cause.CHANNEL_CLOSED)
    change = unregister(channel(0)) if how == "unregistered" else end
    before = world.tables.topics_of("broker-a")
    assert len(list(change.build(world.tables))) == 4
    assert world.tables.topics_of("broker-a") is before
    if how == "meanwhile_changed":
        world.do(RegisterTopic("T6", (("broker-a", QueueSpec(4, 4, 6, 0)),)))
    monkeypatch.setattr(rows, "CHANGED_SLICE", 10)
    applied = change.commit(world.tables, at(0))
    assert {row.effective.perm for row in world.tables.topics_of("broker-a").values()} == {4}
    (event,) = [event for event in applied.events if isinstance(event, TopicQueuesChanged)]
    assert len(event.topics) == 5 + (how == "meanwhile_changed")


# who gets 905


def notified(world):
    return [
        (
            event.min_broker_id,
            event.min_broker_addr,
            event.recipients,
            event.offline_broker_addr,
            event.ha_broker_addr,
        )
        for event in of_kind(world, MinBrokerIdChanged)
    ]


def test_all_that_remain_are_told_of_the_new_smallest_id():
    world = group_of(MASTER, SLAVE, THIRD)
    world.tables.rules = RouteRules(notify_min_broker_id_changed=True)
    world.do(unregister(channel(0)))
    world.do(unregister(channel(1), addr=SLAVE))
    assert notified(world) == [(1, SLAVE, (SLAVE, THIRD), MASTER, None), (2, THIRD, (THIRD,), SLAVE, None)]
    assert {event.broker_name for event in of_kind(world, MinBrokerIdChanged)} == {"broker-a"}


def test_a_member_with_a_larger_id_goes_quietly():
    world = group_of(MASTER, SLAVE)
    world.tables.rules = RouteRules(notify_min_broker_id_changed=True)
    world.do(unregister(channel(1), addr=SLAVE))
    assert notified(world) == []


def test_the_last_member_goes_quietly():
    world = group_of(MASTER)
    world.tables.rules = RouteRules(notify_min_broker_id_changed=True)
    world.do(unregister(channel(0)))
    assert notified(world) == []


def test_nobody_is_told_where_nobody_acts():
    world = group_of(MASTER, SLAVE, acting=False)
    world.tables.rules = RouteRules(notify_min_broker_id_changed=True)
    world.do(unregister(channel(0)))
    assert notified(world) == []


def test_nobody_is_told_unless_the_operator_wants_it():
    world = group_of(MASTER, SLAVE)
    world.do(unregister(channel(0)))
    assert notified(world) == []


# expiry


def test_what_was_silent_for_too_long_expires(world):
    over = channel()
    world.register(header(heartbeat_timeout_ms=1_500), over=over)
    world.register(header("broker-b", SLAVE), over=channel(2))
    world.now = at(1.5)
    assert overdue(world.tables, world.now) == []
    world.now = at(1.501)
    (end,) = overdue(world.tables, world.now)
    assert end == EndOfRegistration((CLUSTER, MASTER), 1, Cause.EXPIRED)
    assert world.do(end) is over
    (gone,) = of_kind(world, BrokerLiveGone)
    assert (gone.reason, gone.idle_ms) == (Cause.EXPIRED, 1_501)
    assert set(world.tables.broker_addr_table) == {"broker-b"}


def test_the_timeout_is_that_of_the_newest_registration(world):
    over = channel()
    world.register(header(heartbeat_timeout_ms=1_500), over=over)
    world.register(header(), over=over)
    assert overdue(world.tables, at(120)) == []
    assert len(overdue(world.tables, at(120.001))) == 1


def test_expiry_is_judged_again_when_it_is_executed(world):
    over = channel()
    world.register(over=over)
    world.now = at(121)
    (end,) = overdue(world.tables, world.now)
    world.hear(now=at(120))
    assert world.do(end) is None
    assert world.live() is not None


def test_who_is_heard_while_its_expiry_waits_stays(world):
    slave = channel(2)
    world.register()
    world.register(header(addr=SLAVE, broker_id=1), over=slave)
    world.now = at(100)
    world.begin(content=body(version=2))
    world.now = at(121)
    world.scan()
    assert len(world.queue) == 2
    world.hear(SLAVE)
    world.run_turns()
    assert world.live(SLAVE) is not None


def test_who_we_stopped_reading_from_while_its_expiry_waited_stays(world):
    slave = channel(2)
    world.register()
    world.register(header(addr=SLAVE, broker_id=1), over=slave)
    world.now = at(100)
    world.begin(content=body(version=2))
    world.now = at(121)
    world.scan()
    slave.pause()
    world.run_turns()
    assert world.live(SLAVE) is not None


def test_a_connection_that_we_do_not_read_from_keeps_its_brokers(world):
    both = channel(1)
    world.register(over=both)
    world.register(header("broker-b", SLAVE), over=both)
    both.pause()
    assert overdue(world.tables, at(1_000)) == []
    end_sparing(world.tables)
    both.resume()
    assert overdue(world.tables, at(1_000)) == []  # what they sent meanwhile may be read now
    end_sparing(world.tables)
    assert len(overdue(world.tables, at(1_000))) == 2


def test_a_connection_is_closed_when_its_last_broker_expires(world):
    both = channel(1)
    world.register(header(heartbeat_timeout_ms=1_000), over=both)
    world.register(header("broker-b", SLAVE), over=both)
    world.now = at(2)
    (first,) = overdue(world.tables, world.now)
    assert world.do(first) is None
    world.now = at(121)
    (second,) = overdue(world.tables, world.now)
    assert world.do(second) is both


def test_an_end_is_reported_before_its_index_is_trimmed(world, monkeypatch):
    """So that no other broker can come over the connection in between and be closed with it."""
    monkeypatch.setattr(removal, "INDEX_SLICE", 1)
    over = channel()
    world.register(over=over)
    world.now = at(121)
    (end,) = overdue(world.tables, world.now)
    world.submit(end)
    assert (world.queue.is_busy, world.result_of(end)) == (True, over)


def test_events_are_reported_in_the_order_in_which_they_show(world, monkeypatch):
    """A cluster's row is one for all its names: reported out of order, the names of others would be lost."""
    monkeypatch.setattr(removal, "INDEX_SLICE", 1)
    world.register()
    world.submit(unregister(channel()))
    assert world.queue.is_busy
    world.register(header("broker-b", SLAVE), over=channel(2))
    assert world.copy.cluster_addr_table == {CLUSTER: {"broker-b"}}


def test_a_group_with_a_negative_id_keeps_its_permissions_without_id_0(world):
    """Java asks whether the smallest id left is above 0, not whether 0 is left (protocol.md 4.5)."""
    members = ((MASTER, 0, True), (SLAVE, -1, False), ("10.0.0.3:10911", 2, True))
    for conn, (addr, broker_id, acting) in enumerate(members, 1):
        head = header(addr=addr, broker_id=broker_id, enable_acting_master=acting)
        world.register(head, over=channel(conn))
    world.do(unregister(channel(1)))
    assert (sorted(world.addrs()), world.perm()) == ([-1, 2], 6)
    world.do(unregister(channel(2), addr=SLAVE))
    assert (sorted(world.addrs()), world.perm()) == ([2], 4)


def test_an_expired_master_takes_the_write_bit_along():
    world = group_of(MASTER, SLAVE)
    world.now = at(100)
    world.hear(SLAVE)
    world.now = at(121)
    world.scan()
    assert (world.addrs(), world.perm()) == ({1: SLAVE}, 4)


# a closed connection


def test_a_closed_connection_removes_its_brokers_whatever_their_silence(world):
    over = channel()
    world.register(over=over)
    world.close(over)
    (gone,) = of_kind(world, BrokerLiveGone)
    assert (gone.reason, world.tables.broker_addr_table) == (Cause.CHANNEL_CLOSED, {})


def test_a_closed_connection_need_not_be_closed_again(world):
    over = channel()
    world.register(over=over)
    end = EndOfRegistration((CLUSTER, MASTER), 1, Cause.CHANNEL_CLOSED, over.remote_addr)
    assert (end.touches(world.tables), end.remote_addr) == (("broker-a",), "10.9.0.1:5000")
    assert world.do(end) is None
    assert end.touches(world.tables) == ()


# index and mappings


def test_the_index_is_trimmed_in_slices_and_nothing_shows_meanwhile(world, monkeypatch):
    monkeypatch.setattr(removal, "INDEX_SLICE", 2)
    world.register(content=body([f"T{number}" for number in range(5)]))
    world.submit(unregister(channel()))
    sizes = []
    while world.queue.is_busy:
        assert world.tables.topics() == []
        sizes.append(len(world.tables.topic_index))
        world.queue.turn(world.now)
    assert (sizes, len(world.tables.topic_index)) == ([3, 1], 0)


def test_a_name_that_comes_back_while_its_index_is_trimmed_waits(world, monkeypatch):
    monkeypatch.setattr(removal, "INDEX_SLICE", 1)
    world.register(content=body(["T1", "T2", "T3"]))
    world.submit(unregister(channel()))
    assert world.queue.is_busy
    world.register(content=body(["T1", "T2"]))
    assert sorted(world.tables.topics()) == ["T1", "T2"]
    assert world.tables.topic_index.names("T1") == ("broker-a",)


def test_one_event_tells_that_all_topics_of_a_name_are_gone(world):
    world.register()
    world.do(unregister(channel()))
    (event,) = of_kind(world, BrokerNameRemoved)
    assert (event.broker_name, sorted(event.before)) == ("broker-a", ["T1", "T2"])


def test_a_name_without_topics_goes_without_that_event(world):
    world.register(content=body([]))
    world.do(unregister(channel()))
    assert of_kind(world, BrokerNameRemoved) == []


def test_mappings_end_with_the_last_name_that_has_the_topic(world):
    """Trap T45: Java keeps them for ever."""
    infos = {name: TopicQueueMappingInfo(name, {0: 0}, topic="T1") for name in ("broker-a", "broker-b")}
    world.register(content=body(mappings={"T1": infos["broker-a"]}))
    world.register(header("broker-b", SLAVE), body(mappings={"T1": infos["broker-b"]}), channel(2))
    world.do(unregister(channel(1)))
    assert world.tables.topic_queue_mapping_info_table == {"T1": infos}
    world.do(unregister(channel(2), name="broker-b", addr=SLAVE))
    assert world.tables.topic_queue_mapping_info_table == {}


def test_a_mapping_of_a_name_without_group_ends_with_the_last_name_that_has_the_topic(world):
    info = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1")
    world.register(content=body(mappings={"T1": info}))
    world.register(header("broker-b", SLAVE), body(["T1", "T2"]), channel(2))
    world.do(unregister(channel(1)))
    assert world.tables.topic_queue_mapping_info_table == {"T1": {"broker-a": info}}
    world.do(unregister(channel(2), name="broker-b", addr=SLAVE))
    assert world.tables.topic_queue_mapping_info_table == {}


def test_who_goes_looks_at_the_mappings_that_it_may_end_and_at_no_others(world, monkeypatch):
    """Thousands of names may go at once, and there may be 100,000 mappings."""
    infos = {f"T{number}": TopicQueueMappingInfo("broker-a", {0: 0}) for number in range(9)}
    world.register(content=body(mappings=infos))
    mine = {"T3": TopicQueueMappingInfo("broker-b", {0: 0})}
    world.register(header("broker-b", SLAVE), body(["T1", "U"], mappings=mine), channel(2))
    looked: list[str] = []
    monkeypatch.setattr(removal, "end_orphaned_mappings", lambda _, topic: looked.append(topic))
    world.do(unregister(channel(2), name="broker-b", addr=SLAVE))
    assert looked == ["T1", "T3"]


def test_a_mapping_that_comes_before_its_row_survives_the_end_of_another_name(world):
    info = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T9")
    world.register(header("broker-b", SLAVE), body(["T5", "T6"]), channel(2))
    world.register(content=body(["T1", "T2"], mappings={"T9": info}))
    world.do(unregister(channel(2), name="broker-b", addr=SLAVE))
    world.register(content=body(["T9", "T2"], version=2), over=channel(1))
    assert world.tables.topic_queue_mapping_info_table == {"T9": {"broker-a": info}}


def test_a_mapping_that_was_deleted_with_its_topic_comes_back_with_it(world):
    info, over = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1"), channel(1)
    world.register(content=body(mappings={"T1": info}), over=over)
    world.do(DeleteTopic("T1"))
    assert world.tables.topic_queue_mapping_info_table == {}
    world.register(content=body(mappings={"T1": info}), over=over)
    assert world.tables.topics_of("broker-a").keys() == {"T1", "T2"}
    assert world.tables.topic_queue_mapping_info_table == {"T1": {"broker-a": info}}


def test_the_search_for_what_is_overdue_changes_nothing(world):
    over = channel()
    world.register(over=over)
    over.pause()
    over.resume()
    assert overdue(world.tables, at(1_000)) == overdue(world.tables, at(1_000)) == []
    assert over.is_spared


def test_a_removal_has_nothing_to_build_and_shows_at_its_commit(world):
    world.register()
    change = unregister(channel())
    assert list(change.build(world.tables)) == []
    applied = change.commit(world.tables, at(0))
    assert world.tables.broker_addr_table == {}
    assert list(change.clean_up(world.tables, applied)) == []
    assert len(world.tables.topic_index) == 0
