"""A server with the native front does what one without it does, whatever comes and however it is split."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from namekeeper.app.name_server import NameServer
from namekeeper.remoting.lending import MIN_LOOKUP_READS
from namekeeper.remoting.server import SWEEPS_PER_IDLE_TIME
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import ResponseCode, SerializeType
from namekeeper.wire.command import request
from tests.fuzz.mutations import mutate
from tests.support.system.loops import CheckedUvloop, both_loops
from tests.support.system.processes import free_port
from tests.support.system.waiting import eventually
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import frame, name_server, registration

pytest.importorskip("namekeeper_front", reason="make native builds it")

KNOWN = frame(105, topic="T1", opaque=7)
MOVED = KNOWN.replace(b'"opaque":7,', b"").replace(b'"extFields":{', b'"extFields":{"opaque":7,')
"""The same bytes, in another order: a field of the request is named so, and its opaque is 0."""
BINARY = encode_command(request(105, {"topic": "T1"}, opaque=17), SerializeType.ROCKETMQ)
MAX_STREAM_BYTES = 8_000
"""So much is read at once: a server that closes has read all of it, and its last answers are not lost."""


@contextlib.asynccontextmanager
async def serving(
    folder: Path, front: str, topics: int | tuple[str, ...] = ("T1", "T2"), **flags: str
) -> AsyncIterator[NameServer]:
    """A server with a broker, whose connection stays open."""
    async with name_server(folder, front=front, **flags) as server, connect(address(server)) as broker:
        await broker.send(encode_command(registration(topics)))
        assert (await broker.answer()).code == 0
        yield server


def address(server: NameServer) -> str:
    return f"127.0.0.1:{server.port}"


async def all_bytes(peer: Peer) -> bytes:
    """What comes until the server closes."""
    said = b""
    with contextlib.suppress(ConnectionResetError):  # it closes while bytes of ours are not read yet
        while data := await asyncio.wait_for(peer.reader.read(65_536), 60):
            said += data
    return said


async def lend(server: NameServer, peer: Peer, known: bytes = KNOWN) -> None:
    """Ask until the socket is lent."""
    before = server.operators.stats().front_loans
    for _ in range(MIN_LOOKUP_READS):
        await peer.send(known)
        assert (await peer.answer()).code == 0
    assert server.operators.stats().front_loans == before + 1


def sweep(server: NameServer) -> None:
    """Look for idle connections now, as happens 24 times in the time after which one is idle."""
    remoting = server.server
    assert remoting._sweep_timer is not None
    remoting._sweep_timer.cancel()
    remoting._sweep()


def stream(chance: random.Random) -> list[bytes]:
    """Frames of all kinds, each of which is answered at once, so that answers come in their order."""
    return [
        chance.choice(
            (
                KNOWN,
                KNOWN,
                MOVED,
                frame(105, topic="T1", opaque=chance.randrange(1, 2**31)),
                frame(105, topic="T2", opaque=chance.randrange(1, 1_000)),
                frame(105, topic="T9", opaque=9),
                BINARY,
                encode_command(request(105, {"topic": "T9"}, opaque=18), SerializeType.ROCKETMQ),
                encode_command(request(105, {"topic": "T1"}, b"body", opaque=19), SerializeType.ROCKETMQ),
                frame(105, topic="T1", opaque=13, version=400),
                frame(105, topic="T1", opaque=14, version=400, acceptStandardJsonOnly="true"),
                frame(105, topic="T1", opaque=15, __ZONE_MODE="true", __ZONE_NAME="z1"),
                frame(105, b"body", topic="T1", opaque=10),
                frame(101, namespace="n", key="k", opaque=11),
                frame(999, opaque=12),
            )
        )
        for _ in range(chance.randrange(1, 9))
    ]


@both_loops
async def test_any_split_of_any_frames_gives_the_same_answers(tmp_path):
    chance = random.Random(5)
    async with serving(tmp_path / "a", "native") as native, serving(tmp_path / "b", "python") as python:
        for _ in range(60):
            frames = stream(chance)
            data = b"".join(frames)
            cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(4)))
            answers = []
            for server in (native, python):
                async with connect(address(server)) as peer:
                    if server is native:
                        await lend(server, peer)
                    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                        await peer.send(data[begin:end])
                    answers.append([await peer.answer() for _ in frames])
            assert answers[0] == answers[1]


@pytest.mark.parametrize("each", [9, pytest.param(2, marks=pytest.mark.long)])
@both_loops
async def test_a_socket_changes_hands_at_any_byte_of_a_frame(tmp_path, anyio_backend, each: int):
    """A look-up, and then a registration of a new broker that stops after each of its bytes, or each few of them: half of
    these ends for each loop."""
    end = size = 1 + each // 2 * (anyio_backend[1]["loop_factory"] is CheckedUvloop)
    async with serving(tmp_path, "native") as server:
        while end <= size:
            name = f"broker-{end:04}"
            beginning = encode_command(registration(version=2, name=name, addr=f"10.0.1.1:{10_000 + end}"))
            size = len(beginning)
            async with connect(address(server)) as peer:
                await lend(server, peer)
                await peer.send(KNOWN + beginning[:end])
                assert (await peer.answer()).opaque == 7
                await peer.send(beginning[end:])
                assert (await peer.answer()).code == 0
                await peer.send(KNOWN)
                names = {each["brokerName"] for each in json.loads((await peer.answer()).body)["brokerDatas"]}
                assert names >= {"broker-a", name}
            end += each


@both_loops
async def test_what_changed_is_known_again_before_it_is_asked_for(tmp_path):
    async with (
        serving(tmp_path, "native") as server,
        connect(address(server)) as peer,
        connect(address(server)) as broker,
    ):
        await lend(server, peer)
        before = server.operators.stats()
        await broker.send(encode_command(registration(name="broker-b", addr="10.0.1.1:10911")))
        assert (await broker.answer()).code == 0
        await eventually(lambda: "T1" in server.state.lookup_cache.topic_answers.topics)
        await peer.send(KNOWN)
        names = {each["brokerName"] for each in json.loads((await peer.answer()).body)["brokerDatas"]}
        assert names == {"broker-a", "broker-b"}
        after = server.operators.stats()
        assert after.front_loans == before.front_loans
        assert after.front_lookups == before.front_lookups + 1


@both_loops
async def test_a_topic_is_known_that_nobody_has_asked_for(tmp_path):
    async with serving(tmp_path, "native") as server:
        await eventually(lambda: "T1" in server.state.lookup_cache.topic_answers.topics)
        async with connect(address(server)) as peer:
            await lend(server, peer)
        before = server.operators.stats().uncached_lookups
        async with connect(address(server)) as peer:
            await lend(server, peer)
            await peer.send(frame(105, topic="T2", opaque=8))
            assert (await peer.answer()).code == 0
        assert server.operators.stats().uncached_lookups == before


async def test_mutated_streams_are_answered_alike_and_closed_alike(tmp_path):
    """Whatever stands in a stream after a look-up: the same answers, and the same end."""
    chance = random.Random(7)
    async with serving(tmp_path / "a", "native") as native, serving(tmp_path / "b", "python") as python:
        for _ in range(150):
            data = mutate(b"".join(stream(chance)), [KNOWN, BINARY], chance)[:MAX_STREAM_BYTES]
            said = []
            for server in (native, python):
                async with connect(address(server)) as peer:
                    if server is native:
                        await lend(server, peer)
                    await peer.send(KNOWN + data)
                    peer.writer.write_eof()
                    said.append(await all_bytes(peer))
            assert said[0] == said[1], data
        assert native.operators.stats().front_failures == 0


async def test_who_should_go_away_is_told_so_on_a_lent_connection(tmp_path):
    known = frame(105, topic="T1", opaque=7, version=476)
    flags = {"enable_shutdown_gracefully": "true", "shutdown_wait_time_seconds": "1"}
    async with serving(tmp_path, "native", **flags) as server, connect(address(server)) as peer:
        await lend(server, peer, known)
        server.requests.drain()
        await peer.send(known)
        assert (await peer.answer()).code == ResponseCode.GO_AWAY


async def test_clients_that_were_told_to_go_find_the_routes_after_the_restart(tmp_path):
    """And their new connections are lent, though no broker is back yet."""
    known = frame(105, topic="T1", opaque=7, version=476)
    flags = {
        "enable_shutdown_gracefully": "true",
        "shutdown_wait_time_seconds": "60",
        "journal_path": str(tmp_path / "journal"),
        "journal_namesrv_id": "ns",
        "listen_port": str(free_port()),
    }
    async with serving(tmp_path, "native", **flags) as server, connect(address(server)) as peer:
        await lend(server, peer, known)
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: server.state.is_draining)
        await peer.send(known)
        assert (await peer.answer()).code == ResponseCode.GO_AWAY
        for connection in server.server.connections:
            connection.close()  # while clients are asked to go, this removes no broker
        await stopping
    async with name_server(tmp_path, front="native", **flags) as server, connect(address(server)) as peer:
        await lend(server, peer, known)
        assert server.state.restored.startswith("restored 1 broker and 2 topics")


async def test_who_stands_behind_a_proxy_is_known_after_a_loan(tmp_path):
    flags = {"proxy_protocol_trusted_networks": "127.0.0.0/8"}
    async with serving(tmp_path, "native", **flags) as server, connect(address(server)) as peer:
        await peer.send(b"PROXY TCP4 192.0.2.7 192.0.2.8 5000 9876\r\n")
        await lend(server, peer)
        await peer.send(frame(999, opaque=12) + encode_command(registration(name="broker-p")))
        await peer.answer()
        assert (await peer.answer()).code == 0
        (channel,) = [
            each.channel for each in server.server.connections if each.channel.remote_addr[:3] == "192"
        ]
        assert server.state.tables.broker_live_table.over_channel(channel.channel_id)


async def test_a_broken_frame_closes_a_lent_connection(tmp_path):
    async with serving(tmp_path, "native") as server, connect(address(server)) as peer:
        await lend(server, peer)
        await peer.send(KNOWN + b"\xff" * 16)
        assert (await peer.answer()).code == 0
        assert await peer.is_closed_by_server()
        assert server.operators.stats().protocol_errors == 1


async def test_a_peer_that_leaves_is_gone(tmp_path):
    async with serving(tmp_path, "native") as server:
        async with connect(address(server)) as peer:
            await lend(server, peer)
            assert len(server.server.connections) == 2
        await eventually(lambda: len(server.server.connections) == 1)
        assert server.operators.stats().front_connections == 0


async def test_a_broker_that_also_looks_up_goes_with_its_connection(tmp_path):
    async with serving(tmp_path, "native") as server:
        async with connect(address(server)) as peer:
            await peer.send(encode_command(registration(name="broker-z", addr="10.0.0.9:10911")))
            assert (await peer.answer()).code == 0
            await lend(server, peer)
            assert "broker-z" in server.state.tables.broker_addr_table
        await eventually(lambda: "broker-z" not in server.state.tables.broker_addr_table)


async def test_a_lent_connection_that_is_idle_is_closed_and_one_that_asks_is_not(tmp_path):
    async with (
        serving(tmp_path, "native", server_channel_max_idle_time_seconds="100000") as server,
        connect(address(server)) as idle,
        connect(address(server)) as busy,
    ):
        await lend(server, idle)
        await lend(server, busy)
        for _ in range(SWEEPS_PER_IDLE_TIME + 1):
            await busy.send(KNOWN)
            assert (await busy.answer()).code == 0
            sweep(server)
        assert await idle.is_closed_by_server()
        assert server.operators.stats().front_connections == 1


async def test_a_peer_that_does_not_read_is_held_up_and_gets_everything_later(tmp_path):
    async with serving(tmp_path, "native") as server, connect(address(server)) as peer:
        await lend(server, peer)
        transport = cast("asyncio.Transport", peer.writer.transport)
        transport.pause_reading()
        count = 0

        def is_held_up() -> bool:
            nonlocal count
            if transport.get_write_buffer_size() < 100_000:
                transport.write(KNOWN * 1_000)
                count += 1_000
            return server.server.read_counters().reading_pauses > 0

        await eventually(is_held_up, within_seconds=60)
        transport.resume_reading()
        for _ in range(count):
            assert (await peer.answer()).opaque == 7


async def test_look_ups_are_counted_whoever_answered(tmp_path):
    async with serving(tmp_path, "native") as server, connect(address(server)) as peer:
        await lend(server, peer)
        for _ in range(20):
            await peer.send(KNOWN)
            await peer.answer()
        stats = server.operators.stats()
        assert stats.requests[105, 0] == MIN_LOOKUP_READS + 20
        assert stats.front_failures == 0
        assert stats.cached_lookups == MIN_LOOKUP_READS - 1 + 20
        assert stats.front_lookups == 20
        assert stats.uncached_lookups == 1
        assert stats.front == "native"
        assert stats.received_bytes >= len(KNOWN) * (MIN_LOOKUP_READS + 20)


async def test_look_ups_with_binary_headers_are_answered_beside_the_interpreter_too(tmp_path):
    async with serving(tmp_path, "native") as server, connect(address(server)) as peer:
        await lend(server, peer)
        await peer.send(KNOWN + BINARY)
        assert (await peer.answer()).body == (found := await peer.answer()).body
        assert (found.code, found.opaque) == (0, 17)
        stats = server.operators.stats()
        assert (stats.front_lookups, stats.front_connections) == (2, 1)


async def test_a_server_that_stops_sends_what_is_owed_and_closes(tmp_path):
    async with connect_after(tmp_path) as peer:
        assert await peer.is_closed_by_server()


@contextlib.asynccontextmanager
async def connect_after(folder: Path) -> AsyncIterator[Peer]:
    """A connection that was lent when its server stopped."""
    async with contextlib.AsyncExitStack() as stack:
        async with serving(folder, "native") as server:
            peer = await stack.enter_async_context(connect(address(server)))
            await lend(server, peer)
        yield peer


OFFICE = """
mode = "enforce"
[[rule]]
name = "brokers, and the office"
requests = ["any"]
networks = {networks}
"""


async def test_with_rules_a_peer_whose_network_decides_is_lent_until_other_rules_hold(tmp_path):
    """Then nobody is answered by what others, who may look it up still, have the front learn."""
    rules = tmp_path / "access.toml"

    def write(*networks: str) -> None:
        rules.write_text(OFFICE.format(networks=list(networks)))

    await asyncio.to_thread(write, "127.0.0.1", "10.0.0.0/8")
    flags = {"access_file": str(rules), "proxy_protocol_trusted_networks": "127.0.0.1"}
    async with (
        serving(tmp_path, "native", **flags) as server, connect(address(server)) as office,
        connect(address(server)) as other,
    ):  # fmt: skip
        for peer, host in ((office, "10.0.0.7"), (other, "127.0.0.1")):
            await peer.send(f"PROXY TCP4 {host} 127.0.0.1 5000 9876\r\n".encode() + KNOWN + KNOWN)
            assert [(await peer.answer()).code for _ in range(2)] == [0, 0]
        await lend(server, office)
        await asyncio.to_thread(write, "127.0.0.1")
        await eventually(lambda: server.operators.stats().front_connections == 0)
        await other.send(KNOWN * 2)
        assert [(await other.answer()).code for _ in range(2)] == [0, 0]
        await lend(server, other)
        before = server.state.lookup_cache.found
        await office.send(KNOWN)
        assert (await office.answer()).code == ResponseCode.NO_PERMISSION
        await other.send(KNOWN)
        assert (await other.answer()).code == 0
        assert server.state.lookup_cache.found == before + 1
