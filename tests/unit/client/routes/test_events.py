import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.events import (
    PublishQueuesChanged,
    RouteAppeared,
    RouteChanged,
    RouteEvent,
    RouteVanished,
    SubscribeQueuesChanged,
    coalesce,
    is_route_changed,
    kind_of,
    route_events,
)
from namekeeper.errors import RouteDataError
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from tests.unit.client.queues.test_route_queues import routes
from tests.unit.client.world import route

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


Q = tuple(MessageQueue("T", "broker-a", n) for n in range(4))


def events(old, new, **more):
    return list(route_events("T", old, new, **more))


def test_a_first_route_appears_with_its_queues():
    assert events(None, route()) == [
        RouteAppeared("T", route()),
        PublishQueuesChanged("T", (), Q),
        SubscribeQueuesChanged("T", frozenset(), frozenset(Q)),
    ]


def test_a_first_route_without_queues_tells_of_none():
    assert events(None, route(perm=0), is_template=True) == [
        RouteAppeared("T", route(perm=0), is_template=True)
    ]


def test_the_same_route_says_nothing():
    assert events(route("a", "b"), route("b", "a")) == []


def test_only_the_queues_that_changed_are_told_of():
    read_only = route(perm=4)
    assert events(route(), read_only) == [
        RouteChanged("T", route(), read_only),
        PublishQueuesChanged("T", Q, ()),
    ]
    more_to_read = replace(route(), queue_datas=[QueueData("broker-a", 6, 8, 0, 4)])
    kinds = [type(event) for event in events(route(), more_to_read)]
    assert kinds == [RouteChanged, SubscribeQueuesChanged]
    renamed = replace(route(), filter_server_table={"a": ["b"]})
    assert events(route(), renamed) == [RouteChanged("T", route(), renamed)]


def test_a_route_that_comes_back_appears_again_and_its_queues_only_if_they_differ():
    old = route()
    assert events(old, old, was_absent=True) == [RouteAppeared("T", old)]
    assert events(old, route(perm=4), was_absent=True) == [
        RouteAppeared("T", route(perm=4)),
        PublishQueuesChanged("T", Q, ()),
    ]


def test_a_route_from_which_no_queues_follow_is_an_error():
    with pytest.raises(RouteDataError):
        events(route(), replace(route(), order_topic_conf="x"))


R1, R2, R3 = route(count=1), route(count=2), route(count=3)
QUEUES_OF_B = tuple(MessageQueue("T", "b", n) for n in range(4))


def vanished(last=R1, *, old=R1):
    return RouteVanished("T", old, last, ("a",))


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        (RouteAppeared("T", R1), RouteChanged("T", R1, R2), RouteAppeared("T", R2)),
        (RouteAppeared("T", R1), vanished(R1), vanished(R1, old=None)),
        (vanished(R1, old=None), RouteAppeared("T", R2), RouteAppeared("T", R2)),
        (RouteChanged("T", R1, R2), RouteChanged("T", R2, R3), RouteChanged("T", R1, R3)),
        (RouteChanged("T", R1, R2), RouteChanged("T", R2, R1), None),
        (RouteChanged("T", R1, R2), vanished(R2, old=R2), vanished(R2)),
        (vanished(R2), RouteAppeared("T", R2), RouteChanged("T", R1, R2)),
        (vanished(R1), RouteAppeared("T", R1), None),
        (vanished(R1), RouteAppeared("T", R2), RouteChanged("T", R1, R2)),
        (RouteAppeared("T", R1, is_template=True), RouteChanged("T", R1, R2), RouteAppeared("T", R2)),
    ],
)
def test_two_events_of_a_route_amount_to_one_or_none(first, then, expected):
    assert coalesce(first, then) == expected


@pytest.mark.parametrize(
    ("kind", "make"), [(PublishQueuesChanged, tuple), (SubscribeQueuesChanged, frozenset)]
)
def test_queues_go_from_the_first_to_the_last(kind, make):
    first, second, third = make(QUEUES_OF_B[:1]), make(QUEUES_OF_B[:2]), make(QUEUES_OF_B)
    merged = coalesce(kind("T", first, second), kind("T", second, third))
    assert merged == kind("T", first, third)
    assert coalesce(kind("T", first, second), kind("T", second, first)) is None


def test_events_of_two_kinds_are_not_merged():
    events = [
        RouteAppeared("T", R1),
        PublishQueuesChanged("T", (), QUEUES_OF_B),
        SubscribeQueuesChanged("T", frozenset(), frozenset(QUEUES_OF_B)),
    ]
    assert len(set(map(kind_of, events))) == 3
    for first in events:
        for then in events:
            if first is not then:
                with pytest.raises(TypeError):
                    coalesce(first, then)


def follow(state, event: RouteEvent):
    """What a reader holds after an event: (route, is it there)."""
    if isinstance(event, RouteVanished):
        return (event.last, False)
    return (event.route if isinstance(event, RouteAppeared) else event.new, True)


@given(st.lists(st.sampled_from(["change", "vanish", "appear"]), max_size=12), st.data())
def test_a_reader_of_the_merged_event_holds_what_a_reader_of_all_holds(steps, data):
    """Begins at what the reader knows, and merges everything that can follow."""
    state = begun = (R1, data.draw(st.booleans()))
    pending: RouteEvent | None = None
    for step in steps:
        current, is_there = state
        new = data.draw(st.sampled_from([R1, R2, R3]))
        if step == "vanish" and is_there:
            event: RouteEvent = vanished(current, old=current)
        elif step == "change" and is_there and new != current:
            event = RouteChanged("T", current, new)
        elif step == "appear" and not is_there:
            event = RouteAppeared("T", new)
        else:
            continue
        state = follow(state, event)
        merged = event if pending is None else coalesce(pending, event)
        assert merged is None or not isinstance(merged, (PublishQueuesChanged, SubscribeQueuesChanged))
        pending = merged
        held = begun if pending is None else follow(begun, pending)
        assert held == state
