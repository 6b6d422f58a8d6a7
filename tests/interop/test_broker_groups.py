"""Masters and their slaves: the route names who is there, through stops, crashes and returns."""

import concurrent.futures
import contextlib

import pytest

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import route
from tests.interop.servers import NameServer, name_server_under_test
from tests.support.java.servers import FIVE, VERSIONS, JavaBroker
from tests.support.system.processes import eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SOON = 60
TOPIC = "grouped"
WRITE = 2
_GET_MAX_OFFSET = 30


def addresses(server: NameServer) -> dict[str, dict[int, str]]:
    """Return broker name -> id -> address in the route of the topic."""
    found = route(server.address, TOPIC)
    return found.brokers if found else {}


def stored(broker: JavaBroker) -> int:
    """Return how many messages of the topic a broker holds."""
    offsets = [ask(broker.address, _GET_MAX_OFFSET, topic=TOPIC, queueId=str(queue)) for queue in range(4)]
    return sum(int(answer.fields.get("offset", 0)) for answer in offsets)


def assert_readable_only(client: JavaClient, name: str) -> None:
    """Fail unless a client would consume from the topic's queues and publish to none."""
    assert client.queues(TOPIC) == ([], [(name, queue) for queue in range(4)])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_master_and_its_slave_are_both_routed_and_the_slave_alone_when_the_master_stops(
    version: str, own_server: NameServer
):
    client = JavaClient(version, own_server.address)
    with (
        JavaBroker(version, [own_server.address], "pair") as master,
        JavaBroker(version, [own_server.address], "pair", broker_id=1) as slave,
    ):
        client.produce(TOPIC, 4)
        assert addresses(own_server) == {"pair": {0: master.address, 1: slave.address}}
        eventually(lambda: stored(slave) == 4, within=SOON, what="the messages at the slave")
        if version not in FIVE:  # from 5.0 on a slave takes up to a minute to copy the topics themselves
            eventually(lambda: TOPIC in slave.topics(), within=SOON, what="the topic at the slave")

        master.stop()
        eventually(
            lambda: addresses(own_server) == {"pair": {1: slave.address}}, within=SOON, what="the slave alone"
        )
        assert_readable_only(client, "pair")
        if version not in FIVE:
            assert sorted(numbers(client.consume(TOPIC, "group", 4), "received")) == [0, 1, 2, 3]

        slave.kill()
        eventually(lambda: route(own_server.address, TOPIC) is None, within=SOON, what="no route")


@pytest.mark.parametrize("version", ["4.8.0", "5.5.0"])
def test_two_masters_with_two_slaves_share_a_topic_and_one_pair_may_crash(
    version: str, own_server: NameServer
):
    pairs = {
        name: [JavaBroker(version, [own_server.address], name, broker_id=number) for number in (0, 1)]
        for name in ("left", "right")
    }
    client = JavaClient(version, own_server.address)
    with contextlib.ExitStack() as running, concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(running.enter_context, [*pairs["left"], *pairs["right"]]))
        client.admin(
            *(f"updateTopic -b {master.address} -t {TOPIC} -r 2 -w 2" for master, _ in pairs.values())
        )
        assert addresses(own_server) == {
            name: {0: master.address, 1: slave.address} for name, (master, slave) in pairs.items()
        }
        found = route(own_server.address, TOPIC)
        assert found
        assert found.queues == {"left": (2, 2, 6), "right": (2, 2, 6)}
        events = client.exchange(TOPIC, "group", 8)
        assert {row["broker"] for row in events if row["event"] == "sent"} == {"left", "right"}
        assert sorted(numbers(events, "received")) == list(range(8))

        for crashed in pairs["left"]:
            crashed.kill()
        eventually(lambda: set(addresses(own_server)) == {"right"}, within=SOON, what="the living pair alone")
        assert {row["broker"] for row in client.produce(TOPIC, 4)} == {"right"}


@pytest.mark.parametrize("version", FIVE)
def test_a_slave_acts_as_master_without_write_permission_while_the_master_is_gone(version: str):
    switches = {"enableSlaveActingMaster": "true"}
    with (
        name_server_under_test({"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"}) as server,
        JavaBroker(version, [server.address], "acting", properties=switches) as master,
        JavaBroker(version, [server.address], "acting", broker_id=1, properties=switches) as slave,
    ):
        client = JavaClient(version, server.address)
        client.produce(TOPIC, 1)
        before = route(server.address, TOPIC)
        assert before
        assert before.brokers == {"acting": {0: master.address, 1: slave.address}}
        assert before.queues["acting"][2] & WRITE

        master.kill()
        eventually(
            lambda: addresses(server) == {"acting": {0: slave.address}}, within=SOON, what="an acting master"
        )
        during = route(server.address, TOPIC)
        assert during
        assert not during.queues["acting"][2] & WRITE
        assert_readable_only(client, "acting")

        with JavaBroker(version, [server.address], "acting", properties=switches, port=master.port):
            eventually(
                lambda: addresses(server) == {"acting": {0: master.address, 1: slave.address}},
                within=SOON, what="the master back in its place",
            )  # fmt: skip
