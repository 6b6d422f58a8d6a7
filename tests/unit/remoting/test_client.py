import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from namekeeper.errors import RemotingClosedError, RemotingConnectError, RemotingError, RemotingTimeoutError
from namekeeper.remoting import client as module
from namekeeper.remoting import client_connection
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.signing import signing_hook
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_contexts import client_context
from namekeeper.remoting.tls_settings import TlsMode, TlsSettings
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually, turns
from tests.support.wire.proxy import BreakableProxy
from tests.unit.remoting.joined import echo

LOCAL = "127.0.0.1"
NEVER_MS = 60_000


class Service:
    """A server whose answers the test gives."""

    def __init__(self) -> None:
        self.requests: list[tuple[RemotingCommand, ServerConnection]] = []
        self.server = RemotingServer(self._take, listen=ListenOptions(LOCAL, 0))

    def _take(self, request: RemotingCommand, connection: ServerConnection) -> None:
        self.requests.append((request, connection))

    async def next(self) -> tuple[RemotingCommand, ServerConnection]:
        await eventually(lambda: self.requests)
        return self.requests.pop(0)

    @property
    def addr(self) -> str:
        return str(self.server.addresses[0])


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Service]:
    service = Service()
    async with service.server:
        yield service


@pytest.fixture
async def client() -> AsyncIterator[RemotingClient]:
    async with RemotingClient() as client:
        yield client
        assert client.pending == 0


@both_loops
async def test_a_request_is_answered(client):
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        answer = await client.invoke(str(server.addresses[0]), 105, {"topic": "T"}, b"hello")
        assert (answer.code, answer.body) == (0, b"hello")


@both_loops
async def test_requests_share_a_connection_and_are_matched_by_opaque(client):
    async with serving() as service:
        tasks = [asyncio.create_task(client.invoke(service.addr, n)) for n in range(20)]
        await eventually(lambda: len(service.requests) == 20)
        assert len({connection for _, connection in service.requests}) == 1
        for asked, connection in reversed(service.requests):
            connection.respond(asked, Response(remark=str(asked.code)))
        assert [(await task).remark for task in tasks] == [str(n) for n in range(20)]


async def test_an_answer_is_returned_whatever_its_code(client):
    async with RemotingServer(lambda *_: Response(17, "none"), listen=ListenOptions(LOCAL, 0)) as server:
        answer = await client.invoke(str(server.addresses[0]), 105)
        assert (answer.code, answer.remark) == (17, "none")


async def test_opaques_stay_positive_when_they_wrap(client):
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        client._opaques = iter(range(2**31 - 1, 2**31 + 2))
        assert [(await client.invoke(str(server.addresses[0]), 1)).opaque for _ in range(3)] == [
            2**31 - 1,
            0,
            1,
        ]


@both_loops
async def test_a_client_may_speak_binary():
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
        RemotingClient(serialize_type=SerializeType.ROCKETMQ) as client,
    ):
        assert (await client.invoke(str(server.addresses[0]), 105, {"topic": "T"}, b"x")).body == b"x"


@both_loops
async def test_a_client_may_speak_tls():
    tls = client_context(TlsSettings(enable=True))
    contexts = TlsContexts(lambda: TlsSettings(mode=TlsMode.ENFORCING))
    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), security=TransportSecurity(tls=contexts)
        ) as server,
        RemotingClient(tls=tls) as client,
    ):
        assert (await client.invoke(str(server.addresses[0]), 105, body=b"x")).body == b"x"


async def test_tls_to_a_server_without_it_says_so():
    tls = client_context(TlsSettings(enable=True))
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
        RemotingClient(tls=tls) as client,
    ):
        with pytest.raises(RemotingConnectError, match="check"):
            await client.invoke(str(server.addresses[0]), 105)


@both_loops
async def test_a_server_that_is_not_trusted_says_so():
    tls = client_context(TlsSettings(enable=True, test_mode=False, auth_server=True))
    contexts = TlsContexts(lambda: TlsSettings(mode=TlsMode.ENFORCING))
    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), security=TransportSecurity(tls=contexts)
        ) as server,
        RemotingClient(tls=tls) as client,
    ):
        with pytest.raises(RemotingConnectError, match=r"no TLS connection.*certificates"):
            await client.invoke(str(server.addresses[0]), 105)


async def test_the_hook_sees_each_request_before_it_is_sent():
    seen: list[dict[str, str]] = []

    def handler(asked: RemotingCommand, _: ServerConnection) -> Response:
        seen.append(asked.ext_fields or {})
        return Response()

    async with (
        RemotingServer(handler, listen=ListenOptions(LOCAL, 0)) as server,
        RemotingClient(rpc_hook=signing_hook("RocketMQ", "12345678")) as client,
    ):
        await client.invoke(str(server.addresses[0]), 106)
        await client.invoke_oneway(str(server.addresses[0]), 106)
        await eventually(lambda: len(seen) == 2)
    assert seen == [{"AccessKey": "RocketMQ", "Signature": "IUc8rrO/0gDch8CjObLQsW2rsiA="}] * 2


class TestOneway:
    @both_loops
    async def test_nobody_waits_for_an_answer(self, client):
        async with serving() as service:
            await client.invoke_oneway(service.addr, 904, {"brokerAddr": "a"}, b"body")
            asked, _ = await service.next()
            assert asked.is_oneway
            assert (asked.code, asked.ext_fields, asked.body) == (904, {"brokerAddr": "a"}, b"body")

    async def test_a_peer_that_does_not_read_makes_senders_wait(self, client):
        async with serving() as service, BreakableProxy(service.addr) as proxy:
            proxy.hold()
            await client.invoke_oneway(proxy.addr, 904)
            (connection,) = client._connections.values()
            for _ in range(100):
                if connection._writable.is_set():
                    await client.invoke_oneway(proxy.addr, 904, body=b"x" * 1_000_000)
            with pytest.raises(RemotingTimeoutError):
                await client.invoke_oneway(proxy.addr, 904, timeout_ms=20)


class TestFailures:
    @both_loops
    async def test_a_refused_connection_names_the_address(self, client):
        with pytest.raises(
            RemotingConnectError, match="check the address and that the server runs"
        ) as caught:
            await client.invoke("127.0.0.1:1", 105)
        assert "127.0.0.1:1" in str(caught.value)
        assert caught.value.addr == "127.0.0.1:1"

    async def test_an_address_that_is_none_is_a_failed_connection(self, client):
        with pytest.raises(RemotingConnectError, match="write host:port"):
            await client.invoke("nonsense", 105)

    async def test_a_connection_that_is_not_made_in_time_fails(self, monkeypatch):
        monkeypatch.setattr(module, "FIRST_BACKOFF_SECONDS", 60.0)
        monkeypatch.setattr(module, "MAX_BACKOFF_SECONDS", 60.0)
        async with RemotingClient(connect_timeout_ms=10) as client:
            _never_connect(monkeypatch)
            with pytest.raises(RemotingConnectError, match="within 10 ms"):
                await client.invoke("127.0.0.1:1", 105)
            with pytest.raises(RemotingConnectError, match=r"within 10 ms.*next attempt"):
                await client.invoke("127.0.0.1:1", 105)

    async def test_a_request_may_have_less_time_than_a_connection(self, client, monkeypatch):
        _never_connect(monkeypatch)
        with pytest.raises(RemotingConnectError, match="within 20 ms"):
            await client.invoke("127.0.0.1:1", 105, timeout_ms=20)
        with pytest.raises(RemotingConnectError, match="within 20 ms"):
            await client.invoke_oneway("127.0.0.1:1", 105, timeout_ms=20)

    @both_loops
    async def test_a_time_out_leaves_nothing_behind_and_the_connection_in_use(self, client):
        async with serving() as service:
            await client.invoke_oneway(service.addr, 104)
            await service.next()
            with pytest.raises(RemotingTimeoutError, match="105 within 20 ms"):
                await client.invoke(service.addr, 105, timeout_ms=20)
            assert client.pending == 0
            late, first = await service.next()
            first.respond(late, Response())  # nobody waits for it
            again = asyncio.create_task(client.invoke(service.addr, 106))
            asked, second = await service.next()
            assert second is first
            second.respond(asked, Response(remark="mine"))
            assert (await again).remark == "mine"

    @both_loops
    async def test_a_closed_connection_fails_all_who_wait(self, client):
        async with serving() as service:
            tasks = [asyncio.create_task(client.invoke(service.addr, n)) for n in range(3)]
            await eventually(lambda: len(service.requests) == 3)
            service.requests[0][1].close()
            for task in tasks:
                with pytest.raises(RemotingClosedError, match="before the answer came"):
                    await task
            assert client.pending == 0

    @both_loops
    async def test_a_new_connection_follows_a_closed_one(self, client):
        async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
            for _ in range(3):
                assert (await client.invoke(str(server.addresses[0]), 105)).code == 0
                (connection,) = server.connections
                connection.close()
                await eventually(lambda: not client._connections)
            assert server.read_counters().connections_total == 3

    async def test_bytes_that_are_no_frame_end_the_connection(self, client):
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(talk, LOCAL, 0)
        async with server:
            host, port = server.sockets[0].getsockname()
            with pytest.raises(RemotingClosedError, match="is it RocketMQ"):
                await client.invoke(f"{host}:{port}", 105)

    async def test_one_caller_that_gives_up_does_not_end_the_attempt_of_the_others(self, client):
        async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
            first = asyncio.create_task(client.invoke(str(server.addresses[0]), 105))
            second = asyncio.create_task(client.invoke(str(server.addresses[0]), 105))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).code == 0
            assert server.read_counters().connections_total == 1
            with pytest.raises(asyncio.CancelledError):
                await first

    async def test_a_failed_attempt_that_nobody_waits_for_is_no_unhandled_error(self, client):
        task = asyncio.create_task(client.invoke("127.0.0.1:1", 105))
        await asyncio.sleep(0)
        task.cancel()
        await eventually(lambda: not client._connecting)

    async def test_a_connection_that_owes_answers_and_is_silent_for_long_is_given_up(
        self, client, monkeypatch, caplog
    ):
        monkeypatch.setattr(client_connection, "SILENCE_SECONDS", 0.0)
        async with (
            RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
            BreakableProxy(str(server.addresses[0])) as proxy,
        ):
            await client.invoke(proxy.addr, 105)
            proxy.hold()
            with pytest.raises(RemotingTimeoutError):
                await client.invoke(proxy.addr, 105, timeout_ms=20)
            await eventually(lambda: not client._connections)
            proxy.release()
            assert (await client.invoke(proxy.addr, 105)).code == 0
            assert proxy.accepted == 2
            assert "answers are due" in caplog.text


class TestBackoff:
    async def test_attempts_back_off_and_begin_anew_after_a_success(self, client):
        async with (
            RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
            BreakableProxy(str(server.addresses[0])) as proxy,
        ):
            proxy.refuses = True
            for _ in range(50):
                with pytest.raises(RemotingError):
                    await client.invoke(proxy.addr, 105)
            assert proxy.accepted <= 5
            proxy.refuses = False
            client._backoff.forget(proxy.addr)
            assert (await client.invoke(proxy.addr, 105)).code == 0
            await proxy.cut()
            await eventually(lambda: not client._connections)
            assert client._backoff.why_not(proxy.addr, 0.0) is None
            assert (await client.invoke(proxy.addr, 105)).code == 0


class TestGoAway:
    @both_loops
    async def test_it_is_asked_once_more_over_a_new_connection(self, client):
        def handler(_: RemotingCommand, connection: ServerConnection) -> Response:
            return Response(1500, "please go away") if connection.channel.channel_id == 1 else Response()

        async with RemotingServer(handler, listen=ListenOptions(LOCAL, 0)) as server:
            answers = await asyncio.gather(*(client.invoke(str(server.addresses[0]), 105) for _ in range(5)))
            assert {answer.code for answer in answers} == {0}
            assert server.read_counters().connections_total == 2
            await eventually(lambda: len(server.connections) == 1)

    async def test_a_second_go_away_is_the_answer(self, client):
        async with RemotingServer(lambda *_: Response(1500), listen=ListenOptions(LOCAL, 0)) as server:
            assert (await client.invoke(str(server.addresses[0]), 105)).code == 1500
            assert server.read_counters().connections_total == 2

    async def test_others_on_the_old_connection_get_their_answers(self, client):
        async with serving() as service:
            slow = asyncio.create_task(client.invoke(service.addr, 103))
            asked_slow, old = await service.next()
            sent_away = asyncio.create_task(client.invoke(service.addr, 105))
            asked, _ = await service.next()
            old.respond(asked, Response(1500))
            asked, new = await service.next()
            assert new is not old
            new.respond(asked, Response())
            assert (await sent_away).code == 0
            old.respond(asked_slow, Response(remark="done"))
            assert (await slow).remark == "done"
            await eventually(lambda: not old.channel.is_open)


class TestClosing:
    @both_loops
    async def test_requests_under_way_fail_and_later_ones_too(self):
        async with serving() as service:
            client = RemotingClient()
            waiting = asyncio.create_task(client.invoke(service.addr, 105, timeout_ms=NEVER_MS))
            await service.next()
            await client.close()
            with pytest.raises(RemotingClosedError):
                await waiting
            with pytest.raises(RemotingClosedError, match="this client is closed"):
                await client.invoke(service.addr, 105)
            await client.close()

    async def test_attempts_under_way_end(self, monkeypatch):
        _never_connect(monkeypatch)
        client = RemotingClient()
        waiting = asyncio.create_task(client.invoke("127.0.0.1:1", 105, timeout_ms=NEVER_MS))
        await turns()
        await client.close()
        with pytest.raises(RemotingClosedError, match="while it connected"):
            await waiting

    async def test_a_client_that_was_never_used_can_be_closed(self):
        client = RemotingClient()
        await client.close()
        with pytest.raises(RemotingClosedError):
            await client.invoke("127.0.0.1:1", 105)

    @both_loops
    async def test_what_was_written_goes_out_before(self):
        async with serving() as service:
            async with RemotingClient() as client:
                await client.invoke_oneway(service.addr, 104)
            assert (await service.next())[0].code == 104

    async def test_a_peer_that_does_not_read_is_not_waited_for(self, monkeypatch):
        monkeypatch.setattr(module, "GOODBYE_SECONDS", 0.01)
        async with serving() as service, BreakableProxy(service.addr) as proxy:
            client = RemotingClient()
            await client.invoke_oneway(proxy.addr, 904)
            proxy.hold()
            for _ in range(10):
                with contextlib.suppress(RemotingTimeoutError):
                    await client.invoke_oneway(proxy.addr, 904, body=b"x" * 2_000_000, timeout_ms=50)
            await client.close()
            with pytest.raises(RemotingClosedError):
                await client.invoke(proxy.addr, 904)


@both_loops
async def test_a_released_address_is_left_when_nobody_waits_for_it_and_may_be_used_again(client):
    async with serving() as service:
        waiting = asyncio.create_task(client.invoke(service.addr, 105))
        asked, old = await service.next()
        client.release(service.addr)
        again = asyncio.create_task(client.invoke(service.addr, 106))
        asked_again, new = await service.next()
        assert new is not old
        old.respond(asked, Response(remark="old"))
        new.respond(asked_again, Response(remark="new"))
        assert ((await waiting).remark, (await again).remark) == ("old", "new")
        await eventually(lambda: not old.channel.is_open)
        client.release("127.0.0.1:1")


async def test_the_number_of_connections_that_owe_nothing_is_bounded():
    async with (
        contextlib.AsyncExitStack() as stack,
        serving() as service,
        RemotingClient(max_connections=2) as client,
    ):
        waiting = asyncio.create_task(client.invoke(service.addr, 105))
        asked, connection = await service.next()
        servers = [
            await stack.enter_async_context(RemotingServer(echo, listen=ListenOptions(LOCAL, 0)))
            for _ in range(4)
        ]
        for server in servers:
            await client.invoke(str(server.addresses[0]), 105)
        assert len(client._connections) == 2
        await eventually(lambda: [len(server.connections) for server in servers] == [0, 0, 0, 1])
        connection.respond(asked, Response())
        assert (await waiting).code == 0


async def test_the_least_recently_used_connection_makes_room():
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as one,
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as two,
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as three,
        RemotingClient(max_connections=2) as client,
    ):
        for server in (one, two, one, three):
            await client.invoke(str(server.addresses[0]), 105)
        await eventually(lambda: [len(server.connections) for server in (one, two, three)] == [1, 0, 1])


@both_loops
async def test_an_idle_connection_is_closed_and_one_that_owes_an_answer_is_not():
    async with (
        serving() as busy,
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as idle,
        RemotingClient(idle_seconds=0.05) as client,
    ):
        waiting = asyncio.create_task(client.invoke(busy.addr, 105))
        asked, connection = await busy.next()
        await client.invoke(str(idle.addresses[0]), 105)
        await eventually(lambda: client._connections.keys() == {busy.addr} and not idle.connections)
        connection.respond(asked, Response(remark="late"))
        assert (await waiting).remark == "late"
        await eventually(lambda: not client._open_sockets)
        assert client._idle_timer is None
        assert (await client.invoke(str(idle.addresses[0]), 105)).code == 0


@both_loops
@pytest.mark.parametrize("idle_seconds", [0.05, None])
async def test_a_connection_that_we_close_before_an_answer_is_no_failure_of_the_peer(idle_seconds):
    """Of a request that is never answered, such as 905."""
    async with serving() as peer, RemotingClient(idle_seconds=idle_seconds) as client:
        for _ in range(3):
            await client.invoke_oneway(peer.addr, 905)
            await peer.next()
            if idle_seconds is None:
                client.release(peer.addr)
            await eventually(lambda: not client._open_sockets)


async def test_an_idle_connection_is_closed_although_its_peer_reads_nothing():
    async with (
        contextlib.AsyncExitStack() as stack,
        RemotingClient(idle_seconds=0.05) as client,
    ):
        deaf = await asyncio.start_server(lambda _, writer: stack.callback(writer.close), LOCAL, 0, limit=1)
        stack.callback(deaf.close)
        host, port = deaf.sockets[0].getsockname()
        with pytest.raises(RemotingError):
            await _send_for_ever(client, f"{host}:{port}")
        await eventually(lambda: not client._open_sockets)


async def _send_for_ever(client: RemotingClient, addr: str) -> None:
    while True:
        await client.invoke_oneway(addr, 905, body=bytes(1 << 20), timeout_ms=NEVER_MS)


def _never_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", hang)
