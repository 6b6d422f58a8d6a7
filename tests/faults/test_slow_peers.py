"""Peers that don't read, don't finish, lie about sizes or vanish: what they cost is bounded."""

import asyncio
import contextlib
from struct import pack

import pytest

from namekeeper.remoting import connection as module
from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import WRITE_BUFFER_BYTES, ConnectionHooks, ConnectionLimits
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.peer import Peer, connect
from tests.support.wire.proxy import BreakableProxy
from tests.unit.remoting.joined import echo

LOCAL = "127.0.0.1"
ROUTE = b"x" * 859


class Queue:
    """A handler that answers later, one request at a time, as registrations are."""

    def __init__(self) -> None:
        self._waiting: list[tuple[RemotingCommand, ServerConnection]] = []
        self.served = 0

    def __call__(self, asked: RemotingCommand, connection: ServerConnection) -> None:
        self._waiting.append((asked, connection))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._serve_one)

    def _serve_one(self) -> None:
        asked, connection = self._waiting.pop(0)
        connection.respond(asked, Response(remark=str(len(asked.body))))
        self.served += 1
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._serve_one)


@both_loops
async def test_a_hundred_thousand_requests_of_a_peer_that_never_reads_cost_little():
    handled = 0

    def handler(_asked: RemotingCommand, _connection: ServerConnection) -> Response:
        nonlocal handled
        handled += 1
        return Response(body=ROUTE)

    async with (
        RemotingServer(handler, listen=ListenOptions(LOCAL, 0)) as server,
        connect(server.addresses[0]) as peer,
    ):
        flood = asyncio.create_task(
            peer.send(encode_command(request(105, {"topic": "T"}, opaque=1)) * 100_000)
        )
        await eventually(lambda: server.read_counters().reading_pauses)
        before = -1
        while before != handled:  # until nothing moves any more
            before = handled
            largest = await _largest_holding(server, 50)
        assert largest["write buffer"] <= WRITE_BUFFER_BYTES[1] + 2 * module.ANSWER_BYTES_PER_TURN
        assert largest["queue"] * 100 <= 512 * 1024  # one read of the transport
        assert handled < 100_000
        assert not flood.done()
        async with connect(server.addresses[0]) as other:
            assert (await other.ask()).body == ROUTE
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)


@both_loops
async def test_a_peer_that_reads_late_gets_every_answer_in_order():
    async with (
        RemotingServer(lambda *_: Response(body=ROUTE), listen=ListenOptions(LOCAL, 0)) as server,
        connect(server.addresses[0]) as peer,
    ):
        frames = b"".join(encode_command(request(105, {"topic": "T"}, opaque=n)) for n in range(20_000))
        sending = asyncio.create_task(peer.send(frames))
        await eventually(lambda: server.read_counters().reading_pauses)
        for n in range(20_000):
            assert (await peer.answer()).opaque == n
        await sending


@both_loops
async def test_registrations_of_megabytes_at_once_stay_within_the_budget_and_are_all_answered():
    budget, size, count = 6_000_000, 1_200_000, 300
    queue = Queue()
    async with (
        RemotingServer(
            queue, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(body_budget_bytes=budget)
        ) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        watch = _Watch(server)
        sent = encode_command(request(103, {"brokerName": "b"}, b"x" * size, opaque=1))
        peers = [await stack.enter_async_context(connect(server.addresses[0])) for _ in range(count)]

        async def register(peer: Peer) -> str | None:
            await peer.send(sent)
            return (await asyncio.wait_for(_first_answer(peer), 40 * PATIENCE)).remark

        async with watch:
            answers = await asyncio.gather(*map(register, peers))
        assert set(answers) == {str(size)}
        assert 0 < watch.most <= budget
        assert watch.most_waiting > 0
        assert server.read_counters().large_bytes_in_flight == 0
        assert not any(connection.channel.is_paused for connection in server.connections)


@both_loops
@pytest.mark.parametrize("announced", [100_000, 16_777_216])
async def test_a_frame_that_never_ends_is_ended(announced: int):
    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), limits=ConnectionLimits(large_frame_seconds=0.1)
        ) as server,
        connect(server.addresses[0]) as peer,
    ):
        await peer.send(pack(">iI", announced - 4, 2) + b"{}")
        with contextlib.suppress(ConnectionError):
            while True:  # one byte now and then keeps it from being idle, and doesn't help
                await peer.send(b"x")
                await asyncio.sleep(0.005)
        assert server.read_counters().overdue_closes == 1
        assert server.read_counters().large_bytes_in_flight == 0


async def test_headers_that_lie_about_their_size_hold_the_room_of_the_largest_frames_for_a_while_only():
    async with (
        RemotingServer(
            echo,
            listen=ListenOptions(LOCAL, 0),
            limits=ConnectionLimits(body_budget_bytes=16_777_216, large_frame_seconds=1.0),
        ) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(5):
            liar = await stack.enter_async_context(connect(server.addresses[0]))
            await liar.send(pack(">iI", 16_777_212, 2) + b"{}")
        await eventually(lambda: server.read_counters().large_frames_waiting)
        honest = await stack.enter_async_context(connect(server.addresses[0]))
        assert (await honest.ask(opaque=1)).code == 0  # small ones never wait
        assert len((await honest.ask(body=b"x" * 200_000)).body) == 200_000  # nor do moderate ones
        assert server.read_counters().overdue_closes < 5
        await honest.send(encode_command(request(103, body=b"x" * 2_000_000, opaque=2)))
        assert len((await honest.answer()).body) == 2_000_000
        assert server.read_counters().overdue_closes == 5


@both_loops
async def test_a_peer_that_vanished_without_a_word_is_closed_as_idle():
    closed: list[object] = []
    async with (
        RemotingServer(
            echo,
            listen=ListenOptions(LOCAL, 0),
            limits=ConnectionLimits(idle_seconds=0.3),
            hooks=ConnectionHooks(on_close=closed.append),
        ) as server,
        BreakableProxy(str(server.addresses[0])) as proxy,
        connect(proxy.addr) as peer,
    ):
        assert (await peer.ask()).code == 0
        proxy.hold()
        await eventually(lambda: closed)
        assert server.read_counters().idle_closes == 1


@both_loops
async def test_a_peer_that_is_reset_while_it_is_owed_an_answer_is_forgotten():
    owed: list[tuple[RemotingCommand, ServerConnection]] = []
    closed: list[object] = []
    async with (
        RemotingServer(
            lambda *it: owed.append(it),
            listen=ListenOptions(LOCAL, 0),
            hooks=ConnectionHooks(on_close=closed.append),
        ) as server,
        BreakableProxy(str(server.addresses[0])) as proxy,
        connect(proxy.addr) as peer,
    ):
        await peer.send(encode_command(request(103, body=b"x" * 100_000)))
        await eventually(lambda: owed)
        assert server.read_counters().large_bytes_in_flight
        await proxy.cut()
        await eventually(lambda: closed)
        assert server.read_counters().large_bytes_in_flight == 0
        ((asked, connection),) = owed
        connection.respond(asked, Response())
        assert not server.connections


async def test_a_slow_link_delivers_whole_frames():
    async with (
        RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server,
        BreakableProxy(str(server.addresses[0])) as proxy,
        connect(proxy.addr) as peer,
    ):
        proxy.delay_seconds = 0.005
        for start in range(0, 120_000, 40_000):
            assert (await peer.ask(body=b"x" * start)).body == b"x" * start


class _Watch:
    """Looks at the budget whenever something is asked of it or given back."""

    def __init__(self, server: RemotingServer) -> None:
        self._budget = server._context.budget
        self.most = self.most_waiting = 0

    async def __aenter__(self) -> None:
        budget = self._budget
        kind = type(budget._large)
        grant, ask = kind._grant, kind.ask

        def watching_grant(pool, claim):
            grant(pool, claim)
            self.most = max(self.most, budget.in_flight)

        def watching_ask(pool, claim):
            ask(pool, claim)
            self.most_waiting = max(self.most_waiting, budget.waiting)

        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(kind, "_grant", watching_grant)
        self._patch.setattr(kind, "ask", watching_ask)

    async def __aexit__(self, *_: object) -> None:
        self._patch.undo()


async def _first_answer(peer: Peer) -> RemotingCommand:
    while True:
        with contextlib.suppress(TimeoutError):
            return await peer.answer()


async def _largest_holding(server: RemotingServer, looks: int) -> dict[str, int]:
    """What connections hold at most while the loop turns so often."""
    largest = {"write buffer": 0, "queue": 0}
    for _ in range(looks):
        for connection in server.connections:
            held = connection._transport.get_write_buffer_size()
            largest["write buffer"] = max(largest["write buffer"], held)
            largest["queue"] = max(largest["queue"], len(connection._queue))
        await asyncio.sleep(0.002)
    return largest
