"""Our client resolves the routes of real Java brokers, through Java's name servers and ours."""

import contextlib

import pytest

from namekeeper.client.blocking import BlockingClient
from namekeeper.client.client_config import ClientConfig
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.events import RouteVanished
from namekeeper.errors import NoNameServerError, NoRouteError
from tests.interop.servers import Namekeeper
from tests.support.java.servers import JavaBroker, JavaNameServer, mqadmin
from tests.support.system.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SOON = 60
TOPIC = "resolved"
NAME = "broker-r"


@pytest.mark.parametrize("version", ["4.8.0", "5.5.0"])
def test_routes_of_a_java_broker_through_both_kinds_of_name_server(version: str):
    with (
        JavaNameServer(version) as java,
        Namekeeper() as ours,
        JavaBroker(version, [java.address, ours.address], NAME) as broker,
    ):
        command = f"updateTopic -n {java.address} -b {broker.address} -t {TOPIC} -r 3 -w 2"
        mqadmin(version, *command.split())
        with contextlib.ExitStack() as opened:
            clients = [
                opened.enter_context(
                    BlockingClient(ClientConfig(namesrv_addr=addr, poll_name_server_interval_ms=200))
                )
                for addr in (java.address, ours.address)
            ]
            for client in clients:
                eventually(lambda client=client: _knows(client), within=SOON, what="the topic")
                assert client.fetch_publish_message_queues(TOPIC) == queues(2)
                assert client.fetch_subscribe_message_queues(TOPIC) == queues(3)
                assert client.find_broker_address(queues(1)[0]) == broker.address
            of_java, of_ours = (client.topic_route(TOPIC) for client in clients)
            assert of_java.queue_datas == of_ours.queue_datas
            assert [found.broker_addrs for found in of_java.broker_datas] == [
                found.broker_addrs for found in of_ours.broker_datas
            ]
            producers = [client.producer("P") for client in clients]
            for producer in producers:  # the broker creates topics, so TBW102 has a route
                assert len(producer.publish_message_queues("not-there-yet")) == 4
                assert producer.publish_message_queues(TOPIC) == queues(2)
            streams = [opened.enter_context(client.events(TOPIC)) for client in clients]
            broker.kill()
            for stream in streams:
                event = stream.next(timeout_seconds=SOON)
                assert isinstance(event, RouteVanished)
            java.stop()
            with pytest.raises(NoNameServerError):
                clients[0].topic_route("never-asked-for")
            for producer in producers:  # nothing that was known is lost
                assert producer.publish_message_queues(TOPIC) == queues(2)


def queues(count: int) -> tuple[MessageQueue, ...]:
    return tuple(MessageQueue(TOPIC, NAME, number) for number in range(count))


def _knows(client: BlockingClient) -> bool:
    with contextlib.suppress(NoRouteError):
        return bool(client.topic_route(TOPIC))
    return False
