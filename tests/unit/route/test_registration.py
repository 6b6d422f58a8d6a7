"""The registration rule (protocol.md 4.4) with the decisions of design.md 5."""

from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, TopicQueuesChanged
from namekeeper.route.queries import topic_route
from namekeeper.route.removal import UnregisterBroker
from tests.support.builders import CLUSTER, World, body, channel, header, register

RO = QueueSpec(4, 4, 4, 0)


def unregister(name="broker-a", addr="10.0.0.1:10911", over=None):
    return UnregisterBroker(CLUSTER, addr, name, over or channel())


def test_a_registered_master_gives_a_route():
    world = World()
    assert world.register().outcome == "new"
    route = topic_route(world.tables, "T1")
    assert [d.broker_addrs for d in route.broker_datas] == [{0: "10.0.0.1:10911"}]
    assert [(q.broker_name, q.perm, q.read_queue_nums) for q in route.queue_datas] == [("broker-a", 6, 4)]


def test_equal_bytes_over_the_same_connection_are_not_decoded_again():
    world, over = World(), channel()
    world.register(over=over)
    assert world.register(over=over).outcome == "short_cut"
    assert isinstance(world.events[-1], BrokerHeard)


def test_equal_bytes_over_another_connection_are_decoded_and_begin_a_generation():
    world = World()
    world.register(over=channel(1))
    assert world.register(over=channel(2)).outcome == "unchanged"
    live = next(iter(world.tables.broker_live_table))
    assert live.gen == 2
    assert live.channel.channel_id == 2


def test_a_slave_of_an_old_broker_offers_no_topics():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=None))
    assert topic_route(world.tables, "T1") is None
    assert world.tables.broker_addr_table["broker-a"].broker_addrs == {1: "10.0.0.1:10911"}


def test_a_lone_slave_of_a_5x_broker_offers_its_topics_as_they_are():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=False))
    assert topic_route(world.tables, "T1").queue_datas[0].perm == 6


def test_an_acting_master_offers_nothing_to_write_to():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=True))
    assert topic_route(world.tables, "T1").queue_datas[0].perm == 4


def test_a_slave_is_told_its_live_master():
    world = World()
    world.register()
    result = world.register(header(addr="10.0.0.2:10911", broker_id=1), over=channel(2))
    assert (result.master_addr, result.ha_server_addr) == ("10.0.0.1:10911", "10.0.0.1:10921")


def test_the_first_registration_of_an_id_with_one_topic_is_refused_and_leaves_an_empty_group():
    world = World()
    assert world.register(content=body(["only"])).is_refused
    assert world.tables.broker_addr_table["broker-a"].broker_addrs == {}
    assert world.tables.cluster_addr_table == {CLUSTER: frozenset({"broker-a"})}
    assert len(world.tables.broker_live_table) == 0


def test_an_incremental_registration_does_not_hide_the_full_one_with_the_same_version():
    world, over = World(), channel()
    world.register(content=body([]), over=over)
    world.register(content=body(["T1"]), over=over)
    world.register(content=body(["T1", "T2", "T3"]), over=over)
    assert sorted(world.tables.topics()) == ["T1", "T2", "T3"]


def test_a_changed_value_under_an_unchanged_version_is_taken_over():
    world, over = World(), channel()
    world.register(content=body({"T1": RO, "T2": RO}), over=over)
    world.register(content=body({"T1": QueueSpec(8, 8, 6, 0), "T2": RO}), over=over)
    assert topic_route(world.tables, "T1").queue_datas[0].read_queue_nums == 8


def test_topics_missing_in_a_registration_stay_unless_the_operator_wants_them_gone():
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.register(content=body(["T2", "T3"], version=2), over=over)
    assert sorted(world.tables.topics()) == ["T1", "T2", "T3"]
    world.tables.rules = type(world.tables.rules)(delete_topic_with_broker_registration=True)
    world.register(content=body(["T2", "T3"], version=3), over=over)
    assert sorted(world.tables.topics()) == ["T2", "T3"]
    assert list(world.tables.topic_index) == sorted(world.tables.topic_index)


def test_a_lower_state_version_does_not_take_over_an_id_that_is_live():
    world = World()
    world.register(content=body(state_version=5))
    result = world.register(header(addr="10.0.0.9:10911"), body(state_version=4), channel(2))
    assert result.outcome == "stale"
    assert world.tables.broker_addr_table["broker-a"].broker_addrs == {0: "10.0.0.1:10911"}


def test_an_address_that_loses_its_id_is_not_live_any_more():
    world = World()
    world.register()
    world.register(header(addr="10.0.0.9:10911"), over=channel(2))
    assert [live.broker_addr for live in world.tables.broker_live_table] == ["10.0.0.9:10911"]


def test_an_address_has_one_name():
    world = World()
    world.register()
    world.register(header(name="broker-b"), over=channel(2))
    assert set(world.tables.broker_addr_table) == {"broker-b"}
    assert [name for name, _ in world.tables.rows_of("T1")] == ["broker-b"]
    assert world.tables.topic_index.names("T1") == ("broker-b",)


def test_nothing_of_a_registration_shows_when_its_connection_closed_meanwhile():
    world, over = World(), channel()
    content = body([f"T{i}" for i in range(5_000)])
    world.submit(register(header(), content, over, raw=b"x" * 20_000))
    world.queue.turn(world.now)
    world.queue.turn(world.now)
    assert len(world.tables.topic_index) > 0
    over.is_open = False
    world.run_turns()
    assert world.answers[-1][1].outcome == "closed"
    assert world.tables.broker_addr_table == {}
    assert len(world.tables.topic_index) == 0
    assert world.events == []


def test_no_slice_shows_before_the_commit():
    world = World()
    content = body([f"T{i}" for i in range(5_000)])
    world.submit(register(header(), content, channel(), raw=b"x" * 20_000))
    while world.queue.has_work:
        shown = len(world.tables.topics())
        assert shown in (0, 5_000)
        world.queue.turn(world.now)
    assert len(world.tables.topics()) == 5_000


def test_what_touches_a_name_waits_behind_its_build():
    world, over = World(), channel()
    content = body([f"T{i}" for i in range(3_000)])
    world.submit(register(header(), content, over, raw=b"x" * 20_000))
    world.submit(unregister(over=over))
    world.submit(register(header("broker-b", "10.0.0.2:10911"), body(), channel(2)))
    assert [type(change).__name__ for change, _ in world.answers] == ["RegisterBroker"]
    world.run_turns()
    assert set(world.tables.broker_addr_table) == {"broker-b"}
    assert sorted(world.tables.topic_index) == ["T1", "T2"]


def test_the_events_say_what_the_rows_are_now():
    world = World()
    world.register()
    kinds = [type(event).__name__ for event in world.events]
    assert kinds == ["ClusterChanged", "BrokerGroupChanged", "BrokerLiveChanged", "TopicQueuesChanged"]
    assert world.copy.broker_addr_table == world.tables.broker_addr_table
    assert world.copy.topics() == world.tables.topics()
    live = next(e for e in world.events if isinstance(e, BrokerLiveChanged))
    assert (live.gen, live.is_new) == (1, True)
    rows = next(e for e in world.events if isinstance(e, TopicQueuesChanged))
    assert sorted(rows.topics) == ["T1", "T2"]
