"""Static topics of the 5.x line: logical queues that stay the same while brokers come and go."""

import pytest

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import route
from tests.interop.servers import NameServer
from tests.support.java.servers import FIVE, JavaBroker

pytestmark = [pytest.mark.interop, pytest.mark.slow]

LOGICAL = "__syslo__global__"
"""The broker name under which a client sees the logical queues of the default scope."""


@pytest.mark.parametrize("broker", FIVE, indirect=True)
def test_messages_go_through_the_logical_queues_of_a_static_topic(
    broker: JavaBroker, name_server: NameServer
):
    topic = f"static-{broker.name}"
    client = JavaClient(broker.version, name_server.address)
    client.admin(f"updateStaticTopic -b {broker.name} -t {topic} -qn 6")
    found = route(name_server.address, topic)
    assert found
    mapping = found.mappings[broker.name]
    assert (mapping["totalQueues"], mapping["bname"], mapping["scope"]) == (6, broker.name, "__global__")
    assert mapping["currIdMap"] == {str(number): number for number in range(6)}

    logical = [(LOGICAL, number) for number in range(6)]
    assert client.queues(topic) == (logical, logical)
    events = client.exchange(topic, "group-static", 6)
    assert sorted(numbers(events, "received")) == list(range(6))
