import pytest
from msgspec.structs import replace

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.route_diff import route_events
from namekeeper.client.route_events import (
    PublishQueuesChanged,
    RouteAppeared,
    RouteChanged,
    SubscribeQueuesChanged,
)
from namekeeper.errors import RouteDataError
from namekeeper.model.topic import QueueData
from tests.unit.client.world import route

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
