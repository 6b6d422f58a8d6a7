"""Messages of real producers reach real consumers, of every release, by routes of the name server under test."""

import pytest

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import assert_routes_match, route
from tests.interop.servers import NameServer
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

OTHER_LINE = {"4.8.0": "5.5.0", "4.9.7": "5.3.3", "5.3.3": "4.9.7", "5.5.0": "4.8.0"}
QUEUES = 4  # of a topic that a broker creates by itself


def test_messages_of_a_producer_reach_a_consumer_by_the_queues_that_the_broker_registered(
    broker: JavaBroker, name_server: NameServer
):
    client = JavaClient(broker.version, name_server.address)
    topic = f"exchange-{broker.name}"
    assert client.queues(topic) == ([], [])

    events = client.exchange(topic, "group-exchange", 8)
    assert numbers(events, "sent") == list(range(8))
    assert sorted(numbers(events, "received")) == list(range(8))
    assert {row["broker"] for row in events} == {broker.name}

    expected = [(broker.name, number) for number in range(QUEUES)]
    assert client.queues(topic) == (expected, expected)


def test_every_topic_of_a_broker_is_routed_with_its_own_queue_numbers_and_permission(
    broker: JavaBroker, name_server: NameServer
):
    eventually(
        lambda: assert_routes_match(name_server.address, broker) is None, within=30, what="equal topics"
    )


def test_a_client_of_the_other_line_gets_its_messages_through(broker: JavaBroker, name_server: NameServer):
    client = JavaClient(OTHER_LINE[broker.version], name_server.address)
    events = client.exchange(f"other-line-{broker.name}", "group-other-line", 4)
    assert sorted(numbers(events, "received")) == [0, 1, 2, 3]


def test_a_topic_that_nobody_has_is_not_routed(broker: JavaBroker, name_server: NameServer):
    assert route(name_server.address, "never-created") is None
