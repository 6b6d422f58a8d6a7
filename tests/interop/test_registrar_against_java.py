"""Our registrar and Java: its name servers take what we send, its tools and clients see our topics."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from namekeeper.broker.blocking import BlockingBrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.topic_config_file import TopicConfigFile, parse_topics
from namekeeper.model.topic import TopicConfig
from namekeeper.wire.codes import version_ordinal
from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import Namekeeper
from tests.support.java.servers import JavaBroker, JavaNameServer, mqadmin, prepare_home
from tests.support.system.processes import eventually, free_port
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

VERSIONS = ("4.8.0", "5.3.3", "5.5.0")
TOPICS = (TopicConfig("orders", 4, 4), TopicConfig("payments", 8, 6), TopicConfig("read-only", 2, 2, perm=4))
SOON = 30
_PUT_KV_CONFIG = 100


@pytest.fixture(scope="module", params=VERSIONS)
def java_server(request: pytest.FixtureRequest) -> Iterator[JavaNameServer]:
    with JavaNameServer(
        request.param, {"orderMessageEnable": "true", "supportActingMaster": "true"}
    ) as server:
        yield server


def registrar(
    server: JavaNameServer, name: str, *topics: TopicConfig, **more: object
) -> BlockingBrokerRegistrar:
    settings = {
        "broker_name": name,
        "broker_addr": f"127.0.0.1:{10_000 + 10 * len(name)}",
        "ha_server_addr": "127.0.0.1:19999",
        "cluster_name": f"cluster-of-{name}",
        "namesrv_addr": server.address,
        "version": version_ordinal(server.version),
        **more,
    }
    return BlockingBrokerRegistrar(BrokerSettings(**settings), topics or TOPICS)


def queues(server: JavaNameServer, topic: str, name: str) -> tuple[int, int, int] | None:
    found = route(server.address, topic)
    return None if found is None else found.queues.get(name)


def assert_gone(server: JavaNameServer, topic: str, name: str) -> None:
    eventually(lambda: queues(server, topic, name) is None, within=SOON, what=f"{name} gone")


def test_java_s_tools_and_clients_see_what_we_register(java_server):
    with registrar(java_server, "seen") as broker:
        assert broker.registrar.last_results[java_server.address].error is None
        assert set(TOPICS_NAMES) <= set(
            mqadmin(java_server.version, "topicList", "-n", java_server.address).stdout.split()
        )
        shown = mqadmin(java_server.version, "topicRoute", "-n", java_server.address, "-t", "orders").stdout
        assert '"brokerName":"seen"' in shown
        client = JavaClient(java_server.version, java_server.address)
        four = [("seen", number) for number in range(4)]
        assert client.queues("orders") == (four, four)
        assert client.queues("read-only") == ([], [("seen", 0), ("seen", 1)])
    assert_gone(java_server, "orders", "seen")


TOPICS_NAMES = [topic.topic_name for topic in TOPICS]


def test_a_new_topic_is_there_at_once(java_server):
    with registrar(java_server, "quick") as broker:
        (result,) = broker.update_topic_config(TopicConfig("fresh", 3, 3))
        assert (result.sent, result.error) == ("changed", None)
        assert queues(java_server, "fresh", "quick") == (3, 3, 6)
        broker.update_topic_config(TopicConfig("fresh", 5, 5))
        assert queues(java_server, "fresh", "quick") == (5, 5, 6)
        assert broker.need_register() == {java_server.address: False}


def test_one_topic_alone_is_taken_too(java_server):
    """A 5.x name server refuses it as a first registration (trap T10)."""
    with registrar(java_server, "lonely", TopicConfig("alone", 4, 4)):
        assert queues(java_server, "alone", "lonely") == (4, 4, 6)


@pytest.mark.parametrize("form", ["compressed", "split"])
def test_other_forms_of_registration(java_server, form):
    if form == "split" and java_server.version == "4.8.0":
        pytest.skip("4.x has no split registrations")
    more = {
        "compressed": {"compressed_register": True},
        "split": {"enable_split_registration": True, "split_registration_size": 2},
    }[form]
    with registrar(java_server, form, **more) as broker:
        assert broker.registrar.last_results[java_server.address].error is None
        assert {topic: queues(java_server, topic, form) for topic in TOPICS_NAMES} == {
            "orders": (4, 4, 6), "payments": (8, 6, 6), "read-only": (2, 2, 4)
        }  # fmt: skip
        broker.update_topic_config(TopicConfig("orders", 16, 16))
        broker.register_broker_all()
        assert queues(java_server, "orders", form) == (16, 16, 6)


def test_a_broker_that_may_not_be_written_and_then_may_again(java_server):
    with registrar(java_server, "closed-for-writing") as broker:
        broker.change_broker_permission(4)
        assert queues(java_server, "orders", "closed-for-writing") == (4, 4, 4)
        broker.change_broker_permission(6)
        assert queues(java_server, "orders", "closed-for-writing") == (4, 4, 6)


def test_a_slave_learns_its_master_and_order_topics(java_server):
    ask(java_server.address, _PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="in-order", value="pair:4")
    # A topic that no other test has: the name server keeps its configuration, and that changes who may publish.
    topics = (*TOPICS, TopicConfig("in-order", 4, 4))
    with (
        registrar(java_server, "pair", *topics) as master,
        registrar(java_server, "pair", *topics, broker_id=1, broker_addr="127.0.0.1:10777") as slave,
    ):
        assert slave.registrar.master_addr == master.registrar.settings.broker_addr
        assert slave.registrar.ha_server_addr == "127.0.0.1:19999"
        for broker in (master, slave):
            assert {config.topic_name for config in broker.registrar.topics.table if config.order} == {
                "in-order"
            }
        slave.change_role(0, state_version=1)
        found = route(java_server.address, "in-order")
        assert found
        assert found.brokers["pair"] == {0: "127.0.0.1:10777"}


def test_a_crash_is_noticed_at_once(java_server):
    broker = registrar(java_server, "crashing").__enter__()
    assert queues(java_server, "orders", "crashing")
    broker.abort()
    assert_gone(java_server, "orders", "crashing")


@pytest.mark.parametrize("compatible", [True, False])
def test_heartbeats_keep_an_acting_master_alive(compatible):
    """Its registrations alone would not: they come every 10 s and it is taken out after 2."""
    with (
        JavaNameServer("5.5.0", {"scanNotActiveBrokerInterval": "1000"}) as server,
        registrar(server, "beating", compatible_with_old_name_srv=compatible, **ACTING),
        registrar(server, "mute", **ACTING | {"broker_addr": "127.0.0.1:10889", **MUTE}),
    ):
        assert_gone(server, "orders", "mute")  # so at least one timeout has passed
        assert queues(server, "orders", "beating")


ACTING = {
    "enable_slave_acting_master": True,
    "broker_not_active_timeout_ms": 2_000,
    "broker_heartbeat_interval_ms": 200,
}
MUTE = {"broker_heartbeat_interval_ms": 3_600_000}


@pytest.mark.parametrize("version", ["4.8.0", "5.5.0"])
def test_a_java_broker_reads_our_topics_and_we_read_its(version, tmp_path):
    home = tmp_path / "home"
    prepare_home(home, version)
    file = home / "store" / "config" / "topics.json"
    with JavaNameServer(version) as server:
        with BlockingBrokerRegistrar(
            BrokerSettings(
                broker_name="both", broker_addr=f"127.0.0.1:{free_port()}", namesrv_addr=server.address
            ),
            TOPICS,
            topics_file=file,
        ) as ours:
            ours.update_topic_config(TopicConfig("ours", 5, 7))
            version_before = ours.registrar.topics.data_version
        with JavaBroker(version, [server.address], "both", home=home) as broker:
            topics = broker.topics()
            assert {*TOPICS_NAMES, "ours"} <= set(topics)
            assert (topics["ours"]["readQueueNums"], topics["ours"]["writeQueueNums"]) == (5, 7)
            JavaClient(version, server.address).admin(f"updateTopic -b {broker.address} -t theirs -r 3 -w 2")
            eventually(lambda: "theirs" in broker.topics(), within=SOON, what="the topic at the broker")
            broker.stop()
        stored = TopicConfigFile(file).load()
        theirs = {config.topic_name: config for config in stored.configs}
        assert (theirs["theirs"].read_queue_nums, theirs["theirs"].write_queue_nums) == (3, 2)
        assert theirs["ours"].write_queue_nums == 7
        assert stored.data_version.counter > version_before.counter
        assert parse_topics(file.read_bytes()) == stored


def test_a_java_slave_is_told_by_our_name_server_that_its_master_is_gone():
    """Request 905 arrives at a real broker, and it says so."""
    switches = {"enableSlaveActingMaster": "true"}
    with (
        Namekeeper({"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"}) as server,
        JavaBroker("5.5.0", [server.address], "acting", properties=switches) as master,
        JavaBroker("5.5.0", [server.address], "acting", broker_id=1, properties=switches) as slave,
    ):
        master.kill()
        eventually(
            lambda: f"min broker id changed to 1, notify [{slave.address}], offline broker addr {master.address}"
            in logged(server.home),
            within=SOON, what="the name server to say that it sends 905",
        )  # fmt: skip
        eventually(
            # It may know already, from looking at its group each second; this line is of the request alone.
            lambda: re.search(r"min broker id changed, prev \d+, new 1", logged(slave.home / "logs")),
            within=SOON, what="the broker to say that it received 905",
        )  # fmt: skip


def logged(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return "\n".join(file.read_text(errors="replace") for file in folder.rglob("*.log"))
    return ""
