"""A restart of the name server between a real broker and real clients: who asks at once gets the route."""

import pytest

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import route
from tests.interop.servers import JAVA_UNDER_TEST, Namekeeper
from tests.support.java.servers import JavaBroker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(
        JAVA_UNDER_TEST, reason="Java's name server forgets its routes (docs/compatibility.md)"
    ),
]

TOPIC = "restarted"
ROUNDS = 3


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "kill -9"])
def test_a_new_producer_and_consumer_find_the_broker_at_once(kill):
    """They hold no route, and ask before the broker has registered again."""
    with (
        Namekeeper() as server,
        JavaBroker("5.5.0", [server.address], "broker-restarted", "cluster-restarted"),
    ):
        client = JavaClient("5.5.0", server.address)
        assert len(numbers(client.exchange(TOPIC, "group-restarted", 4), "received")) == 4
        before = route(server.address, TOPIC)
        assert before is not None
        for _ in range(ROUNDS):
            server.restart(kill=kill)
            assert route(server.address, TOPIC) == before
        events = client.exchange(TOPIC, f"group-after-{kill}", 4)
        assert sorted(numbers(events, "sent")) == [0, 1, 2, 3]
        assert len(numbers(events, "received")) >= 4
