"""What a registration does in its last turn: protocol.md 4.4 step by step, all at once."""

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    Cause,
    MinBrokerIdChanged,
    TopicMappingChanged,
)
from namekeeper.route.queries import topic_route
from namekeeper.route.tables import RouteRules
from namekeeper.route.topics import RegisterTopic
from tests.support.server.builders import CLUSTER, RW4, World, at, body, channel, header, register, unregister

MASTER = "10.0.0.1:10911"
SLAVE = "10.0.0.2:10911"
NOTIFYING = RouteRules(notify_min_broker_id_changed=True)


def slave(broker_id=1, addr=SLAVE, **more):
    return header(addr=addr, broker_id=broker_id, **more)


def of_kind(world, kind):
    return [event for event in world.events if isinstance(event, kind)]


@pytest.fixture
def world():
    return World()


# steps 1 to 3


def test_a_name_belongs_to_every_cluster_that_registered_it_and_its_row_to_the_first(world):
    world.register()
    world.register(slave(cluster_name="other"), over=channel(2))
    assert world.tables.cluster_addr_table == {CLUSTER: {"broker-a"}, "other": {"broker-a"}}
    assert world.tables.broker_addr_table["broker-a"].cluster == CLUSTER


def test_acting_master_and_zone_of_the_last_registrant_hold_for_the_group(world):
    world.register(header(enable_acting_master=True, zone_name="east"))
    world.register(slave(enable_acting_master=None), over=channel(2))
    group = world.tables.broker_addr_table["broker-a"]
    assert (group.enable_acting_master, group.zone_name) == (False, None)
    world.register(slave(enable_acting_master=True, zone_name="west"), over=channel(2))
    group = world.tables.broker_addr_table["broker-a"]
    assert (group.enable_acting_master, group.zone_name) == (True, "west")


def test_a_slave_that_does_not_contribute_may_leave_a_zone_too(world):
    world.register(header(zone_name="east"))
    world.register(slave(zone_name=None), over=channel(2))
    assert world.tables.broker_addr_table["broker-a"].zone_name is None


# steps 5 to 9


def test_an_address_has_one_id_in_its_group(world):
    world.register(slave(2, MASTER), over=channel(1))
    world.register(header(), over=channel(1))
    assert world.addrs() == {0: MASTER}
    assert world.live().broker_id == 0


def test_an_id_has_one_address_and_the_loser_is_not_live(world):
    world.register()
    world.register(header(addr=SLAVE), over=channel(2))
    assert world.addrs() == {0: SLAVE}
    (gone,) = of_kind(world, BrokerLiveGone)
    assert (gone.broker_addr, gone.reason) == (MASTER, Cause.REPLACED)


def test_filter_servers_of_a_loser_go_with_it(world):
    world.register(content=body(filter_servers=("f:1",)))
    world.register(header(addr=SLAVE), over=channel(2))
    assert world.tables.filter_server_table == {}


def test_an_address_that_moves_to_another_cluster_is_live_once(world):
    world.register()
    world.register(header(cluster_name="other"), over=channel(2))
    assert [live.cluster_name for live in world.tables.broker_live_table] == ["other"]


def test_a_stale_registration_leaves_the_living_holder_alone(world):
    world.register(content=body(state_version=5, filter_servers=("f:1",)))
    before = world.live()
    result = world.register(header(addr=SLAVE, zone_name="east"), body(state_version=4), channel(2))
    assert (result.outcome, result.master_addr, result.is_refused) == ("stale", None, False)
    assert (world.addrs(), world.live(), world.live(SLAVE)) == ({0: MASTER}, before, None)
    assert world.tables.broker_addr_table["broker-a"].zone_name == "east"


def test_a_stale_registration_takes_its_address_out_of_its_other_id(world):
    world.register(content=body(state_version=5))
    world.register(slave(), body(state_version=4, filter_servers=("f:1",)), channel(2))
    result = world.register(header(addr=SLAVE), body(state_version=4), channel(2))
    assert (result.outcome, world.addrs(), world.live(SLAVE)) == ("stale", {0: MASTER}, None)
    assert of_kind(world, BrokerLiveGone)[-1].reason is Cause.STALE
    assert world.tables.filter_server_table == {}


def test_a_refused_registration_keeps_the_live_one_of_its_address_if_it_keeps_its_id(world):
    world.register(slave(1))
    world.tables.rules = RouteRules(broker_ids_limit=1)
    assert world.register(slave(2, MASTER), over=channel(2)).is_refused
    assert world.live(SLAVE).broker_id == 1


def test_an_address_that_lost_its_id_is_not_live_in_another_cluster_either(world):
    world.register(slave(1, cluster_name="other"), body(filter_servers=("f:1",)))
    world.register(content=body(state_version=9), over=channel(2))
    result = world.register(slave(0), body(["only"]), channel(3))
    assert (result.outcome, world.live(SLAVE, "other")) == ("stale", None)
    assert world.tables.filter_server_table == {}


def state_of(world):
    tables = world.tables
    groups, clusters = dict(tables.broker_addr_table), dict(tables.cluster_addr_table)
    live = {one.key: (one.broker_name, one.broker_id, one.gen) for one in tables.broker_live_table}
    return groups, clusters, live, tables.topics(), dict(tables.filter_server_table)


@pytest.mark.parametrize(
    "refused",
    [
        header("broker-b"),
        header(broker_id=5, zone_name="z", enable_acting_master=True, cluster_name="other"),
        header("broker-c", "10.0.0.3:10911", cluster_name="new"),
        slave(0),
    ],
)
def test_a_refused_registration_changes_nothing(world, refused):
    world.register()
    world.register(slave(1), over=channel(2))
    world.do(unregister(channel()))
    before = state_of(world)
    count = len(world.events)
    world.tables.rules = RouteRules(topic_rows_limit=1)
    assert world.register(refused, body(["only"])).is_refused
    assert (state_of(world), world.events[count:]) == (before, [])


def test_a_name_that_is_left_goes_with_its_topics_and_clusters(world):
    world.register(content=body(["T1", "T2", "T3"]))
    world.register(header("broker-b", cluster_name=CLUSTER), body(["T1", "T2"]), channel(1))
    assert world.tables.cluster_addr_table == {CLUSTER: {"broker-b"}}
    assert sorted(world.tables.topics()) == ["T1", "T2"]
    assert of_kind(world, BrokerLiveGone)[0].reason is Cause.REPLACED


def test_a_name_that_is_left_keeps_its_other_members(world):
    world.register()
    world.register(slave(), over=channel(2))
    world.register(header("broker-b", SLAVE), over=channel(2))
    assert (world.addrs(), world.addrs("broker-b")) == ({0: MASTER}, {0: SLAVE})


# step 13


def test_mappings_are_stored_under_their_own_broker_name(world):
    info = TopicQueueMappingInfo("elsewhere", {0: 0}, topic="T1")
    world.register(content=body(mappings={"T1": info}))
    assert world.tables.topic_queue_mapping_info_table == {"T1": {"elsewhere": info}}


def test_a_mapping_of_nobody_is_not_stored(world):
    """It would stay when its sender leaves: no name that it belongs to ever goes."""
    info = TopicQueueMappingInfo("elsewhere", {0: 0}, topic="T9")
    world.register(content=body(mappings={"T9": info}))
    assert not world.tables.topic_queue_mapping_info_table
    world.register(header("elsewhere", "10.0.0.9:1"), body(["T1"]), channel(2))
    world.register(content=body(mappings={"T9": info}, version=2))
    assert world.tables.topic_queue_mapping_info_table == {"T9": {"elsewhere": info}}


def test_a_stranger_does_not_change_mappings_of_a_protected_name(world):
    world.tables.rules = RouteRules(protect_broker_names=True)
    own, others = (TopicQueueMappingInfo("broker-a", {0: n}, topic="T1") for n in (1, 2))
    world.register(content=body(mappings={"T1": own}))
    world.register(header("broker-b", "10.0.0.9:1"), body(mappings={"T1": others}, version=2), channel(2))
    assert world.tables.topic_queue_mapping_info_table == {"T1": {"broker-a": own}}


def test_mappings_are_taken_over_with_a_changed_version_only(world):
    one, two = (TopicQueueMappingInfo("broker-a", {0: number}, topic="T1") for number in (1, 2))
    world.register(content=body(mappings={"T1": one}))
    world.register(content=body(mappings={"T1": two}))
    assert world.tables.topic_queue_mapping_info_table["T1"]["broker-a"] == one
    world.register(content=body(mappings={"T1": two}, version=2))
    assert world.tables.topic_queue_mapping_info_table["T1"]["broker-a"] == two


def test_an_unchanged_mapping_is_no_event(world):
    info = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1")
    world.register(content=body(mappings={"T1": info}))
    world.register(content=body(mappings={"T1": info}, version=2))
    assert len(of_kind(world, TopicMappingChanged)) == 1


def test_a_slave_beside_its_master_contributes_no_mapping(world):
    world.register()
    info = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1")
    world.register(slave(), body(mappings={"T1": info}), channel(2))
    assert world.tables.topic_queue_mapping_info_table == {}


# step 14


def test_a_generation_begins_with_the_entry_the_name_the_id_and_the_connection(world):
    one = channel(1)
    world.register(over=one)
    assert world.live().gen == 1
    world.register(content=body(version=2), over=one)
    assert world.live().gen == 1
    world.register(over=channel(2))
    assert world.live().gen == 2
    world.register(header(broker_id=1), over=channel(2))
    assert world.live().gen == 3
    world.register(header("broker-b", broker_id=1), over=channel(2))
    assert world.live().gen == 4


def test_connections_are_told_apart_even_if_they_have_one_number(world):
    world.register(over=channel(1))
    world.register(over=channel(1))
    assert world.live().gen == 2


def test_generations_are_one_counter_and_never_used_again(world):
    world.register(over=channel(1))
    world.register(slave(), over=channel(2))
    world.do(unregister(channel(1)))
    world.register(over=channel(3))
    assert (world.live(SLAVE).gen, world.live().gen) == (2, 3)


def test_what_is_said_anew_is_a_change_within_the_generation(world):
    over = channel()
    world.register(over=over)
    world.now = at(5)
    world.register(header(ha_server_addr="ha2", heartbeat_timeout_ms=1_500), over=over)
    live = world.live()
    assert (live.ha_server_addr, live.heartbeat_timeout_ms, live.gen) == ("ha2", 1_500, 1)
    assert (of_kind(world, BrokerLiveChanged)[-1].is_new, live.idle_ms(at(5))) == (False, 0)


def test_a_registration_that_changes_something_tells_the_silence_that_it_ended_once(world):
    over = channel()
    world.register(over=over)
    world.now = at(5)
    world.register(content=body(version=2), over=over)
    world.now = at(8)
    world.register(content=body(version=3), over=over)
    assert [event.gap_ms for event in of_kind(world, BrokerLiveChanged)] == [0, 5_000, 3_000]


def test_a_new_generation_ends_no_silence_of_its_own(world):
    world.register()
    world.now = at(5)
    world.register(over=channel(2))
    world.now = at(6)
    world.register(over=channel(2))
    assert [event.gap_ms for event in of_kind(world, BrokerLiveChanged)] == [0, 0, 0]


def test_a_registration_tells_the_size_of_its_body(world):
    over = channel()
    for version, raw in ((1, b"123"), (1, b"12345"), (2, b"1234567")):
        world.do(register(header(), body(version=version), over, raw=raw))
    sizes = [(type(e), e.body_bytes) for e in of_kind(world, (BrokerLiveChanged, BrokerHeard))]
    assert sizes == [(BrokerLiveChanged, 3), (BrokerHeard, 5), (BrokerLiveChanged, 7)]


def test_the_new_data_version_is_stored_whatever_the_body_holds(world):
    over = channel()
    world.register(over=over)
    world.register(content=body(["T1"], version=9), over=over)
    assert world.live().data_version.counter == 9


def test_an_unchanged_registration_is_a_sign_of_life_with_its_silence(world):
    over = channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.now = at(30)
    world.register(content=body(["T2", "T1"]), over=over)
    size = len(repr(body(["T2", "T1"])))
    assert world.events[-1] == BrokerHeard(CLUSTER, MASTER, 1, 30_000, is_registration=True, body_bytes=size)


# step 15


def test_filter_servers_are_stored_kept_and_removed(world):
    over = channel()
    key = (CLUSTER, MASTER)
    world.register(content=body(filter_servers=("f:1",)), over=over)
    assert world.tables.filter_server_table == {key: ("f:1",)}
    world.register(content=body(filter_servers=None, version=2), over=over)
    assert world.tables.filter_server_table == {key: ("f:1",)}
    world.register(content=body(filter_servers=(), version=3), over=over)
    assert world.tables.filter_server_table == {}


# step 16


def test_a_slave_is_told_a_master_that_is_live_in_its_cluster(world):
    assert world.register(slave()).master_addr is None
    world.register(over=channel(2))
    assert world.register(slave(), body(version=2)).master_addr == MASTER
    assert world.register(slave(ha_server_addr="x"), body(version=2)).ha_server_addr == "10.0.0.1:10921"
    assert world.register(slave(cluster_name="other"), over=channel(3)).master_addr is None


def test_a_master_is_told_nothing(world):
    world.register()
    assert world.register(content=body(version=2)).master_addr is None


def test_the_outcome_says_what_happened(world):
    over = channel()
    outcomes = [
        world.register(content=content, over=over).outcome
        for content in (body(), body(), body(version=2), body(["T1", "T2", "T3"], version=2))
    ]
    assert outcomes == ["new", "short_cut", "unchanged", "changed"]


# step 17, and protocol.md 2.15


def notified(world):
    return [
        (
            event.min_broker_id,
            event.min_broker_addr,
            event.recipients,
            event.ha_broker_addr,
            event.offline_broker_addr,
        )
        for event in of_kind(world, MinBrokerIdChanged)
    ]


def test_who_is_told_of_a_smaller_id():
    world = World()
    world.tables.rules = NOTIFYING
    for broker_id in (2, 1, 0):
        addr = f"10.0.0.{broker_id}:10911"
        world.register(slave(broker_id, addr, enable_acting_master=True, ha_server_addr=f"ha{broker_id}"))
    two, one = "10.0.0.2:10911", "10.0.0.1:10911"
    assert notified(world) == [(1, one, (two,), "ha1", None), (0, "10.0.0.0:10911", (two, one), "ha0", None)]


def test_a_first_registration_tells_nobody():
    world = World()
    world.tables.rules = NOTIFYING
    world.register()
    world.register(slave(3, name="broker-b"))
    assert notified(world) == []


def test_an_empty_group_counts_as_having_had_the_smallest_id():
    world = World()
    world.tables.rules = NOTIFYING
    world.tables.apply(BrokerGroupChanged(BrokerData(CLUSTER, "broker-a")))
    world.copy.apply(BrokerGroupChanged(BrokerData(CLUSTER, "broker-a")))
    world.register(slave(1))
    assert notified(world) == []


def test_who_is_alone_is_told_of_itself():
    world = World()
    world.tables.rules = NOTIFYING
    world.register(slave(1))
    world.register(slave(0))
    assert notified(world) == [(0, SLAVE, (SLAVE,), "10.0.0.2:10921", None)]


def test_a_registration_tells_even_where_nobody_acts_as_master():
    world = World()
    world.tables.rules = NOTIFYING
    world.register(slave(1, enable_acting_master=None))
    world.register(header(enable_acting_master=None))
    assert len(notified(world)) == 1


def test_nobody_is_told_unless_the_operator_wants_it(world):
    world.register(slave(1))
    world.register(header())
    assert notified(world) == []


def test_a_larger_id_is_no_news():
    world = World()
    world.tables.rules = NOTIFYING
    world.register()
    world.register(slave(1))
    world.register(slave(1), body(version=2))
    assert notified(world) == []


# the whole


def test_everything_shows_in_one_turn(world):
    world.begin(header(zone_name="east"), body(["T1", "T2"], filter_servers=("f:1",)))
    while world.queue.is_busy:
        assert not world.tables.broker_addr_table
        assert not world.tables.cluster_addr_table
        assert topic_route(world.tables, "T1") is None
        assert len(world.tables.broker_live_table) == 0
        world.queue.turn(world.now)
    assert topic_route(world.tables, "T1").filter_server_table == {MASTER: ["f:1"]}
    assert world.live().data_version == DataVersion(1, 0, 1_700_000_000_001)


def test_rows_of_a_name_are_kept_when_another_address_takes_over(world):
    world.register()
    world.do(RegisterTopic("byhand", (("broker-a", RW4),)))
    world.register(header(addr=SLAVE), over=channel(2))
    assert sorted(world.tables.topics()) == ["T1", "T2", "byhand"]
