"""Connections to an HTTP port: how many there may be in each stage, and how long each stage lasts."""

import asyncio
import contextlib
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from itertools import product

import pytest
from aiohttp import web

from namekeeper.http import gate, listener, page_server
from namekeeper.http.gate import Connection, Gate
from namekeeper.http.slots import Slots
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import TlsMode, TlsSettings
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.certificates import Certificates
from tests.support.wire.peer import trusting
from tests.unit.http.test_server import Site

HEAD = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
WITH_BODY = b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n"
FAR = 3_600.0
TRUSTING = trusting()
without_tls = pytest.mark.parametrize("site", ["plain"], indirect=True)
"""Crowds of hundreds of peers, whose handshakes would take most of the time."""


@pytest.fixture(scope="module")
def tls_settings(tmp_path_factory: pytest.TempPathFactory) -> TlsSettings:
    cert, key = Certificates(tmp_path_factory.mktemp("tls")).issue("server", "127.0.0.1")
    return TlsSettings(
        mode=TlsMode.ENFORCING, test_mode=False, server_cert_path=str(cert), server_key_path=str(key)
    )


@pytest.fixture(params=["plain", "tls"])
async def site(request: pytest.FixtureRequest, tls_settings: TlsSettings) -> AsyncIterator[Site]:
    """A server whose peers come without TLS, then one whose peers come with it: the limits are the same."""
    site = Site(tls=TlsContexts(lambda: tls_settings) if request.param == "tls" else None)
    async with site.server:
        yield site


def gate_of(site: Site) -> Gate:
    found = site.server._server.gate
    assert found is not None
    return found


class Crowd:
    """Connections of peers that misbehave, from any address of loopback."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._writers: list[asyncio.StreamWriter] = []
        self.readers: list[asyncio.StreamReader] = []

    async def open(self, count: int, data: bytes = b"", *, host: str = "127.0.0.1", rcvbuf: int = 0) -> None:
        for _ in range(count):
            sock = socket.socket()
            if rcvbuf:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
            sock.bind((host, 0))
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self._site.server.port))
            tls = {"ssl": TRUSTING, "server_hostname": "127.0.0.1"} if self._site.tls else {}
            reader, writer = await asyncio.open_connection(sock=sock, **tls)
            if rcvbuf:
                writer.transport.pause_reading()
            writer.write(data)
            self.readers.append(reader)
            self._writers.append(writer)

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@pytest.fixture
async def crowd(site: Site) -> AsyncIterator[Crowd]:
    crowd = Crowd(site)
    yield crowd
    crowd.close()


@both_loops
@without_tls
@pytest.mark.parametrize(
    "data", [b"", b"GET /metr", HEAD[:-2], WITH_BODY, b"GET /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n"],
    ids=["nothing", "half a line", "no end of the head", "no body", "a body for a page without one"],
)  # fmt: skip
async def test_health_has_a_place_whatever_others_do_not_send(site: Site, crowd: Crowd, data: bytes) -> None:
    await crowd.open(2 * gate.ASKING_LIMIT, data)
    for path in ("/healthz", "/readyz"):
        assert (await site.ask(path)).status == 200
    assert len(gate_of(site).asking) <= 2 * gate.ASKING_LIMIT


@both_loops
@without_tls
@pytest.mark.parametrize("hosts", [1, 30])
@pytest.mark.parametrize("probes", [1, 27])
@pytest.mark.parametrize("data", [b"", b"GET /metr"], ids=["silent", "half a line"])
async def test_health_has_a_place_behind_a_burst_where_descriptors_are_few(
    site: Site, data: bytes, probes: int, hosts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a burst were accepted at once, and each beyond the limit was reset, a probe too."""
    monkeypatch.setattr(gate, "FRESH_SECONDS", 0.5)  # for a machine that does something else, too
    port, listener_of_site = site.server.port, site.server._server._listener
    assert listener_of_site is not None
    listener_of_site._allowed = 12
    with contextlib.ExitStack() as burst:

        def connected_from(host: str, data: bytes) -> socket.socket:
            peer = burst.enter_context(
                socket.create_connection(("127.0.0.1", port), source_address=(host, 0))
            )
            peer.sendall(data)
            peer.setblocking(False)
            return peer

        asking = []
        for path in (b"/healthz", b"/readyz"):
            for number in range(30):  # the loop accepts none of them before the last probe
                connected_from(f"127.0.1.{number % hosts + 1}", data)
            request = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
            asking += [connected_from("127.0.0.1", request) for _ in range(probes)]
        for probe in asking:
            answer = await asyncio.get_running_loop().sock_recv(probe, 1_000)
            assert answer.startswith(b"HTTP/1.1 200 ")
        assert len(gate_of(site)) <= 12 + listener.BEYOND_LIMIT


@both_loops
async def test_health_has_a_place_while_nobody_reads_answers(site: Site, crowd: Crowd) -> None:
    site.server._pages["/status"] = large_page(4_000_000)
    await crowd.open(gate.READING_LIMIT, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", rcvbuf=4_096)
    await eventually(lambda: len(gate_of(site).reading) >= gate.READING_BYTES // 4_000_000)
    assert (await site.ask("/healthz")).status == 200
    sizes = [each.answer_bytes for each in gate_of(site)._readers()]
    assert sum(sizes) <= gate.READING_BYTES


def large_page(size: int):
    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.Response(body=b"x" * size)

    return page_server.Page(answer)


@both_loops
async def test_one_host_cannot_keep_another_from_asking(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host with most connections loses its oldest one; others keep theirs, however long they take."""
    monkeypatch.setattr(gate, "YOUNG_SECONDS", 0.0)
    gate_of(site).asking.limit = 4
    await crowd.open(1, b"GET /healthz HTTP/1.1\r\n", host="127.0.0.2")
    await eventually(lambda: len(gate_of(site).asking) == 1)
    await crowd.open(20, b"GET")
    await eventually(lambda: len(gate_of(site)) <= 5)
    crowd._writers[0].write(b"Host: x\r\n\r\n")
    assert (await crowd.readers[0].read()).startswith(b"HTTP/1.1 200")


CROWDS = {
    "nothing": b"",
    "a part of a head": b"GET /healthz HTTP/1.1\r\n",
    "no body": WITH_BODY,
    "a body for a page without one": b"GET /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
}


@both_loops
@without_tls
@pytest.mark.parametrize("kind", CROWDS)
async def test_a_burst_of_its_own_host_does_not_close_a_probe_that_is_about_to_ask(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Others of the same address translation or proxy connect between a probe's connection and its request."""
    monkeypatch.setattr(gate, "REQUEST_SECONDS", FAR)
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    await crowd.open(1)
    await crowd.open(2 * gate.ASKING_LIMIT, CROWDS[kind])
    for path in ("/healthz", "/readyz"):
        assert (await site.ask(path)).status == 200
    crowd._writers[0].write(HEAD.replace(b"metrics", b"readyz"))
    assert (await crowd.readers[0].read()).startswith(b"HTTP/1.1 200")
    assert len(gate_of(site)) <= gate.ASKING_BURST + gate.READING_LIMIT


@both_loops
@pytest.mark.parametrize("kind", CROWDS)
async def test_over_tls_a_probe_is_answered_beside_a_crowd(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The crowd comes between the probe's handshake and its request, first young, then with time enough."""
    monkeypatch.setattr(gate, "REQUEST_SECONDS", FAR)
    gate_of(site).asking.limit = 4
    for young_seconds in (FAR, 0.0):
        monkeypatch.setattr(gate, "YOUNG_SECONDS", young_seconds)
        await crowd.open(12, CROWDS[kind], host="127.0.0.2")
        await crowd.open(1)
        await crowd.open(12, CROWDS[kind], host="127.0.0.2")
        crowd._writers[-13].write(HEAD.replace(b"metrics", b"readyz"))
        assert (await crowd.readers[-13].read()).startswith(b"HTTP/1.1 200")


@both_loops
@pytest.mark.parametrize("site", ["tls"], indirect=True)
@pytest.mark.parametrize("kind", CROWDS)
async def test_over_tls_a_probe_is_answered_beside_many_hosts_with_one_connection_each(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Hosts that had time enough make room for the probe, and those that come after it do not close it."""
    monkeypatch.setattr(gate, "REQUEST_SECONDS", FAR)
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    monkeypatch.setattr(gate, "ASKING_BURST", 12)
    entered = gate_of(site)
    entered.asking.limit = 4
    for number in range(8):
        await crowd.open(1, CROWDS[kind], host=f"127.1.0.{number + 1}")
    for connection in list(entered._connections.values()):
        connection.began -= 2 * FAR
    await crowd.open(1)
    later = 9 if kind == "nothing" else 24
    for number in range(later):
        await crowd.open(1, CROWDS[kind], host=f"127.2.0.{number + 1}")
    crowd._writers[8].write(HEAD.replace(b"metrics", b"readyz"))
    assert (await crowd.readers[8].read()).startswith(b"HTTP/1.1 200")
    for path in ("/healthz", "/readyz"):
        assert (await site.ask(path)).status == 200
    assert len(entered.asking) <= 12


def heard(connection: Connection, data: bytes) -> Connection:
    """Have a connection get something."""
    connection.data_received(data)
    return connection


async def test_of_many_connections_those_go_first_that_had_time_to_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered = Gate(Server())
    entered.asking.limit = 4
    probe, slow, unread, asked = (connected(entered) for _ in range(4))
    unread._has_unread_bytes = lambda: True
    heard(asked, HEAD)
    slow.began = unread.began = asked.began = probe.began - gate.YOUNG_SECONDS
    others = [connected(entered) for _ in range(20)]
    for connection in (probe, unread, asked, *others):
        assert connection._transport.is_aborted is False
    assert slow._transport.is_aborted is True
    for connection in (probe, slow, unread, asked, *others):
        connection.connection_lost(None)


@pytest.mark.parametrize("part", [b"GET /healthz HTTP/1.1\r\n", WITH_BODY])
async def test_in_a_burst_those_go_first_that_sent_a_part_of_a_request(
    part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    entered = Gate(Server())
    probe, asked = connected(entered), heard(connected(entered), HEAD)
    parts = []
    for _ in range(3 * gate.ASKING_BURST):
        parts.append(heard(connected(entered), part))
        if part is WITH_BODY:
            parts[-1].wait_for_body(1_024)
        assert len(entered.asking) <= gate.ASKING_BURST
    assert probe._transport.is_aborted is asked._transport.is_aborted is False
    assert parts[0]._transport.is_aborted is True
    for connection in (probe, asked, *parts):
        connection.connection_lost(None)


async def test_hosts_with_one_connection_each_do_not_close_the_second_one_of_a_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    entered = Gate(Server())
    probes = [connected(entered, host="10.0.0.9") for _ in range(2)]
    others = []
    for index in range(2 * gate.ASKING_BURST):
        others.append(connected(entered, host=f"10.1.{index // 256}.{index % 256}"))
        heard(others[-1], b"GET /healthz HTTP/1.1\r\n")
    assert [each._transport.is_aborted for each in probes] == [False, False]
    assert len(entered.asking) <= gate.ASKING_BURST
    for connection in (*probes, *others):
        connection.connection_lost(None)


async def test_where_descriptors_are_few_the_fullest_stage_loses_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    monkeypatch.setattr(gate, "FRESH_SECONDS", 0.0)
    entered = Gate(Server())
    readers = [connected(entered) for _ in range(4)]
    for each in readers:
        each.read(Request(), 1_000)
    probes = [connected(entered) for _ in range(2)]
    entered.evict_one()
    assert [each._transport.is_aborted for each in (*readers, *probes)] == [True] + 5 * [False]
    parts = [heard(connected(entered), b"GET") for _ in range(4)]
    entered.evict_one()
    assert [each._transport.is_aborted for each in (*probes, *parts)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    parts[1].began -= 2 * FAR
    entered.evict_one()
    assert parts[1]._transport.is_aborted is True
    for connection in (*readers, *probes, *parts):
        connection.connection_lost(None)
    assert entered.evict_one() is False


@pytest.mark.parametrize("stage", ["asking", "answering", "reading"])
async def test_where_descriptors_are_few_a_new_connection_waits_while_fresh_ones_are_answered(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    monkeypatch.setattr(gate, "FRESH_SECONDS", FAR)
    entered = Gate(Server())
    fresh = [heard(connected(entered), HEAD) for _ in range(3)]
    for each in fresh:
        if stage == "answering":
            each.answer()
        elif stage == "reading":
            each.read(Request(), 1_000)
    assert entered.evict_one() is True
    assert [each._transport.is_aborted for each in fresh] == 3 * [False]
    fresh[1].began -= 4 * FAR
    assert entered.evict_one() is True
    assert [each._transport.is_aborted for each in fresh] == [False, True, False]
    for connection in fresh:
        connection.connection_lost(None)


@pytest.mark.parametrize("has_sent", [False, True])
async def test_there_is_an_end_to_a_burst(has_sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have sent something go last, the oldest first."""
    monkeypatch.setattr(gate, "YOUNG_SECONDS", FAR)
    entered = Gate(Server())
    first = [connected(entered, has_sent=True), connected(entered)]
    others = [connected(entered, has_sent=has_sent) for _ in range(gate.ASKING_BURST)]
    assert len(entered.asking) == gate.ASKING_BURST
    assert [each._transport.is_aborted for each in first] == [has_sent, True]
    for connection in (*first, *others):
        connection.connection_lost(None)


class Server:
    """Makes connections without sockets."""

    def __call__(self) -> "Server":
        return Server()

    def connection_made(self, transport: object) -> None:
        """As aiohttp."""

    def data_received(self, data: bytes) -> None:
        """As aiohttp."""

    def connection_lost(self, exc: Exception | None) -> None:
        """As aiohttp."""


class Transport:
    """A connection that is nowhere."""

    is_aborted = False
    is_closed = False
    waiting = 0

    def __init__(self, host: str = "10.0.0.1") -> None:
        self._host = host

    def get_extra_info(self, name: str) -> object:
        return (self._host, 5) if name == "peername" else None

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return self.waiting


def connected(entered: Gate, *, has_sent: bool = False, host: str = "10.0.0.1") -> Connection:
    connection = entered()
    connection._has_unread_bytes = lambda: has_sent
    connection.connection_made(Transport(host))
    return connection


@both_loops
@pytest.mark.parametrize("data", [b"", b"GET /", HEAD[:-2]])
async def test_a_request_that_does_not_come_ends_the_connection(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(gate, "REQUEST_SECONDS", 0.01)
    await crowd.open(1, data)
    with contextlib.suppress(ConnectionResetError):
        assert await crowd.readers[0].read() == b""


@both_loops
async def test_an_answer_that_is_not_made_in_time_ends_the_connection(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "ANSWER_SECONDS", 0.01)
    site.server._pages["/metrics"] = page_server.Page(lambda _: asyncio.sleep(FAR))
    await crowd.open(1, HEAD)
    assert await crowd.readers[0].read() == b""


@both_loops
async def test_a_peer_that_does_not_read_its_answer_is_disconnected(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "READ_SECONDS", 0.02)
    monkeypatch.setattr(gate, "GOODBYE_SECONDS", 0.02)
    site.server._pages["/metrics"] = large_page(8_000_000)
    await crowd.open(1, HEAD, rcvbuf=4_096)
    await eventually(lambda: len(gate_of(site).reading) == 1)
    await eventually(lambda: len(gate_of(site)) == 0)


async def test_a_peer_that_reads_something_between_looks_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "READ_SECONDS", 0.0)
    connection, request = connected(Gate(Server())), Request()
    connection.read(request, 1_000)
    transport = connection._transport
    for transport.waiting in (900, 800, 800):
        assert transport.is_aborted is False
        connection._look()
    assert transport.is_aborted is True
    connection.connection_lost(None)


async def test_a_peer_that_reads_slowly_gets_the_whole_answer(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS the answer was cut off a second after it was made."""
    monkeypatch.setattr(gate, "GOODBYE_SECONDS", 0.001)
    monkeypatch.setattr(gate, "READ_SECONDS", FAR)
    looks: list[Connection] = []
    look = Connection._look
    monkeypatch.setattr(Connection, "_look", lambda self: (looks.append(self), look(self)))
    site.server._pages["/metrics"] = large_page(4_000_000)
    await crowd.open(1, HEAD, rcvbuf=65_536)
    await eventually(lambda: looks[10:] or (looks and not site.tls))
    crowd._writers[0].transport.resume_reading()
    head = await crowd.readers[0].readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert len(await crowd.readers[0].readexactly(4_000_000)) == 4_000_000


async def test_a_peer_that_has_the_answer_and_does_not_end_tls_is_disconnected(
    tls_settings: TlsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "GOODBYE_SECONDS", 0.001)
    monkeypatch.setattr(gate, "READ_SECONDS", FAR)
    site = Site(tls=TlsContexts(lambda: tls_settings))

    def asked() -> ssl.SSLSocket:
        connection = TRUSTING.wrap_socket(socket.create_connection(("127.0.0.1", site.server.port)))
        connection.sendall(HEAD)
        assert connection.recv(4_096).startswith(b"HTTP/1.1 200")
        return connection

    async with site.server:
        connection = await asyncio.to_thread(asked)
        await eventually(lambda: len(gate_of(site)) == 0)
        connection.close()


@pytest.mark.parametrize(
    ("waiting", "in_kernel", "is_over"), [(0, 0, True), (1, 0, False), (0, 1, False)],
)  # fmt: skip
async def test_a_connection_that_is_closed_stays_while_a_byte_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch, waiting: int, in_kernel: int, is_over: bool
) -> None:
    connection = connected(Gate(Server()))
    connection.read(Request(), 1_000)
    monkeypatch.setattr(connection, "_bytes_in_kernel", lambda _: in_kernel)
    connection._transport.waiting, connection._transport.is_closed = waiting, True
    connection._look()
    assert connection._transport.is_aborted is is_over
    connection.connection_lost(None)


async def test_a_stream_with_nothing_to_send_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "READ_SECONDS", FAR)
    connection = connected(Gate(Server()))
    assert await connection.stream(Request(), Slots[Connection](1))
    for _ in range(3):
        connection._look()
    assert connection._transport.is_aborted is False
    connection.connection_lost(None)


class Request:
    """A request whose answer has 1,000 bytes so far."""

    class writer:  # noqa: N801 - an attribute
        output_size = 1_000


async def test_answers_have_a_limit_for_all_and_for_each_host(site: Site, crowd: Crowd) -> None:
    may_go_on = asyncio.Event()

    async def late(_request: web.BaseRequest) -> web.Response:
        await may_go_on.wait()
        return web.Response()

    site.server._pages["/metrics"] = page_server.Page(late)
    await crowd.open(gate.ANSWERS_OF_HOST, HEAD)
    await eventually(lambda: len(gate_of(site).answering) == gate.ANSWERS_OF_HOST)
    answer = await site.ask("/metrics")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert (await site.ask("/healthz")).status == 200
    await crowd.open(1, HEAD, host="127.0.0.3")
    await eventually(lambda: len(gate_of(site).answering) == gate.ANSWERS_OF_HOST + 1)
    may_go_on.set()
    assert (await crowd.readers[-1].read()).startswith(b"HTTP/1.1 200")


async def test_watchers_are_counted_apart_and_hosts_share_their_slots(site: Site, crowd: Crowd) -> None:
    watch = b"GET /watch?topic=A HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
    limit = site.watch.limit
    await crowd.open(limit, watch)
    await eventually(lambda: len(site.watch.watchers) == limit)
    answer = await site.ask("/watch?topic=A")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert "httpWatchersLimit" in answer.text
    assert (await site.ask("/status")).status == 200
    await crowd.open(2, watch, host="127.0.0.4")
    await eventually(lambda: len(site.watch.watchers) == limit + 2)
    assert [each.is_closed for each in site.watch.watchers] == [True] * 2 + [False] * limit
    await site.server.close()


@pytest.fixture(scope="module")
def bomb() -> bytes:
    return zlib.compress(bytes(30_000_000))


@both_loops
async def test_a_compressed_body_is_refused_and_never_inflated(site: Site, crowd: Crowd, bomb: bytes) -> None:
    for method, path in product(("GET", "POST"), ("/", "/metrics", "/healthz", "/nowhere", "/api/login")):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
        await crowd.open(1, f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb)
        answer = await crowd.readers[-1].readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 415"), (method, path)
        (length,) = re.findall(rb"(?i)^content-length: (\d+)\r$", answer, re.MULTILINE)
        assert b"send it as it is" in await crowd.readers[-1].readexactly(int(length)), (method, path)
        crowd.close()


@both_loops
@pytest.mark.parametrize("framing", [b"Content-Length: 200000", b"Transfer-Encoding: chunked"])
async def test_a_body_that_nobody_wants_never_reaches_the_parser(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, framing: bytes
) -> None:
    parsed = []
    feed = web.RequestHandler.data_received
    monkeypatch.setattr(
        web.RequestHandler, "data_received", lambda self, data: (parsed.append(len(data)), feed(self, data))
    )
    head = b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n"
    await crowd.open(1, head + b"1\r\nx\r\n" * 30_000)
    assert (await crowd.readers[0].read()).startswith(b"HTTP/1.1 400")
    assert sum(parsed) == len(head)


@both_loops
async def test_who_sends_more_than_a_request_is_disconnected(
    site: Site, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers without an end were kept: 60 connections held 500 MiB."""
    monkeypatch.setattr(gate, "MAX_REQUEST_BYTES", 1_000)
    begin, lines = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: " + b"v" * 100 + b"\r\n"
    for count, is_answered in ((5, True), (10, False)):
        await crowd.open(1, begin + count * lines + b"\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert (await crowd.readers[-1].read()).startswith(b"HTTP/1.1 200") == is_answered


async def test_who_never_stops_sending_behind_a_request_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = connected(Gate(Server()))
    connection._rest = b""
    for _ in range(gate.MAX_IGNORED_BYTES // 65_536):
        connection.data_received(bytes(65_536))
    assert connection._transport.is_aborted is False
    assert len(connection._rest) <= gate.MAX_REQUEST_BYTES
    connection.data_received(b"x")
    assert connection._transport.is_aborted is True
    connection.connection_lost(None)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
async def test_the_head_ends_where_it_ends_however_it_is_cut(size: int) -> None:
    passed: list[bytes] = []
    connection = connected(Gate(Server()))
    connection._handler.data_received = passed.append
    data = b"\r\n\r\n" + HEAD + b"GET /more HTTP/1.1\r\n\r\n"
    for begin in range(0, len(data), size):
        connection.data_received(data[begin : begin + size])
    assert b"".join(passed) == HEAD
    connection.connection_lost(None)


@both_loops
async def test_nothing_of_a_connection_stays_when_it_is_gone(site: Site) -> None:
    kept = gate_of(site)
    for number in range(1, 6):
        assert (await site.ask("/healthz")).status == 200
        _, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
        writer.close()  # without a request
        poll = asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7"))
        await eventually(lambda number=number: len(site.watch.watchers) == number)
        poll.cancel()
    await eventually(lambda: len(kept) == 0)
    assert [len(each) for each in (kept.asking, kept.answering, kept.reading)] == [0, 0, 0]


@both_loops
async def test_a_stop_disconnects_who_still_reads(site: Site, crowd: Crowd) -> None:
    site.server._pages["/metrics"] = large_page(8_000_000)
    kept = gate_of(site)
    await crowd.open(3, HEAD, rcvbuf=4_096)
    await eventually(lambda: len(kept.reading) == 3)
    await crowd.open(
        1, b"GET /watch?topic=A HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
    )
    await eventually(lambda: len(site.watch.watchers) == 1)
    await site.server.close()
    await eventually(lambda: len(kept) == 0)


async def test_the_kernel_keeps_little_and_gives_up_on_hosts_that_vanished(site: Site, crowd: Crowd) -> None:
    sockets: list[socket.socket] = []
    seen = gate_of(site).enter

    def enter(handler: web.RequestHandler, connection: Connection) -> None:
        sockets.append(connection._transport.get_extra_info("socket"))
        seen(handler, connection)

    gate_of(site).enter = enter
    await crowd.open(1)
    await eventually(lambda: bool(sockets))
    size = sockets[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert size <= 2 * listener.SEND_BUFFER_BYTES
    size = sockets[0].getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert size <= 2 * listener.RECEIVE_BUFFER_BYTES
    assert sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == listener.VANISHED_MS
