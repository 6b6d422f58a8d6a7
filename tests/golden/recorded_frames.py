"""Recorded frames: requests of every code in every form, which a name server answers as it did.

A line of a file is a frame: the number of its connection, `>` for a request or `<` for the answer, and its bytes.
Bytes beyond ASCII are escaped as Python does.
"""

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.differential.generator import generate
from tests.differential.steps import Close, Restart, World, questions
from tests.differential.wire import encode
from tests.support.java_model.values import Request
from tests.support.server.front import FRONT_UNDER_TEST
from tests.support.wire.peer import Peer, connect
from tests.unit.app.parts import FakeClock, name_server

__all__ = ["CLOSED", "CODES", "SEEDS", "codes_in", "replay", "requests_in", "write_requests"]

CODES = frozenset(
    {
        100,
        101,
        102,
        103,
        104,
        105,
        106,
        205,
        206,
        216,
        217,
        219,
        224,
        304,
        311,
        312,
        313,
        318,
        319,
        322,
        327,
        901,
        904,
    }
)
"""Codes that a name server answered when the frames were recorded."""
SEEDS = ("1", "2", "3")
STEPS = 140
LOOKUPS = 12
"""Look-ups in a row over one connection: enough that the native thread gets its socket."""
CLIENT = 500
"""Number of the first connection that only looks up."""
CLOSED = "closed by the server"
SHOWN = {
    b"productEnvName",
    b"clusterTest",
    b"orderMessageEnable",
    b"supportActingMaster",
    b"serverSelectorThreads",
}
"""Properties in the answer to 319 that are compared."""

Frames = list[tuple[int, bytes]]
"""Connection and bytes of each request."""


def write_requests(file: Path, seed: str) -> None:
    """Make the requests of a seed and store them."""
    file.write_text("".join(f"{conn} > {_text(data)}\n" for conn, data in _requests(seed)))


def requests_in(file: Path) -> Frames:
    """The requests in a file."""
    frames = []
    for line in file.read_text().splitlines():
        conn, _, text = line.split(" ", 2)
        frames.append((int(conn), text.encode("ascii").decode("unicode_escape").encode("latin-1")))
    return frames


def codes_in(frames: Frames) -> set[int]:
    """The codes of requests that can be read, by their binary headers or the member of their JSON headers."""
    return {code for code in CODES for _, data in frames if _is_of(data, code)}


def _is_of(data: bytes, code: int) -> bool:
    return b'"code": %d,' % code in data if data[4] == 0 else data[8:10] == code.to_bytes(2, "big")


def _requests(seed: str) -> Iterator[tuple[int, bytes]]:
    world = World.of(seed)
    opaque = 0
    closed: dict[int, int] = {}
    for step in generate(f"golden-{seed}", seed, STEPS):
        if isinstance(step, Close):
            closed[step.conn] = closed.get(step.conn, 0) + 1
            continue
        if isinstance(step, Restart):
            continue
        opaque += 1
        conn = step.conn + 1_000 * closed.get(step.conn, 0)
        yield conn, encode(step.request, opaque)
        if step.request.one_way:
            opaque += 1
            yield conn, encode(Request(105, {"topic": "is it handled?"}), opaque)
    for number, request in enumerate(_lookups(world)):
        for _ in range(LOOKUPS):
            opaque += 1
            yield CLIENT + number, encode(request, opaque)
    for request in (Request(319, {}), *questions(world, shared=False)):
        for form in (request, dataclasses.replace(request, binary=not request.body)):
            opaque += 1
            yield CLIENT - 1, encode(form, opaque)


def _lookups(world: World) -> Iterator[Request]:
    """Requests of clients that only look up: old and new ones, with both types of header."""
    for topic in world.topics[:3]:
        yield Request(105, {"topic": topic})
        yield Request(105, {"topic": topic}, version=373)
        yield Request(105, {"topic": topic}, binary=True)
        yield Request(105, {"topic": topic, "acceptStandardJsonOnly": "true"}, version=413)


def _text(data: bytes) -> str:
    return data.decode("latin-1").encode("unicode_escape").decode("ascii")


async def _replay(frames: Frames, folder: Path, front: str) -> tuple[str, int]:
    async with contextlib.AsyncExitStack() as opened:
        server = await opened.enter_async_context(
            name_server(folder, clock=FakeClock(), allow_config_update="true", front=front)
        )
        peers: dict[int, Peer] = {}
        lines = []
        for conn, data in frames:
            if conn not in peers:
                peers[conn] = await opened.enter_async_context(connect(f"127.0.0.1:{server.port}"))
            peer = peers[conn]
            await peer.send(data)
            if not _is_one_way(data):
                answer = await _answer(peer)
                shown = _some_properties(answer) if _is_of(data, 319) else _text(answer)
                lines.append(f"{conn} < {shown or CLOSED}\n")
        return "".join(lines), server.operators.stats().front_loans


async def _answer(peer: Peer) -> bytes:
    """The next frame; empty if the server closes the connection."""
    try:
        head = await peer.reader.readexactly(4)
        return head + await peer.reader.readexactly(int.from_bytes(head, "big"))
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def _some_properties(answer: bytes) -> str:
    """An answer to 319, of which other lines name folders or are younger than the stored answer."""
    length = int.from_bytes(answer[5:8], "big")
    shown = [line for line in answer[8 + length :].splitlines() if line.partition(b"=")[0] in SHOWN]
    return _text(b"\n".join([answer[8 : 8 + length], *shown]))


def _is_one_way(data: bytes) -> bool:
    return b'"flag": 2' in data if data[4] == 0 else data[18] & 2 > 0


def replay(frames: Frames, front: str = FRONT_UNDER_TEST) -> tuple[str, int]:
    """The answers of a new name server, and how many sockets its native thread got.

    Args:
        frames: the requests; each is sent when the one before it is answered.
        front: a value of the property of that name.
    """
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_replay(frames, Path(folder), front))
