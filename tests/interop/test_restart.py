"""A restart of the name server between a real broker and real clients: who asks at once gets the route."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.clients import JavaClient, SteadyClient, numbers
from tests.interop.routes import route
from tests.interop.servers import JAVA_UNDER_TEST, Namekeeper
from tests.process.test_restart import BROKERS, Client, fleet, topics_of
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import eventually

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(
        JAVA_UNDER_TEST, reason="Java's name server forgets its routes (docs/compatibility.md)"
    ),
]

TOPIC = "restarted"
ROUNDS = 3
RESTARTS = int(os.environ.get("NAMEKEEPER_RESTARTS", "4"))
"""Ten at night."""


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


@contextlib.contextmanager
def clients_running(
    server: Namekeeper, folder: Path
) -> Iterator[tuple[SteadyClient, Client, subprocess.Popen[bytes]]]:
    """Java's producer and consumer at a broker of Java; it and we look up topics of a fleet of 20 brokers.

    Gives both clients and the process of the fleet.
    """
    with contextlib.ExitStack() as opened:
        brokers = opened.enter_context(fleet(folder, server.address))
        topics = topics_of(server.address)
        opened.enter_context(JavaBroker("5.5.0", [server.address], "broker-steady", "cluster-steady"))
        client = JavaClient("5.5.0", server.address)
        client.produce(TOPIC, 1)  # which makes the topic
        steady = client.steady(TOPIC, "group-steady", topics[0], folder / "steady.txt")
        java = opened.enter_context(steady)
        java.wait(5)
        yield java, opened.enter_context(Client(server.address, topics)), brokers


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "kill -9"])
def test_a_producer_and_a_consumer_work_on_over_restarts(kill, tmp_path):
    with Namekeeper() as server, clients_running(server, tmp_path) as (java, ours, _):
        for _ in range(RESTARTS):
            server.restart(kill=kill)
            java.wait(5)
            ours.wait(20)
        sent = set(numbers(java.events(), "sent"))
        eventually(lambda: sent <= set(numbers(java.events(), "received")), within=120, what="all messages")
        events = java.events()
        assert [event for event in events if event["event"] == "failed"] == []
        looked = {(event["number"], event["status"]) for event in events if event["event"] == "looked"}
        # A server that stops in order refuses lookups; it never gives a part of a route.
        assert {(BROKERS, "")} <= looked <= {(BROKERS, "")} | (set() if kill else {(0, "1")})
        assert {(0, BROKERS)} <= ours.seen.keys() <= {(0, BROKERS)} | (set() if kill else {(1, 0)})


def test_without_it_java_s_client_sees_the_gap(tmp_path):
    """So that the test above can fail."""
    with (
        Namekeeper({"restoreRoutes": "false"}) as server,
        clients_running(server, tmp_path) as (java, ours, brokers),
    ):
        brokers.send_signal(signal.SIGSTOP)  # so that the gap lasts until it is seen
        server.restart()

        def saw_the_gap() -> bool:
            return any(event["event"] == "looked" and event["status"] == "17" for event in java.events())

        eventually(saw_the_gap, within=120, what="a look-up of Java that is answered with 17")
        eventually(lambda: ours.seen[17, 0], within=120, what="one of ours")
