"""A client and name servers that are slow, dead, half dead or lying: a typed error in time, or another's answer."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from random import Random
from typing import Any

import pytest

from namekeeper.client.client_config import ClientConfig
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.polling import Timing
from namekeeper.errors import (
    ConfigError,
    NoNameServerError,
    RemotingClosedError,
    RemotingError,
    RemotingTimeoutError,
    ResponseError,
)
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.system.fake_time import FakeTime
from tests.support.system.loops import leap, leaping_time
from tests.support.system.waiting import TIME_UNIT, eventually
from tests.support.wire.proxy import BreakableProxy
from tests.unit.client.world import route, route_body

pytestmark = leaping_time
LOCAL = "127.0.0.1"
LONG_MS = 200_000
"""For a look-up in which everybody says something at once: it never takes so long."""
SHARE_MS = 4_000
"""For each name server of a look-up in which some are silent: enough for one that answers, on a slow machine. The
time of a silent one is leapt over."""

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def leap_over_share() -> None:
    """End the wait for a name server that is asked and stays silent."""
    leap(SHARE_MS * TIME_UNIT / 1000)


def frame(header: dict[str, object], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body


async def opaque_of(reader: asyncio.StreamReader) -> int:
    (length,) = struct.unpack(">I", await reader.readexactly(4))
    data = await reader.readexactly(length)
    (size,) = struct.unpack(">I", data[:4])
    return json.loads(data[4 : 4 + size])["opaque"]


async def answers_garbage(reader, writer):
    await opaque_of(reader)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()
    await reader.read()


async def answers_another(reader, writer):
    while True:
        opaque = await opaque_of(reader)
        writer.write(frame({"code": 0, "flag": 1, "opaque": opaque + 1_000}, route_body()))
        await writer.drain()
        leap_over_share()


async def answers_never(reader, writer):
    await opaque_of(reader)
    leap_over_share()
    await reader.read()


async def answers_half_a_frame_and_closes(reader, writer):
    whole = frame({"code": 0, "flag": 1, "opaque": await opaque_of(reader)}, route_body())
    writer.write(whole[: len(whole) // 2])
    await writer.drain()


async def answers_half_a_frame_and_stops(reader, writer):
    await answers_half_a_frame_and_closes(reader, writer)
    leap_over_share()
    await reader.read()


async def closes_at_once(reader, writer):
    pass


def answers(code: int, body: bytes = b"", remark: str | None = None) -> Talk:
    async def talk(reader, writer):
        while True:
            header = {"code": code, "flag": 1, "opaque": await opaque_of(reader), "remark": remark}
            writer.write(frame(header, body))
            await writer.drain()

    return talk


BAD = {
    "garbage": (answers_garbage, RemotingClosedError),
    "another opaque": (answers_another, RemotingTimeoutError),
    "half-open": (answers_never, RemotingTimeoutError),
    "half a frame, closed": (answers_half_a_frame_and_closes, RemotingClosedError),
    "half a frame, silence": (answers_half_a_frame_and_stops, RemotingTimeoutError),
    "closed at once": (closes_at_once, RemotingClosedError),
    "error": (answers(1, remark="name server not ready"), ResponseError),
    "busy": (answers(2), ResponseError),
    "not supported": (answers(3), ResponseError),
    "go away": (answers(1500), ResponseError),
    "no body": (answers(0), RemotingError),
    "no JSON": (answers(0, b"<html>"), RemotingError),
    "another JSON": (answers(0, b'{"brokerDatas":7}'), RemotingError),
}


SILENT = {"another opaque", "half-open", "half a frame, silence"}


def limit_of(kind: str, servers: int) -> int:
    """How long a look-up may take: silence costs its share, everything else costs nothing."""
    return SHARE_MS * servers if kind in SILENT else LONG_MS


@contextlib.asynccontextmanager
async def bad_server(talk: Talk) -> AsyncIterator[str]:
    async def serve(reader, writer):
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(serve, LOCAL, 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"


@contextlib.asynccontextmanager
async def good_server(*names: str) -> AsyncIterator[str]:
    def handler(request: RemotingCommand, _: object) -> Response:
        if (request.ext_fields or {}).get("topic") == "T":
            return Response(body=route_body(*names))
        return Response(17, "none")

    async with RemotingServer(handler, listen=ListenOptions(LOCAL, 0)) as server:
        yield str(server.addresses[0])


@contextlib.asynccontextmanager
async def client_of(*addrs: str, limit_ms: int = LONG_MS) -> AsyncIterator[MQClientInstance]:
    """Asks in this order; leaves nothing behind."""
    limit_ms = int(limit_ms * TIME_UNIT)
    config = ClientConfig(
        namesrv_addr=";".join(addrs), mq_client_api_timeout_ms=limit_ms, connect_timeout_ms=limit_ms
    )
    world = FakeTime()
    client = MQClientInstance(config, timing=Timing(clock=world, sleep=world.sleep, rng=Random(1)))
    client._namesrvs._choice.addrs = addrs
    client._namesrvs._choice.chosen = addrs[0]
    async with client:
        yield client
        await eventually(lambda: client._client.pending == 0)
        assert client._updates.under_way == 0


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_name_server_alone_ends_in_an_error_that_says_why(kind):
    talk, expected = BAD[kind]
    async with bad_server(talk) as addr, client_of(addr, limit_ms=limit_of(kind, 1)) as client:
        with pytest.raises(NoNameServerError) as caught:
            await client.topic_route("T")
        assert isinstance(caught.value.failures[addr], expected)
        assert addr in str(caught.value)
        assert client.knowledge("T").error is caught.value


@pytest.mark.parametrize("kind", BAD)
async def test_beside_a_good_one_it_costs_no_answer(kind):
    talk, expected = BAD[kind]
    limit_ms = limit_of(kind, 2)
    async with (
        bad_server(talk) as bad,
        good_server() as good,
        client_of(bad, good, limit_ms=limit_ms) as client,
    ):
        assert await client.topic_route("T") == route()
        first, second = client.status().namesrvs
        assert (first.addr, first.is_chosen) == (bad, False)
        is_waited_for = isinstance(first.error, RemotingTimeoutError)
        assert isinstance(first.error, RemotingError)
        assert is_waited_for is (kind in SILENT), "who answers at once costs no time"
        assert is_waited_for or isinstance(first.error, expected)
        assert (second.addr, second.is_chosen) == (good, True)
        assert await client.topic_route("T") == route()


@pytest.mark.parametrize("kind", ["half-open", "error", "closed at once", "no JSON"])
async def test_several_of_them_are_passed_by(kind):
    talk, _ = BAD[kind]
    async with (
        bad_server(talk) as one,
        bad_server(talk) as two,
        good_server() as good,
        client_of(one, two, good, limit_ms=limit_of(kind, 3)) as client,
    ):
        assert await client.topic_route("T") == route()


async def test_what_is_known_stays_whatever_a_name_server_says():
    async with (
        good_server() as good,
        BreakableProxy(good) as proxy,
        client_of(proxy.addr, limit_ms=SHARE_MS) as client,
    ):
        producer = client.register_producer("P")
        queues = await producer.publish_message_queues("T")
        for talk, _ in BAD.values():
            async with bad_server(talk) as bad:
                client.update_name_server_address_list(bad)
                assert await client.topic_route("T") == route()
                assert await producer.publish_message_queues("T") == queues
        client.update_name_server_address_list(proxy.addr)
        await client.update_topic_route_info_from_name_server("T")
        assert client.knowledge("T").error is None


async def test_name_servers_may_have_ipv6_addresses_and_names_that_do_not_resolve(monkeypatch):
    async with contextlib.AsyncExitStack() as opened:
        server = RemotingServer(lambda *_: Response(body=route_body()), listen=ListenOptions("::1", 0))
        try:
            await opened.enter_async_context(server)
        except (OSError, ConfigError) as error:
            pytest.skip(f"this machine has no IPv6: {error}")
        addr = str(server.addresses[0])
        assert addr.startswith("[::1]:")
        resolve = socket.getaddrinfo

        def getaddrinfo(host, *args, **more):
            if host == "no.such.name":
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return resolve(host, *args, **more)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        unknown = "no.such.name:9876"
        client = await opened.enter_async_context(client_of(unknown, addr))
        assert await client.topic_route("T") == route()
        assert "Name or service not known; check the address" in str(client.status().namesrvs[0].error)


class TestBrokenLines:
    SILENT = ("hold", "drops_answers", "drops_requests")

    @pytest.fixture
    async def line(self):
        async with good_server() as good, BreakableProxy(good) as proxy:
            yield proxy

    async def test_a_late_answer_counts_as_long_as_there_is_time(self, line):
        line.delay_seconds = 0.1
        async with client_of(line.addr) as client:
            assert await client.topic_route("T") == route()

    async def test_a_slow_name_server_may_still_win_against_a_silent_one(self, line):
        async def lets_the_other_answer(reader, writer):
            await opaque_of(reader)
            line.release()
            await reader.read()

        async with (
            bad_server(lets_the_other_answer) as silent,
            client_of(line.addr, silent, limit_ms=2 * SHARE_MS) as client,
        ):
            line.hold()
            assert await self.while_silent(client, client.topic_route("T")) == route()
            assert client.status().namesrvs[0].is_chosen

    @pytest.mark.parametrize("way", [*SILENT, "cut", "refuses"])
    async def test_a_line_that_breaks_leaves_the_routes_and_comes_back(self, line, way):
        async with client_of(line.addr, limit_ms=SHARE_MS) as client:
            await client.topic_route("T")
            await self.break_(line, way)
            with pytest.raises(NoNameServerError):
                await self.asking(way, client, client.update_topic_route_info_from_name_server("T"))
            assert await self.asking(way, client, client.topic_route("T")) == route()
            await self.mend(line, client)
            await client.update_topic_route_info_from_name_server("T")
            assert client.status().cut_off_since is None

    @pytest.mark.parametrize("way", [*SILENT, "cut", "refuses"])
    async def test_the_other_name_server_is_asked_within_the_same_look_up(self, line, way):
        async with (
            good_server("broker-b") as other,
            client_of(line.addr, other, limit_ms=2 * SHARE_MS) as client,
        ):
            assert await client.topic_route("T") == route()
            await self.break_(line, way)
            assert await self.asking(way, client, client.topic_route("T")) == route("broker-b")
            await self.mend(line, client)

    async def asking(
        self, way: str, client: MQClientInstance, question: Coroutine[Any, Any, object]
    ) -> object:
        return await (self.while_silent(client, question) if way in self.SILENT else question)

    @staticmethod
    async def while_silent(client: MQClientInstance, question: Coroutine[Any, Any, object]) -> object:
        """Ask, and let the time pass that the first name server has."""
        asked = asyncio.create_task(question)
        await eventually(lambda: client._client.pending == 1)
        leap_over_share()
        return await asked

    @staticmethod
    async def break_(line: BreakableProxy, way: str) -> None:
        if way == "hold":
            line.hold()
        elif way in ("cut", "refuses"):
            line.refuses = True
            await line.cut()
        else:
            setattr(line, way, True)

    @staticmethod
    async def mend(line: BreakableProxy, client: MQClientInstance) -> None:
        line.refuses = line.drops_answers = line.drops_requests = False
        line.release()
        client._client._backoff.forget(line.addr)


async def test_an_outage_makes_no_storm_of_connections():
    async with good_server() as good, BreakableProxy(good) as line, client_of(line.addr) as client:
        line.refuses = True
        results = await asyncio.gather(
            *(client.topic_route(f"T{n}") for n in range(200)), return_exceptions=True
        )
        assert {type(result) for result in results} == {NoNameServerError}
        assert line.accepted <= 5
