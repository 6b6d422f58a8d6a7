import pytest
from msgspec.structs import replace

from namekeeper.client.groups import Consumer, Producer
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.tables import ClientTables, FindBrokerResult
from namekeeper.client.subscription import SubscriptionData
from namekeeper.errors import RouteDataError
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from tests.unit.client.world import broker, queues, route


async def never(topic, *, is_default=False, producer=None):
    raise AssertionError


@pytest.fixture
def tables() -> ClientTables:
    return ClientTables()


def producer(tables: ClientTables, group: str = "P") -> Producer:
    return tables.producer_table.setdefault(group, Producer(group, never))


def consumer(tables: ClientTables, *topics: str, group: str = "G") -> Consumer:
    made = tables.consumer_table.setdefault(group, Consumer(group, never, has_retry_topic=False))
    made.subscription.update({topic: SubscriptionData(topic) for topic in topics})
    return made


class TestUpdate:
    def test_a_new_route_fills_every_table(self, tables):
        first, second, reader = producer(tables), producer(tables, "P2"), consumer(tables, "T")
        other = consumer(tables, "U", group="G2")
        given = TopicRouteData([broker("a", {0: "a:1", 1: "a:2"}, cluster="C1")], [queues("a", 2)])
        assert tables.update("T", given)
        expected = tuple(MessageQueue("T", "a", n) for n in range(2))
        assert tables.topic_route_table == {"T": given}
        assert tables.broker_addr_table == {"a": {0: "a:1", 1: "a:2"}}
        assert tables.broker_cluster_table == {"a": "C1"}
        assert first.topic_publish_info_table["T"].message_queues == expected
        assert second.topic_publish_info_table["T"].message_queues == expected
        assert reader.topic_subscribe_info_table == {"T": frozenset(expected)}
        assert other.topic_subscribe_info_table == {}

    def test_the_same_route_changes_nothing_in_any_order(self, tables):
        producer(tables)
        assert tables.update("T", route("a", "b"))
        assert not tables.update("T", route("b", "a"))
        assert tables.topic_route_table["T"] == route("a", "b")

    def test_who_comes_later_gets_a_route_that_did_not_change(self, tables):
        tables.update("T", route())
        reader = consumer(tables, "T")
        assert tables.is_need_update("T")
        assert tables.update("T", tables.topic_route_table["T"])
        assert reader.topic_subscribe_info_table
        writer = producer(tables)
        assert tables.update("T", route())
        assert writer.topic_publish_info_table["T"].ok
        assert not tables.is_need_update("T")

    def test_addresses_of_a_broker_are_replaced_as_a_whole(self, tables):
        tables.update("T", TopicRouteData([broker("a", {0: "a:1", 1: "a:2"})], [queues("a")]))
        tables.update("T", TopicRouteData([broker("a", {1: "a:2"})], [queues("a")]))
        assert tables.broker_addr_table == {"a": {1: "a:2"}}

    def test_a_route_from_which_no_queues_follow_changes_nothing(self, tables):
        tables.update("T", route("a"))
        with pytest.raises(RouteDataError):
            tables.update("T", replace(route("b"), order_topic_conf="b:x"))
        assert tables.topic_route_table["T"] == route("a")
        assert "b" not in tables.broker_addr_table

    def test_a_broker_without_an_address_can_be_read_from_by_nobody_and_breaks_nothing(self, tables):
        writer = producer(tables)
        tables.update("T", TopicRouteData([broker("a", {})], [queues("a"), queues("unnamed")]))
        assert not writer.topic_publish_info_table["T"].ok
        assert tables.find_broker_address_in_publish("a") is None
        assert tables.find_broker_address_in_subscribe("a") is None
        assert tables.find_broker_address_in_subscribe("unnamed") is None

    def test_a_static_topic_has_the_broker_behind_each_logical_queue(self, tables):
        mapping = {"a": TopicQueueMappingInfo("a", {0: 0}, topic="T", total_queues=2)}
        tables.update("T", replace(route("a"), topic_queue_mapping_by_broker=mapping))
        (first, second) = sorted(tables.topic_end_points_table["T"])
        assert tables.broker_name_of(first) == "a"
        assert tables.broker_name_of(second) == "__syslo__none__"
        assert tables.broker_name_of(MessageQueue("T2", "b", 0)) == "b"


def test_topics_to_keep_fresh_are_those_of_consumers_and_producers(tables):
    consumer(tables, "A", "B")
    tables.update("T", route())
    assert list(tables.topics()) == ["A", "B"]
    producer(tables)
    tables.update("T", route(count=8))
    assert list(tables.topics()) == ["A", "B", "T"]


class TestOfflineBrokers:
    def test_what_no_route_names_is_forgotten(self, tables):
        tables.update("T", TopicRouteData([broker("a", {0: "a:1", 1: "a:2"}), broker("b")], [queues("a")]))
        tables.broker_version_table["b"] = {"b:10911": 513}
        assert tables.clean_offline_broker() == []
        tables.topic_route_table["T"] = TopicRouteData([broker("a", {0: "a:1"})], [queues("a")])
        assert sorted(tables.clean_offline_broker()) == ["a:2", "b:10911"]
        assert tables.broker_addr_table == {"a": {0: "a:1"}}
        assert tables.broker_cluster_table == {"a": "C"}
        assert tables.broker_version_table == {}

    def test_a_broker_that_another_route_names_stays(self, tables):
        tables.update("T", route("a"))
        tables.update("U", route("a", "b"))
        tables.update("T", route("b"))
        assert tables.clean_offline_broker() == []


class TestAddresses:
    @pytest.mark.parametrize(
        ("broker_id", "only", "expected"),
        [
            (0, False, ("a:0", False)),
            (2, False, ("a:2", True)),
            (1, False, ("a:2", True)),
            (1, True, ("a:2", True)),
            (7, False, ("a:0", False)),
            (7, True, None),
        ],
    )
    def test_to_consume_from(self, tables, broker_id, only, expected):
        tables.update("T", TopicRouteData([broker("a", {0: "a:0", 2: "a:2"})], [queues("a")]))
        found = tables.find_broker_address_in_subscribe("a", broker_id, only_this_broker=only)
        assert (found and (found.broker_addr, found.slave)) == expected

    def test_without_a_master_a_slave_is_taken(self, tables):
        tables.update("T", TopicRouteData([broker("a", {3: "a:3"})], [queues("a")]))
        tables.broker_version_table["a"] = {"a:3": 513}
        assert tables.find_broker_address_in_subscribe("a") == FindBrokerResult("a:3", True, 513)
        assert tables.find_broker_address_in_subscribe("a", only_this_broker=True) is None
        assert tables.find_broker_address_in_publish("a") is None

    def test_to_publish_to_is_the_master(self, tables):
        tables.update("T", TopicRouteData([broker("a", {0: "a:0", 2: "a:2"})], [queues("a")]))
        assert tables.find_broker_address_in_publish("a") == "a:0"
        assert tables.find_broker_address_in_publish("b") is None
