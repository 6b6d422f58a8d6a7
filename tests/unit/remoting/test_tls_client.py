"""Clients that run for long follow their certificate files, as servers do."""

import ssl
from pathlib import Path

import anyio
import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_client import LOOK_SECONDS, ClientTls, present_context
from namekeeper.remoting.tls_settings import ClientAuth, TlsMode, TlsSettings
from tests.support.system.waiting import eventually
from tests.support.wire.certificates import Certificates
from tests.unit.remoting.joined import echo

LOCAL = "127.0.0.1"


class At:
    def __init__(self, folder: Path) -> None:
        self.certificates = Certificates(folder)
        self.cert, self.key = self.certificates.issue("client")
        self.seconds = 0.0
        self.settings = TlsSettings(
            enable=True, test_mode=False, auth_server=True, client_trust_cert_path=str(self.certificates.trust),
            client_cert_path=str(self.cert), client_key_path=str(self.key),
        )  # fmt: skip
        self.tls = ClientTls(lambda: self.settings, monotonic=lambda: self.seconds)

    async def later(self) -> ssl.SSLContext | None:
        self.seconds += LOOK_SECONDS
        return await present_context(self.tls)


@pytest.fixture
def at(tmp_path: Path) -> At:
    return At(tmp_path)


async def test_a_renewed_certificate_is_taken_for_the_next_connection(at: At):
    first = await at.later()
    assert await at.later() is first
    at.cert.write_bytes(at.certificates.renew(at.cert, at.key))
    assert await present_context(at.tls) is first  # looked at a moment ago
    assert await at.later() is not first


async def test_files_that_can_not_be_used_leave_the_old_context_and_are_told_once(at: At, caplog):
    first = await at.later()
    at.key.write_bytes(b"")
    assert await at.later() is first
    assert await at.later() is first
    assert caplog.text.count("the old ones stay in use") == 1
    assert "tls.client.keyPath" in caplog.text
    cert, key = at.certificates.issue("second")
    at.cert.write_bytes(cert.read_bytes())
    at.key.write_bytes(key.read_bytes())
    assert await at.later() is not first


def test_the_first_files_must_be_usable(tmp_path: Path):
    with pytest.raises(ConfigError, match="trustCertPath=/missing can't be used"):
        ClientTls(
            lambda: TlsSettings(
                enable=True, test_mode=False, auth_server=True, client_trust_cert_path="/missing"
            )
        )


async def test_a_context_of_the_callers_stays_as_it_is():
    context = ssl.create_default_context()
    assert await present_context(context) is context
    assert await present_context(None) is None


async def test_a_client_that_runs_for_long_shows_its_new_certificate(at: At):
    cert, key = await anyio.to_thread.run_sync(at.certificates.issue, "server")
    contexts = TlsContexts(
        lambda: TlsSettings(
            mode=TlsMode.ENFORCING, test_mode=False, server_cert_path=str(cert), server_key_path=str(key),
            need_client_auth=ClientAuth.REQUIRE, auth_client=True,
            server_trust_cert_path=str(at.certificates.trust),
        )
    )  # fmt: skip

    def shown() -> set[bytes | None]:
        return {
            connection._transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            for connection in server.connections
        }

    async with (
        RemotingServer(
            echo, listen=ListenOptions(LOCAL, 0), security=TransportSecurity(tls=contexts)
        ) as server,
        RemotingClient(tls=at.tls) as client,
    ):
        addr = str(server.addresses[0])
        await client.invoke(addr, 1)
        first = shown()
        at.cert.write_bytes(await anyio.to_thread.run_sync(at.certificates.renew, at.cert, at.key))
        at.seconds += LOOK_SECONDS
        client.release(addr)
        await eventually(lambda: not server.connections)
        await client.invoke(addr, 1)
        assert shown() - first
