"""Every property that is not marked inert is read, and a test shows that it does what the reference says."""

import ast
import asyncio
import contextlib
import re
import socket
import struct
from functools import cache
from pathlib import Path

import pytest

from namekeeper.app.tls_files import read_tls_settings
from namekeeper.config.property import PropertyGroup, PropertyKind, Spec
from namekeeper.errors import RemotingError
from namekeeper.remoting.client import RemotingClient
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.wire.codec import encode_command
from tests.support.server.builders import channel
from tests.support.server.in_memory import InMemoryNameServer
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect, trusting
from tests.unit.app.parts import frame, name_server, registration, startup
from tests.unit.app.property_tests import IN_EFFECT, SHOWN_BY
from tests.unit.processor.samples import V6_BODY

LOCAL = "127.0.0.1"
TESTS = Path(__file__).parents[2]
SOURCE = TESTS.parent / "src" / "namekeeper"

IN_CONFIG = {"configBlackList", "enableControllerInNamesrv", "allowConfigUpdate"}
"""What they do is done in `config/`: which changes are allowed, which settings are refused."""


@cache
def fields_read() -> frozenset[str]:
    """The fields of settings that modules outside `config/` read."""
    paths = (path for path in SOURCE.rglob("*.py") if path.parent != SOURCE / "config")
    return frozenset(field for path in paths for field in re.findall(r"settings\.(\w+)", path.read_text()))


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of all functions of a test file."""
    nodes = ast.walk(ast.parse((TESTS / path).read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_property_in_effect_is_read_outside_config():
    of_tls = (SOURCE / "remoting" / "tls_settings.py").read_text()
    for spec in IN_EFFECT:
        if spec.facts.group is PropertyGroup.TLS and spec.name != "tls.config.file":
            assert f'"{spec.name}"' in of_tls
        elif spec.name not in IN_CONFIG:
            assert spec.field in fields_read()


def test_every_property_in_effect_has_a_test_that_shows_it_and_no_other_has():
    assert set(SHOWN_BY) == {spec.name for spec in IN_EFFECT}
    for name, test in SHOWN_BY.items():
        path, _, function = test.partition("::")
        assert function in functions_of(path), name


@pytest.mark.parametrize(
    "spec",
    [spec for spec in IN_EFFECT if spec.facts.group is PropertyGroup.TLS and spec.name != "tls.config.file"],
    ids=lambda spec: spec.name,
)
def test_every_tls_property_of_the_server_makes_a_difference_to_tls(spec: Spec, tmp_path):
    if spec.kind is PropertyKind.BOOLEAN:
        value = "false" if spec.default else "true"
    else:
        value = next((choice for choice in spec.facts.choices if choice != spec.default), "something")
    trusted = {"tls_server_trust_cert_path": "/authorities"} if value == "require" else {}
    given = read_tls_settings(startup(tmp_path, **trusted, **{spec.field: value}))
    assert given != read_tls_settings(startup(tmp_path, **trusted))


async def test_the_kv_file_is_where_it_is_configured(tmp_path):
    path = tmp_path / "elsewhere" / "kv.json"
    async with name_server(tmp_path, kv_config_path=str(path)) as server:
        async with connect(f"{LOCAL}:{server.port}") as peer:
            await peer.send(frame(100, namespace="a", key="k", value="v"))
            assert (await peer.answer()).code == 0
        assert b'"k":"v"' in await asyncio.to_thread(path.read_bytes)


@both_loops
@pytest.mark.parametrize("is_enabled", [True, False])
async def test_a_route_has_the_order_configuration_if_that_is_configured(tmp_path, is_enabled):
    enabled = str(is_enabled).lower()
    async with (
        name_server(tmp_path, order_message_enable=enabled) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        order = frame(100, namespace="ORDER_TOPIC_CONFIG", key="T1", value="broker-a:4")
        for request in (order, encode_command(registration()), frame(105, topic="T1")):
            await peer.send(request)
            answer = await peer.answer()
            assert answer.code == 0
        assert (b'"orderTopicConf":"broker-a:4"' in answer.body) is is_enabled


@both_loops
@pytest.mark.parametrize("is_enabled", [True, False])
async def test_topics_missing_in_a_registration_go_if_that_is_configured(tmp_path, is_enabled):
    enabled = str(is_enabled).lower()
    async with (
        name_server(tmp_path, delete_topic_with_broker_registration=enabled) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        for names, version in ((("T1", "T2"), 1), (("T1", "T3"), 2)):
            await peer.send(encode_command(registration(names, version=version)))
            assert (await peer.answer()).code == 0
        await peer.send(frame(105, topic="T2"))
        assert (await peer.answer()).code == (17 if is_enabled else 0)


@both_loops
async def test_a_connection_without_traffic_is_closed_after_the_configured_time(tmp_path):
    async with (
        name_server(tmp_path, server_channel_max_idle_time_seconds="1") as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        assert (await peer.ask()).code == 17
        assert await peer.is_closed_by_server()
        assert server.operators.stats().closed_channels["idle"] == 1


@pytest.mark.parametrize("is_enabled", [True, False])
def test_brokers_are_told_of_a_new_smallest_id_if_that_is_configured(is_enabled):
    server = InMemoryNameServer(notify_min_broker_id_changed=str(is_enabled).lower())
    assert server.register(V6_BODY, brokerId="1", brokerAddr="10.0.0.2:10911").code == 0
    assert server.register(V6_BODY).code == 0
    told = [event.min_broker_addr for event in server.events if isinstance(event, MinBrokerIdChanged)]
    assert (told[-1:] == ["10.0.0.1:10911"]) is is_enabled


@pytest.mark.parametrize(
    ("field", "limit", "other"),
    [
        ("broker_names_limit", "brokerNamesLimit", {"brokerName": "broker-b"}),
        ("cluster_names_limit", "clusterNamesLimit", {"brokerName": "broker-b", "clusterName": "other"}),
        ("brokers_limit", "brokersLimit", {"brokerName": "broker-b"}),
        ("broker_ids_limit", "brokerIdsLimit", {"brokerId": "1"}),
    ],
)
def test_each_limit_of_names_is_as_configured(field, limit, other):
    for number, code in (("1", 1), ("2", 0)):
        server = InMemoryNameServer(**{field: number})
        assert server.register(V6_BODY).code == 0
        refused = server.register(V6_BODY, brokerAddr="10.0.0.2:10911", **other)
        assert refused.code == code
        assert code == 0 or limit in refused.remark


def test_topics_are_limited_as_configured():
    queues = b'{"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"writeQueueNums":4}]}'
    for limit, code in (("2", 1), ("3", 0)):
        server = InMemoryNameServer(topic_rows_limit=limit)
        assert server.register(V6_BODY).code == 0
        for topic in ("TopicTest", "New"):
            answer = server.ask(217, {"topic": topic}, queues)
            assert answer.code == (code if topic == "New" else 0)
        assert code == 0 or "topicRowsLimit" in answer.remark
        assert len(server.state.tables.rows_of("New")) == 1 - code
    server = InMemoryNameServer(topic_rows_limit="3")
    server.state.tables.other_rows += 1  # a filter server or a logical queue
    assert server.register(V6_BODY).code == 0
    assert [server.ask(217, {"topic": topic}, queues).code for topic in ("TopicTest", "New")] == [0, 1]


@pytest.mark.parametrize("is_protected", [True, False])
def test_another_host_may_take_over_unless_names_are_protected(is_protected):
    server = InMemoryNameServer(protect_broker_names=str(is_protected).lower())
    assert server.register(V6_BODY, over=channel(1)).code == 0
    answer = server.register(V6_BODY, over=channel(2))
    assert (answer.code == 16) is is_protected


def test_kv_entries_are_limited_as_configured():
    for limit, code in (("2", 1), ("100", 0)):
        server = InMemoryNameServer(kv_entries_limit=limit)
        assert server.ask(100, {"namespace": "a", "key": "k", "value": "v"}).code == 0
        others = [server.ask(100, {"namespace": "a", "key": f"k{n}", "value": "v"}) for n in range(2)]
        assert others[-1].code == code


@both_loops
@pytest.mark.parametrize(("networks", "count"), [("127.0.0.0/8,10.0.0.0/8", 0), ("192.0.2.0/24", 1)])
async def test_brokers_from_elsewhere_are_counted_as_configured(tmp_path, networks, count):
    async with (
        name_server(tmp_path, broker_networks=networks) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        await peer.send(encode_command(registration()))
        assert (await peer.answer()).code == 0
        assert server.effects.counters.from_unknown_networks == count


async def test_the_kernel_keeps_as_many_connections_as_configured(tmp_path):
    async with name_server(tmp_path, server_socket_backlog="7") as server:
        assert server.server._acceptor is not None
        (listener,) = server.server._acceptor._sockets
        info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        (backlog,) = struct.unpack_from("I", info, 28)  # Linux: tcpi_sacked of a socket that listens
        assert backlog == 7


@both_loops
async def test_a_frame_may_be_as_long_as_configured(tmp_path):
    async with name_server(tmp_path, remoting_frame_max_length="2048") as server:
        async with connect(f"{LOCAL}:{server.port}") as peer:
            fitting = frame(106)
            await peer.send(frame(106, bytes(2048 - len(fitting))))
            assert (await peer.answer()).code == 0
        async with connect(f"{LOCAL}:{server.port}") as peer:
            await peer.send(frame(106, bytes(2049 - len(fitting))))
            assert await peer.is_closed_by_server()


@both_loops
@pytest.mark.parametrize(("limit", "found"), [("0", 0), ("10", 0), ("100000", 2)])
async def test_look_ups_are_known_by_their_bytes_as_far_as_configured(tmp_path, limit, found):
    async with (
        name_server(tmp_path, lookup_cache_bytes=limit) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        await peer.send(encode_command(registration()))
        assert (await peer.answer()).code == 0
        answers = []
        for _ in range(3):
            await peer.send(frame(105, topic="T1"))
            answers.append(await peer.answer())
        assert answers[0].code == 0
        assert answers[1:] == answers[:1] * 2
        stats = server.operators.stats()
        assert (stats.cached_lookups, stats.uncached_lookups) == (found, 3 - found)
        assert stats.requests[105, 0] == 3
        assert (server.server.front is None) or limit != "0"


@both_loops
@pytest.mark.parametrize("network", ["127.0.0.0/8", "10.0.0.0/8"])
async def test_a_proxy_is_believed_if_it_is_configured(tmp_path, network):
    async with (
        name_server(tmp_path, proxy_protocol_trusted_networks=network) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        await peer.send(b"PROXY TCP4 203.0.113.7 192.0.2.1 4321 9876\r\n" + encode_command(registration()))
        assert (await peer.answer()).code == 0
        (live,) = server.state.tables.broker_live_table
        addr = live.channel.remote_addr
        assert (addr == "203.0.113.7:4321") == (network == "127.0.0.0/8")


@both_loops
async def test_large_requests_wait_for_each_other_as_configured(tmp_path):
    limits = {"remoting_frame_max_length": "200000", "body_bytes_in_flight_limit": "200000"}
    async with (
        name_server(tmp_path, **limits) as server,
        connect(f"{LOCAL}:{server.port}") as first,
        connect(f"{LOCAL}:{server.port}") as second,
    ):
        large = frame(106, bytes(150_000))
        await first.send(large[:-1])
        await eventually(lambda: server.server.read_counters().large_bytes_in_flight > 0)
        await second.send(large)
        await eventually(lambda: server.server.read_counters().large_frames_waiting == 1)
        await first.send(large[-1:])
        assert (await first.answer()).code == (await second.answer()).code == 0


@both_loops
async def test_tls_connections_have_a_limit_by_memory_as_configured(tmp_path):
    """Each takes 64 KiB and more, and thousands of them took gigabytes."""
    async with (
        name_server(tmp_path, tls_bytes_limit=str(1 << 20)) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(RemotingClient(tls=trusting())) for _ in range(20)]
        for client in clients:
            with contextlib.suppress(RemotingError):
                await client.invoke(f"{LOCAL}:{server.port}", 106, timeout_ms=200_000)
        stats = server.operators.stats()
        assert (stats.closed_channels["tls_memory"], stats.active_connections) == (5, 15)
        assert 15 * 65_536 < stats.tls_bytes <= 1 << 20
        async with RemotingClient() as plain:
            assert (await plain.invoke(f"{LOCAL}:{server.port}", 106, timeout_ms=200_000)).code == 0
    assert server.operators.stats().tls_bytes == 0


async def test_the_http_pages_are_where_they_are_configured(tmp_path, caplog):
    caplog.set_level("INFO")
    async with name_server(tmp_path, http_bind_address="127.0.0.2", http_port="0"):
        await eventually(lambda: "operators' pages at http://127.0.0.2:" in caplog.text)
