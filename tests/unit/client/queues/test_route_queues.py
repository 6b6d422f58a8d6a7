import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.route_queues import (
    MAX_QUEUES,
    NO_BROKER,
    TopicPublishInfo,
    cap_default_topic_queues,
    check_queue_count,
    mock_broker_name,
    static_endpoints,
    topic_publish_info,
    topic_subscribe_info,
)
from namekeeper.errors import RouteDataError
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.perm import Perm
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from tests.support.system.errors import assert_no_error


def test_as_many_as_the_limit_are_taken():
    assert_no_error(check_queue_count, "t", MAX_QUEUES, "it")


def test_more_are_refused_by_name():
    with pytest.raises(RouteDataError, match=r"route of topic 't': the lot makes 1000001 queues") as caught:
        check_queue_count("t", MAX_QUEUES + 1, "the lot")
    assert caught.value.topic == "t"


def hosts(*infos: TopicQueueMappingInfo) -> list[str]:
    """Return the broker names by scope and logical queue id."""
    found = static_endpoints("t", static_route(*infos))
    return [found[queue] for queue in sorted(found)]


def static_route(*infos: TopicQueueMappingInfo) -> TopicRouteData:
    return TopicRouteData(topic_queue_mapping_by_broker={info.bname: info for info in infos})


def info(bname: str, *ids: int, epoch: int = 1, total: int = 4, scope: str = "__global__"):
    return TopicQueueMappingInfo(bname, dict.fromkeys(ids, 0), epoch=epoch, total_queues=total, scope=scope)


@pytest.mark.parametrize("mapping", [None, {}])
def test_other_topics_have_none(mapping):
    assert static_endpoints("t", TopicRouteData(topic_queue_mapping_by_broker=mapping)) == {}


def test_each_logical_queue_has_its_broker():
    found = static_endpoints("t", static_route(info("a", 0, 1, total=3), info("b", 2, total=3)))
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
        static_endpoints("t", static_route(info("a", total=2**31 - 1)))


RW = Perm.READ | Perm.WRITE
names = st.sampled_from(["broker-a", "broker-b", "broker-c", "broker-d"])
queue_datas = st.builds(QueueData, names, st.integers(0, 7), st.integers(0, 5), st.just(0), st.integers(0, 5))
broker_datas = st.builds(
    BrokerData, st.just("c"), names, st.dictionaries(st.integers(0, 2), st.just("10.0.0.1:10911"))
)
routes = st.builds(
    TopicRouteData,
    broker_datas=st.lists(broker_datas, unique_by=lambda broker: broker.broker_name),
    queue_datas=st.lists(queue_datas, unique_by=lambda queues: queues.broker_name),
)


def queues(name: str, *, perm: int = RW, read: int = 2, write: int = 2) -> QueueData:
    return QueueData(name, perm, read, 0, write)


def broker(name: str, *ids: int) -> BrokerData:
    return BrokerData("c", name, {number: f"10.0.0.{number}:10911" for number in ids})


def route(*rows: QueueData, brokers: list[BrokerData], **others) -> TopicRouteData:
    return TopicRouteData(broker_datas=brokers, queue_datas=list(rows), **others)


def short(found) -> list[tuple[str, int]]:
    return [(queue.broker_name, queue.queue_id) for queue in found]


def test_write_queues_of_every_broker_by_name():
    both = route(
        queues("b", write=1), queues("a", write=2, read=9), brokers=[broker("a", 0), broker("b", 0, 1)]
    )
    info = topic_publish_info("t", both)
    assert short(info.message_queues) == [("a", 0), ("a", 1), ("b", 0)]
    assert all(queue.topic == "t" for queue in info.message_queues)
    assert (info.order_topic, info.has_topic_router_info, info.ok, info.route) == (False, True, True, both)


@pytest.mark.parametrize(
    ("row", "brokers"),
    [
        (queues("a", perm=Perm.READ), [broker("a", 0)]),
        (queues("a"), [broker("a", 1, 2)]),
        (queues("a"), [broker("b", 0)]),
        (queues("a"), []),
        (queues("a", write=0), [broker("a", 0)]),
        (queues("a", write=-1), [broker("a", 0)]),
        (queues("a"), [broker("a", 1), broker("a", 0)]),
    ],
    ids=[
        "wiped",
        "no master",
        "other broker",
        "no broker",
        "no queues",
        "negative",
        "second row has the master",
    ],
)
def test_a_broker_without_master_or_permission_is_not_written_to(row, brokers):
    info = topic_publish_info("t", route(row, brokers=brokers))
    assert (info.message_queues, info.ok, info.has_topic_router_info) == ((), False, True)


def test_nothing_is_known_at_first():
    info = TopicPublishInfo()
    assert (info.order_topic, info.has_topic_router_info, info.ok, info.route) == (False, False, False, None)


def test_an_order_configuration_alone_decides():
    info = topic_publish_info("t", route(queues("c"), brokers=[broker("c", 0)], order_topic_conf="b:2;a:1;;"))
    assert short(info.message_queues) == [("b", 0), ("b", 1), ("a", 0)]
    assert info.order_topic


def test_an_empty_order_configuration_is_none():
    plain = route(queues("a", write=1), brokers=[broker("a", 0)], order_topic_conf="")
    assert not topic_publish_info("t", plain).order_topic
    assert short(topic_publish_info("t", plain).message_queues) == [("a", 0)]


@pytest.mark.parametrize(
    ("conf", "item"),
    [
        ("a", "'a'"), ("a:1;b", "'b'"), ("a:1;;b:1", "''"), (";a:1", "''"), ("a:", "'a:'"), ("a: 1", "'a: 1'"),
        ("a:x", "'a:x'"), ("a:99999999999", "'a:99999999999'"), ("x" * 9_000, "'" + "x" * 80 + "'"),
    ],
)  # fmt: skip
def test_a_malformed_order_configuration_names_topic_and_item(conf, item):
    with pytest.raises(RouteDataError) as caught:
        topic_publish_info("orders", route(brokers=[], order_topic_conf=conf))
    assert caught.value.topic == "orders"
    assert f"route of topic 'orders': orderTopicConf has an item {item} where" in str(caught.value)


@pytest.mark.parametrize(
    "claims",
    [
        route(brokers=[], order_topic_conf="a:2000000000"),
        route(brokers=[], order_topic_conf="a:999999;b:2"),
        route(queues("a", write=2**31 - 1, read=2**31 - 1), brokers=[broker("a", 0)]),
    ],
)
def test_a_route_can_t_fill_the_memory(claims):
    with pytest.raises(RouteDataError, match=r"queues; more than 1000000 can't be true"):
        topic_publish_info("t", claims)


def test_nor_can_what_consumers_read():
    with pytest.raises(RouteDataError, match="the read queues of broker 'a'"):
        topic_subscribe_info("t", route(queues("a", read=2**31 - 1), brokers=[]))


def test_logical_queues_of_a_static_topic_by_id():
    mapping = {
        "b": TopicQueueMappingInfo("b", {1: 0}, epoch=1, total_queues=2),
        "a": TopicQueueMappingInfo("a", {0: 0}, epoch=1, total_queues=2),
    }
    static = route(queues("a"), brokers=[broker("a", 0)], topic_queue_mapping_by_broker=mapping)
    logical = [("__syslo__global__", 0), ("__syslo__global__", 1)]
    assert short(topic_publish_info("t", static).message_queues) == logical
    assert short(sorted(topic_subscribe_info("t", static))) == logical


@pytest.mark.parametrize("conf", ["", "a:1"])
def test_a_mapping_counts_for_producers_only_without_order_configuration(conf):
    mapping = {"a": TopicQueueMappingInfo("a", {0: 0}, total_queues=3)}
    static = route(
        queues("a", write=1),
        brokers=[broker("a", 0)],
        order_topic_conf=conf,
        topic_queue_mapping_by_broker=mapping,
    )
    assert short(topic_publish_info("t", static).message_queues) == [("a", 0)]
    assert len(topic_subscribe_info("t", static)) == 3


def test_consumers_read_from_slaves_and_ignore_the_order_configuration():
    read = route(
        queues("a", read=2, write=9),
        queues("b", perm=Perm.WRITE),
        brokers=[broker("a", 1)],
        order_topic_conf="c:1",
    )
    assert topic_subscribe_info("t", read) == {MessageQueue("t", "a", 0), MessageQueue("t", "a", 1)}


@given(routes)
def test_what_is_written_to_has_a_master_and_its_permission(any_route):
    masters = {broker.broker_name for broker in any_route.broker_datas if 0 in broker.broker_addrs}
    expected = {
        row.broker_name: row.write_queue_nums
        for row in any_route.queue_datas
        if row.perm & Perm.WRITE and row.broker_name in masters and row.write_queue_nums
    }
    found = topic_publish_info("t", any_route).message_queues
    assert {name: [queue.queue_id for queue in found if queue.broker_name == name] for name in expected} == {
        name: list(range(nums)) for name, nums in expected.items()
    }
    assert list(found) == sorted(set(found))


def test_a_new_topic_gets_the_template_s_read_queues_up_to_the_producer_s_number():
    template = route(queues("a", read=8, write=16), queues("b", read=2, write=1), brokers=[broker("a", 0)])
    capped = cap_default_topic_queues(template, 4)
    assert capped.queue_datas == [queues("a", read=4, write=4), queues("b", read=2, write=2)]
    assert capped.broker_datas == template.broker_datas
    assert template.queue_datas[0].write_queue_nums == 16
