"""The operators' pages by TLS: same certificate as the other port, client certificates judged by rules."""

import asyncio
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from namekeeper.app.name_server import NameServer
from namekeeper.errors import ConfigError
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.support.wire.certificates import Certificates
from tests.support.wire.peer import connect
from tests.unit.app.parts import PAGES_BY_CERTIFICATE, name_server, startup

LOCAL = "127.0.0.1"
BOTH_PORTS = 2


class Site:
    """A name server with certificates, and who asks for its pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificates = Certificates(folder)
        self.cert, self.key = self.certificates.issue("server", LOCAL)
        self.flags = {
            "http_port": "0", "http_tls_mode": "enforcing", "tls_test_mode_enable": "false",
            "tls_server_cert_path": str(self.cert), "tls_server_key_path": str(self.key),
        }  # fmt: skip
        self.with_client_auth = {
            "http_tls_need_client_auth": "optional",
            "tls_server_trust_cert_path": str(self.certificates.trust),
        }

    def rules(self, text: str) -> dict[str, str]:
        path = self.folder / "access.toml"
        path.write_text(text)
        return {"access_file": str(path)}

    def trusting(self, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.certificates.trust)
        if pair is not None:
            context.load_cert_chain(*pair)
        return context

    @asynccontextmanager
    async def running(self, caplog: pytest.LogCaptureFixture, **flags: str) -> AsyncIterator[str]:
        """A name server whose ports have read their certificates; gives the URL of its pages."""
        caplog.set_level("INFO")
        async with name_server(self.folder, **self.flags, **flags) as server:
            async with connect(f"{LOCAL}:{server.port}", tls=self.trusting()):
                pass
            await eventually(lambda: "operators' pages at " in caplog.text)
            yield re.findall(r"operators' pages at (\S+)", caplog.text)[-1]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def status(url: str, tls: ssl.SSLContext) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, ssl=tls) as response:
        await response.read()
        return response.status


@both_loops
async def test_the_pages_speak_https_as_configured(site: Site, caplog: pytest.LogCaptureFixture):
    async with site.running(caplog) as url:
        assert url.startswith("https://")
        assert await status(f"{url}metrics", site.trusting()) == 200
        assert await status(f"{url}healthz", site.trusting()) == 200
        with pytest.raises(aiohttp.ClientError):  # who trusts other authorities does not believe it
            await status(f"{url}metrics", ssl.create_default_context())
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):  # plain HTTP gets nothing
                await session.get(url.replace("https://", "http://"))


@both_loops
async def test_rules_judge_the_certificate_of_who_asks_for_a_page(
    site: Site, caplog: pytest.LogCaptureFixture
):
    def issue(name: str) -> ssl.SSLContext:
        return site.trusting(site.certificates.issue(name))

    def foreign() -> ssl.SSLContext:
        (site.folder / "others").mkdir()
        return site.trusting(Certificates(site.folder / "others").issue("ops"))

    made: list[Callable[[], ssl.SSLContext]] = [
        lambda: issue("ops"),
        lambda: issue("xops"),
        site.trusting,
        foreign,
    ]
    ops, other, without, stranger = [await asyncio.to_thread(each) for each in made]
    flags = await asyncio.to_thread(site.rules, PAGES_BY_CERTIFICATE)
    async with site.running(caplog, **flags, **site.with_client_auth) as url:
        for page in ("metrics", "status", "journal", "watch?topic=T", ""):
            assert await status(url + page, ops) in {200, 404, 503}  # 404: the journal is not open yet
            assert await status(url + page, other) == 403
            assert await status(url + page, without) == 403
        assert "a request of 127.0.0.1 for the HTTP pages is refused" in caplog.text
        assert await status(f"{url}healthz", without) == 200
        with pytest.raises((aiohttp.ClientError, OSError)):
            await status(f"{url}metrics", stranger)


async def test_where_certificates_are_required_there_is_nothing_without_one(
    site: Site, caplog: pytest.LogCaptureFixture
):
    ops = await asyncio.to_thread(lambda: site.trusting(site.certificates.issue("ops")))
    flags = {**site.with_client_auth, "http_tls_need_client_auth": "require"}
    async with site.running(caplog, **flags) as url:
        assert await status(f"{url}healthz", ops) == 200
        with pytest.raises((aiohttp.ClientError, OSError)):
            await status(f"{url}healthz", site.trusting())


async def test_a_certificate_that_is_renewed_is_shown_without_a_restart(
    site: Site, caplog: pytest.LogCaptureFixture
):
    def renew() -> ssl.SSLContext:
        (site.folder / "new").mkdir()
        certificates = Certificates(site.folder / "new")
        cert, key = certificates.issue("server", LOCAL)
        shutil.copy(key, site.key)
        shutil.copy(cert, site.cert)
        return ssl.create_default_context(cafile=certificates.trust)

    async with site.running(caplog) as url:
        assert await status(f"{url}healthz", site.trusting()) == 200
        trusting_the_new = await asyncio.to_thread(renew)
        await eventually(lambda: caplog.text.count("TLS certificates were reloaded") == BOTH_PORTS)
        assert await status(f"{url}healthz", trusting_the_new) == 200


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("tls_server_cert_path", "needs a certificate that clients can verify"),
        ("tls_server_key_path", "needs a certificate that clients can verify"),
        ("tls_test_mode_enable", "needs a certificate that clients can verify"),
        ("tls_server_trust_cert_path", "httpTlsNeedClientAuth=optional: needs tls.server.trustCertPath"),
        ("http_tls_mode", "httpTlsNeedClientAuth=optional: needs httpTlsMode=enforcing"),
    ],
)
def test_what_can_not_work_is_said_before_anything_starts(site: Site, without: str, said: str):
    flags = {**site.flags, **site.with_client_auth}
    del flags[without]
    with pytest.raises(ConfigError, match=said):
        NameServer(startup(site.folder, **flags))


@pytest.mark.parametrize(("asks", "warned"), [("none", 1), ("optional", 0)])
def test_a_rule_that_no_certificate_can_meet_is_named(site: Site, caplog, asks: str, warned: int):
    flags = {**site.flags, **site.rules(PAGES_BY_CERTIFICATE), **site.with_client_auth}
    NameServer(startup(site.folder, **{**flags, "http_tls_need_client_auth": asks}))
    assert caplog.text.count("access rule 'pages' opens no operators' page") == warned
