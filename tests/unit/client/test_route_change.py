"""What counts as a change of a route."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from namekeeper.client.route_change import is_route_changed
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from tests.unit.client.test_publish_info import routes

BROKER = BrokerData("c", "a", {0: "10.0.0.1:10911"})
QUEUES = QueueData("a", 6, 4, 0, 4)
ROUTE = TopicRouteData(broker_datas=[BROKER], queue_datas=[QUEUES])


@pytest.mark.parametrize(("old", "new"), [(None, ROUTE), (ROUTE, None), (None, None)])
def test_a_missing_route_is_a_change(old, new):
    assert is_route_changed(old, new)


@pytest.mark.parametrize(
    "new",
    [
        replace(ROUTE, order_topic_conf=""),
        replace(ROUTE, order_topic_conf="a:4"),
        replace(ROUTE, filter_server_table={"10.0.0.1:10911": ["f"]}),
        replace(ROUTE, topic_queue_mapping_by_broker={}),
        replace(ROUTE, topic_queue_mapping_by_broker={"a": TopicQueueMappingInfo("a")}),
        replace(ROUTE, broker_datas=[]),
        replace(ROUTE, broker_datas=[replace(BROKER, broker_name="b")]),
        replace(ROUTE, broker_datas=[replace(BROKER, broker_addrs={0: "10.0.0.2:10911"})]),
        replace(ROUTE, broker_datas=[replace(BROKER, broker_addrs={1: "10.0.0.1:10911"})]),
        replace(ROUTE, queue_datas=[]),
        replace(ROUTE, queue_datas=[QUEUES, QUEUES]),
        replace(ROUTE, queue_datas=[replace(QUEUES, broker_name="b")]),
        replace(ROUTE, queue_datas=[replace(QUEUES, perm=4)]),
        replace(ROUTE, queue_datas=[replace(QUEUES, read_queue_nums=5)]),
        replace(ROUTE, queue_datas=[replace(QUEUES, write_queue_nums=5)]),
        replace(ROUTE, queue_datas=[replace(QUEUES, topic_sys_flag=1)]),
    ],
)
def test_changes(new):
    assert is_route_changed(ROUTE, new)
    assert is_route_changed(new, ROUTE)


@pytest.mark.parametrize(
    "broker",
    [
        replace(BROKER, cluster="d"),
        replace(BROKER, zone_name="z"),
        replace(BROKER, enable_acting_master=True),
    ],
)
def test_cluster_zone_and_acting_master_are_none(broker):
    assert not is_route_changed(ROUTE, replace(ROUTE, broker_datas=[broker]))


@given(routes, st.randoms(use_true_random=False))
def test_the_order_of_brokers_is_none(route: TopicRouteData, chance: random.Random):
    shuffled = replace(
        route,
        broker_datas=chance.sample(route.broker_datas, len(route.broker_datas)),
        queue_datas=chance.sample(route.queue_datas, len(route.queue_datas)),
    )
    assert not is_route_changed(route, shuffled)


@given(routes, routes)
def test_both_ways_give_one_answer(one, other):
    assert is_route_changed(one, other) == is_route_changed(other, one)
