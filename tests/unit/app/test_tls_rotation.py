"""Certificates that are renewed as issuers do it, on both ports: what works is served, what doesn't is told."""

import asyncio
import ssl
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from namekeeper.app.name_server import NameServer
from namekeeper.http.health import health_of
from namekeeper.http.metrics import NameServerCollector
from namekeeper.remoting import tls as module
from namekeeper.remoting.address import Address
from namekeeper.wire.codec import encode_command
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.certificates import Certificates
from tests.support.wire.peer import Peer, connect, trusting
from tests.unit.app.parts import name_server, registration

LOCAL = "127.0.0.1"
WATCH = b"GET /watch?topic=T HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)


class Mounted:
    """A folder as Kubernetes mounts a secret: `tls.crt` is a link through `..data`, which is swapped."""

    def __init__(self, folder: Path) -> None:
        (folder / "issued").mkdir()
        self.certificates = Certificates(folder / "issued")
        self.folder = folder / "mounted"
        self.folder.mkdir()
        self.number = 0
        self.swap(*self.certificates.issue("first", LOCAL))
        for name in ("tls.crt", "tls.key", "ca.crt"):
            (self.folder / name).symlink_to(f"..data/{name}")

    @property
    def cert(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    def swap(self, cert: Path, key: Path) -> None:
        """Show other files in one step."""
        self.number += 1
        new = self.folder / f"..{self.number}"
        new.mkdir()
        (new / "tls.crt").write_bytes(cert.read_bytes())
        (new / "tls.key").write_bytes(key.read_bytes())
        (new / "ca.crt").write_bytes(self.certificates.trust.read_bytes())
        link = self.folder / "..data_tmp"
        link.symlink_to(new.name)
        link.replace(self.folder / "..data")

    def flags(self, mode: str) -> dict[str, str]:
        return {
            "http_port": "0", "http_tls_mode": "enforcing", "tls_server_mode": mode,
            "tls_test_mode_enable": "false", "journal_enable": "false",
            "tls_server_cert_path": str(self.cert), "tls_server_key_path": str(self.key),
        }  # fmt: skip


class Running:
    def __init__(self, server: NameServer, mounted: Mounted, peer: Peer) -> None:
        self.server, self.mounted, self.peer = server, mounted, peer

    async def serial_numbers(self) -> set[bytes]:
        """Certificates shown at the two ports."""
        pages = self.server.pages.server
        assert pages is not None
        assert pages.port is not None
        return {await shown(self.server.server.addresses[0]), await shown(Address(LOCAL, pages.port))}

    def health(self) -> tuple[bool, dict[str, str]]:
        found = health_of(self.server.operators.health())
        return found.ready, found.reasons

    def metrics(self) -> dict[tuple[str, ...], float]:
        return {
            (sample.name.removeprefix("rocketmq_namesrv_"), *sample.labels.values()): sample.value
            for family in NameServerCollector(self.server.operators.stats()).collect()
            for sample in family.samples
        }


async def shown(address: Address) -> bytes:
    async with connect(address, tls=trusting()) as peer:
        found: ssl.SSLObject = peer.writer.get_extra_info("ssl_object")
        return found.getpeercert(binary_form=True) or b""


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


@asynccontextmanager
async def running(folder: Path, mounted: Mounted, mode: str = "enforcing") -> AsyncIterator[Running]:
    """A name server with a connection by TLS to each port that is open, and works, all the time."""
    async with name_server(folder, **mounted.flags(mode)) as server:
        await eventually(lambda: server.pages.server is not None and server.pages.server.port is not None)
        assert server.pages.server is not None
        async with (
            connect(server.server.addresses[0], tls=trusting()) as peer,
            connect(Address(LOCAL, server.pages.server.port or 0), tls=trusting()) as watcher,
        ):
            await watcher.send(WATCH)
            await watcher.reader.readuntil(b"event: ready")
            yield Running(server, mounted, peer)
            await peer.send(encode_command(registration(("T",))))
            async with asyncio.timeout(10 * PATIENCE):
                await watcher.reader.readuntil(b"event: change")


def new_key(mounted: Mounted) -> None:
    cert, key = mounted.certificates.issue("second", LOCAL)
    for old, new in ((mounted.cert, cert), (mounted.key, key)):
        written = old.with_suffix(".new")
        written.write_bytes(new.read_bytes())
        written.replace(old)


def same_key(mounted: Mounted) -> None:
    mounted.cert.write_bytes(mounted.certificates.renew(mounted.cert, mounted.key))


def swapped(mounted: Mounted) -> None:
    mounted.swap(*mounted.certificates.issue("second", LOCAL))


def swapped_with_the_same_key(mounted: Mounted) -> None:
    renewed = mounted.folder / "renewed"
    renewed.write_bytes(mounted.certificates.renew(mounted.cert, mounted.key))
    mounted.swap(renewed, mounted.key)


@pytest.mark.parametrize("rotate", [new_key, same_key, swapped, swapped_with_the_same_key])
async def test_a_new_certificate_is_shown_on_both_ports(
    tmp_path: Path, mounted: Mounted, rotate: Callable[[Mounted], None]
):
    async with running(tmp_path, mounted) as at:
        (first,) = await at.serial_numbers()
        await anyio.to_thread.run_sync(rotate, mounted)
        for tls in (at.server._tls.remoting, at.server._tls.http):
            await eventually(lambda tls=tls: tls is not None and tls.reloads == 1)
        (second,) = await at.serial_numbers()
        assert second != first
        assert at.health() == (True, {})
        assert at.metrics()["tls_reloads_total", "http", "loaded"] == 1


def missing_key(mounted: Mounted) -> None:
    swapped(mounted)
    mounted.key.resolve().unlink()


def folder_for_a_key(mounted: Mounted) -> None:
    missing_key(mounted)
    mounted.key.resolve().mkdir()


def mismatched_key(mounted: Mounted) -> None:
    cert, _ = mounted.certificates.issue("second", LOCAL)
    _, key = mounted.certificates.issue("third", LOCAL)
    mounted.swap(cert, key)


def torn_certificate(mounted: Mounted) -> None:
    cert, key = mounted.certificates.issue("second", LOCAL)
    cert.write_bytes(cert.read_bytes()[:-100])
    mounted.swap(cert, key)


def torn_chain(mounted: Mounted) -> None:
    cert, key = mounted.certificates.issue("second", LOCAL)
    cert.write_bytes(cert.read_bytes() + b"-----BEGIN CERTIF")
    mounted.swap(cert, key)


def password_that_nobody_knows(mounted: Mounted) -> None:
    mounted.swap(*mounted.certificates.issue("second", LOCAL, password="secret"))


def empty_certificate(mounted: Mounted) -> None:
    cert, key = mounted.certificates.issue("second", LOCAL)
    cert.write_bytes(b"")
    mounted.swap(cert, key)


def no_certificate_at_all(mounted: Mounted) -> None:
    cert, key = mounted.certificates.issue("second", LOCAL)
    cert.write_text("<html>502 Bad Gateway</html>")
    mounted.swap(cert, key)


def expired(mounted: Mounted) -> None:
    mounted.swap(*mounted.certificates.issue("second", LOCAL, begin_days=-9, end_days=-2))


def not_valid_yet(mounted: Mounted) -> None:
    mounted.swap(*mounted.certificates.issue("second", LOCAL, begin_days=2))


BROKEN = [
    (missing_key, "tls.server.keyPath={key} can't be used: No such file"),
    (folder_for_a_key, "tls.server.keyPath={key} can't be used: it is not a regular file (Is a directory)"),
    (mismatched_key, "tls.server.keyPath={key} is not the key of the certificate in tls.server.certPath={cert}"),
    (torn_certificate, "tls.server.certPath={cert} is cut off"),
    (torn_chain, "tls.server.certPath={cert} is cut off"),
    (password_that_nobody_knows, "is tls.server.keyPassword the password of the key?"),
    (empty_certificate, "tls.server.certPath={cert} is empty"),
    (no_certificate_at_all, "tls.server.certPath={cert} is no PEM file"),
    (expired, "the certificate in {cert} expired at"),
    (not_valid_yet, "the certificate in {cert} is not valid before"),
]  # fmt: skip


@pytest.mark.parametrize(("rotate", "said"), BROKEN)
async def test_the_old_certificate_stays_when_the_new_one_is_broken_and_all_say_so(
    tmp_path: Path,
    mounted: Mounted,
    caplog: pytest.LogCaptureFixture,
    rotate: Callable[[Mounted], None],
    said: str,
):
    said = said.format(cert=mounted.cert, key=mounted.key)
    async with running(tmp_path, mounted) as at:
        before = await at.serial_numbers()
        await anyio.to_thread.run_sync(rotate, mounted)
        await eventually(lambda: set(at.health()[1]) == {"tls", "http_tls"})
        assert await at.serial_numbers() == before
        ready, reasons = at.health()
        assert ready
        for reason in reasons.values():
            assert said in reason
            assert "the old certificate is served since 20" in reason
            assert "it expires at 20" in reason
        assert at.metrics()["degraded", "tls"] == at.metrics()["degraded", "http_tls"] == 1
        assert at.metrics()["tls_reloads_total", "remoting", "failed"] >= 1
        on_console = [record for record in caplog.records if getattr(record, "on_console", False)]
        assert len(on_console) == 2
        assert all(said in record.getMessage() for record in on_console)
        await anyio.to_thread.run_sync(swapped, mounted)
        await eventually(lambda: at.health() == (True, {}))
        assert await at.serial_numbers() != before


@pytest.mark.parametrize(("mode", "ready"), [("enforcing", False), ("permissive", True)])
async def test_without_any_certificate_a_server_that_enforces_tls_is_not_ready(
    tmp_path: Path, mounted: Mounted, caplog: pytest.LogCaptureFixture, mode: str, ready: bool
):
    flags = {**mounted.flags(mode), "http_tls_mode": "disabled", "tls_server_key_path": "/missing/key"}
    async with name_server(tmp_path, **flags) as server:
        at = Running(server, mounted, None)  # type: ignore[arg-type]
        await eventually(lambda: "tls" in at.health()[1])
        assert at.health()[0] is ready
        assert server.operators.stats().is_ready is ready
        assert at.health()[1]["tls"].startswith("peers that speak TLS are turned away since 20")
        with pytest.raises((OSError, EOFError)):
            await shown(server.server.addresses[0])
        await eventually(lambda: at.metrics()["tls_failures_total",] == 1)
        assert at.metrics()["rejected_connections_total",] == 1
        assert at.metrics()["tls_usable", "remoting"] == 0
        (line,) = [record.getMessage() for record in caplog.records if getattr(record, "on_console", False)]
        assert line == (
            "can't build the TLS context, TLS clients are turned away: the port of brokers and clients:"
            " tls.server.keyPath=/missing/key can't be used: No such file or directory"
        )


async def test_a_new_password_in_the_tls_file_is_taken(tmp_path: Path, mounted: Mounted):
    file = tmp_path / "tls.properties"
    file.write_text("")
    async with name_server(tmp_path, **mounted.flags("enforcing"), tls_config_file=str(file)) as server:
        at = Running(server, mounted, None)  # type: ignore[arg-type]
        await shown(server.server.addresses[0])
        await anyio.to_thread.run_sync(password_that_nobody_knows, mounted)
        await eventually(lambda: "tls" in at.health()[1])
        file.write_text("tls.server.keyPassword=secret\n")
        await eventually(lambda: at.health() == (True, {}))


async def test_an_expired_certificate_is_served_and_told(tmp_path: Path, mounted: Mounted):
    expired(mounted)
    async with running(tmp_path, mounted, "permissive") as at:
        await eventually(lambda: set(at.health()[1]) == {"tls", "http_tls"})
        assert at.health()[1]["tls"].startswith(f"the certificate in {mounted.cert} expired at ")
        assert len(await at.serial_numbers()) == 1
        assert at.metrics()["tls_certificate_not_after_seconds", "remoting"] > 0


async def test_peers_that_fail_at_the_operators_port_are_counted(tmp_path: Path, mounted: Mounted):
    async with running(tmp_path, mounted) as at:
        pages = at.server.pages.server
        assert pages is not None
        async with connect(Address(LOCAL, pages.port or 0)) as plain:
            await plain.send(
                textwrap.dedent("""\
                GET /readyz HTTP/1.1
                Host: localhost

                """).encode()
            )
            assert await plain.is_closed_by_server()
        await eventually(lambda: at.metrics()["http_tls_failures_total",] == 1)
