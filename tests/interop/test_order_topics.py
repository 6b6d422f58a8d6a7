"""Order topics: what an operator writes into the name server reaches producers, consumers and brokers."""

import itertools

import pytest

from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import NameServer
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]


def test_an_order_topic_keeps_the_order_of_each_key(broker: JavaBroker, name_server: NameServer):
    topic = f"ordered-{broker.name}"
    client = JavaClient(broker.version, name_server.address)
    client.admin(f"updateTopic -b {broker.address} -t {topic} -r 4 -w 4 -o true")
    found = route(name_server.address, topic)
    assert found
    assert found.order == f"{broker.name}:4"

    client.produce_ordered(topic, 12, keys=3)
    received = client.consume(topic, "group-ordered", 12, orderly=True)
    by_key = {
        key: [row["number"] for row in rows]
        for key, rows in itertools.groupby(
            sorted(received, key=lambda row: row["key"]), key=lambda row: row["key"]
        )
    }
    assert by_key == {"0": [0, 3, 6, 9], "1": [1, 4, 7, 10], "2": [2, 5, 8, 11]}


def test_the_order_configuration_decides_to_how_many_queues_a_producer_publishes(
    broker: JavaBroker, name_server: NameServer
):
    topic = f"few-{broker.name}"
    client = JavaClient(broker.version, name_server.address)
    put = f"updateOrderConf -m put -t {topic} -v {broker.name}:2"
    _, done, shown = client.admin(
        f"updateTopic -b {broker.address} -t {topic} -r 4 -w 4", put, f"updateOrderConf -m get -t {topic}"
    )
    assert "success" in done
    assert f"{broker.name}:2" in shown
    publish, subscribe = client.queues(topic)
    assert publish == [(broker.name, 0), (broker.name, 1)]
    assert len(subscribe) == 4

    client.admin(f"updateOrderConf -m delete -t {topic}")
    found = route(name_server.address, topic)
    assert found
    assert not found.order


def test_a_broker_learns_from_its_registration_which_topics_are_ordered(
    broker: JavaBroker, name_server: NameServer
):
    topic, trigger = f"ordered-{broker.name}", f"trigger-{broker.name}"
    JavaClient(broker.version, name_server.address).admin(
        f"updateTopic -b {broker.address} -t {topic} -r 1 -w 1",
        f"updateOrderConf -m put -t {topic} -v {broker.name}:1",
        f"updateTopic -b {broker.address} -t {trigger} -r 1 -w 1",  # makes the broker register, and read the answer
    )
    eventually(
        lambda: broker.topics()[topic]["order"] is True, within=60, what="an ordered topic at the broker"
    )
