"""What readers see (protocol.md 2.5, 2.7, 4.8 to 4.10)."""

import pytest

from namekeeper.common.slices import run_slices
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueData, QueueSpec
from namekeeper.route import queries
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    Cause,
    FilterServersChanged,
    TopicMappingChanged,
)
from namekeeper.route.queries import topic_route
from namekeeper.route.topics import ChangeWritePerm, RegisterTopic
from tests.support.server.builders import CLUSTER, World, body, channel, header, unregister
from tests.support.server.looked_up import names_in_each_slice

SLAVE = "10.0.0.2:10911"
MEMBERS = "rmq_sys_SYNC_BROKER_MEMBER_broker-a"


def acting_world(*topics: str, acting: bool = True) -> World:
    """A master and two slaves, of which the master has gone."""
    world = World()
    content = body([*topics, "T2", MEMBERS])
    for broker_id, addr in enumerate(("10.0.0.1:10911", SLAVE, "10.0.0.3:10911")):
        head = header(addr=addr, broker_id=broker_id, enable_acting_master=acting)
        world.register(head, content, channel(broker_id))
    world.do(unregister(channel(0)))
    return world


def addrs_of(route):
    (group,) = route.broker_datas
    return group.broker_addrs


def test_a_route_joins_queues_and_groups():
    world = World()
    world.register()
    world.register(header("broker-b", SLAVE), body(["T1", "T3"]), channel(2))
    route = topic_route(world.tables, "T1")
    assert [group.broker_name for group in route.broker_datas] == ["broker-a", "broker-b"]
    assert route.queue_datas == [QueueData(name, 6, 4, 0, 4) for name in ("broker-a", "broker-b")]
    assert (route.filter_server_table, route.order_topic_conf, route.topic_queue_mapping_by_broker) == (
        {},
        None,
        None,
    )
    assert topic_route(world.tables, "unknown") is None


def test_a_topic_whose_brokers_have_no_group_has_no_route():
    world = World()
    world.register()
    world.tables.apply(BrokerGroupGone("broker-a"))
    assert topic_route(world.tables, "T1") is None


def test_queues_of_a_name_without_group_are_shown_if_another_has_one():
    world = World()
    world.register()
    world.register(header("broker-b", SLAVE), body(), channel(2))
    world.tables.apply(BrokerGroupGone("broker-a"))
    route = topic_route(world.tables, "T1")
    assert [group.broker_name for group in route.broker_datas] == ["broker-b"]
    assert [queue.broker_name for queue in route.queue_datas] == ["broker-a", "broker-b"]


def test_filter_servers_are_shown_by_address_and_empty_ones_are_not():
    world = World()
    world.register()
    world.register(header(addr=SLAVE, broker_id=1), body(), channel(2))
    assert topic_route(world.tables, "T1").filter_server_table == {}
    world.tables.apply(FilterServersChanged(CLUSTER, SLAVE, ("f:1", "f:2")))
    assert topic_route(world.tables, "T1").filter_server_table == {SLAVE: ["f:1", "f:2"]}
    world.tables.apply(FilterServersChanged("another", "10.0.0.1:10911", ("f:3",)))
    assert topic_route(world.tables, "T1").filter_server_table == {SLAVE: ["f:1", "f:2"]}


def test_mappings_of_the_topic_are_attached():
    world = World()
    world.register()
    info = TopicQueueMappingInfo("broker-a", topic="T1")
    world.tables.apply(TopicMappingChanged("T1", "broker-a", info))
    assert topic_route(world.tables, "T1").topic_queue_mapping_by_broker == {"broker-a": info}
    assert topic_route(world.tables, "T2").topic_queue_mapping_by_broker is None


def test_the_smallest_slave_is_shown_as_master():
    world = acting_world("T1")
    assert addrs_of(topic_route(world.tables, "T1", support_acting_master=True)) == {
        0: SLAVE,
        2: "10.0.0.3:10911",
    }
    assert world.addrs() == {1: SLAVE, 2: "10.0.0.3:10911"}


def test_nobody_acts_where_it_is_not_supported():
    assert addrs_of(topic_route(acting_world("T1").tables, "T1")) == {1: SLAVE, 2: "10.0.0.3:10911"}


def test_nobody_acts_in_a_group_that_does_not_want_it():
    world = acting_world("T1", acting=False)
    assert 0 not in addrs_of(topic_route(world.tables, "T1", support_acting_master=True))


def test_nobody_acts_where_one_may_write():
    world = acting_world("T1")
    world.do(RegisterTopic("T1", (("broker-a", QueueSpec(4, 4, 6, 0)),)))
    assert 0 not in addrs_of(topic_route(world.tables, "T1", support_acting_master=True))
    assert 0 in addrs_of(topic_route(world.tables, "T2", support_acting_master=True))


def test_members_of_a_group_see_it_as_it_is():
    world = acting_world("T1")
    assert topic_route(world.tables, MEMBERS).queue_datas[0].perm == 4
    assert 0 not in addrs_of(topic_route(world.tables, MEMBERS, support_acting_master=True))


def test_a_master_that_is_there_is_shown():
    world = World()
    world.register(header(enable_acting_master=True))
    world.do(ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM))
    assert addrs_of(topic_route(world.tables, "T1", support_acting_master=True)) == {0: "10.0.0.1:10911"}


def test_each_group_of_a_route_is_looked_at_by_itself():
    world = acting_world("T1")
    world.register(header("broker-b", "10.0.0.9:10911"), body(), channel(9))
    route = topic_route(world.tables, "T1", support_acting_master=True)
    assert [0 in group.broker_addrs for group in route.broker_datas] == [True, True]


def test_an_empty_group_has_nobody_to_act():
    empty = BrokerData(CLUSTER, "broker-a", {}, enable_acting_master=True)
    assert queries.acting_group(empty, QueueSpec(4, 4, 4, 0)) is empty
    assert not queries.shows_acting_master("T1", [empty])


def test_cluster_information_shows_groups_as_they_are():
    world = acting_world("T1")
    info = queries.cluster_info(world.tables)
    assert info.broker_addr_table["broker-a"].broker_addrs == {1: SLAVE, 2: "10.0.0.3:10911"}
    assert info.cluster_addr_table == {CLUSTER: ["broker-a"]}


def test_the_names_of_a_cluster_are_sorted():
    world = World()
    for number, name in enumerate(("b", "c", "a")):
        world.register(header(name, f"10.0.0.{number}:1"), over=channel(number))
    assert queries.cluster_info(world.tables).cluster_addr_table == {CLUSTER: ["a", "b", "c"]}


def test_a_member_group_echoes_the_cluster():
    world = World()
    world.register()
    group = queries.broker_member_group(world.tables, "whatever", "broker-a")
    assert (group.cluster, group.broker_name, group.broker_addrs) == (
        "whatever",
        "broker-a",
        {0: "10.0.0.1:10911"},
    )
    assert queries.broker_member_group(world.tables, CLUSTER, "unknown").broker_addrs == {}


def test_a_topic_is_unwritable_without_a_master_a_permission_or_a_queue():
    world = World()
    world.register(header("broker-a", "10.0.0.1:1"), body(["T1", "T2"]))
    world.register(header("broker-b", SLAVE, broker_id=1), body(["T2", "T3"]), channel(2))
    assert topics_in(queries.unwritable_topics(world.tables)) == ["T3"]
    world.do(ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM))
    assert sorted(topics_in(queries.unwritable_topics(world.tables))) == ["T1", "T2", "T3"]


def test_a_topic_is_writable_if_any_of_its_brokers_is():
    world = World()
    world.register(header("broker-b", SLAVE, broker_id=1), body(["T1", "T2"]))
    world.register(header("broker-a", "10.0.0.1:1"), body(["T1", "T2"]), channel(2))
    assert topics_in(queries.unwritable_topics(world.tables)) == []


def topics_in(slices):
    return run_slices(slices).topic_list


def test_topics_of_a_cluster_are_those_of_its_names():
    world = World()
    world.register()
    world.register(header("broker-b", SLAVE, cluster_name="other"), body(["T2", "T3"]), channel(2))
    assert sorted(topics_in(queries.topics_of_cluster(world.tables, CLUSTER))) == ["T1", "T2"]
    assert sorted(topics_in(queries.topics_of_cluster(world.tables, "other"))) == ["T2", "T3"]
    assert topics_in(queries.topics_of_cluster(world.tables, "unknown")) == []


def test_system_topics_are_the_names_and_somebody_to_ask():
    world = World()
    assert queries.system_topics(world.tables).broker_addr is None
    world.register(header("broker-b"))
    world.register(header("broker-a", SLAVE, cluster_name="broker-b"), over=channel(2))
    topics = queries.system_topics(world.tables)
    assert topics.topic_list == [CLUSTER, "broker-b", "broker-a"]
    assert topics.broker_addr == SLAVE  # of the first by name, whoever came first


def test_an_empty_group_has_nobody_to_ask():
    world = World()
    world.tables.apply(BrokerGroupChanged(BrokerData(CLUSTER, "empty")))
    assert queries.system_topics(world.tables).broker_addr is None


@pytest.mark.parametrize(
    ("accepts", "topics"),
    [
        (queries.is_unit, ["both", "unit"]),
        (queries.has_unit_sub, ["both", "sub"]),
        (queries.has_unit_sub_ununit, ["sub"]),
    ],
)
def test_unit_topics_go_by_their_flag(accepts, topics):
    world = World()
    flags = {"plain": 0, "unit": 1, "sub": 2, "both": 3, "far": 4}
    world.register(content=body({topic: QueueSpec(4, 4, 6, flag) for topic, flag in flags.items()}))
    assert sorted(topics_in(queries.unit_topics(world.tables, accepts))) == topics


def test_the_first_row_decides_about_a_unit_topic_and_leftovers_do_not_count():
    world = World()
    world.register(content=body({"T1": QueueSpec(4, 4, 6, 1), "T2": QueueSpec(4, 4, 6, 0)}))
    other = body({"T1": QueueSpec(4, 4, 6, 0), "T2": QueueSpec(4, 4, 6, 1)})
    world.register(header("broker-b", SLAVE), other, channel(2))
    world.tables.index_topics(["leftover"], "broker-a")
    assert topics_in(queries.unit_topics(world.tables, queries.is_unit)) == ["T1"]


def test_all_topics_are_those_that_somebody_has():
    world = World()
    world.register()
    world.register(header("broker-b", SLAVE), body(["T2", "T3"]), channel(2))
    world.tables.index_topics(["leftover"], "broker-a")
    assert sorted(topics_in(queries.all_topics(world.tables))) == ["T1", "T2", "T3"]


def test_lists_of_topics_are_made_in_slices_and_bear_changes_between_them():
    world = World()
    world.register(content=body([f"T{number}" for number in range(5_000)]))
    for slices in (
        queries.all_topics(world.tables),
        queries.topics_of_cluster(world.tables, CLUSTER),
        queries.unit_topics(world.tables, queries.is_unit),
    ):
        count = sum(1 for _ in slices)
        assert count >= 5_000 // queries.SLICE_TOPICS
    slices = queries.all_topics(world.tables)
    next(slices)
    world.register(content=body(["T1", "new"], version=2))
    assert len(topics_in(slices)) <= 5_001


@pytest.mark.parametrize(
    "select",
    [
        queries.unwritable_topics,
        lambda tables: queries.unit_topics(tables, queries.is_unit),
        lambda tables: queries.topics_of_cluster(tables, "other"),
    ],
)
def test_a_slice_of_a_list_looks_at_a_limited_number_of_broker_names(monkeypatch, select):
    monkeypatch.setattr(queries, "SLICE_NAMES", 100)
    world = World()
    topics = [f"T{number}" for number in range(40)]
    for number in range(60):
        world.register(header(f"broker-{number}", f"10.0.1.{number}:1"), body(topics), channel(number))
        world.do(ChangeWritePerm(f"broker-{number}", Cause.WIPE_WRITE_PERM))
    work = names_in_each_slice(monkeypatch, lambda: select(world.tables))
    assert sum(work) == len(topics) * 60
    assert max(work) <= 100 + 59
