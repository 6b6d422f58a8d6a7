"""What would be left of the topics if brokers were gone."""

from msgspec import structs

from namekeeper.admin.snapshot import NamesrvSnapshot
from namekeeper.admin.what_if import Gone, TopicLeft, brokers_in_zones, what_if
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from tests.unit.admin.fake_namesrv import A, broker, queues

BROKERS = {
    "broker-a": broker("c", "broker-a", _0="10.0.0.1:10911", _1="10.0.0.2:10911"),
    "broker-b": broker("c", "broker-b", _0="10.0.0.3:10911"),
    "broker-c": broker("c", "broker-c", _1="10.0.0.4:10911"),
}


def snapshot(brokers: dict[str, BrokerData] = BROKERS, **topics: list) -> NamesrvSnapshot:
    routes = {topic: TopicRouteData([], rows) for topic, rows in topics.items()}
    return NamesrvSnapshot(A, brokers=brokers, routes=routes)


def without(found: NamesrvSnapshot, *names: str, limit: float = 1.5):
    return what_if(found, Gone(frozenset(names)), load_limit=limit)


def test_a_topic_of_the_broker_alone_could_not_be_written():
    found = without(snapshot(T=[queues("broker-a")], Other=[queues("broker-b")]), "broker-a")
    assert found.unwritable == [TopicLeft("T", ["broker-a"], [])]
    assert (found.topics, found.on_one_broker) == (2, [])
    assert found.gone == ["10.0.0.1:10911", "10.0.0.2:10911"]


def test_a_topic_of_two_brokers_would_hang_on_the_other():
    found = without(snapshot(T=[queues("broker-a"), queues("broker-b")]), "broker-a")
    assert found.on_one_broker == [TopicLeft("T", ["broker-a", "broker-b"], ["broker-b"])]
    assert found.unwritable == []


def test_what_cannot_be_written_today_is_not_lost():
    topics = {
        "ReadOnly": [queues("broker-a", perm=4)],
        "NoQueues": [queues("broker-a", nums=0)],
        "NoMaster": [queues("broker-c")],
    }
    found = without(snapshot(**topics), "broker-a", "broker-c")
    assert (found.topics, found.unwritable) == (0, [])


def test_a_listed_topic_without_a_route_counts_as_not_written():
    found = without(NamesrvSnapshot(A, brokers=BROKERS, routes={"T": None}), "broker-a")
    assert (found.topics, found.unwritable) == (0, [])


def test_without_its_master_a_broker_name_cannot_be_written():
    found = what_if(
        snapshot(T=[queues("broker-a")]), Gone(addresses=frozenset({"10.0.0.1:10911"})), load_limit=1.5
    )
    assert [each.topic for each in found.unwritable] == ["T"]
    assert found.gone == ["10.0.0.1:10911"]


def test_without_a_slave_nothing_changes_for_producers():
    found = what_if(
        snapshot(T=[queues("broker-a")]), Gone(addresses=frozenset({"10.0.0.2:10911"})), load_limit=1.5
    )
    assert (found.unwritable, found.on_one_broker, found.overloaded) == ([], [], {})


def test_load_is_the_share_of_queues_over_all_topics():
    topics = {"T": [queues("broker-a", 6), queues("broker-b", 2)], "U": [queues("broker-b")]}
    found = without(snapshot(**topics), "broker-a")
    assert found.overloaded == {"broker-b": 1.6}  # 1/4 of T and all of U; then all of both


def test_a_load_at_the_limit_is_not_named():
    topics = {"T": [queues("broker-a", 6), queues("broker-b", 2)], "U": [queues("broker-b")]}
    assert without(snapshot(**topics), "broker-a", limit=1.6).overloaded == {}


def test_brokers_of_a_zone_are_found_by_their_zone_name():
    zoned = {
        name: structs.replace(data, zone_name="z1") for name, data in BROKERS.items() if name != "broker-b"
    }
    assert brokers_in_zones({**BROKERS, **zoned}, {"z1"}) == {"broker-a", "broker-c"}
