"""Logical queues and the brokers behind them."""

import pytest

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.static_endpoints import NO_BROKER, mock_broker_name, static_endpoints
from namekeeper.errors import RouteDataError
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData


def hosts(*infos: TopicQueueMappingInfo) -> list[str]:
    """Return the broker names by scope and logical queue id."""
    found = static_endpoints("t", route(*infos))
    return [found[queue] for queue in sorted(found)]


def route(*infos: TopicQueueMappingInfo) -> TopicRouteData:
    return TopicRouteData(topic_queue_mapping_by_broker={info.bname: info for info in infos})


def info(bname: str, *ids: int, epoch: int = 1, total: int = 4, scope: str = "__global__"):
    return TopicQueueMappingInfo(bname, dict.fromkeys(ids, 0), epoch=epoch, total_queues=total, scope=scope)


@pytest.mark.parametrize("mapping", [None, {}])
def test_other_topics_have_none(mapping):
    assert static_endpoints("t", TopicRouteData(topic_queue_mapping_by_broker=mapping)) == {}


def test_each_logical_queue_has_its_broker():
    found = static_endpoints("t", route(info("a", 0, 1, total=3), info("b", 2, total=3)))
    assert found == {
        MessageQueue("t", "__syslo__global__", 0): "a",
        MessageQueue("t", "__syslo__global__", 1): "a",
        MessageQueue("t", "__syslo__global__", 2): "b",
    }


def test_the_highest_epoch_counts():
    assert hosts(info("a", 0, epoch=2, total=1), info("b", 0, epoch=1, total=1)) == ["a"]
    assert hosts(info("a", 0, epoch=1, total=1), info("b", 0, epoch=2, total=1)) == ["b"]


def test_of_equal_epochs_the_last_in_the_answer_counts():
    assert hosts(info("b", 0, total=1), info("a", 0, total=1)) == ["a"]


def test_the_largest_total_counts_and_queues_beyond_it_are_not_there():
    assert hosts(info("a", 0, 7, total=2), info("b", epoch=9, total=1)) == ["a", NO_BROKER]


def test_each_scope_has_queues_of_its_own():
    assert hosts(info("a", 0, total=1), info("b", 0, total=1, scope="local")) == ["a", "b"]


def test_names_of_scopes():
    assert mock_broker_name("__global__") == "__syslo__global__"
    assert mock_broker_name("local") == "__syslo__local"


def test_a_mapping_can_t_fill_the_memory():
    with pytest.raises(RouteDataError, match="the mapping of scope '__global__' makes 2147483647 queues"):
        static_endpoints("t", route(info("a", total=2**31 - 1)))
