"""Our mqadmin and Java's, asked the same of one Java name server, print the same."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager

import pytest
from click.testing import CliRunner

from namekeeper.cli.connecting import Connector
from namekeeper.cli.mqadmin import admin
from namekeeper.wire.command import RemotingCommand
from tests.interop.clients import Admins, JavaClient
from tests.support.java.servers import JavaNameServer, require
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

JAVA = "5.5.0"
CLUSTER = "DefaultCluster"


class Asking:
    """A sender over the tests' own requester, so that nothing of ours is below the commands."""

    async def invoke(self, addr, code, ext_fields=None, body=b"", *, timeout_ms=3000):
        answer = await asyncio.to_thread(ask, addr, code, body, **(ext_fields or {}))
        return RemotingCommand(
            code=answer.code, remark=answer.remark, ext_fields=answer.fields, body=answer.body
        )


@asynccontextmanager
async def asking():
    yield Asking()


@pytest.fixture(scope="module")
def namesrv() -> Iterator[str]:
    require()
    with (
        JavaNameServer(JAVA, {"serverChannelMaxIdleTimeSeconds": 3600}) as server,
        ExitStack() as connections,
    ):
        for name, broker_id, port, topics in (
            ("broker-a", 0, 10911, ("TopicTest", "TBW102", "%RETRY%g")),
            ("broker-a", 1, 10912, ("TopicTest", "TBW102", "%RETRY%g")),
            ("broker-b", 0, 10921, ("TopicTest", "TBW102", "OnlyB")),
        ):
            connections.enter_context(register(server.address, name, broker_id, f"127.0.0.1:{port}", topics))
        yield server.address


@pytest.fixture(scope="module")
def java_admin(namesrv: str) -> Iterator[Admins]:
    """Java's mqadmin; the first command of a process may take longer than it waits for an answer."""
    with JavaClient(JAVA, namesrv).admins() as running:
        yield running


def register(namesrv: str, name: str, broker_id: int, addr: str, topics: tuple[str, ...]) -> socket.socket:
    """Register a broker over a connection that has to stay open."""
    config = {
        "readQueueNums": 4,
        "writeQueueNums": 8,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
    }
    wrapper = {
        "dataVersion": {"counter": 3, "stateVersion": 0, "timestamp": 1_700_000_000_000},
        "topicConfigTable": {topic: {"topicName": topic, **config} for topic in topics},
    }
    body = json.dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []}).encode()
    fields = {
        "brokerName": name, "brokerAddr": addr, "clusterName": CLUSTER, "haServerAddr": addr, "brokerId": str(broker_id),
        "enableActingMaster": "false", "heartbeatTimeoutMillis": "3600000",
    }  # fmt: skip
    header = json.dumps({"code": 103, "version": 513, "opaque": 1, "flag": 0, "extFields": fields}).encode()
    host, port = namesrv.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), 10)
    connection.sendall(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
    assert connection.recv(65_536)
    return connection


def both(java_admin: Admins, namesrv: str, command: str, *args: str) -> tuple[list[str], list[str]]:
    """What ours and Java's print on stdout, as lines; ours must succeed."""
    line = [command, "-n", namesrv, *args]
    ours = CliRunner().invoke(admin, line, obj=Connector(asking), prog_name="mqadmin")
    assert ours.exit_code == 0, ours.output
    return ours.stdout.rstrip("\n").split("\n"), java_admin.ask(namesrv, command, *args).rstrip("\n").split(
        "\n"
    )


@pytest.mark.parametrize(
    "args",
    [
        ("topicRoute", "-t", "OnlyB"),
        ("topicRoute", "-topic", "TopicTest", "-l"),
        ("topicClusterList", "-t", "TopicTest"),
        ("wipeWritePerm", "-b", "broker-b"),
        ("addWritePerm", "-b", "broker-b"),
        ("updateKvConfig", "-s", "ns", "-k", "k", "-v", "v w"),
        ("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true"),
        ("updateOrderConf", "-t", "TopicTest", "-m", "put", "-v", "broker-a:4;broker-b:4"),
        ("updateOrderConf", "-t", "TopicTest", "-m", "get"),
        ("updateOrderConf", "-t", "TopicTest", "-m", "delete"),
    ],
    ids=" ".join,
)
def test_the_same_is_printed(namesrv: str, java_admin: Admins, args: tuple[str, ...]) -> None:
    if args[:1] == ("updateOrderConf",):  # each case stands alone, in any order
        ask(namesrv, 100, namespace="ORDER_TOPIC_CONFIG", key="TopicTest", value="broker-a:4;broker-b:4")
    ours, java = both(java_admin, namesrv, *args)

    assert ours == java


@pytest.mark.parametrize("args", [("topicList",), ("topicList", "-c"), ("getNamesrvConfig",)], ids=" ".join)
def test_the_same_is_printed_in_an_order_of_our_own(
    namesrv: str, java_admin: Admins, args: tuple[str, ...]
) -> None:
    ours, java = both(java_admin, namesrv, *args)

    assert sorted(ours) == sorted(java)


@pytest.mark.parametrize("args", [("clusterList", "-m"), ("clusterList", "-c", CLUSTER)], ids=" ".join)
def test_the_columns_that_a_name_server_knows_are_javas(
    namesrv: str, java_admin: Admins, args: tuple[str, ...]
) -> None:
    ours, java = both(java_admin, namesrv, *args)
    known = 52 if "-m" in args else 77

    assert ours[0] == java[0]
    assert [line[:known].rstrip() for line in ours] == [line[:known].rstrip() for line in java]
