"""A route narrowed to a zone (protocol.md 2.1.1)."""

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.route.queries import in_zone


def group(name, zone, addrs=None):
    return BrokerData("c", name, {0: f"{name}:0", 1: f"{name}:1"} if addrs is None else addrs, zone_name=zone)


def route(*groups):
    return TopicRouteData(
        broker_datas=list(groups),
        queue_datas=[QueueData(group.broker_name, 6, 4, 0, 4) for group in groups],
        filter_server_table={addr: ["f:1"] for group in groups for addr in group.broker_addrs.values()},
        order_topic_conf="a:4",
        topic_queue_mapping_by_broker={group.broker_name: TopicQueueMappingInfo("x") for group in groups},
    )


def shown(narrowed):
    names = [group.broker_name for group in narrowed.broker_datas]
    assert [queue.broker_name for queue in narrowed.queue_datas] == names
    assert {addr.split(":")[0] for addr in narrowed.filter_server_table} == set(names)
    return names


def test_brokers_of_the_zone_stay_with_their_queues_and_filter_servers():
    assert shown(in_zone(route(group("a", "east"), group("b", "west")), "east")) == ["a"]


@pytest.mark.parametrize("zone", ["EAST", "East", "east"])
def test_the_case_of_a_zone_does_not_count(zone):
    assert shown(in_zone(route(group("a", "eAsT")), zone)) == ["a"]


def test_a_broker_without_zone_is_in_none():
    assert shown(in_zone(route(group("a", None), group("b", "")), "east")) == []


def test_a_group_without_master_stays_wherever_it_is():
    slaves = group("b", "west", {1: "b:1"})
    assert shown(in_zone(route(group("a", "east"), slaves, group("d", None, {2: "d:2"})), "east")) == [
        "a",
        "b",
        "d",
    ]


def test_what_has_nothing_to_do_with_brokers_stays():
    narrowed = in_zone(route(group("a", "west")), "east")
    assert (narrowed.order_topic_conf, set(narrowed.topic_queue_mapping_by_broker)) == ("a:4", {"a"})


def test_the_route_itself_is_left_alone():
    whole = route(group("a", "east"), group("b", "west"))
    in_zone(whole, "east")
    assert whole == route(group("a", "east"), group("b", "west"))


def test_queues_of_a_name_without_group_stay():
    odd = TopicRouteData([group("a", "west")], [QueueData("a", 6, 4, 0, 4), QueueData("lost", 6, 4, 0, 4)])
    assert [queue.broker_name for queue in in_zone(odd, "east").queue_datas] == ["lost"]


def test_brokers_are_not_compared_with_each_other():
    """Each with all others would take minutes with 18,000 of them."""

    class Alone(BrokerData, frozen=True):
        def __eq__(self, _: object) -> bool:
            pytest.fail("compared")

        __hash__ = None  # type: ignore[assignment]

    groups = [
        Alone("c", name, {0: f"{name}:0"}, zone_name=zone)
        for name, zone in (("a", "east"), ("b", "west"), ("d", "x"))
    ]
    assert shown(in_zone(route(*groups), "east")) == ["a"]
