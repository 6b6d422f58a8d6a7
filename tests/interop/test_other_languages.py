"""Clients in C++, Go and Node find a Java broker by routes of the name server under test."""

import os

import pytest

from tests.interop.clients import JavaClient
from tests.interop.other_languages import CLIENTS, Client
from tests.interop.servers import NameServer
from tests.support.java.servers import JavaBroker

# Building the Go client for the first time takes a minute or two.
pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.mark.parametrize("broker", ["5.5.0"], indirect=True)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.language)
def test_messages_of_a_client_in_another_language_go_there_and_back(
    client: Client, broker: JavaBroker, name_server: NameServer
):
    if missing := client.missing():
        (pytest.fail if os.environ.get("NAMEKEEPER_REQUIRE_JAVA") == "1" else pytest.skip)(missing)
    topic = f"from-{client.language}"
    JavaClient(broker.version, name_server.address).admin(
        f"updateTopic -b {broker.address} -t {topic} -r 4 -w 4"
    )
    events = client.exchange(name_server.address, topic, f"group-{client.language}", 8)
    assert [row["number"] for row in events if row["event"] == "sent"] == list(range(8))
    assert sorted(row["number"] for row in events if row["event"] == "received") == list(range(8))
