"""Our own commands and the watching client ask the operators' port by https, and show a certificate."""

import asyncio
import contextlib
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.client import ClientConfig, MQClientInstance
from namekeeper.remoting.tls_settings import TlsSettings
from namekeeper.wire.codec import encode_command
from tests.process.running import PATIENCE_SECONDS, NameServerProcess, environment, holding
from tests.support.documents.commands import Typist
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import eventually as eventually_async
from tests.support.wire.ask import ask
from tests.support.wire.certificates import Certificates
from tests.unit.app.parts import PAGES_BY_CERTIFICATE, registration

LOCAL = "127.0.0.1"


class Site:
    """A name server whose pages are for one certificate, and the words that name it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificates = Certificates(folder)
        self.cert, self.key = self.certificates.issue("ops")
        self.port = free_port()
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self.typist = Typist(environment(self.elsewhere), self.elsewhere, {})

    def types_here(self, line: str) -> Result:
        """Run a line of `namekeeper` in this process: a process for each takes most of the time of these tests."""
        return CliRunner().invoke(namekeeper, self.typist.words_of(line)[1:], env={"NAMESRV_ADDR": None})

    @property
    def files(self) -> str:
        return f"--tls-ca {self.certificates.trust} --tls-cert {self.cert} --tls-key {self.key}"

    @contextlib.contextmanager
    def running(self) -> Iterator[NameServerProcess]:
        cert, key = self.certificates.issue("server", LOCAL)
        (self.folder / "access.toml").write_text(PAGES_BY_CERTIFICATE)
        with (
            NameServerProcess(
                self.folder, http_port=str(self.port), http_tls_mode="enforcing",
                http_tls_need_client_auth="optional", tls_test_mode_enable="false", tls_server_cert_path=str(cert),
                tls_server_key_path=str(key), tls_server_trust_cert_path=str(self.certificates.trust),
                remember_lookups="true", access_file=str(self.folder / "access.toml"),
            ) as server,
            holding(
                server.started().address, encode_command(registration(("orders", "payments")))
            ) as broker,
        ):  # fmt: skip
            assert broker.recv(1)
            server.logged("operators' pages at https://")
            assert ask(server.address, 216, topic="orders").code == 0
            yield server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, NameServerProcess]]:
    site = Site(tmp_path_factory.mktemp("site"))
    with site.running() as server:
        yield site, server


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("namekeeper audit {} --since '1 hour ago'", "DELETE_TOPIC_IN_NAMESRV"),
        ("namekeeper why orders {}", "the topic was deleted"),
        ("namekeeper history orders {} --from '1 hour ago'", "orders"),
        ("namekeeper route-at orders {} --at '1 second ago'", ""),
    ],
)
@pytest.mark.parametrize("by", ["--http https://127.0.0.1:{}", "-n {}"])
def test_questions_about_the_past(site, command, says, by):
    there, server = site
    address = by.format(there.port if "http" in by else server.address)
    with_files = command.format(f"{address} {there.files}")

    def seen() -> bool:
        done = there.types_here(with_files)
        return done.exit_code == 0 and says in done.stdout

    eventually(seen, within=PATIENCE_SECONDS, what=f"{says!r} in the answer to {command}")
    if "why" in command:
        typed = there.typist.types(with_files)
        assert (typed.returncode, says in typed.stdout) == (0, True), typed
    without = there.types_here(command.format(f"{address} --tls-ca {there.certificates.trust}"))
    # With -n the journal of a server on this host is read from its folder, if this user may.
    refused = (2, True) if "http" in by else (0, False)
    assert (without.exit_code, "it answers 403" in without.stderr) == refused, without.stderr
    if "http" in by:
        untrusting = there.types_here(command.format(address))
        assert (untrusting.exit_code, "certificate verify failed" in untrusting.stderr) == (2, True)


def test_who_knows(site):
    there, _ = site
    command = f"namekeeper who-knows orders --http https://127.0.0.1:{there.port}"
    assert there.typist.types(f"{command} {there.files}").returncode == 0
    without = there.typist.types(f"{command} --tls-ca {there.certificates.trust}")
    assert (without.returncode, "HTTP 403" in without.stderr) == (2, True)


def test_the_console(site):
    there, server = site
    command = f"namekeeper console --port 0 --until-eof --namesrv {server.address}"
    words = there.typist.words_of(f"{command} --http https://127.0.0.1:{there.port} {there.files}")
    child = subprocess.Popen(
        [sys.executable, "-m", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(there.elsewhere), cwd=there.elsewhere,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}api/who_knows?name=orders", timeout=PATIENCE_SECONDS) as answer:
            assert re.search(r'"topic":"orders"', answer.read().decode())
        with urllib.request.urlopen(f"{url}api/why?name=orders", timeout=PATIENCE_SECONDS) as answer:
            assert "deleted" in answer.read().decode()
    finally:
        assert child.stdin is not None
        child.stdin.close()
        child.wait(PATIENCE_SECONDS)
        child.stdout.close()


def test_the_console_at_the_server(site):
    there, _ = site
    context = ssl.create_default_context(cafile=there.certificates.trust)
    context.load_cert_chain(there.cert, there.key)
    url = f"https://127.0.0.1:{there.port}/api/overview"
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS, context=context) as answer:
        assert answer.status == 200


async def test_a_client_that_watches(site):
    there, server = site
    tls = TlsSettings(
        client_trust_cert_path=str(there.certificates.trust), client_cert_path=str(there.cert),
        client_key_path=str(there.key),
    )  # fmt: skip
    config = ClientConfig(
        server.address, watch_addr=f"https://127.0.0.1:{there.port}", tls=tls,
        poll_name_server_interval_ms=3_600_000,
    )  # fmt: skip
    new = registration(("watched", "other"), name="broker-w", addr="127.0.0.1:10999")
    async with MQClientInstance(config) as client, client.events("watched") as events:
        await eventually_async(lambda: client._watchers[0]._revision is not None)
        host, _, port = server.address.rpartition(":")
        _, broker = await asyncio.open_connection(host, int(port))
        broker.write(encode_command(new))
        assert (await asyncio.wait_for(anext(events), PATIENCE_SECONDS)).topic == "watched"
        broker.close()
