"""Every line of the table in protocol.md 1.2: what broken frames do to their connection, and to no other."""

import asyncio
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from namekeeper.remoting.connection import ServerConnection
from namekeeper.remoting.connection_context import ConnectionHooks
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import RemotingCommand, Response, request
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect

GOOD = encode_command(request(105, {"topic": "T"}, opaque=1))


def answer(asked: RemotingCommand, _: ServerConnection) -> Response:
    return Response(remark=str(asked.code))


def serving() -> RemotingServer:
    return RemotingServer(answer, listen=ListenOptions("127.0.0.1", 0))


def framed(header: bytes, *, length: int | None = None, word: int | None = None) -> bytes:
    return (
        pack(">iI", 4 + len(header) if length is None else length, len(header) if word is None else word)
        + header
    )


CLOSES = {
    "length one too large": pack(">i", 16_777_213),
    "length huge": pack(">i", 2**31 - 1),
    "length 0": pack(">i", 0),
    "length negative": pack(">i", -1),
    "length 1": pack(">i", 1) + b"x",
    "length 3": pack(">i", 3) + b"xxx",
    "header longer than the frame": framed(b'{"code":105}', word=13),
    "header of 16 MiB in a small frame": framed(b"{}", word=0xFF_FFFF),
    "serialize type 2": framed(b'{"code":105}', word=2 << 24 | 12),
    "serialize type 255": framed(b'{"code":105}', word=255 << 24 | 12),
    "empty JSON header": framed(b""),
    "null": framed(b"null"),
    "broken JSON": framed(b'{"code":105'),
    "text after the object": framed(b'{"code":105} x'),
    "extFields an array": framed(b'{"code":105,"extFields":[]}'),
    "binary header cut short": framed(b"\0\x69", word=1 << 24 | 2),
    "deeply nested": framed(b'{"a":' * 50_000),
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}


@both_loops
@pytest.mark.parametrize("sent", CLOSES.values(), ids=CLOSES.keys())
async def test_a_broken_frame_closes_its_connection_without_an_answer(sent: bytes):
    async with (
        serving() as server,
        connect(server.addresses[0]) as other,
        connect(server.addresses[0]) as peer,
    ):
        assert (await other.ask()).code == 0
        await peer.send(sent)
        assert await peer.is_closed_by_server()
        assert server.read_counters().protocol_errors == 1
        assert (await other.ask()).code == 0


@pytest.mark.parametrize("sent", CLOSES.values(), ids=CLOSES.keys())
async def test_requests_before_a_broken_frame_are_answered(sent: bytes):
    async with serving() as server, connect(server.addresses[0]) as peer:
        await peer.send(GOOD + sent + GOOD)
        assert (await peer.answer()).remark == "105"
        assert await peer.is_closed_by_server()


@both_loops
async def test_the_largest_length_is_accepted_and_waited_for():
    async with serving() as server, connect(server.addresses[0]) as peer:
        await peer.send(pack(">i", 16_777_212))
        await eventually(lambda: server.read_counters().large_bytes_in_flight == 16_777_216)
        assert len(server.connections) == 1
        header = b'{"code":9,"opaque":3}'
        await peer.send(pack(">I", len(header)) + header)
        body = b"x" * (16_777_212 - 4 - len(header))
        sending = asyncio.create_task(peer.send(body))
        assert (await peer.answer()).remark == "9"
        await sending
        assert server.read_counters().large_bytes_in_flight == 0


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":105,"opaque":5}\n',
        b' \t{"code":105, "opaque":5}\r\n ',
        b'{"opaque":5,"code":105,"unknown":[{}]}',
    ],
    ids=["newline of the C++ client", "blanks", "unknown member"],
)
async def test_what_real_peers_send_is_accepted(header: bytes):
    async with serving() as server, connect(server.addresses[0]) as peer:
        await peer.send(framed(header))
        assert (await peer.answer()).opaque == 5


async def test_a_response_that_nobody_waits_for_is_ignored():
    async with serving() as server, connect(server.addresses[0]) as peer:
        command = request(105, opaque=9)
        command.flag = 1
        await peer.send(encode_command(command) + GOOD)
        assert (await peer.answer()).opaque == 1


@both_loops
async def test_half_a_connection_is_none():
    closed: list[object] = []
    async with RemotingServer(
        answer, listen=ListenOptions("127.0.0.1", 0), hooks=ConnectionHooks(on_close=closed.append)
    ) as server:
        async with connect(server.addresses[0]) as peer:
            assert (await peer.ask()).code == 0
            peer.writer.write_eof()
            assert await peer.is_closed_by_server()
        await eventually(lambda: closed)
        assert not server.connections


@given(st.lists(st.binary(max_size=300) | st.just(GOOD) | st.just(GOOD[:9]), max_size=8))
@settings(max_examples=40)
async def test_no_bytes_harm_the_server(pieces: list[bytes]):
    async with serving() as server, connect(server.addresses[0]) as peer:
        try:
            for piece in pieces:
                await peer.send(piece)
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        async with connect(server.addresses[0]) as other:
            assert (await other.ask()).code == 0
        assert server.read_counters().handler_errors == 0
