import asyncio
import contextlib
import shutil
import ssl
import threading
from pathlib import Path

import pytest

from namekeeper.access.peer import CERTIFICATE_NAMES
from namekeeper.common.networks import parse_network
from namekeeper.errors import ConfigError
from namekeeper.remoting import handshake, tls_turns
from namekeeper.remoting import tls as module
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_contexts import ServerTls, client_context
from namekeeper.remoting.tls_settings import ClientAuth, TlsMode, TlsSettings
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.certificates import NO_TEXT, Certificates
from tests.support.wire.peer import connect, trusting
from tests.unit.remoting.joined import echo, frame

LOCAL = "127.0.0.1"


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def serving(
    *, contexts: TlsContexts | None = None, trusted: tuple[str, ...] = (), **settings: object
) -> RemotingServer:
    tls = contexts or TlsContexts(lambda: TlsSettings(**settings))
    return RemotingServer(
        echo,
        listen=ListenOptions(LOCAL, 0),
        security=TransportSecurity(tls=tls, trusted_proxies=[*map(parse_network, trusted)]),
    )


async def answers(server: RemotingServer, tls: ssl.SSLContext | None) -> bool:
    """Whether a connection of this kind is served."""
    with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.TimeoutError):
        async with connect(server.addresses[0], tls=tls) as peer:
            return (await peer.ask()).code == 0
    return False


@both_loops
@pytest.mark.parametrize(
    ("mode", "serves_tls", "serves_plain"),
    [(TlsMode.DISABLED, False, True), (TlsMode.PERMISSIVE, True, True), (TlsMode.ENFORCING, True, False)],
)
async def test_each_mode_takes_its_kinds_of_connections(mode, serves_tls, serves_plain):
    async with serving(mode=mode) as server:
        assert await answers(server, trusting()) == serves_tls
        assert await answers(server, None) == serves_plain
        assert server.read_counters().connections_rejected == 2 - serves_tls - serves_plain


async def test_a_server_without_tls_closes_tls_connections():
    async with RemotingServer(echo, listen=ListenOptions(LOCAL, 0)) as server:
        assert not await answers(server, trusting())
        assert await answers(server, None)


@both_loops
async def test_tls_may_follow_a_proxy_header():
    async with serving(mode=TlsMode.ENFORCING) as server:
        async with connect(server.addresses[0]) as peer:
            await peer.send(b"PROXY TCP4 203.0.113.7 192.0.2.1 4321 9876\r\n")
            await peer.writer.start_tls(trusting())
            assert (await peer.ask()).code == 0
        async with connect(server.addresses[0]) as plain:
            await plain.send(b"PROXY TCP4 203.0.113.7 192.0.2.1 4321 9876\r\n" + frame(1))
            assert await plain.is_closed_by_server()


@both_loops
async def test_a_client_that_is_too_early_waits_for_the_certificate(monkeypatch):
    may_build = threading.Event()
    build = module.server_tls

    def slowly(settings: TlsSettings) -> ServerTls:
        assert may_build.wait(10 * PATIENCE)
        return build(settings)

    monkeypatch.setattr(module, "server_tls", slowly)
    async with serving() as server:
        early = asyncio.create_task(answers(server, trusting()))
        await eventually(lambda: server.read_counters().connections_in_handshake == 1)
        assert await answers(server, None)  # nobody else waits
        assert not early.done()
        may_build.set()
        assert await early


@both_loops
async def test_closing_does_not_wait_for_the_certificate(monkeypatch):
    may_build = threading.Event()
    monkeypatch.setattr(module, "server_tls", lambda _: may_build.wait(10 * PATIENCE))
    async with serving() as server:
        early = asyncio.create_task(answers(server, trusting()))
        await eventually(lambda: server._handshakes._connecting)
    may_build.set()
    assert not await early


CLIENT_HELLO_BEGIN = b"\x16\x03\x01\x01\x00"


@both_loops
async def test_handshakes_of_one_host_take_turns_and_who_stalls_is_hurried(monkeypatch):
    monkeypatch.setattr(tls_turns, "MAX_OF_HOST", 1)
    monkeypatch.setattr(handshake, "HURRIED_SECONDS", 0.05)
    async with serving() as server:
        assert await answers(server, trusting())  # the certificate is there
        monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 1000.0)
        addr = server.addresses[0]
        async with connect(addr) as first:
            await first.send(CLIENT_HELLO_BEGIN)
            await eventually(lambda: server._handshakes._connecting)
            async with connect(addr) as second, connect(addr) as third:
                await second.send(CLIENT_HELLO_BEGIN)
                await third.send(CLIENT_HELLO_BEGIN)
                await eventually(lambda: server.read_counters().connections_in_handshake == 3)
                waits = asyncio.create_task(answers(server, trusting()))
                await eventually(lambda: server.read_counters().connections_in_handshake == 4)
                assert await answers(server, None)
                assert len(server._handshakes._connecting) == 1
                assert await first.is_closed_by_server()
                assert await second.is_closed_by_server()
                assert await third.is_closed_by_server()
                assert await waits


@both_loops
@pytest.mark.parametrize(
    ("trusted", "under_way", "waiting"), [((LOCAL,), 2, {"203.0.113.7": 1}), ((), 1, {LOCAL: 2})]
)
async def test_hosts_behind_a_trusted_proxy_take_turns_apart(monkeypatch, trusted, under_way, waiting):
    monkeypatch.setattr(tls_turns, "MAX_OF_HOST", 1)
    async with serving(trusted=trusted) as server, contextlib.AsyncExitStack() as peers:
        assert await answers(server, trusting())  # the certificate is there
        for host in (b"203.0.113.7", b"203.0.113.7", b"203.0.113.8"):
            peer = await peers.enter_async_context(connect(server.addresses[0]))
            await peer.send(b"PROXY TCP4 %s 192.0.2.1 4321 9876\r\n" % host + CLIENT_HELLO_BEGIN)
        handshakes = server._handshakes
        await eventually(
            lambda: {host: len(who) for host, who in handshakes._tls_turns._waiting.items()} == waiting
        )
        await eventually(lambda: len(handshakes._connecting) == under_way)


@both_loops
async def test_hosts_together_have_a_limit_and_a_new_host_soon_has_its_turn(monkeypatch):
    monkeypatch.setattr(tls_turns, "MAX_HANDSHAKES", 2)
    monkeypatch.setattr(handshake, "HURRIED_SECONDS", 0.05)
    async with serving(trusted=(LOCAL,)) as server, contextlib.AsyncExitStack() as peers:
        assert await answers(server, trusting())  # the certificate is there
        monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 1000.0)
        strangers = []
        for number in range(4):
            peer = await peers.enter_async_context(connect(server.addresses[0]))
            await peer.send(b"PROXY TCP4 203.0.113.%d 192.0.2.1 4321 9876\r\n" % number + CLIENT_HELLO_BEGIN)
            strangers.append(peer)
            assert len(server._handshakes._connecting) <= 2
        assert await answers(server, trusting())
        for peer in strangers[:3]:
            assert await peer.is_closed_by_server()
        assert not server._handshakes._tls_turns.has_waiting


@both_loops
async def test_a_server_closes_while_newcomers_wait_for_their_handshake(monkeypatch):
    monkeypatch.setattr(tls_turns, "MAX_OF_HOST", 1)
    async with serving() as server:
        async with connect(server.addresses[0]) as first, connect(server.addresses[0]) as second:
            await first.send(CLIENT_HELLO_BEGIN)
            await second.send(CLIENT_HELLO_BEGIN)
            await eventually(lambda: server.read_counters().connections_in_handshake == 2)
            await server.close()
            assert await second.is_closed_by_server()
        assert not len(server._handshakes)


@both_loops
async def test_a_broken_handshake_is_counted_and_harms_nobody():
    async with serving() as server:
        async with connect(server.addresses[0]) as peer:
            await peer.send(b"\x16\x03\x01\x00\x05garbage" * 20)
            with contextlib.suppress(ConnectionError):
                while await peer.reader.read(100):
                    pass
        await eventually(lambda: server.read_counters().tls_failures == 1)
        assert await answers(server, trusting())
        assert server.read_counters().connections_in_handshake == 0


@both_loops
async def test_large_bodies_pass_through_tls_both_ways():
    async with serving() as server, connect(server.addresses[0], tls=trusting()) as peer:
        body = bytes(range(256)) * 4_000
        assert (await peer.ask(body=body)).body == body
        assert server.read_counters().large_bytes_in_flight == 0


class TestFiles:
    @both_loops
    async def test_clients_verify_our_certificate(self, certificates):
        cert, key = certificates.issue("server")
        async with serving(test_mode=False, server_cert_path=str(cert), server_key_path=str(key)) as server:
            assert await answers(server, await asyncio.to_thread(client_trusting, certificates))
            assert not await answers(
                server,
                await asyncio.to_thread(client_trusting, Certificates(_subfolder(certificates, "other"))),
            )

    @both_loops
    async def test_a_required_certificate_must_be_of_our_authority(self, certificates):
        cert, key = certificates.issue("server")
        async with serving(
            mode=TlsMode.ENFORCING, test_mode=False, server_cert_path=str(cert), server_key_path=str(key),
            need_client_auth=ClientAuth.REQUIRE, auth_client=True, server_trust_cert_path=str(certificates.trust),
        ) as server:  # fmt: skip
            strangers = Certificates(_subfolder(certificates, "strangers"))
            assert await answers(
                server, await asyncio.to_thread(client_trusting, certificates, certificates.issue("client"))
            )
            assert not await answers(server, await asyncio.to_thread(client_trusting, certificates))
            assert not await answers(
                server, await asyncio.to_thread(client_trusting, certificates, strangers.issue("client"))
            )

    @both_loops
    async def test_the_names_of_a_certificate_are_kept_alone_and_one_with_too_many_is_turned_away(
        self, certificates, caplog
    ):
        caplog.set_level("INFO")
        cert, key = certificates.issue("server")
        async with serving(
            mode=TlsMode.ENFORCING, test_mode=False, server_cert_path=str(cert), server_key_path=str(key),
            need_client_auth=ClientAuth.REQUIRE, auth_client=True, server_trust_cert_path=str(certificates.trust),
        ) as server:  # fmt: skip
            few = client_trusting(certificates, certificates.issue("few", "second.test"))
            async with connect(server.addresses[0], tls=few) as peer:
                assert (await peer.ask()).code == 0
                (connection,) = server.connections
                assert connection.channel.certificate[1:] == ("DNS:few.test", "DNS:second.test")
                assert connection.channel.certificate_name == connection.channel.certificate[0]
                assert connection._transport.get_extra_info("peercert") == {}
            no_text = certificates.issue("no-text")
            no_text[0].write_bytes(certificates.renew(*no_text, NO_TEXT))
            assert server.read_counters().tls_failures == 0
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the loop reads the names
            assert not await answers(server, client_trusting(certificates, no_text))
            await eventually(lambda: server.read_counters().tls_failures == 1)
            hosts = (f"host-{number}.test" for number in range(CERTIFICATE_NAMES))
            many = client_trusting(certificates, certificates.issue("many", *hosts))
            assert not await answers(server, many)
            await eventually(lambda: not server.connections)
        assert "its certificate has more than 1000 names" in caplog.text
        assert sum("no connection with 127.0.0.1:" in line for line in caplog.messages) == 1

    async def test_settings_that_never_work_refuse_before_anything_starts(self):
        with pytest.raises(ConfigError, match="trustCertPath"):
            TlsContexts(lambda: TlsSettings(test_mode=False, need_client_auth=ClientAuth.REQUIRE))
        TlsContexts(
            lambda: TlsSettings(mode=TlsMode.DISABLED, test_mode=False, need_client_auth=ClientAuth.REQUIRE)
        )

    async def test_without_a_context_plain_connections_are_served(self, caplog):
        async with serving(
            test_mode=False, server_cert_path="/missing", server_key_path="/missing"
        ) as server:
            assert not await answers(server, trusting())
            assert await answers(server, None)
        assert "TLS clients are turned away" in caplog.text


class TestReload:
    @pytest.fixture
    def at(self, certificates, monkeypatch):
        """Paths in use, and how to put other files there."""
        monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
        return _InUse(certificates)

    async def test_certificate_and_key_are_replaced_together(self, at):
        async with at.serving() as server:
            first = await _certificate_shown(server)
            cert, key = at.certificates.issue("second")
            shutil.copy(cert, at.cert)
            shutil.copy(key, at.key)
            await eventually(lambda: at.contexts.reloads == 1)
            assert await _certificate_shown(server) != first

    async def test_a_certificate_without_its_key_is_not_taken(self, at):
        async with at.serving() as server:
            first = await _certificate_shown(server)
            polls = at.count_polls()
            at.cert.write_bytes(at.certificates.issue("second")[0].read_bytes())
            await eventually(lambda: polls() > 3)
            assert at.contexts.reloads == 0
            assert await _certificate_shown(server) == first

    async def test_the_trust_file_is_taken_at_once(self, at):
        others = Certificates(_subfolder(at.certificates, "others"))
        async with at.serving(
            need_client_auth=ClientAuth.REQUIRE, auth_client=True, server_trust_cert_path=str(at.trust)
        ) as server:
            ours, theirs = at.certificates.issue("client"), others.issue("client")
            assert await answers(server, await asyncio.to_thread(client_trusting, at.certificates, ours))
            assert not await answers(
                server, await asyncio.to_thread(client_trusting, at.certificates, theirs)
            )
            shutil.copy(others.trust, at.trust)
            await eventually(lambda: at.contexts.reloads == 1)
            assert not await answers(server, await asyncio.to_thread(client_trusting, at.certificates, ours))
            assert await answers(server, await asyncio.to_thread(client_trusting, at.certificates, theirs))

    async def test_broken_files_leave_the_old_context_and_are_tried_once(self, at, caplog):
        async with at.serving() as server:
            first = await _certificate_shown(server)
            at.key.write_text("broken")
            at.cert.write_text("broken")
            await eventually(lambda: at.contexts.failed_builds)
            failed, polls = at.contexts.failed_builds, at.count_polls()
            await eventually(lambda: polls() > 3)
            assert at.contexts.failed_builds == failed
            assert await _certificate_shown(server) == first
            assert "the old one stays in use" in caplog.text
            cert, key = at.certificates.issue("third")
            shutil.copy(cert, at.cert)
            shutil.copy(key, at.key)
            await eventually(lambda: at.contexts.reloads == 1)
            assert await _certificate_shown(server) != first

    async def test_files_that_come_late_are_found(self, at):
        at.key.unlink()
        async with at.serving() as server:
            await eventually(lambda: at.contexts.failed_builds)
            shutil.copy(at.original_key, at.key)
            await eventually(lambda: at.contexts._served)
            assert await answers(server, await asyncio.to_thread(client_trusting, at.certificates))

    async def test_connections_survive_a_reload(self, at):
        async with at.serving() as server, connect(server.addresses[0], tls=trusting()) as peer:
            assert (await peer.ask()).code == 0
            cert, key = at.certificates.issue("second")
            shutil.copy(cert, at.cert)
            shutil.copy(key, at.key)
            await eventually(lambda: at.contexts.reloads == 1)
            assert (await peer.ask()).code == 0


class _InUse:
    def __init__(self, certificates: Certificates) -> None:
        self.certificates = certificates
        folder = _subfolder(certificates, "in-use")
        cert, self.original_key = certificates.issue("first")
        self.cert, self.key, self.trust = folder / "cert", folder / "key", folder / "trust"
        shutil.copy(cert, self.cert)
        shutil.copy(self.original_key, self.key)
        shutil.copy(certificates.trust, self.trust)
        self.contexts: TlsContexts

    def serving(self, **settings: object) -> RemotingServer:
        all_settings = TlsSettings(
            **{
                "test_mode": False,
                "server_cert_path": str(self.cert),
                "server_key_path": str(self.key),
                **settings,
            }
        )
        self.contexts = TlsContexts(lambda: all_settings)
        return serving(contexts=self.contexts)

    def count_polls(self):
        polls = 0
        look = self.contexts._has_changed

        def counting() -> bool:
            nonlocal polls
            polls += 1
            return look()

        self.contexts._has_changed = counting
        return lambda: polls


def client_trusting(certificates: Certificates, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    cert, key = own or ("", "")
    context = client_context(
        TlsSettings(
            enable=True, test_mode=False, auth_server=True, client_trust_cert_path=str(certificates.trust),
            client_cert_path=str(cert), client_key_path=str(key),
        )
    )  # fmt: skip
    assert context is not None
    return context


async def _certificate_shown(server: RemotingServer) -> bytes:
    async with connect(server.addresses[0], tls=trusting()) as peer:
        return peer.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)


def _subfolder(certificates: Certificates, name: str) -> Path:
    folder = certificates.folder / name
    folder.mkdir()
    return folder
