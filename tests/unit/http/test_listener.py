"""The operators' port, plain and by TLS: who waits in the handshake keeps nobody out."""

import asyncio
import contextlib
import logging
import socket
import ssl
import struct
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from namekeeper.access.peer import CERTIFICATE_NAMES
from namekeeper.http import listener as module
from namekeeper.http.listener import STARTS_PER_TURN, PageListener
from namekeeper.remoting.address import Address
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import ClientAuth, TlsMode, TlsSettings
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.certificates import NO_TEXT, Certificates

LOCAL = "127.0.0.1"


class Hello(asyncio.Protocol):
    """Says hello, and ends the connection; notes the hosts that it got, and counts them."""

    made = 0
    hosts: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Hello.made += 1
        Hello.hosts.append((transport.get_extra_info("peername") or ("",))[0])
        transport.write(b"hello")  # type: ignore[attr-defined]
        transport.close()


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture(autouse=True)
def _nobody_was_greeted() -> None:
    Hello.made = 0
    Hello.hosts.clear()


def contexts(certificates: Certificates, **settings: object) -> TlsContexts:
    cert, key = certificates.issue("server", LOCAL)
    given = TlsSettings(
        mode=TlsMode.ENFORCING,
        test_mode=False,
        server_cert_path=str(cert),
        server_key_path=str(key),
        **settings,
    )
    return TlsContexts(lambda: given)


@contextlib.asynccontextmanager
async def listening(tls: TlsContexts | None) -> AsyncIterator[int]:
    listener = PageListener(Hello, tls)
    await listener.listen(LOCAL, 0)
    assert listener.port is not None
    try:
        yield listener.port
    finally:
        await listener.close()
        await listener.close()
        assert listener.port is None
        assert not listener._connecting


@contextlib.asynccontextmanager
async def flooded(hosts: Sequence[str]) -> AsyncIterator[tuple[PageListener, list[socket.socket]]]:
    """A listener, and peers of these hosts that have connected in this order; it has accepted none yet."""
    listener = PageListener(Hello, None)
    await listener.listen(LOCAL, 0)
    with contextlib.ExitStack() as peers:
        yield listener, [peers.enter_context(connected(listener, host)) for host in hosts]
    await listener.close()


def connected(listener: PageListener, host: str) -> socket.socket:
    """A connection of a peer of this host that the listener has not accepted yet."""
    assert listener.port is not None
    return socket.create_connection((LOCAL, listener.port), source_address=(host, 0))


def accept_all(listener: PageListener) -> None:
    """Accept those that have connected."""
    assert listener._acceptor is not None
    listener._acceptor._accept_some(listener._acceptor._sockets[0])


async def read_all(port: int, tls: ssl.SSLContext | None = None) -> bytes:
    """What the server says before it ends the connection."""
    reader, writer = await asyncio.open_connection(LOCAL, port, ssl=tls)
    try:
        return await reader.read()
    finally:
        writer.close()


@both_loops
async def test_plain_connections_are_served() -> None:
    async with listening(None) as port:
        assert await read_all(port) == b"hello"
        assert Hello.made == 1


@both_loops
async def test_a_flood_of_connections_leaves_time_of_each_iteration_to_lookups() -> None:
    async with flooded([LOCAL] * (STARTS_PER_TURN + 3)) as (listener, _):
        accept_all(listener)
        listener._begin_some()
        assert len(listener._connecting) == STARTS_PER_TURN
        await eventually(lambda: Hello.made == STARTS_PER_TURN + 3)


@both_loops
@pytest.mark.parametrize("hosts", [1, 40])
async def test_a_probe_waits_for_one_connection_of_each_other_host_and_not_for_a_flood(hosts: int) -> None:
    flood = [f"127.0.1.{number % hosts + 1}" for number in range(200)]
    async with flooded([*flood, LOCAL]) as (_, sockets):
        for index, sock in enumerate(sockets[:100]):  # before their turns
            if index % 2:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            sock.close()
        await eventually(lambda: LOCAL in Hello.hosts)
        accepted_before_it = 3 * STARTS_PER_TURN  # in the iterations until it is accepted
        assert Hello.hosts.index(LOCAL) <= hosts + accepted_before_it
        await eventually(lambda: Hello.made == 201)


@both_loops
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_host_with_one_connection_starts_before_hosts_that_start_again_and_again(
    is_known: bool,
) -> None:
    flood = [f"127.0.1.{number % 40 + 1}" for number in range(120)]
    async with flooded([*[LOCAL] * is_known, *flood]) as (listener, sockets):
        await eventually(lambda: Hello.made == len(sockets))
        Hello.hosts.clear()
        with contextlib.ExitStack() as peers:
            for host in (*flood, LOCAL):
                peers.enter_context(connected(listener, host))
            await eventually(lambda: LOCAL in Hello.hosts)
        accepted_before_it = 2 * STARTS_PER_TURN  # in the iterations until it is accepted
        assert Hello.hosts.index(LOCAL) <= accepted_before_it


async def test_last_starts_of_few_hosts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOSTS_REMEMBERED", 8)
    async with flooded([f"127.0.1.{number}" for number in range(1, 31)]) as (listener, _):
        await eventually(lambda: Hello.made == 30)
        assert len(listener._last_starts) == 8


@both_loops
async def test_a_host_that_floods_loses_its_oldest_connection_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 8)
    async with flooded([LOCAL, *["127.0.1.1"] * 30, LOCAL]) as (listener, sockets):
        accept_all(listener)
        assert len(listener._waiting) == 8
        await eventually(lambda: Hello.made == 8)
        kept = (sockets[0], *sockets[-7:])
        assert [sock.recv(9) for sock in kept] == [b"hello"] * 8
        assert [sock.recv(9) for sock in sockets[1:-7]] == [b""] * 24


@both_loops
async def test_where_each_host_has_one_connection_that_waits_others_wait_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 8)
    async with flooded([f"127.0.1.{number}" for number in range(1, 31)]) as (listener, _):
        accept_all(listener)
        assert len(listener._waiting) == 8
        await eventually(lambda: Hello.made == 30)


@both_loops
async def test_connections_that_wait_do_not_outlive_the_listener() -> None:
    async with flooded([LOCAL] * 9) as (listener, sockets):
        accept_all(listener)
        await listener.close()
        assert [sock.recv(9) for sock in sockets] == [b""] * 9
        assert not listener._waiting


@both_loops
async def test_only_tls_is_served_where_there_is_a_context(certificates: Certificates) -> None:
    trusting = ssl.create_default_context(cafile=certificates.trust)
    async with listening(contexts(certificates)) as port:
        assert await read_all(port, trusting) == b"hello"
        reader, writer = await asyncio.open_connection(LOCAL, port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert b"hello" not in await reader.read()
        writer.close()
        assert Hello.made == 1


@both_loops
async def test_who_waits_in_the_handshake_keeps_nobody_out(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_HANDSHAKES", 3)
    monkeypatch.setattr(module, "YOUNG_SECONDS", 0.0)
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 3_600.0)
    trusting = ssl.create_default_context(cafile=certificates.trust)
    async with listening(contexts(certificates)) as port:
        silent = [await asyncio.open_connection(LOCAL, port) for _ in range(9)]
        assert await read_all(port, trusting) == b"hello"
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionError):
                assert await silent[0][0].read() == b""  # the oldest was ended
        for _, writer in silent:
            writer.close()
    assert Hello.made == 1


@both_loops
async def test_a_burst_of_its_own_host_does_not_end_the_handshake_of_a_probe(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of the same address translation or proxy connect before the probe's handshake goes on."""
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 3_600.0)
    monkeypatch.setattr(module, "YOUNG_SECONDS", 3_600.0)
    trusting = ssl.create_default_context(cafile=certificates.trust)
    async with listening(contexts(certificates)) as port:
        probe = await asyncio.open_connection(LOCAL, port)
        silent = [await asyncio.open_connection(LOCAL, port) for _ in range(2 * module.MAX_HANDSHAKES)]
        await probe[1].start_tls(trusting, server_hostname=LOCAL)
        assert await probe[0].read() == b"hello"
        for _, writer in (probe, *silent):
            writer.close()


@both_loops
async def test_many_hosts_with_one_handshake_each_keep_no_probe_out(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some come before the probe and had time enough, others come between its connection and its hello."""
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 3_600.0)
    monkeypatch.setattr(module, "YOUNG_SECONDS", 3_600.0)
    monkeypatch.setattr(module, "MAX_HANDSHAKES", 4)
    trusting = ssl.create_default_context(cafile=certificates.trust)
    listener = PageListener(Hello, contexts(certificates))
    await listener.listen(LOCAL, 0)

    async def opened(host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(LOCAL, listener.port, local_addr=(host, 0))

    early = [await opened(f"127.1.0.{number + 1}") for number in range(8)]
    await eventually(lambda: len(listener._handshakes) == 8)
    for task in listener._connecting:
        listener._connecting[task] -= 7_200.0
    probe = await opened(LOCAL)
    late = [await opened(f"127.2.0.{number + 1}") for number in range(2 * module.HANDSHAKES_BURST // 3)]
    async with asyncio.timeout(60):
        await probe[1].start_tls(trusting, server_hostname=LOCAL)
        assert await probe[0].read() == b"hello"
    assert len(listener._handshakes) <= module.HANDSHAKES_BURST
    for _, writer in (*early, probe, *late):
        writer.close()
    await listener.close()


async def test_there_is_an_end_to_a_burst_of_handshakes(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_HANDSHAKES", 1)
    monkeypatch.setattr(module, "HANDSHAKES_BURST", 4)
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 3_600.0)
    async with listening(contexts(certificates)) as port:
        silent = [await asyncio.open_connection(LOCAL, port) for _ in range(5)]
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionError):
                assert await silent[0][0].read() == b""  # the oldest was ended
        for _, writer in silent:
            writer.close()


async def test_a_handshake_takes_so_long_at_most(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    async with listening(contexts(certificates)) as port:
        reader, writer = await asyncio.open_connection(LOCAL, port)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        await eventually(lambda: "no connection of 127.0.0.1:" in caplog.text)


async def test_without_a_context_connections_are_closed(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tls = contexts(certificates)
    certificates.folder.joinpath("server.pem").write_text("broken")
    async with listening(tls) as port:
        with contextlib.suppress(ConnectionError):
            assert await read_all(port) == b""
        await eventually(lambda: "no TLS context could be built" in caplog.text)


def test_an_attack_on_this_port_leaves_half_of_the_descriptors_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    for soft in (64, 256, 1_024, 65_536, module.resource.RLIM_INFINITY):
        monkeypatch.setattr(module.resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        seen.append(PageListener(Hello, None)._allowed)
    assert seen == [12, 64, 448, 32_704, sys.maxsize]


async def test_where_descriptors_are_few_a_new_connection_ends_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LEAST_CONNECTIONS", 3)
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (64, 64))
    count, ended = 0, []
    listener = PageListener(Hello, None, count=lambda: count, evict_one=lambda: ended.append(count))
    for count in range(3 + module.BEYOND_LIMIT):  # noqa: B007 - the lambdas see it
        assert listener._has_room() is True
    count += 1
    assert listener._has_room() is False
    assert len(ended) == module.BEYOND_LIMIT + 1


async def test_where_no_descriptor_is_left_a_new_connection_waits_if_another_one_ends() -> None:
    for is_ended in (False, True):
        listener = PageListener(Hello, None, evict_one=lambda is_ended=is_ended: is_ended)
        assert listener._frees_descriptor() is is_ended


async def test_new_connections_wait_for_those_of_a_burst_that_can_be_ended_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sockets of a burst were no connections yet, so each iteration reset one behind the burst."""
    monkeypatch.setattr(module, "LEAST_CONNECTIONS", 3)
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (64, 64))
    count, can_end = 3 + module.BEYOND_LIMIT - 1, False
    listener = PageListener(Hello, None, count=lambda: count, evict_one=lambda: can_end)
    assert listener._must_wait(0) is listener._must_wait(1) is False
    count += 1
    assert listener._must_wait(1) is True
    assert listener._must_wait(0) is False
    can_end = True
    assert listener._must_wait(0) is True
    can_end, count = False, 3
    burst = [asyncio.create_task(asyncio.sleep(0)) for _ in range(module.BEYOND_LIMIT)]
    listener._connecting.update(dict.fromkeys(burst, 0.0))
    assert listener._must_wait(0) is True
    await asyncio.gather(*burst)
    listener._connecting.clear()
    count, peers = 3 - STARTS_PER_TURN, [Address("10.0.0.1", port) for port in range(STARTS_PER_TURN)]
    for peer in peers:
        assert listener._must_wait(0) is False
        listener._waiting.add(peer.host, (socket.socket(), peer))
    assert listener._must_wait(0) is True
    await listener.close()


async def test_a_handshake_under_way_does_not_outlive_the_listener(certificates: Certificates) -> None:
    listener = PageListener(Hello, contexts(certificates))
    await listener.listen(LOCAL, 0)
    reader, writer = await asyncio.open_connection(LOCAL, listener.port)
    await eventually(lambda: listener._connecting)
    await listener.close()
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


@both_loops
async def test_a_certificate_with_too_many_names_is_turned_away(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    tls = contexts(
        certificates,
        need_client_auth=ClientAuth.REQUIRE,
        auth_client=True,
        server_trust_cert_path=str(certificates.trust),
    )
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the loop reads the names
    async with listening(tls) as port:
        for count, names, said in ((2, b"", b"hello"), (2, NO_TEXT, b""), (CERTIFICATE_NAMES, b"", b"")):
            cert, key = certificates.issue(
                f"client-{count}", *(f"host-{number}.test" for number in range(count))
            )
            cert.write_bytes(certificates.renew(cert, key, names))
            context = ssl.create_default_context(cafile=str(certificates.trust))
            context.load_cert_chain(cert, key)
            reader, writer = await asyncio.open_connection(LOCAL, port, ssl=context)
            found = b""
            with contextlib.suppress(ConnectionError):
                found = await reader.read()
            assert found == said
            writer.close()
    assert Hello.made == 1
    assert tls.turned_away == 2
    assert sum(each.startswith("no connection of 127.0.0.1:") for each in caplog.messages) == 2
