"""A single topic is the first that a name server hears of a broker: it is taken, and the others follow."""

import contextlib
import time
from itertools import cycle

import pytest

from tests.interop.routes import assert_routes_match, topics
from tests.interop.servers import JAVA_UNDER_TEST, Namekeeper
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import eventually, free_port
from tests.support.wire.ask import ask

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(JAVA_UNDER_TEST, reason="Java refuses it, or never asks for the others (trap T10)"),
]

_UPDATE_AND_CREATE_TOPIC = 17
SPLIT = {"enableSplitRegistration": "true", "splitRegistrationSize": "3"}
ASKS_FIRST = {"forceRegister": "false", "registerNameServerPeriod": "60000"}
ROUNDS = 5


CASES = [
    pytest.param("4.8.0", ASKS_FIRST, id="4.8.0"),
    pytest.param("5.5.0", ASKS_FIRST, id="5.5.0"),
    pytest.param("5.3.3", ASKS_FIRST | SPLIT, id="split-5.3.3"),
    pytest.param("5.5.0", ASKS_FIRST | SPLIT, id="split-5.5.0"),
]


def create_topic(broker: JavaBroker, topic: str, queues: int) -> None:
    """Create or change a topic at a broker, which registers it by itself."""
    answer = ask(
        broker.address, _UPDATE_AND_CREATE_TOPIC, topic=topic, defaultTopic="TBW102", readQueueNums=str(queues),
        writeQueueNums=str(queues), perm="6", topicFilterType="SINGLE_TAG", topicSysFlag="0", order="false",
    )  # fmt: skip
    assert answer.code == 0, answer


def first_topics(server: Namekeeper, broker: JavaBroker, topic: str) -> set[str]:
    """Change a topic until the name server has heard of the broker; return the topics that it knows then."""
    for queues in cycle(range(1, 9)):
        create_topic(broker, topic, queues)
        if known := topics(server.address):
            return known
        time.sleep(0.1)
    raise AssertionError


@pytest.mark.parametrize(("version", "properties"), CASES)
def test_a_name_server_that_hears_of_one_topic_first_gets_the_others_too(version, properties):
    port = free_port()
    with contextlib.ExitStack() as opened:
        early = opened.enter_context(Namekeeper())
        addresses = [early.address, f"127.0.0.1:{port}"]
        broker = JavaBroker(version, addresses, name="alone", properties=properties)
        broker.start(opened)
        eventually(lambda: broker.registered_at(early.address), within=60, what="a registration")
        for _ in range(ROUNDS):
            with Namekeeper({"restoreRoutes": "false"}, port=port) as late:
                if first_topics(late, broker, "changed") == {"changed"}:
                    eventually(
                        lambda: assert_routes_match(late.address, broker) is None, within=90, what="all"
                    )
                    return
    pytest.fail("the timer of the broker was faster each time")
